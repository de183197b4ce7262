@testable import Firn
import FirnTestSupport
import Foundation
import Testing

private class Feed: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var posts: List<Writer>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Writer: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var home: Home?
    @Persisted var homes: List<Home>
    @Persisted var named: Map<String, Home?>
    @Persisted var next: Writer?
    @Persisted var any: AnyRealmValue
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Home: EmbeddedObject {
    @Persisted var city = "nowhere"
    @Persisted var street = "none"
    @Persisted var inner: Home?
    @Persisted var owner: Writer?
    @Persisted var any: AnyRealmValue
    @Persisted var neighbours: List<Writer>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// One call that gives an object several values: the later one counts (R57; SEMANTICS 27, 38).
@Suite(.timeLimit(.minutes(20))) struct EmbeddedTwiceTests {
    private typealias Values = [String: Any]

    private func realm() throws -> Realm {
        let realm = try memoryRealm([Feed.self, Writer.self, Home.self])
        try realm.write {
            let home: Values = ["city": "Bern", "street": "A", "inner": ["city": "inside"]]
            realm.create(
                Writer.self, value: ["id": 1, "home": home, "homes": [home, home], "named": ["a": home, "b": home]])
        }
        return realm
    }

    private func text(_ home: Home?) -> String {
        home.map { "\($0.city) \($0.street)\($0.inner.map { " (\(text($0)))" } ?? "")" } ?? "nil"
    }

    private func text(_ writer: Writer) -> [String] {
        [text(writer.home), writer.homes.map(text).joined(separator: ", ")]
            + writer.named.keys.sorted().map { "\($0): \(text(writer.named[$0] ?? nil))" }
    }

    /// What the values give when each is applied by a call of its own.
    @Test(arguments: [false, true]) func severalValuesForOneObjectCountInTheirOrder(isNew: Bool) throws {
        let accented = Writer()
        for key in ["\u{e9}", "e\u{301}"] { accented.named[key] = Home() }
        let some: [Values] = [
            ["home": ["city": "Basel"]], ["home": NSNull()], ["home": ["street": "B", "inner": ["street": "C"]]],
            ["home": ["inner": NSNull()]], ["homes": [["city": "Chur"]]], ["homes": [Values]()],
            ["homes": [["street": "D"], ["city": "Genf", "inner": ["city": "i"]], ["city": "Thun"]]],
            ["named": ["a": NSNull(), "c": ["city": "Olten"]]],
            ["named": ["a": ["street": "E"], "b": ["inner": NSNull()]]],
            ["named": Values()], ["home": ["owner": ["id": 1]], "homes": [["owner": ["id": 2]]]],
            // A text that Swift holds to be equal to another key is another key.
            ["named": ["\u{e9}": ["city": "F"]]], ["home": ["inner": ["city": "G"]]],
            ["named": accented.named],
        ]
        for policy in [Realm.UpdatePolicy.modified, .all] {
            for (i, first) in some.enumerated() {
                for (j, second) in some.enumerated() {
                    let values = [first, second, some[(3 * i + j) % some.count]].map { $0.merging(["id": 1]) { $1 } }
                    let (one, several) = (try realm(), try realm())
                    if isNew { for realm in [one, several] { try realm.write { realm.deleteAll() } } }
                    try one.write {
                        try one.create(Feed.self, validating: ["id": 1, "posts": values], update: policy)
                    }
                    try several.write {
                        for value in values { several.create(Writer.self, value: value, update: policy) }
                    }
                    let writers = [one, several].map { $0.object(ofType: Writer.self, forPrimaryKey: 1)! }
                    #expect(text(writers[0]) == text(writers[1]), "\(values) \(policy)")
                    #expect(
                        one.dynamicObjects("Home").count == several.dynamicObjects("Home").count,
                        "\(values) \(policy)")
                    one.instance.store._checkInvariants()
                }
            }
        }
    }

    /// The instance that was entered last counts in every property, as if each had been added by a call of its own.
    @Test(arguments: [Realm.UpdatePolicy.modified, .all], 0..<6 as Range<UInt64>)
    func ofSeveralInstancesOfOneObjectTheLastCounts(policy: Realm.UpdatePolicy, seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        /// An instance of an object that has everything, or hardly anything.
        func writer(_ id: Int, _ tag: String) -> () -> Writer {
            let (bits, other) = (random.next(), 10 + random.below(3))
            func has(_ bit: UInt64) -> Bool { bits >> bit & 1 == 1 }
            return {
                let writer = Writer(value: [id])
                if has(0) {
                    writer.home = Home(
                        value: ["city": tag, "inner": has(1) ? Home(value: ["city": "in"]) : NSNull()] as Values)
                    if has(9) { writer.home?.owner = Writer(value: [20 + other]) }
                    if has(10) { writer.home?.neighbours.append(Writer(value: [30 + other])) }
                }
                if has(2) { writer.homes.append(Home(value: ["city": tag])) }
                if has(3) { writer.named["a"] = Home(value: ["city": tag]) }
                if has(4) { writer.named["b"] = .some(nil) }
                if has(5) { writer.next = Writer(value: [other]) }
                if has(6) {
                    writer.any = has(7) ? .object(Writer(value: [other])) : .string(tag)
                } else if has(7) {
                    writer.any = .fromArray([.string(tag), .object(Writer(value: [other]))])
                }
                // Reading makes the collection; an empty one counts like one that was never read.
                if has(8) { _ = writer.homes }
                return writer
            }
        }
        for round in 0..<40 {
            let makers = (0..<2 + random.below(3)).map { writer(1 + random.below(2), "\(round) \($0)") }
            let (one, several) = (try realm(), try realm())
            try one.write {
                let feed = Feed(value: [1])
                feed.posts.append(objectsIn: makers.map { $0() })
                one.add(feed, update: policy)
            }
            try several.write { for make in makers { several.add(make(), update: policy) } }
            let texts = [one, several].map { realm in
                realm.objects(Writer.self).sorted(by: \.id).map {
                    text($0) + ["\($0.id) \($0.next?.id ?? 0) \(anyText($0.any))"]
                }
            }
            #expect(texts[0] == texts[1], "round \(round)")
            #expect(one.dynamicObjects("Home").count == several.dynamicObjects("Home").count)
        }
    }

    /// Several values for one object whose type is stored as an embedded object, too.
    @Test func severalValuesOfAMappedPropertyCountInTheirOrder() throws {
        let realm = try memoryRealm([Hotel.self, Home.self, Writer.self])
        for id in [1, 2] {
            try realm.write {
                if id == 2 { realm.create(Hotel.self, value: ["id": 2, "place": ["city": "old"]]) }
                realm.create(
                    Hotel.self,
                    value: [
                        "id": 0,
                        "others": [
                            ["id": id, "place": ["city": "Basel"], "places": [["city": "Chur"]]],
                            ["id": id, "place": ["street": "B"], "places": [["street": "D"], ["city": "x"]]],
                        ],
                    ], update: .modified)
            }
            let hotel = try #require(realm.object(ofType: Hotel.self, forPrimaryKey: id))
            #expect(hotel.place.text == "Basel B" && hotel.places.map(\.text) == ["Chur D", "x none"])
        }
    }

    private struct Place: CustomPersistable {
        let (city, street): (String, String)
        var text: String { "\(city) \(street)" }
        init(persistedValue: Home) { (city, street) = (persistedValue.city, persistedValue.street) }
        var persistableValue: Home { Home(value: ["city": city, "street": street]) }
    }

    private class Hotel: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var place: Place
        @Persisted var places: List<Place>
        @Persisted var others: List<Hotel>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    private func anyText(_ value: AnyRealmValue) -> String {
        switch value {
        case .object(let object as Writer): "writer \(object.id)"
        case .list(let list): list.map(anyText).joined(separator: ", ")
        default: "\(value.stringValue ?? "none")"
        }
    }

    /// The object is reached again through its own embedded objects, and loses them then.
    @Test func anAddedObjectThatTakesItsEmbeddedObjectsAwayIsNoDamage() throws {
        for policy in [Realm.UpdatePolicy.modified, .all] {
            for variant in 0..<5 {
                for isNew in [false, true] {
                    let realm = try realm()
                    if isNew { try realm.write { realm.deleteAll() } }
                    let (writer, twin) = (Writer(value: [1]), Writer(value: [1]))
                    let home = Home()
                    switch variant {
                    case 0: home.owner = twin
                    case 1: home.any = .object(twin)
                    case 2: home.neighbours.append(objectsIn: [twin, Writer(value: [2])])
                    case 3: home.inner = Home(value: ["owner": twin])
                    default: home.any = AnyRealmValue.fromArray([.object(twin), .object(Writer(value: [3]))])
                    }
                    writer.home = home
                    if variant % 2 == 0 { writer.named["x"] = Home(value: ["city": "x", "owner": twin]) }
                    try realm.write { realm.add(writer, update: policy) }
                    let found = try #require(realm.object(ofType: Writer.self, forPrimaryKey: 1))
                    let parents = found.homes.count + found.named.count + (found.home == nil ? 0 : 1)
                    #expect(parents <= realm.dynamicObjects("Home").count, "\(policy) \(variant)")
                    // No embedded object is without its parent.
                    try realm.write { realm.deleteAll() }
                    #expect(realm.dynamicObjects("Home").isEmpty && realm.isEmpty)
                    try realm.write { realm.create(Writer.self, value: ["id": 1, "home": ["city": "again"]]) }
                    #expect(realm.dynamicObjects("Home").count == 1)
                }
            }
        }
    }
}
