@testable import OrderServer

/// What a subscriber knows of a store by its events alone.
struct Model: Sendable, Equatable {
    private(set) var version: UInt64 = 0
    /// By class, by key, by property.
    private var objects: [String: [String: [String: JSON]]] = [:]

    init() {}

    /// What a subscriber must know in the end. Throws `DecodingError`.
    init(_ store: StoreDocument) throws {
        version = store.version
        for product in store.products { objects["Product", default: [:]][product.sku] = try JSON(product).fields }
        for buyer in store.buyers { objects["Buyer", default: [:]][buyer.name] = try JSON(buyer).fields }
        for order in store.orders { objects["PlacedOrder", default: [:]][order.id] = try JSON(order).fields }
    }

    /// Applies an event, and throws `Failure` if it does not fit what is known, or if the sums are wrong after it.
    mutating func apply(_ event: EventDocument) throws {
        guard event.version > version else { throw Failure("version \(event.version) comes after \(version)") }
        version = event.version
        for change in event.changes {
            let known = objects[change.type]?[change.key]
            switch (change.kind, known) {
            case (.inserted, nil): objects[change.type, default: [:]][change.key] = change.properties
            case (.modified, let known?) where !change.properties.isEmpty:
                objects[change.type]?[change.key] = known.merging(change.properties) { $1 }
            case (.deleted, _?): objects[change.type]?[change.key] = nil
            default: throw Failure("\(change) does not fit \(String(describing: known))")
            }
        }
        objects = objects.filter { !$0.value.isEmpty }
        try checkSums()
    }

    /// Throws `Failure` if an event has shown a part of a commit.
    private func checkSums() throws {
        let standing = of("PlacedOrder").filter { $0["isCancelled"] == .bool(false) }
        let ordered = standing.flatMap { $0["lines"]?.elements ?? [] }.sum("quantity")
        let products = of("Product")
        guard products.sum("received") == products.sum("stock") + ordered else {
            throw Failure("goods have vanished in version \(version)")
        }
        guard of("Buyer").sum("spent") == standing.sum("total") else {
            throw Failure("money has vanished in version \(version)")
        }
    }

    private func of(_ type: String) -> [[String: JSON]] { (objects[type] ?? [:]).values.map { $0 } }
}

extension JSON {
    fileprivate var elements: [[String: JSON]] {
        if case .array(let values) = self { values.map(\.fields) } else { [] }
    }
}

extension [[String: JSON]] {
    fileprivate func sum(_ name: String) -> Int {
        reduce(0) { sum, fields in
            if case .int(let number)? = fields[name] { sum + number } else { sum }
        }
    }
}

extension Totals {
    /// Throws `Failure` if goods or money have vanished.
    func check() throws {
        guard received == stock + ordered, spent == owed else { throw Failure("the sums are wrong: \(self)") }
    }
}

extension StoreDocument {
    /// Throws `Failure` if an object is there twice, or if goods or money have vanished for one product or buyer.
    func check() throws {
        let keys = products.map { "p" + $0.sku } + buyers.map { "b" + $0.name } + orders.map { "o" + $0.id }
        guard Set(keys).count == keys.count else { throw Failure("a key is there twice") }
        let standing = orders.filter { !$0.isCancelled }
        var (ordered, spent): ([String: Int], [String: Int]) = ([:], [:])
        for order in standing {
            guard order.total == order.lines.reduce(0, { $0 + $1.quantity * $1.price }) else {
                throw Failure("the total is wrong: \(order)")
            }
            spent[order.buyer, default: 0] += order.total
            for line in order.lines { ordered[line.sku, default: 0] += line.quantity }
        }
        for product in products where product.received != product.stock + (ordered[product.sku] ?? 0) {
            throw Failure("the stock is wrong: \(product), of which \(ordered[product.sku] ?? 0) are ordered")
        }
        for buyer in buyers where buyer.spent != spent[buyer.name] ?? 0 {
            throw Failure("\(buyer) has ordered for \(spent[buyer.name] ?? 0)")
        }
    }
}
