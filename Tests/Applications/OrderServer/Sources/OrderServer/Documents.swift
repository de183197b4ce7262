import Firn

// What the server says of its objects. Each document has the names of the properties that are stored, so that a change
// of these can be told by name.

/// What the store has of a product.
package struct ProductDocument: Codable, Sendable, Equatable {
    package let sku: String
    package let name: String
    package let price: Int
    package let weight: Double
    package let received: Int
    package let stock: Int
    package let attributes: [String: String]

    init(_ product: Product) {
        (sku, name, price, weight) = (product.sku, product.name, product.price, product.weight)
        (received, stock) = (product.received, product.stock)
        attributes = Dictionary(uniqueKeysWithValues: product.attributes.map { ($0.key, $0.value) })
    }
}

/// What the store has of a buyer.
package struct BuyerDocument: Codable, Sendable, Equatable {
    package let name: String
    package let spent: Int

    init(_ buyer: Buyer) { (name, spent) = (buyer.name, buyer.spent) }
}

/// What the store has of an order.
package struct OrderDocument: Codable, Sendable, Equatable {
    package struct Line: Codable, Sendable, Equatable {
        package let sku: String
        package let quantity: Int
        package let price: Int
    }
    package let id: String
    package let buyer: String
    package let lines: [Line]
    package let address: OrderDraft.Address
    package let total: Int
    package let isCancelled: Bool

    init(_ order: PlacedOrder) {
        id = order.id
        buyer = order.buyer?.name ?? ""
        lines = order.lines.map { Line(sku: $0.product?.sku ?? "", quantity: $0.quantity, price: $0.price) }
        address = OrderDraft.Address(street: order.address?.street ?? "", city: order.address?.city ?? "")
        (total, isCancelled) = (order.total, order.isCancelled)
    }

    /// What the client has sent.
    package var draft: OrderDraft {
        OrderDraft(
            buyer: buyer, lines: lines.map { OrderDraft.Line(sku: $0.sku, quantity: $0.quantity) }, address: address)
    }
}

/// All that the store has, at one version.
package struct StoreDocument: Codable, Sendable {
    package let version: UInt64
    package let products: [ProductDocument]
    package let buyers: [BuyerDocument]
    package let orders: [OrderDocument]
}

/// Sums over the whole store, at one version.
package struct Totals: Codable, Sendable, Equatable {
    package let version: UInt64
    package let received: Int
    package let stock: Int
    /// How many goods the orders that stand have.
    package let ordered: Int
    /// The totals of the orders that stand, and what the buyers have spent.
    package let owed: Int
    package let spent: Int
}

/// What has changed between two versions: one event of the stream.
package struct ChangeDocument: Codable, Sendable {
    package enum Kind: String, Codable, Sendable { case inserted, modified, deleted }

    package let kind: Kind
    package let type: String
    package let key: String
    /// The properties that differ, with their new values; none of a deleted object.
    package let properties: [String: JSON]
}

/// An event of the stream. The first one has everything inserted; each other one leads from the version of the one
/// before to its own.
package struct EventDocument: Codable, Sendable {
    package let version: UInt64
    package let changes: [ChangeDocument]
}
