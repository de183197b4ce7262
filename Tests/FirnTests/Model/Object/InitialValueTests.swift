import Firn
import Foundation
import Testing

private class Helper: Object {
    @Persisted var age = 1
    @Persisted var name = "helper"
    var plain = 7
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Makes other objects as its own initial values, before and after its own stored properties.
private class Maker: Object {
    var before = Helper()
    @Persisted var number = 5
    @Persisted var text = "text"
    var behind = Helper()
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Makes another object in its initialiser, before and after the superclass's.
private class Deliberate: Object {
    @Persisted var number = 5
    @Persisted var agesSeen = 0
    required init() {
        let first = Helper()
        super.init()
        let second = Helper()
        seen = [first.age, second.age]
    }
    var seen: [Int] = []
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Makes another object of its own class, once each time that this is switched on.
private class Twin: Object {
    nonisolated(unsafe) static var makesTwins = false
    @Persisted var number = 5
    let twin: Twin? = {
        guard Twin.makesTwins else { return nil }
        Twin.makesTwins = false
        return Twin()
    }()
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Reads a managed object while it is being made.
private class Reader: Object {
    nonisolated(unsafe) static var realm: Realm?
    @Persisted var number = 5
    let friend: Helper? = Reader.realm?.objects(Helper.self).first
    let own = Helper()
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Counts how often its initial value is computed.
private class Counted: Object {
    nonisolated(unsafe) static var computed = 0
    @Persisted var number = Counted.next()
    @Persisted var other = 3
    static func next() -> Int {
        computed += 1
        return computed
    }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Objects that initialisers have made and that are kept elsewhere.
private enum Kept {
    nonisolated(unsafe) static var isOn = false
    nonisolated(unsafe) static var helpers: [Helper] = []
    static func next() -> Helper? {
        guard isOn else { return nil }
        helpers.append(Helper())
        return helpers.last
    }
}

/// Makes an object that outlives it, once that is switched on.
private class Publisher: Object {
    @Persisted var number = 5
    var helper = Kept.next()
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Makes an object that outlives it, before its superclass's initialiser runs.
private class Early: Object {
    nonisolated(unsafe) static var helpers: [Helper] = []
    @Persisted var number = 5
    required init() {
        Early.helpers.append(Helper())
        super.init()
    }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

@Suite(.timeLimit(.minutes(20))) struct InitialValueTests {
    @Test func objectsThatAnInitialiserStoresElsewhereHaveTheirInitialValuesAtOnce() throws {
        let realm = try memoryRealm([Publisher.self])
        try realm.write { for _ in 0..<3 { realm.add(Publisher()) } }
        Kept.isOn = true
        #expect(realm.freeze().objects(Publisher.self).map(\.number) == [5, 5, 5])
        #expect(Kept.helpers.map(\.age) == [1, 1, 1])

        let other = try memoryRealm([Early.self])
        try other.write { for _ in 0..<3 { other.add(Early()) } }
        #expect(other.freeze().objects(Early.self).map(\.number) == [5, 5, 5])
        #expect(Early.helpers.allSatisfy { $0.age == 1 && $0.name == "helper" })
    }

    @Test func objectsThatAnInitialiserMakesHaveTheirInitialValuesWhateverItMakes() throws {
        let realm = try memoryRealm([Maker.self])
        try realm.write { realm.add(Maker()) }
        for _ in 0..<3 {
            let read = realm.objects(Maker.self)[0]
            #expect(read.number == 5 && read.text == "text")
            for helper in [read.before, read.behind] {
                #expect(helper.age == 1 && helper.name == "helper" && helper.plain == 7 && helper.realm == nil)
            }
        }
    }

    @Test func objectsMadeInTheBodyOfAnInitialiserHaveTheirInitialValues() throws {
        let realm = try memoryRealm([Deliberate.self])
        try realm.write { realm.add(Deliberate()) }
        #expect(realm.objects(Deliberate.self)[0].seen == [1, 1])
        #expect(realm.objects(Deliberate.self)[0].seen == [1, 1])
    }

    @Test func anObjectOfTheSameClassMadeMeanwhileHasItsInitialValues() throws {
        let realm = try memoryRealm([Twin.self])
        try realm.write { realm.add(Twin()) }
        Twin.makesTwins = true
        let read = realm.objects(Twin.self)[0]
        // Either this accessor's twin was made, or the twin of one that was discarded.
        #expect(read.number == 5 && (read.twin?.number ?? 5) == 5)
        Twin.makesTwins = true
        let again = realm.objects(Twin.self)[0]
        let twin = try #require(again.twin)
        #expect(again.number == 5 && twin.number == 5 && twin.realm == nil && twin.twin == nil)
    }

    @Test func aManagedObjectReadMeanwhileIsManagedAndOthersKeepTheirInitialValues() throws {
        let realm = try memoryRealm([Reader.self, Helper.self])
        try realm.write {
            realm.add(Reader())
            realm.add(Helper(value: ["age": 44]))
        }
        Reader.realm = realm
        defer { Reader.realm = nil }
        for _ in 0..<2 {
            let read = realm.objects(Reader.self)[0]
            #expect(read.friend?.age == 44 && read.friend?.realm == realm && read.number == 5)
            #expect(read.own.age == 1 && read.own.realm == nil)
        }
    }

    @Test func aManagedObjectComputesNoInitialValues() throws {
        let realm = try memoryRealm([Counted.self])
        try realm.write { realm.add(Counted()) }
        let before = Counted.computed
        for counted in realm.objects(Counted.self) { #expect(counted.number > 0 && counted.other == 3) }
        #expect(realm.objects(Counted.self)[0].other == 3)
        #expect(Counted.computed == before)
        #expect(Counted().number == before + 1)
    }
}
