import Firn

/// The store at one version. It never changes, and any number of tasks may read it.
package struct Snapshot: Sendable {
    package let version: UInt64
    let realm: Frozen<Realm>

    func product(_ sku: String) -> ProductDocument? {
        realm.value.object(ofType: Product.self, forPrimaryKey: sku).map(ProductDocument.init)
    }

    func order(_ id: String) -> OrderDocument? {
        realm.value.object(ofType: PlacedOrder.self, forPrimaryKey: id).map(OrderDocument.init)
    }

    /// The orders of a buyer, the dearest first.
    func orders(of buyer: String) -> [OrderDocument] {
        realm.value.objects(PlacedOrder.self).where { $0.buyer.name == buyer }.sorted(by: \.total, ascending: false)
            .map(OrderDocument.init)
    }

    /// All that the store has.
    package var document: StoreDocument {
        StoreDocument(
            version: version, products: realm.value.objects(Product.self).map(ProductDocument.init),
            buyers: realm.value.objects(Buyer.self).map(BuyerDocument.init),
            orders: realm.value.objects(PlacedOrder.self).map(OrderDocument.init))
    }

    package var totals: Totals {
        let products = realm.value.objects(Product.self)
        let standing = realm.value.objects(PlacedOrder.self).where { !$0.isCancelled }
        return Totals(
            version: version, received: products.sum(of: \.received), stock: products.sum(of: \.stock),
            ordered: standing.reduce(0) { $0 + $1.lines.sum(of: \.quantity) }, owed: standing.sum(of: \.total),
            spent: realm.value.objects(Buyer.self).sum(of: \.spent))
    }

    // MARK: Changes

    /// What has changed since another snapshot; everything if there is none.
    ///
    /// - Throws: `Realm.Error`.
    func event(since last: Snapshot?) throws -> EventDocument {
        guard let last else { return try EventDocument(version: version, changes: everything) }
        let changes = try realm.value.changes(from: last.version, to: version).compactMap { change in
            // Embedded objects have no key. They are told as a part of what they belong to.
            try (change.primaryKey as? String).map { try document(of: change, $0) }
        }
        return EventDocument(version: version, changes: changes)
    }

    private func document(of change: Realm.Change, _ key: String) throws -> ChangeDocument {
        let kind: ChangeDocument.Kind =
            switch change.kind {
            case .inserted: .inserted
            case .modified: .modified
            case .deleted: .deleted
            }
        let names = Set(change.properties.map(\.name))
        let fields = try kind == .deleted ? [:] : fields(change.objectType, key).filter { names.contains($0.key) }
        return ChangeDocument(kind: kind, type: change.objectType, key: key, properties: fields)
    }

    /// The properties of an object of this version.
    private func fields(_ type: String, _ key: String) throws -> [String: JSON] {
        switch type {
        case "Product": try JSON(product(key)).fields
        case "Buyer":
            try JSON(realm.value.object(ofType: Buyer.self, forPrimaryKey: key).map(BuyerDocument.init)).fields
        default: try JSON(order(key)).fields
        }
    }

    private var everything: [ChangeDocument] {
        get throws {
            func inserted(_ type: String, _ key: String, _ document: some Encodable) throws -> ChangeDocument {
                ChangeDocument(kind: .inserted, type: type, key: key, properties: try JSON(document).fields)
            }
            let all = document
            return try all.products.map { try inserted("Product", $0.sku, $0) }
                + all.buyers.map { try inserted("Buyer", $0.name, $0) }
                + all.orders.map { try inserted("PlacedOrder", $0.id, $0) }
        }
    }
}
