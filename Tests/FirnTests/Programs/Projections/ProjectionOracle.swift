import Firn

/// What the oracle knows of an object.
struct PlainCard: Sendable {
    var name = ""
    var number: Int?
    var double = 0.0
    var mood = CardMood.calm
    var any = PlainAny.none
    var part: PlainPart?
    var next: Int?
    var list: [Int] = []
    var set: Set<Int> = []
    var parts: [PlainPart] = []
    var ints: [Int] = []
    var words: Set<String> = []
    var counts: [String: Int?] = [:]

    indirect enum PlainAny: Sendable {
        case none, number(Int), text(String), link(Int), list([PlainAny]), entry(PlainAny)
    }

    struct PlainPart: Sendable {
        var city = "?"
        var innerCity: String?
        var link: Int?
    }

    mutating func remove(_ id: Int) {
        if next == id { next = nil }
        list.removeAll { $0 == id }
        set.remove(id)
        any = any.without(id)
        if part?.link == id { part?.link = nil }
    }

    /// What the projection of the object with an identity shows.
    static func texts(_ id: Int, _ cards: [Int: PlainCard]) -> [String: String]? {
        guard let card = cards[id] else { return nil }
        let next = card.next.flatMap { cards[$0] }
        func name(_ id: Int?) -> String? { id.flatMap { cards[$0]?.name } }
        return [
            "id": "\(id)", "name": card.name, "again": card.name, "number": CardText.of(card.number),
            "double": "\(card.double)", "mood": "\(card.mood)", "any": card.any.text,
            "title": "\(card.name) \(card.number ?? 0)", "length": "\(card.name.count)",
            "city": CardText.of(card.part?.city), "innerCity": CardText.of(card.part?.innerCity),
            "partLinkName": CardText.of(name(card.part?.link)), "next": card.next.map { "#\($0)" } ?? "nil",
            "nextName": CardText.of(next?.name),
            "nextNextNumber": CardText.of(next?.next.flatMap { cards[$0]?.number }),
            "nextCity": CardText.of(next?.part?.city), "ints": "\(card.ints)", "words": "\(card.words.sorted())",
            "counts": "\(card.counts.map { "\($0.key):\(CardText.of($0.value))" }.sorted())",
            "listNames": card.list.compactMap(name).joined(separator: ","),
            "names": "\(card.list.compactMap(name))",
            "cities": "\(card.list.map { CardText.of(cards[$0]?.part?.city) })",
            "numbers": "\(card.set.map { CardText.of(cards[$0]?.number) }.sorted())",
            "partCities": "\(card.parts.map(\.city))",
            "sourceNames": "\(cards.values.filter { $0.next == id }.map(\.name).sorted())",
        ]
    }
}

extension PlainCard.PlainAny {
    func without(_ id: Int) -> PlainCard.PlainAny {
        switch self {
        case .link(id): .none
        case .list(let elements): .list(elements.map { $0.without(id) })
        case .entry(let value): .entry(value.without(id))
        default: self
        }
    }

    var text: String {
        switch self {
        case .none: "none"
        case .number(let number): "\(number)"
        case .text(let text): "\(AnyRealmValue.string(text))"
        case .link(let id): "#\(id)"
        case .list(let elements): "[\(elements.map(\.text).joined(separator: ","))]"
        case .entry(let value): "{\(value.text)}"
        }
    }

    func value(_ realm: Realm) -> AnyRealmValue {
        switch self {
        case .none: .none
        case .number(let number): .int(number)
        case .text(let text): .string(text)
        case .link(let id): realm.object(ofType: CardBase.self, forPrimaryKey: id).map { .object($0) } ?? .none
        case .list(let elements): .fromArray(elements.map { $0.value(realm) })
        case .entry(let value): .fromDictionary(["k": value.value(realm)])
        }
    }
}
