import Firn
import Foundation
import Synchronization

/// What the server offers: routes to the shop, and the statuses of errors.
package struct Service: Sendable {
    private let router: Router
    private let underWay = Counter()

    package init(_ shop: Shop) {
        var router = Router()
        router.on(.PUT, "products/*") { request, names in
            let draft = try JSONDecoder().decode(ProductDraft.self, from: request.body)
            let isNew = try await shop.add(draft, sku: Service.key(names[0]))
            return try await Response(isNew ? .created : .ok, shop.snapshot().product(names[0]))
        }
        router.on(.DELETE, "products/*") { _, names in
            try await shop.deleteProduct(names[0])
            return try Response(.ok, ["deleted": names[0]])
        }
        router.on(.PUT, "orders/*") { request, names in
            let draft = try JSONDecoder().decode(OrderDraft.self, from: request.body)
            let isNew = try await shop.place(draft, id: Service.key(names[0]))
            return try await Response(isNew ? .created : .ok, shop.snapshot().order(names[0]))
        }
        router.on(.DELETE, "orders/*") { _, names in
            try await shop.cancel(names[0])
            return try await Response(.ok, shop.snapshot().order(names[0]))
        }
        router.on(.GET, "products/*") { _, names in
            guard let product = try await shop.snapshot().product(names[0]) else {
                throw ShopError.missing("there is no product \(names[0])")
            }
            return try Response(.ok, product)
        }
        router.on(.GET, "orders/*") { _, names in
            guard let order = try await shop.snapshot().order(names[0]) else {
                throw ShopError.missing("there is no order \(names[0])")
            }
            return try Response(.ok, order)
        }
        router.on(.GET, "orders") { request, _ in
            try await Response(.ok, shop.snapshot().orders(of: request.query["buyer"] ?? ""))
        }
        router.on(.GET, "store") { _, _ in try await Response(.ok, shop.snapshot().document) }
        router.on(.GET, "totals") { _, _ in try await Response(.ok, shop.snapshot().totals) }
        router.on(.GET, "status") { [underWay] _, _ in try Response(.ok, ["requests": underWay.count]) }
        router.on(.GET, "events") { _, _ in
            Response(
                .events { send in
                    try await shop.follow { last, now in try await send(Response.encode(now.event(since: last))) }
                })
        }
        self.router = router
    }

    /// The response to any request. Errors have a JSON body that says what is wrong.
    package func respond(to request: Request) async -> Response {
        underWay.add(1)
        defer { underWay.add(-1) }
        do { return try await router.respond(to: request) } catch {
            switch error {
            case let error as DecodingError: return Response(.badRequest, error: error.fault)
            case ShopError.missing(let text): return Response(.notFound, error: text)
            case ShopError.conflict(let text): return Response(.conflict, error: text)
            case ShopError.invalid(let text): return Response(.badRequest, error: text)
            case Realm.Error.invalidInput: return Response(.badRequest, error: "\(error)")
            case Realm.Error.tooManyActiveVersions, Realm.Error.outOfDiskSpace:
                return Response(.serviceUnavailable, error: "\(error)")
            default: return Response(.internalServerError, error: "\(error)")
            }
        }
    }

    /// A name from the path that may become a key.
    private static func key(_ name: String) throws -> String {
        guard isText(name) else {
            throw ShopError.invalid("the name in the path has control characters, or is longer than 200 bytes")
        }
        return name
    }
}

/// How many requests are under way.
private final class Counter: Sendable {
    // Atomic, because requests are answered on any thread.
    private let value = Atomic<Int>(0)

    var count: Int { value.load(ordering: .relaxed) }
    func add(_ number: Int) { value.wrappingAdd(number, ordering: .relaxed) }
}
