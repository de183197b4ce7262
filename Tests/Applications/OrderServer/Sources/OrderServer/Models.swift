import Firn

/// Something that is sold. `received` equals `stock` plus what the orders that stand have of it.
final class Product: Object {
    @Persisted(primaryKey: true) var sku: String
    @Persisted var name = ""
    /// In cents.
    @Persisted var price = 0
    /// In kilograms.
    @Persisted var weight = 0.0
    /// How many have ever arrived.
    @Persisted var received = 0
    /// How many can still be ordered.
    @Persisted var stock = 0
    @Persisted var attributes: Map<String, String>
}

/// Someone who has ordered. `spent` equals the sum of the totals of the buyer's orders that stand.
final class Buyer: Object {
    @Persisted(primaryKey: true) var name: String
    /// In cents.
    @Persisted var spent = 0
}

/// An order. Its primary key is chosen by the client, so that a request that is sent twice orders once.
final class PlacedOrder: Object {
    @Persisted(primaryKey: true) var id: String
    @Persisted var buyer: Buyer?
    @Persisted var lines: List<OrderLine>
    @Persisted var address: PostalAddress?
    /// In cents.
    @Persisted var total = 0
    @Persisted var isCancelled = false
}

/// A part of an order: how many of a product, at the price that it had then.
final class OrderLine: EmbeddedObject {
    @Persisted var product: Product?
    @Persisted var quantity = 0
    @Persisted var price = 0
}

/// Where an order is sent.
final class PostalAddress: EmbeddedObject {
    @Persisted var street = ""
    @Persisted var city = ""
}
