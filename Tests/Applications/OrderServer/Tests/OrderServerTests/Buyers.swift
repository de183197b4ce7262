import Foundation

@testable import OrderServer

/// What a client asks for.
enum Wish: Sendable, Equatable {
    case add(sku: String, ProductDraft)
    case delete(sku: String)
    case place(id: String, OrderDraft)
    case cancel(id: String)

    /// Sends it. Returns the status and throws `Client.Lost`, after which it may have been done or not.
    func send(_ client: Client) async throws -> Int {
        switch self {
        case .add(let sku, let draft):
            try await client.send("PUT", "/products/\(sku)", JSONEncoder().encode(draft)).status
        case .delete(let sku): try await client.send("DELETE", "/products/\(sku)", Data()).status
        case .place(let id, let draft):
            try await client.send("PUT", "/orders/\(id)", JSONEncoder().encode(draft)).status
        case .cancel(let id): try await client.send("DELETE", "/orders/\(id)", Data()).status
        }
    }
}

/// What all clients together know of the store: what they were answered.
actor Ledger {
    enum Answer { case done, refused, none }

    private(set) var answered = 0
    private var refused = 0
    private var lost = 0
    private var duplicates = 0
    private(set) var isOver = false
    private var orders: [String: (draft: OrderDraft, placed: Answer, cancelled: Answer?)] = [:]
    private var products: [String: (draft: ProductDraft, added: Answer, deleted: Answer?)] = [:]

    var summary: String {
        "\(answered) requests answered (\(refused) refused, \(duplicates) done before), \(lost) connections lost,"
    }

    func end() { isOver = true }

    /// To be called before a wish is sent: from here on nobody knows.
    func willSend(_ wish: Wish) {
        switch wish {
        case .add(let sku, let draft): products[sku] = (draft, .none, nil)
        case .delete(let sku): products[sku]?.deleted = Answer.none
        case .place(let id, let draft): orders[id] = (draft, .none, nil)
        case .cancel(let id): orders[id]?.cancelled = Answer.none
        }
    }

    func didLose() { lost += 1 }

    /// - Parameter isRetry: whether the wish may have been done before it was answered.
    /// - Throws: `Failure` for a status that the wish must not have.
    func didAnswer(_ wish: Wish, _ status: Int, isRetry: Bool) throws -> Answer {
        answered += 1
        var answer = Answer.done
        switch (wish, status) {
        case (.add, 201), (.place, 201), (.cancel, 200), (.delete, 200): break
        case (.add, 200) where isRetry, (.place, 200) where isRetry: duplicates += 1
        case (.delete, 404) where isRetry: duplicates += 1
        case (.place, 409):
            refused += 1
            answer = .refused
        default: throw Failure("\(wish) was answered with \(status)")
        }
        switch wish {
        case .add(let sku, _): products[sku]?.added = answer
        case .delete(let sku): products[sku]?.deleted = answer
        case .place(let id, _): orders[id]?.placed = answer
        case .cancel(let id): orders[id]?.cancelled = answer
        }
        return answer
    }

    /// Throws `Failure` unless the store has what was done, nothing that was refused, and nothing else. What was not
    /// answered may be there, as a whole.
    func check(_ store: StoreDocument) throws {
        let foundOrders = Dictionary(uniqueKeysWithValues: store.orders.map { ($0.id, $0) })
        let foundProducts = Dictionary(uniqueKeysWithValues: store.products.map { ($0.sku, $0) })
        for (id, (draft, placed, cancelled)) in orders {
            let found = foundOrders[id]
            let isRight =
                switch placed {
                case .done: found?.draft == draft
                case .refused: found == nil
                case .none: found == nil || found?.draft == draft
                }
            let isCancelledRight =
                switch cancelled {
                case .done?: found?.isCancelled == true
                case Answer.none?: true
                default: found?.isCancelled != true
                }
            guard isRight, isCancelledRight else {
                throw Failure("order \(id): \(draft), \(placed), \(String(describing: found))")
            }
        }
        for (sku, (draft, added, deleted)) in products {
            let found = foundProducts[sku]
            let isThere = found?.name == draft.name && found?.attributes == draft.attributes
            let isRight =
                switch (added, deleted) {
                case (.done, nil): isThere
                case (_, .done?): found == nil
                default: found == nil || isThere
                }
            guard isRight else { throw Failure("product \(sku): \(draft), \(added), \(String(describing: found))") }
        }
        guard foundOrders.keys.allSatisfy({ orders[$0] != nil }), foundProducts.keys.allSatisfy({ products[$0] != nil })
        else { throw Failure("the store has what nobody has asked for") }
    }
}

/// A client that makes up wishes.
struct Buyer: Sendable {
    static let goods = ["tea", "pots", "cups", "rare"]

    let number: Int
    private var random: SplitMix
    private var placed: [String] = []
    private var added: [String] = []
    private var count = 0

    init(_ number: Int) {
        self.number = number
        random = SplitMix(state: UInt64(number) &* 7919 &+ 15)
    }

    mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }

    mutating func wish() -> Wish {
        count += 1
        let kind = below(10)
        if kind == 0 { return .add(sku: "own-\(number)-\(count)", .random(&random, received: below(50))) }
        if kind == 1, let sku = added.popLast() { return .delete(sku: sku) }
        if kind < 4, !placed.isEmpty { return .cancel(id: placed.remove(at: below(placed.count))) }
        let skus = Self.goods.shuffled(using: &random).prefix(1 + below(3))
        let lines = skus.map { OrderDraft.Line(sku: $0, quantity: 1 + below(5)) }
        let address = OrderDraft.Address(street: "Rue de l'Été \(below(100)) 🏠", city: "東京")
        return .place(
            id: "order-\(number)-\(count)", OrderDraft(buyer: "buyer \(below(4))", lines: lines, address: address))
    }

    /// Remembers what can be cancelled or deleted later.
    mutating func note(_ wish: Wish, _ answer: Ledger.Answer) {
        guard answer == .done else { return }
        if case .place(let id, _) = wish { placed.append(id) }
        if case .add(let sku, _) = wish { added.append(sku) }
    }
}

extension ProductDraft {
    static func random(_ random: inout SplitMix, received: Int) -> ProductDraft {
        ProductDraft(
            name: "Good \(Int.random(in: 0..<100, using: &random)) ☕️", price: .random(in: 1...500, using: &random),
            weight: Double(Int.random(in: 1...80, using: &random)) / 8, received: received,
            attributes: ["colour": "blue", "n": "\(received)"])
    }
}

/// The splitmix64 generator: the same numbers each time.
struct SplitMix: RandomNumberGenerator, Sendable {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
