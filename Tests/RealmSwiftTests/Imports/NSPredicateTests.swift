import FirnTestSupport
import RealmSwift
import Testing

class Yacht: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name = ""
    @Persisted var length = 1.0
    @Persisted var draught: Float = 0.1
    @Persisted var built = Date(timeIntervalSince1970: 0)
    @Persisted var owner: Yacht?
    @Persisted var crew: List<String>
    @Persisted var tenders: List<Yacht>
    @Persisted var byName: Map<String, Yacht?>
    @Persisted var flags: Map<String, Int>
    @Persisted var tides: Map<String, Float>
    @Persisted var isSunk = false
    @Persisted var key = UUID()
    @Persisted var any: AnyRealmValue
    @Persisted(originProperty: "tenders") var mothers: LinkingObjects<Yacht>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }

    static let key = UUID()

    static func yachts() -> [Yacht] {
        let names = ["Ada", "Bea", "ada", "Zoë", ""]
        let yachts = names.enumerated().map { number, name in
            let yacht = Yacht()
            yacht.id = number
            yacht.name = name
            yacht.length = Double(number) * 2.5
            yacht.built = Date(timeIntervalSince1970: Double(number) * 86_400)
            yacht.crew.append(objectsIn: (0..<number).map { "hand \($0)" })
            yacht.flags["hoisted"] = number
            yacht.tides["low"] = Float(number) / 10
            yacht.isSunk = number == 3
            yacht.any = number == 2 ? .string("x") : .int(number)
            return yacht
        }
        yachts[0].tenders.append(objectsIn: [yachts[1], yachts[2]])
        yachts[1].tenders.append(yachts[3])
        yachts[2].owner = yachts[0]
        yachts[3].owner = yachts[1]
        yachts[3].byName["first"] = yachts[4]
        yachts[4].key = key
        return yachts
    }
}

/// `NSPredicate(format:)` and what is made from it, which Foundation does not have on Linux.
@Suite(.timeLimit(.minutes(20))) struct NSPredicateTests {
    private let realm: Realm
    private var yachts: Results<Yacht> { realm.objects(Yacht.self) }

    init() throws {
        realm = try Realm(configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: [Yacht.self]))
        let yachts = Yacht.yachts()
        let realm = realm
        try realm.write { realm.add(yachts) }
    }

    static var predicates: [NSPredicate] {
        let named = NSPredicate(format: "name == %@", "Ada")
        let long = NSPredicate(format: "length > %f", 4.0)
        return [
            named, long, NSPredicate(format: "length >= %@", NSNumber(value: 2.5)),
            NSPredicate(format: "name ==[c] 'ADA'"), NSPredicate(format: "name BEGINSWITH %@", "Z" as NSString),
            NSPredicate(format: "built < %@", NSDate(timeIntervalSince1970: 90_000)),
            NSPredicate(format: "draught == 0.1"), NSPredicate(format: "tides['low'] == 0.3"),
            NSPredicate(format: "ANY tides.@values >= 0.3"), NSPredicate(format: "isSunk == YES OR isSunk == %@", true),
            NSPredicate(format: "id IN %@", [1, 3, 9]),
            NSPredicate(format: "id BETWEEN {1, 3}"), NSPredicate(format: "%K == %d", "id", 2),
            NSPredicate(format: "owner.name == 'Ada'"), NSPredicate(format: "owner == nil"),
            NSPredicate(format: "owner != nil AND name != ''"), NSPredicate(format: "ANY crew == 'hand 1'"),
            NSPredicate(format: "ALL crew == 'hand 0'"), NSPredicate(format: "NONE crew == 'hand 0'"),
            NSPredicate(format: "ANY tenders.name == 'Bea'"), NSPredicate(format: "tenders.@count > 0"),
            NSPredicate(format: "tenders.@max.length >= 5"), NSPredicate(format: "crew.@count == id"),
            NSPredicate(format: "SUBQUERY(tenders, $t, $t.length > 2 AND $t.name == 'Bea').@count == 1"),
            NSPredicate(format: "owner.tenders.@count == 0"), NSPredicate(format: "ANY owner.tenders.name == nil"),
            NSPredicate(format: "NONE owner.tenders.name == 'Bea'"), NSPredicate(format: "ALL owner.crew == 'hand 0'"),
            NSPredicate(format: "ANY mothers.name == 'Ada'"), NSPredicate(format: "flags['hoisted'] > 2"),
            NSPredicate(format: "ANY flags.@values == 3"), NSPredicate(format: "byName['first'].id == 4"),
            NSPredicate(format: "key == %@", Yacht.key.uuidString), NSPredicate(format: "#any == 'x' OR #any == 3"),
            NSPredicate(format: "3 < id"), NSPredicate(format: "owner.name > nil"),
            NSPredicate(format: "name LIKE '?d*'"),
            NSPredicate(format: "NOT (name == 'Ada' OR id > 2)"), NSPredicate(format: "TRUEPREDICATE"),
            NSPredicate(format: "length > 1", argumentArray: nil),
            NSPredicate(format: "length > %@ AND id < %@", argumentArray: [1, 4]), NSPredicate(value: true),
            NSPredicate(value: false), NSCompoundPredicate(andPredicateWithSubpredicates: [named, long]),
            NSCompoundPredicate(orPredicateWithSubpredicates: [named, long]),
            NSCompoundPredicate(notPredicateWithSubpredicate: named),
            NSCompoundPredicate(type: .and, subpredicates: []), NSCompoundPredicate(type: .or, subpredicates: []),
            NSCompoundPredicate(
                orPredicateWithSubpredicates: [
                    NSCompoundPredicate(type: .and, subpredicates: [long, NSPredicate(value: true)]), named,
                ]),
        ]
    }

    /// A query finds the objects for which a predicate is true by itself: managed and unmanaged ones.
    @Test(arguments: 0..<predicates.count) func queriesAndEvaluationAgree(_ number: Int) throws {
        let predicate = Self.predicates[number]
        let text = RealmPredicate(predicate).predicateFormat
        let found = yachts.filter(predicate).map(\.id)
        #expect(yachts.filter { predicate.evaluate(with: $0) }.map(\.id) == Array(found), "\(text)")
        #expect(yachts.index(matching: predicate) == found.first, "\(text)")
        #expect(Yacht.objects(in: realm, with: predicate).count == found.count)
        let isFrozen = yachts.freeze().filter { predicate.evaluate(with: $0) }.count == found.count
        #expect(isFrozen, "\(text)")
        // Unmanaged objects have no backlinks.
        guard !text.contains("mothers") else { return }
        let unmanaged = Yacht.yachts().filter { predicate.evaluate(with: $0) }.map(\.id)
        #expect(unmanaged == Array(found), "\(text)")
    }

    @Test func predicatesFindSomething() {
        let counts = Self.predicates.map { yachts.filter($0).count }
        #expect(counts.count { $0 > 0 && $0 < 5 } > 30, "\(counts)")
    }

    @Test func whatIsWrongIsThrown() throws {
        for (text, arguments) in [
            ("length BETWEEN %@", [[5]]), ("length BETWEEN %@", [[Int]()]), ("length BETWEEN draught", []),
            ("length >", []),
            ("wings > 1", []), ("1 == 1", []), ("length > 0 OR 'a' IN {'a'}", []), ("%@ == 'a'", ["a"]),
        ] as [(String, [Any])] {
            #expect(throws: Realm.Error.self, "\(text)") {
                try RealmPredicate(format: text, argumentArray: arguments).holds(for: yachts[2])
            }
        }
    }

    /// A predicate that is gone holds no argument, however few others are made.
    @Test func argumentsGoWithTheirPredicate() {
        weak var argument: Yacht?
        autoreleasepool {
            let yacht = Yacht()
            argument = yacht
            let predicate = NSPredicate(format: "owner == %@", yacht)
            #expect(RealmPredicate(predicate).arguments.count == 1)
        }
        #expect(argument == nil)
    }

    @Test func dictionariesAreEvaluated() {
        let dictionary: [String: Any] = [
            "name": "Ada", "length": 3, "tags": ["a", "b"], "owner": ["name": "Bob"], "nothing": NSNull(),
        ]
        for (text, holds) in [
            ("name == 'Ada' AND length > 2", true), ("owner.name BEGINSWITH 'B'", true), ("ANY tags == 'b'", true),
            ("tags.@count == 3", false), ("missing == nil AND nothing == nil", true), ("length > 5", false),
        ] { #expect(NSPredicate(format: text).evaluate(with: dictionary) == holds, "\(text)") }
    }

    @Test func linksAreComparedByRow() throws {
        let first = yachts[0]
        let predicate = NSPredicate(format: "owner == %@", first)
        #expect(yachts.filter(predicate).map(\.id) == [2])
        #expect(yachts.filter { predicate.evaluate(with: $0) }.map(\.id) == [2])
        #expect(NSPredicate(format: "SELF IN %@", [yachts[1], yachts[3]]).evaluate(with: yachts[3]))
    }

    /// Texts are kept for as long as their predicates, however many there are.
    @Test func textsOfPredicatesThatAreGoneAreForgotten() {
        var kept: [NSPredicate] = []
        for number in 0..<5000 {
            let predicate = NSPredicate(format: "id == %d", number)
            if number % 100 == 0 { kept.append(predicate) }
            #expect(RealmPredicate(predicate).arguments as? [Int] == [number])
        }
        for (number, predicate) in kept.enumerated() {
            #expect(RealmPredicate(predicate).arguments as? [Int] == [number * 100])
        }
    }

    private enum Mistake: String, CaseIterable, Codable {
        case block, blockInside, unknownName, number, none

        var message: String {
            switch self {
            case .block, .blockInside: "made from a block"
            case .unknownName: "has no property"
            case .number: "has no properties"
            case .none: "was evaluated with nil"
            }
        }
    }

    @Test(arguments: Mistake.allCases) private func misuseStops(_ mistake: Mistake) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [mistake] in
            let realm = try Realm(configuration: .init(inMemoryIdentifier: "misuse", objectTypes: [Yacht.self]))
            // A user's block is never called.
            let block = NSPredicate { _, _ in
                print("called")
                return true
            }
            switch mistake {
            case .block: _ = realm.objects(Yacht.self).filter(block)
            case .blockInside:
                _ = realm.objects(Yacht.self).filter(
                    NSCompoundPredicate(type: .or, subpredicates: [NSPredicate(value: true), block]))
            case .unknownName: _ = NSPredicate(format: "wings > 1").evaluate(with: Yacht())
            case .number: _ = NSPredicate(format: "wings > 1").evaluate(with: 5)
            case .none: _ = NSPredicate(format: "wings > 1").evaluate(with: nil)
            }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("Firn: ") && text.contains(mistake.message), "\(text)")
    }
}
