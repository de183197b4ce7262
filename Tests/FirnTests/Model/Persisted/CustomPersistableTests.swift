import Firn
import Foundation
import Testing

private struct Celsius: CustomPersistable {
    var degrees: Double
    init(degrees: Double) { self.degrees = degrees }
    init(persistedValue: Double) { self.init(degrees: persistedValue) }
    var persistableValue: Double { degrees }
}

/// Owns memory, and not every text is one.
private struct Path: FailableCustomPersistable, Comparable {
    var parts: [String]
    init(_ parts: String...) { self.parts = parts }
    init?(persistedValue: String) {
        guard persistedValue.hasPrefix("/") else { return nil }
        parts = persistedValue.dropFirst().split(separator: "/").map { String($0) }
    }
    var persistableValue: String { "/" + parts.joined(separator: "/") }
    static func < (a: Path, b: Path) -> Bool { a.persistableValue < b.persistableValue }
}

private struct Code: CustomPersistable {
    var number: Int
    init(persistedValue: Int) { number = persistedValue }
    var persistableValue: Int { number }
}

private class Reading: Object {
    @Persisted(primaryKey: true) var code = Code(persistedValue: 0)
    @Persisted var outside: Celsius
    @Persisted(indexed: true) var path = Path("start")
    @Persisted var other: Path?
    @Persisted var all: List<Celsius>
    @Persisted var gaps: List<Path?>
    @Persisted var paths: MutableSet<Path>
    @Persisted var named: Map<String, Celsius>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// The same class, stored plainly.
private class Plain: Object {
    @Persisted(primaryKey: true) var code: Int
    @Persisted var outside: Double
    @Persisted(indexed: true) var path: String
    @Persisted var other: String?
    @Persisted var all: List<Double>
    @Persisted var gaps: List<String?>
    @Persisted var paths: MutableSet<String>
    @Persisted var named: Map<String, Double>
    override class func _realmObjectName() -> String? { "Reading" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Types of the application that are stored as others (R64).
@Suite(.timeLimit(.minutes(20)), .serialized) struct CustomPersistableTests {
    private func realm() throws -> Realm { try memoryRealm([Reading.self]) }

    @Test func valuesAreMappedBothWays() throws {
        let realm = try realm()
        let object = Reading()
        #expect(object.outside.degrees == 0 && object.path == Path("start") && object.other == nil)
        for _ in 0..<2 {
            func set() {
                object.outside = Celsius(degrees: 21.5)
                object.path = Path("a", "b")
                object.other = Path("c")
                object.all.removeAll()
                object.all.append(objectsIn: [Celsius(degrees: 1), Celsius(degrees: 2)])
                object.gaps.removeAll()
                object.gaps.append(objectsIn: [nil, Path("x")])
                object.paths.insert(objectsIn: [Path("p"), Path("p")])
                object.named["n"] = Celsius(degrees: -4)
            }
            if object.realm == nil { set() } else { try realm.write { set() } }
            #expect(object.outside.degrees == 21.5 && object.path.parts == ["a", "b"] && object.other == Path("c"))
            #expect(object.all.map(\.degrees) == [1, 2] && object.gaps[1] == Path("x") && object.gaps[0] == nil)
            #expect(object.paths.count == 1 && object.paths.contains(Path("p")) && object.named["n"]?.degrees == -4)
            #expect(object["outside"] as? Double == 21.5 && object["path"] as? String == "/a/b")
            if object.realm == nil { try realm.write { realm.add(object) } }
        }
        try realm.write {
            object["path"] = "/by/name"
            object["other"] = nil
        }
        #expect(object.path == Path("by", "name") && object.other == nil && object.freeze().outside.degrees == 21.5)
        let made = try realm.write {
            realm.create(
                Reading.self, value: ["code": 2, "outside": 3, "path": "/made", "all": [4.5]] as [String: Any])
        }
        #expect(
            made.code.number == 2 && made.outside.degrees == 3 && made.path == Path("made")
                && made.all[0].degrees == 4.5)
        #expect(throws: Realm.Error.self) { try Reading(validating: ["path": "no slash"]) }
        #expect(realm.object(ofType: Reading.self, forPrimaryKey: Code(persistedValue: 2)) == made)
        #expect(object.objectSchema["outside"]?.type == .double && object.objectSchema["path"]?.isIndexed == true)
    }

    @Test func queriesCompareStoredValues() throws {
        let realm = try realm()
        try realm.write {
            for number in 1...5 {
                let object = Reading()
                object.code = Code(persistedValue: number)
                object.outside = Celsius(degrees: Double(number))
                object.path = Path("p\(number)")
                object.other = number == 5 ? nil : Path("o\(number)")
                realm.add(object)
            }
        }
        let all = realm.objects(Reading.self)
        func codes(_ results: Results<Reading>) -> [Int] { results.map(\.code.number) }
        #expect(codes(all.where { $0.outside.persistableValue > 3 }) == [4, 5])
        #expect(
            codes(all.where { $0.path == Path("p2") }) == [2] && codes(all.where { $0.path != Path("p2") }).count == 4)
        #expect(codes(all.where { $0.other == nil }) == [5] && codes(all.where { $0.other == Path("o1") }) == [1])
        #expect(codes(all.where { $0.path.in([Path("p1"), Path("p3")]) }) == [1, 3])
        #expect(codes(all.where { $0.other.in([Path("o1"), nil]) }) == [1, 5])
        #expect(codes(all.where { $0.other.in([Path("o1"), Path("o2")]) }) == [1, 2])
        #expect(codes(all.where { $0.other.persistableValue.ends(with: "o4") }) == [4])
        #expect(
            codes(all.filter("path = %@", "/p3")) == [3]
                && codes(all.sorted(by: \.outside, ascending: false)) == [5, 4, 3, 2, 1])
    }

    /// A stored value that stands for nothing is hidden where nil is possible, and stops the program elsewhere.
    @Test func whatStandsForNothingIsNil() throws {
        let name = UUID().uuidString
        let plain = try memoryRealm([Plain.self], name)
        try plain.write {
            plain.create(
                Plain.self,
                value: ["code": 1, "path": "/fine", "other": "wrong", "gaps": ["wrong", "/right"]] as [String: Any])
        }
        let realm = try memoryRealm([Reading.self], name)
        let object = try #require(realm.objects(Reading.self).first)
        #expect(
            object.path == Path("fine") && object.other == nil && object.gaps[0] == nil
                && object.gaps[1] == Path("right"))
        #expect(realm.objects(Reading.self).where { $0.other == nil }.isEmpty)
        #expect(realm.objects(Reading.self).where { $0.other.persistableValue == "wrong" }.count == 1)
    }

    @Test func whatStandsForNothingStopsWhereNilIsImpossible() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let name = UUID().uuidString
            let plain = try memoryRealm([Plain.self], name)
            try plain.write { plain.create(Plain.self, value: ["code": 1, "path": "wrong"] as [String: Any]) }
            let realm = try memoryRealm([Reading.self], name)
            print(realm.objects(Reading.self)[0].path)
        }
        expectMessage(result, "\"wrong\"", "not a value of Path")
        let initial = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            class Bare: Object {
                @Persisted var path: Path
                override class func shouldIncludeInDefaultSchema() -> Bool { false }
            }
            print(Bare().path)
        }
        expectMessage(initial, "not a value of Path")
    }

    // MARK: Defects that an audit found

    /// A value that is set must be what is added, whatever the type's code does later.
    @Test func theTypesCodeRunsWhenAPropertyIsSet() throws {
        let realm = try memoryRealm([Hooking.self])
        let object = Hooking()
        nonisolated(unsafe) var calls = 0
        Hooked.hook = { calls += 1 }
        object.one = Hooked(persistedValue: 5)
        #expect(calls == 1)
        Hooked.hook = { calls += 1 }
        try realm.write { realm.add(object) }
        #expect(calls == 1 && object.one.number == 5)
        Hooked.hook = nil
    }

    /// What an application's type does while it says what is stored.
    private struct Hooked: CustomPersistable {
        nonisolated(unsafe) static var hook: (() -> Void)?
        var number: Int
        init(persistedValue: Int) { number = persistedValue }
        var persistableValue: Int {
            let hook = Hooked.hook
            Hooked.hook = nil
            hook?()
            return number
        }
    }

    private class Hooking: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var one = Hooked(persistedValue: 1)
        @Persisted(indexed: true) var two = Hooked(persistedValue: 2)
        @Persisted var list: List<Hooked>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    private class Owning: Object {
        @Persisted var part: Part?
        @Persisted var list: List<Hooked>
        @Persisted var next: Owning?
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
    private class Part: EmbeddedObject {
        @Persisted var list: List<Hooked>
        @Persisted var owning: Owning?
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    /// Such code that deletes what is being added is a mistake of the program, and no damage in the files.
    @Test(arguments: 0..<3) func codeThatDeletesWhatIsAddedStops(variant: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [variant] in
            let realm = try memoryRealm([Owning.self, Part.self])
            let owning = Owning()
            switch variant {
            case 0:
                owning.part = Part()
                owning.part?.list.append(Hooked(persistedValue: 1))
                owning.part?.owning = Owning()
            case 1:
                owning.list.append(Hooked(persistedValue: 1))
                owning.next = Owning()
            default: owning.list.append(Hooked(persistedValue: 1))
            }
            try realm.write {
                Hooked.hook = { realm.delete(realm.objects(Owning.self)) }
                realm.add(owning)
            }
        }
        expectMessage(result, "Fatal error", "deleted")
    }

    /// The row that was being filled moved when such code deleted another one. It runs for the elements of collections.
    @Test func codeThatDeletesRowsMayRunWhileAnObjectIsAdded() throws {
        let realm = try memoryRealm([Hooking.self])
        func object(_ id: Int) -> Hooking {
            let object = Hooking()
            object.id = id
            object.one.number = 10 * id
            object.two.number = 100 * id
            return object
        }
        try realm.write { for id in 1...4 { realm.add(object(id)) } }
        let fresh = object(7)
        fresh.list.append(Hooked(persistedValue: 9))
        try realm.write {
            Hooked.hook = { realm.delete(realm.objects(Hooking.self)[0]) }
            realm.add(fresh)
        }
        #expect(
            fresh.list.map(\.number) == [9] && fresh.one.number == 70 && fresh.two.number == 700
                && realm.objects(Hooking.self).count == 4)
        #expect(realm.objects(Hooking.self).where { $0.two.persistableValue == 700 }.first?.id == 7)
        try realm.write {
            Hooked.hook = { fresh.list.removeAll() }
            fresh.list.append(objectsIn: [Hooked(persistedValue: 5), Hooked(persistedValue: 6)])
            Hooked.hook = { fresh.list.removeAll() }
            fresh.list.append(Hooked(persistedValue: 8))
        }
        #expect(fresh.list.map(\.number) == [8])
    }
}
