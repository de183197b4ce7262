import Firn
import FirnTestSupport
import Foundation
import Testing

enum SectionMood: String, PersistableEnum { case calm, wild, sad }

class SectionRow: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var number: Int?
    @Persisted(indexed: true) var text = ""
    @Persisted var double = 0.0
    @Persisted var date: Date?
    @Persisted var mood = SectionMood.calm
    @Persisted var flag = false
    @Persisted var link: SectionRow?
    @Persisted var list: List<SectionRow>
    @Persisted var set: MutableSet<SectionRow>
    @Persisted var words: List<String>
    @Persisted var numbers: MutableSet<Double>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }

    /// Computed from one property, by which the elements are sorted then.
    var initial: String { String(text.prefix(1)) }
    /// Computed from one property, and not in its order.
    var parity: Int { (number ?? -1) & 1 }

    /// All that makes an element count as modified.
    var content: String {
        Self.content(
            id, number: number, text: text, double: double, date: date, mood: mood, flag: flag, link: link?.id,
            linked: link?.text)
    }

    static func content(
        _ id: Int, number: Int?, text: String, double: Double, date: Date?, mood: SectionMood, flag: Bool,
        link: Int?, linked: String?
    ) -> String {
        let values: [Any?] = [id, number, text, double, date?.timeIntervalSinceReferenceDate, mood, flag, link, linked]
        return values.map { $0.map { "\($0)" } ?? "nil" }.joined(separator: " ")
    }
}

class SectionCard: Projection<SectionRow> {
    @Projected(\SectionRow.id) var id
    @Projected(\SectionRow.number) var shownNumber
    @Projected(\SectionRow.initial) var initial
    @Projected(\SectionRow.mood) var mood
    @Projected(\SectionRow.link?.number) var linkedNumber
}

/// A random program that changes objects, beside an oracle that sorts and divides them. Its sections are read, frozen
/// and observed.
@MainActor
final class SectionProgram: RandomProgram {
    let seed: UInt64
    var random: SeededRandom
    let realm: Realm
    private let name: String
    var rows: [Int: Row] = [:]
    /// The order in which the objects were made.
    private var order: [Int] = []
    private var owner: SectionRow?
    private var followed: [any FollowsSections] = []
    private(set) var compared = 0
    private(set) var log: [String] = []

    /// What the oracle knows of an object.
    struct Row: Sendable {
        var number: Int?
        var text = ""
        var double = 0.0
        var date: Date?
        var mood = SectionMood.calm
        var flag = false
        var link: Int?
    }

    /// One change that a program makes.
    enum Change: Sendable {
        case create(Int, Row), delete([Int]), set(Int, Row), link(Int, Int?), member(Int, Int), drop(Int)
        case word(Int, String), unword(Int), number(Double), unnumber(Double), touch(Int)
    }

    init(seed: UInt64) throws {
        self.seed = seed
        random = SeededRandom(seed: seed)
        name = "sections \(seed) \(UUID())"
        realm = try Realm(configuration: .init(inMemoryIdentifier: name, objectTypes: [SectionRow.self]))
        // Owns the collections, and is in no section.
        try realm.write { owner = realm.create(SectionRow.self, value: ["id": -1]) }
    }

    func run() async throws {
        try apply((0..<12).map { _ in change() }, elsewhere: false)
        for _ in 0..<4 { follow() }
        await settle()
        for step in 0..<8 {
            log = []
            let changes = (0..<(random.below(4) + 1)).map { _ in change() }
            log.append("\(changes)")
            try apply(changes, elsewhere: random.below(2) == 0)
            if random.below(3) > 0 { await settle() }
            if step == 4 { for _ in 0..<2 { follow() } }
        }
        await settle()
        for followed in followed {
            compared += followed.frames
            followed.end()
        }
    }

    /// Delivers everything, and compares.
    private func settle() async {
        await deliverEverything(of: realm)
        for followed in followed { await followed.check(self) }
    }

    private func follow() {
        guard let owner else { return }
        followed.append(SectionChoice.random(self, owner))
    }

    /// The rows of the objects in an order: what the oracle sorts and divides.
    func rows(_ ids: [Int]) -> [(id: Int, row: Row)] { ids.compactMap { id in rows[id].map { (id, $0) } } }
    /// The identities in the order of the objects.
    var ids: [Int] { order }

    // MARK: Changes

    private static let words = ["", "a", "ab", "b", "É", "E\u{301}", "👩‍👩‍👧", "👩", "z\0y", "zz"]
    private static let doubles = [0, -0.0, 1, .nan, -.infinity, 1e-300, 1, 2]
    private static let dates: [Date?] = [
        nil, Date(timeIntervalSinceReferenceDate: 0), Date(timeIntervalSinceReferenceDate: -1e9),
        Date(timeIntervalSince1970: 0), .distantFuture,
    ]

    private func row() -> Row {
        Row(
            number: random.below(4) == 0 ? nil : random.below(4) - 1, text: Self.words[random.below(Self.words.count)],
            double: Self.doubles[random.below(Self.doubles.count)], date: Self.dates[random.below(Self.dates.count)],
            mood: SectionMood.allCases[random.below(3)], flag: random.below(2) == 0)
    }

    private func change() -> Change {
        let id = random.below(14)
        guard rows[id] != nil else {
            let new = row()
            rows[id] = new
            order.append(id)
            return .create(id, new)
        }
        switch random.below(14) {
        case 0, 1:
            let gone = random.below(3) == 0 ? [id, random.below(14), random.below(14)] : [id]
            for id in gone {
                rows[id] = nil
                order.removeAll { $0 == id }
                for other in rows.keys where rows[other]?.link == id { rows[other]?.link = nil }
            }
            return .delete(gone)
        case 2:
            let target = random.below(3) == 0 ? nil : order[random.below(order.count)]
            rows[id]?.link = target
            return .link(id, target)
        case 3, 4: return .member(id, random.below(100))
        case 5: return .drop(random.below(100))
        case 6: return .word(random.below(100), Self.words[random.below(Self.words.count)])
        case 7: return .unword(random.below(100))
        case 8: return .number(Self.doubles[random.below(Self.doubles.count)])
        case 9: return .unnumber(Self.doubles[random.below(Self.doubles.count)])
        case 10: return .touch(id)
        default:
            var new = row()
            if let old = rows[id] {
                new.link = old.link
                if random.below(2) == 0 { (new.number, new.text) = (old.number, old.text) }
            }
            rows[id] = new
            return .set(id, new)
        }
    }

    private func apply(_ changes: [Change], elsewhere: Bool) throws {
        guard elsewhere else { return try realm.write { for change in changes { Self.apply(change, realm) } } }
        try onAnotherThread(name, types: [SectionRow.self]) { realm in
            try realm.write { for change in changes { Self.apply(change, realm) } }
        }
    }

    nonisolated private static func apply(_ change: Change, _ realm: Realm) {
        func object(_ id: Int) -> SectionRow? { realm.object(ofType: SectionRow.self, forPrimaryKey: id) }
        func set(_ object: SectionRow?, _ row: Row) {
            guard let object else { return }
            (object.number, object.text, object.double) = (row.number, row.text, row.double)
            (object.date, object.mood, object.flag) = (row.date, row.mood, row.flag)
        }
        guard let owner = object(-1) else { return }
        switch change {
        case .create(let id, let row): set(realm.create(SectionRow.self, value: ["id": id]), row)
        case .delete(let ids): realm.delete(ids.compactMap(object))
        case .set(let id, let row): set(object(id), row)
        case .link(let id, let target): object(id)?.link = target.flatMap(object)
        case .member(let id, let index):
            guard let member = object(id) else { return }
            owner.list.insert(member, at: index % (owner.list.count + 1))
            owner.set.insert(member)
        case .drop(let index):
            guard !owner.list.isEmpty else { return }
            let member = owner.list[index % owner.list.count]
            owner.list.remove(at: index % owner.list.count)
            owner.set.remove(member)
        case .word(let index, let word): owner.words.insert(word, at: index % (owner.words.count + 1))
        case .unword(let index):
            if !owner.words.isEmpty { owner.words.remove(at: index % owner.words.count) }
        case .number(let number): owner.numbers.insert(number)
        case .unnumber(let number): owner.numbers.remove(number)
        case .touch(let id):
            guard let row = object(id) else { return }
            row.number = row.number
        }
    }
}
