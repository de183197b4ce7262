import Firn
import Foundation
import Testing

private class Child: Object {
    @Persisted var name = "child"
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// All wrappers that hold a reference have an initial value, beside a default object.
@available(*, deprecated)
private class WithDefault: Object {
    @Persisted var age = RealmProperty<Int?>(1)
    @Persisted var anything = RealmProperty<AnyRealmValue>(.int(1))
    @Persisted var old = RealmOptional<Int>(1)
    @Persisted var list = List<Int>()
    @Persisted var links = List<Child>()
    @Persisted var set = MutableSet<Int>()
    @Persisted var map = Map<String, Int>()
    @Persisted var mixed: AnyRealmValue = .fromArray([.int(1)])
    @Persisted var child: Child? = Child()
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// The same, as the class has a property that Firn does not store.
@available(*, deprecated)
private class WithOwn: Object {
    @Persisted var age = RealmProperty<Int?>(1)
    @Persisted var list = List<Int>()
    @Persisted var set = MutableSet<Int>()
    @Persisted var map = Map<String, Int>()
    var own = Child()
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// The same, as its initialiser fills them, and its accessors are made by that.
@available(*, deprecated)
private class WithInitialiser: Object {
    @Persisted var age: RealmProperty<Int?>
    @Persisted var list: List<Int>
    @Persisted var set: MutableSet<Int>
    @Persisted var map: Map<String, Int>
    @Persisted var cache: List<Int>
    var own = 1
    required init() {
        super.init()
        age.value = 1
        list.append(1)
        set.insert(1)
        map["one"] = 1
        cache.append(7)
    }
    override class func ignoredProperties() -> [String] { ["cache"] }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// What an accessor's wrappers hold from its class's initialisers is never taken for what is stored.
@Suite(.timeLimit(.minutes(20))) struct InitialReferenceTests {
    @available(*, deprecated)
    @Test func wrappersWithInitialValuesBelongToTheRealmBesideADefaultObject() throws {
        let realm = try memoryRealm([WithDefault.self, Child.self])
        try realm.write { realm.add([WithDefault(), WithDefault()]) }
        for (round, object) in realm.objects(WithDefault.self).enumerated() {
            #expect(object.age.value == 1 && object.old.value == 1 && object.anything.value == .int(1))
            try realm.write {
                object.age.value = 3
                object.old.value = nil
                object.anything.value = .string("text")
                object.list.append(objectsIn: [1, 2])
                object.links.append(Child())
                object.set.insert(5)
                object.map["x"] = 6
                object.child?.name = "\(round)"
                if case .list(let list) = object.mixed { list.append(.int(2)) }
            }
        }
        func check(_ object: WithDefault, _ round: Int) {
            #expect(object.age.value == 3 && object.old.value == nil && object.anything.value == .string("text"))
            #expect(Array(object.list) == [1, 2] && object.links.map(\.name) == ["child"])
            #expect(Array(object.set) == [5] && object.map["x"] == 6 && object.child?.name == "\(round)")
            #expect(object.list.realm == object.realm && object.links.realm == object.realm)
            #expect(object.set.realm == object.realm && object.map.realm == object.realm)
            guard case .list(let list) = object.mixed else { return #expect(Bool(false), "no list") }
            #expect(list.count == 2 && object["age"] as? Int == 3 && (object["list"] as? List<Int>)?.count == 2)
        }
        for (round, object) in realm.objects(WithDefault.self).enumerated() { check(object, round) }
        for (round, object) in realm.freeze().objects(WithDefault.self).enumerated() { check(object, round) }
        for round in 0..<2 { check(realm.objects(WithDefault.self)[round], round) }
        #expect(realm.objects(WithDefault.self).where { $0.age.value == 3 }.count == 2)
        #expect(realm.objects(Child.self).count == 4)
    }

    @available(*, deprecated)
    @Test func wrappersWithInitialValuesBelongToTheRealmBesideAPropertyOfTheProgram() throws {
        let realm = try memoryRealm([WithOwn.self])
        try realm.write { realm.add(WithOwn()) }
        let object = realm.objects(WithOwn.self)[0]
        try realm.write {
            object.age.value = 3
            object.list.append(2)
            object.set.insert(2)
            object.map["two"] = 2
        }
        for read in [realm.objects(WithOwn.self)[0], realm.freeze().objects(WithOwn.self)[0], object] {
            #expect(read.age.value == 3 && Array(read.list) == [2] && Array(read.set) == [2] && read.map["two"] == 2)
            #expect(read.own.name == "child" && read.own.realm == nil)
        }
    }

    @available(*, deprecated)
    @Test func whatAnInitialiserPutsIntoAnAccessorIsNotStoredInItsPlace() throws {
        let realm = try memoryRealm([WithInitialiser.self])
        try realm.write { realm.add(WithInitialiser()) }
        let object = realm.objects(WithInitialiser.self)[0]
        #expect(object.age.value == 1 && Array(object.list) == [1] && object.map["one"] == 1)
        try realm.write {
            object.age.value = 3
            object.list.append(2)
            object.set.insert(2)
            object.map["two"] = 2
        }
        for read in [realm.objects(WithInitialiser.self)[0], realm.freeze().objects(WithInitialiser.self)[0], object] {
            #expect(read.age.value == 3 && Array(read.list) == [1, 2] && Array(read.set).sorted() == [1, 2])
            #expect(read.map["one"] == 1 && read.map["two"] == 2)
            // What Firn does not store stays the instance's own.
            #expect(Array(read.cache) == [7] && read.cache.realm == nil && read.own == 1)
        }
    }

    /// The objects that the initialiser makes for an accessor's links are not kept.
    @available(*, deprecated)
    @Test func aDefaultObjectIsReleasedWithoutItsAccessor() throws {
        let realm = try memoryRealm([Parent.self, Counted.self])
        try realm.write { realm.add(Parent()) }
        let before = Counted.live
        let kept = (0..<10).map { _ in realm.objects(Parent.self)[0] }
        #expect(kept.count == 10 && Counted.live == before)
    }
}

private class Counted: Object {
    nonisolated(unsafe) static var live = 0
    @Persisted var number = 1
    required init() {
        super.init()
        Counted.live += 1
    }
    deinit { Counted.live -= 1 }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Parent: Object {
    @Persisted var counted: Counted? = Counted()
    @Persisted var mixed: AnyRealmValue = .object(Counted())
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
