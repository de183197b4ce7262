import Firn
import FirnTestSupport
import Foundation
import Testing

/// A random program that changes objects, here and on another thread, whose projections are read, observed, frozen and
/// handed over, beside an oracle that knows what they show.
@MainActor
final class ProjectionProgram: RandomProgram {
    private let seed: UInt64
    private var random: SeededRandom
    private let realm: Realm
    private let storeName: String
    private var cards: [Int: PlainCard] = [:]
    private var observers: [ProjectionFollower] = []
    private var results: [FollowedCollection<Results<LinkedCard>>] = []
    private var values: [FollowedCollection<ProjectedCollection<String>>] = []
    private var optionals: [FollowedCollection<ProjectedCollection<String?>>] = []
    private var frozen: [(card: LinkedCard, texts: [String: String])] = []
    private var log: [String] = []
    private(set) var compared = 0

    init(seed: UInt64) throws {
        self.seed = seed
        random = SeededRandom(seed: seed)
        storeName = "cards \(seed) \(UUID())"
        realm = try Realm(
            configuration: .init(inMemoryIdentifier: storeName, objectTypes: [CardBase.self, CardPart.self]))
    }

    func run() async throws {
        try write(25, elsewhere: false)
        follow()
        for id in cards.keys.sorted() { observe(id) }
        await deliverEverything(of: realm)
        for step in 0..<8 {
            log = []
            try write(random.below(5) + 1, elsewhere: random.below(3) > 0)
            await deliverEverything(of: realm)
            check()
            if step == 3 { for id in cards.keys.sorted() { observe(id) } }
            if let id = cards.keys.sorted().randomElement(using: &random) { try await handOver(id) }
        }
        for observer in observers { compared += observer.end() }
        for followed in results {
            compared += followed.frames
            followed.end()
        }
        for followed in values {
            compared += followed.frames
            followed.end()
        }
        for followed in optionals {
            compared += followed.frames
            followed.end()
        }
    }

    private func write(_ count: Int, elsewhere: Bool) throws {
        let changes = (0..<count).map { _ in
            let change = change()
            change.apply(&cards)
            return change
        }
        let isProjected = random.below(2) == 0
        log.append("\(elsewhere ? "elsewhere" : "here") \(changes)")
        for observer in observers { observer.isOwn = !elsewhere }
        if elsewhere {
            try onAnotherThread(storeName, types: [CardBase.self, CardPart.self]) { realm in
                try realm.write { for change in changes { change.apply(realm, isProjected: isProjected) } }
            }
        } else {
            try realm.write { for change in changes { change.apply(realm, isProjected: isProjected) } }
        }
    }

    private func card(_ id: Int) -> LinkedCard? {
        realm.object(ofType: CardBase.self, forPrimaryKey: id).map { LinkedCard(projecting: $0) }
    }

    // MARK: Checks

    private func check() {
        let shown = realm.objects(LinkedCard.self)
        #expect(shown.count == cards.count, "seed \(seed)")
        for card in shown { compare(card.texts, expected: PlainCard.texts(card.id, cards), what: "\(card.id)") }
        for (card, texts) in frozen {
            compare(card.texts, expected: texts, what: "frozen \(card.id)")
            let thawed = card.thaw()
            if thawed.map({ $0.isFrozen || $0.texts != PlainCard.texts(card.id, cards) }) ?? false {
                Issue.record("seed \(seed): thawed \(card.id) is \(thawed!.texts)")
            }
        }
        if frozen.count > 3 { frozen.removeFirst() }
        for observer in observers { observer.check("seed \(seed)", cards: cards, log: log) }
        for followed in results { followed.check("seed \(seed) \(log)") }
        for followed in values { followed.check("seed \(seed) \(log)") }
        for followed in optionals { followed.check("seed \(seed) \(log)") }
        let found = realm.objects(LinkedCard.self).where { $0.city == "Bern" || $0.nextName == "a" }
        let expected = cards.keys.filter { id in
            cards[id]?.part?.city == "Bern" || cards[id]?.next.flatMap { cards[$0]?.name } == "a"
        }
        #expect(Set(found.map(\.id)) == Set(expected), "seed \(seed): a query of projections \(log)")
    }

    private func compare(_ found: [String: String], expected: [String: String]?, what: String) {
        if found == expected { return }
        for (name, text) in found where text != expected?[name] {
            Issue.record("seed \(seed): \(what).\(name) is \(text), not \(expected?[name] as Any); \(log)")
        }
    }

    /// Freezes a projection, and reads it and the live one on another thread.
    private func handOver(_ id: Int) async throws {
        guard let card = card(id) else { return }
        let expected = card.texts
        nonisolated(unsafe) let copy = card.freeze()
        let reference = ThreadSafeReference(to: card)
        frozen.append((copy, expected))
        let texts = await Task.detached { copy.texts }.value
        compare(texts, expected: expected, what: "frozen elsewhere \(id)")
        nonisolated(unsafe) var resolved: [String: String]?
        try onAnotherThread(storeName, types: [CardBase.self, CardPart.self]) { realm in
            resolved = realm.resolve(reference)?.texts
        }
        compare(resolved ?? [:], expected: expected, what: "handed over \(id)")
        if resolved == nil { Issue.record("seed \(seed): \(id) was not handed over") }
    }

    // MARK: Observers

    private func observe(_ id: Int) {
        guard let card = card(id) else { return }
        let chosen = LinkedCard.keyPaths.filter { _ in random.below(4) == 0 }
        observers.append(ProjectionFollower(card, chosen: random.below(2) == 0 ? [] : chosen))
        switch random.below(4) {
        case 0: values.append(projected("\(id).names", card.names))
        case 1: optionals.append(projected("\(id).cities", card.cities))
        case 2: values.append(projected("\(id).partCities", card.partCities))
        default: values.append(projected("\(id).sourceNames", card.sourceNames))
        }
    }

    private func projected<Element>(
        _ what: String, _ collection: ProjectedCollection<Element>
    ) -> FollowedCollection<ProjectedCollection<Element>> {
        FollowedCollection(what, collection, read: { $0.isInvalidated ? [] : $0.map { "\($0)" } }) { $0.observe($1) }
    }

    private func follow() {
        let all = realm.objects(LinkedCard.self)
        func text(_ card: LinkedCard) -> String {
            let texts = card.texts
            return ["id", "name", "number", "city", "nextName", "nextNextNumber", "names", "ints", "counts"]
                .map { texts[$0] ?? "" }.joined(separator: " ")
        }
        results = [
            FollowedCollection(what: "all", collection: all, text),
            FollowedCollection(
                what: "sorted", collection: all.sorted(by: \.name).sorted(by: \.number, ascending: false), text),
            FollowedCollection(what: "filtered", collection: all.where { $0.number > 1 || $0.nextName == "b" }, text),
            FollowedCollection(what: "by city", collection: all.where { $0.city != nil }.sorted(by: \.city), text),
            FollowedCollection(what: "chosen", collection: all.sorted(by: \.id), keyPaths: ["name", "next.name"]) {
                "\($0.id) \($0.name) \($0.nextName ?? "nil")"
            },
        ]
    }

    // MARK: Random changes

    private static let names = ["", "a", "b", "é", "👩‍👩‍👧", "long \(String(repeating: "x", count: 40))"]

    private func name() -> String { Self.names[random.below(Self.names.count)] }
    private func someone() -> Int? { cards.keys.sorted().randomElement(using: &random) }
    private func city() -> String { ["Bern", "Rom", ""][random.below(3)] }

    private func any(_ depth: Int) -> PlainCard.PlainAny {
        switch random.below(depth < 2 ? 6 : 4) {
        case 0: .none
        case 1: .number(random.below(3))
        case 2: .text(name())
        case 3: someone().map { .link($0) } ?? .none
        case 4: .entry(any(depth + 1))
        default: .list((0..<random.below(3)).map { _ in any(depth + 1) })
        }
    }

    private func change() -> ProjectionChange {
        let id = random.below(7)
        guard cards[id] != nil else { return .create(id) }
        switch random.below(25) {
        case 0: return .delete(random.below(2) == 0 ? [id] : [id, random.below(7)])
        case 1, 2: return .name(id, name())
        case 3: return .number(id, random.below(3) == 0 ? nil : random.below(3))
        case 4: return .double(id, [0, 1.5, .infinity][random.below(3)])
        case 5: return .mood(id, CardMood.allCases[random.below(3)])
        case 6: return .any(id, any(0))
        case 7:
            let inner = random.below(2) == 0 ? nil : city()
            let part = PlainCard.PlainPart(city: city(), innerCity: inner, link: random.below(2) == 0 ? nil : someone())
            return .part(id, random.below(4) == 0 ? nil : part)
        case 8: return .city(id, city())
        case 9: return .innerCity(id, random.below(3) == 0 ? nil : city())
        case 10: return .partLink(id, random.below(3) == 0 ? nil : someone())
        case 11, 12, 13: return .next(id, random.below(5) == 0 ? nil : someone())
        case 14, 15: return .insert(id, someone() ?? id, at: random.below(10))
        case 16: return .removeAt(id, random.below(10))
        case 17: return .move(id, random.below(10), random.below(10))
        case 18: return .member(id, someone() ?? id)
        case 19: return .noMember(id, someone() ?? id)
        case 20: return random.below(3) > 0 ? .addPart(id, city()) : .removePart(id, random.below(10))
        case 21: return random.below(2) == 0 ? .ints(id, [random.below(3), 7]) : .append(id, random.below(3))
        case 22: return .word(id, name())
        case 23: return .noWord(id, name())
        default:
            return random.below(3) == 0
                ? .noCount(id, "k") : .count(id, "k", random.below(2) == 0 ? nil : random.below(3))
        }
    }
}
