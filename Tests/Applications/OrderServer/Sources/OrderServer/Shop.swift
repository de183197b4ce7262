import Firn
import Foundation

/// Why a request can't be done with what the store has.
package enum ShopError: Error {
    /// There is no such thing. The text names it.
    case missing(String)
    /// It contradicts what is there. The text says how.
    case conflict(String)
    /// It can't be a key. The text says why.
    case invalid(String)
}

/// The store: owns the live realm, and is the only one that writes.
///
/// Each function that writes returns after its commit is durable. Readers take a `Snapshot` and read it elsewhere, so
/// that the actor is free.
package actor Shop {
    /// Opened by `init`, which can give it to the realm only once all properties have a value.
    private var realm: Realm!

    /// Opens the store, or makes it.
    ///
    /// - Parameter activeVersions: how many versions may be held before writes are refused; nil for no limit.
    /// - Throws: `Realm.Error`.
    package init(at url: URL, activeVersions: UInt? = nil) async throws {
        var configuration = Realm.Configuration(
            fileURL: url,
            objectTypes: [Product.self, Buyer.self, PlacedOrder.self, OrderLine.self, PostalAddress.self])
        configuration.maximumNumberOfActiveVersions = activeVersions
        configuration.lockTimeout = .infinity
        realm = nil
        realm = try await Realm(configuration: configuration, actor: self)
    }

    // MARK: Writing

    /// Adds a product. Returns false if it is there already, just so.
    ///
    /// - Throws: `.conflict` if it is there, but differs; `Realm.Error`; `CancellationError` if nothing was written.
    package func add(_ draft: ProductDraft, sku: String) async throws -> Bool {
        try await realm.asyncWrite {
            if let product = realm.object(ofType: Product.self, forPrimaryKey: sku) {
                guard ProductDraft(product) == draft else {
                    throw ShopError.conflict("there is another product \(sku)")
                }
                return false
            }
            let product = realm.create(Product.self, value: ["sku": sku])
            (product.name, product.price, product.weight) = (draft.name, draft.price, draft.weight)
            (product.received, product.stock) = (draft.received, draft.received)
            for (key, value) in draft.attributes { product.attributes[key] = value }
            return true
        }
    }

    /// Deletes a product that was never ordered.
    ///
    /// - Throws: `.missing`; `.conflict` if an order has it; `Realm.Error`; `CancellationError`.
    package func deleteProduct(_ sku: String) async throws {
        try await realm.asyncWrite {
            guard let product = realm.object(ofType: Product.self, forPrimaryKey: sku) else {
                throw ShopError.missing("there is no product \(sku)")
            }
            guard realm.objects(PlacedOrder.self).where({ $0.lines.product == product }).isEmpty else {
                throw ShopError.conflict("product \(sku) was ordered")
            }
            realm.delete(product)
        }
    }

    /// Places an order: takes its goods from the stock. Returns false if it was placed already, just so.
    ///
    /// - Throws: `.missing` for a product that is not there; `.conflict` if another order has the id, or the stock does
    ///   not suffice; `Realm.Error`; `CancellationError` if nothing was written.
    package func place(_ draft: OrderDraft, id: String) async throws -> Bool {
        try await realm.asyncWrite {
            if let order = realm.object(ofType: PlacedOrder.self, forPrimaryKey: id) {
                guard OrderDocument(order).draft == draft else {
                    throw ShopError.conflict("there is another order \(id)")
                }
                return false
            }
            let order = realm.create(PlacedOrder.self, value: ["id": id])
            for wanted in draft.lines {
                guard let product = realm.object(ofType: Product.self, forPrimaryKey: wanted.sku) else {
                    throw ShopError.missing("there is no product \(wanted.sku)")
                }
                guard product.stock >= wanted.quantity else {
                    throw ShopError.conflict("of \(wanted.sku) only \(product.stock) are left")
                }
                product.stock -= wanted.quantity
                let line = OrderLine()
                (line.product, line.quantity, line.price) = (product, wanted.quantity, product.price)
                order.lines.append(line)
                order.total += wanted.quantity * product.price
            }
            let address = PostalAddress()
            (address.street, address.city) = (draft.address.street, draft.address.city)
            order.address = address
            let buyer =
                realm.object(ofType: Buyer.self, forPrimaryKey: draft.buyer)
                ?? realm.create(Buyer.self, value: ["name": draft.buyer])
            buyer.spent += order.total
            order.buyer = buyer
            return true
        }
    }

    /// Cancels an order: its goods are in the stock again. Does nothing if it was cancelled already.
    ///
    /// - Throws: `.missing`; `Realm.Error`; `CancellationError` if nothing was written.
    package func cancel(_ id: String) async throws {
        try await realm.asyncWrite {
            guard let order = realm.object(ofType: PlacedOrder.self, forPrimaryKey: id) else {
                throw ShopError.missing("there is no order \(id)")
            }
            if order.isCancelled { return }
            order.isCancelled = true
            for line in order.lines { line.product?.stock += line.quantity }
            order.buyer?.spent -= order.total
        }
    }

    // MARK: Reading

    /// The newest version, with all that this and other processes have acknowledged.
    ///
    /// A realm does not tell which version it shows, so one is chosen by its number. Of the active versions, those that
    /// are not durable yet can't be opened (`.invalidInput`). If a version became the newest just now, the one before
    /// may be gone (`.versionNotRetained`).
    ///
    /// - Throws: `Realm.Error`.
    package func snapshot() async throws -> Snapshot {
        await realm.asyncRefresh()
        while true {
            do {
                for number in realm.activeVersions.map(\.number).reversed() {
                    do { return Snapshot(version: number, realm: Frozen(try realm.asOf(version: number))) } catch Realm
                        .Error.invalidInput
                    {}
                }
            } catch Realm.Error.versionNotRetained {}
        }
    }

    /// Calls `send` with the newest snapshot, and then after each change, with the one before. Changes made while
    /// `send` has not returned are one. Ends when the task is cancelled.
    ///
    /// - Throws: what `send` throws; `Realm.Error`.
    package func follow(_ send: @Sendable (_ last: Snapshot?, _ now: Snapshot) async throws -> Void) async throws {
        let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await self.watch(Product.self, wake) }
            group.addTask { await self.watch(Buyer.self, wake) }
            group.addTask { await self.watch(PlacedOrder.self, wake) }
            var last: Snapshot?
            for await _ in wakes {
                let now = try await snapshot()
                if let last, last.version == now.version { continue }
                try await send(last, now)
                last = now
            }
            group.cancelAll()
        }
    }

    /// Wakes at once, and after each change of a class's objects.
    private func watch<T: Object>(_ type: T.Type, _ wake: AsyncStream<Void>.Continuation) async {
        for await _ in realm.objects(type).changes { wake.yield() }
    }
}

extension ProductDraft {
    /// What the client has sent.
    fileprivate init(_ product: Product) {
        let document = ProductDocument(product)
        self.init(
            name: document.name, price: document.price, weight: document.weight, received: document.received,
            attributes: document.attributes)
    }
}
