import Firn
import Foundation
import Testing

@Suite(.timeLimit(.minutes(20))) struct FreezingTests {
    /// Frozen objects, lists and results stay consistent with each other, and any thread can read them (SEMANTICS
    /// 63). `thaw` gives a live accessor, which is nil when the row is gone (SEMANTICS 64).
    @Test func frozenObjectsDoNotChangeAndMayBeReadOnAnyThread() throws {
        let realm = try memoryRealm()
        let person = Person(value: ["name": "Ann", "dogs": [[1, "Rex"], [2, "Max"]], "numbers": [1, 2]])
        try realm.write { realm.add(person) }
        let frozen = person.freeze()
        let dogs = realm.objects(Dog.self).sorted(byKeyPath: "name").freeze()
        let list = person.dogs.freeze()
        let frozenRealm = realm.freeze()
        #expect(
            frozen.isFrozen && dogs.isFrozen && list.isFrozen && frozen.realm == frozenRealm
                && frozen.freeze() === frozen)
        try realm.write {
            person.name = "Bob"
            person.numbers.append(3)
            realm.delete(person.dogs[0])
        }
        #expect(person.name == "Bob" && person.dogs.count == 1)
        nonisolated(unsafe) let shared = (frozen, dogs, list)
        let group = DispatchGroup()
        for _ in 0..<4 {
            group.enter()
            Thread {
                for _ in 0..<200 {
                    #expect(shared.0.name == "Ann" && shared.0.dogs.count == 2 && shared.0.numbers.count == 2)
                    #expect(shared.1.map(\.name) == ["Max", "Rex"] && shared.2[0].name == "Rex")
                    #expect(shared.1.where { $0.name == "Rex" }.count == 1 && shared.0.dogs[0].keepers[0].name == "Ann")
                }
                group.leave()
            }.start()
        }
        try #require(group.wait(timeout: .testTimeout) == .success, "a thread hangs")
        #expect(frozen.thaw()?.name == "Bob" && frozen.thaw()?.isSameObject(as: person) == true)
        #expect(list[0].thaw() == nil && list.thaw()?.count == 1 && dogs.thaw()?.count == 1 && person.thaw() === person)
    }

    /// A frozen realm is not refreshed: `refresh()` does nothing and returns false (SEMANTICS 5).
    @Test func refreshingAFrozenRealmDoesNothing() throws {
        let realm = try memoryRealm()
        try realm.write { realm.add(Dog(1, "Rex")) }
        let frozen = realm.freeze()
        try realm.write { realm.add(Dog(2, "Max")) }
        #expect(!frozen.refresh() && frozen.objects(Dog.self).map(\.id) == [1])
        #expect(try !frozen.tryRefresh() && frozen.objects(Dog.self).map(\.id) == [1])
    }

    /// Nor by itself: `autorefresh` is false, and setting it to true stops (SEMANTICS 7).
    @Test func autorefreshOfAFrozenRealmStops() async throws {
        let frozen = try memoryRealm().freeze()
        #expect(!frozen.autorefresh)
        frozen.autorefresh = false
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try memoryRealm().freeze().autorefresh = true
        }
        expectMessage(result, "Firn: a frozen realm never refreshes")
    }

    @Test func writingAFrozenObjectStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm()
            let dog = Dog(1, "Rex")
            try realm.write { realm.add(dog) }
            dog.freeze().age = 3
        }
        expectMessage(result, "it is frozen")
    }

    /// Only managed objects can be frozen (SPEC S112).
    @Test func freezingAnUnmanagedObjectStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Dog(1, "").freeze()
        }
        expectMessage(result, "can't be frozen")
    }

    /// What is frozen is a version, and a transaction is none yet (SEMANTICS 63).
    @Test(arguments: 0..<4) func freezingWithinAWriteStops(_ what: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [what] in
            let realm = try memoryRealm()
            let person = Person()
            try realm.write { realm.add(person) }
            realm.beginWrite()
            switch what {
            case 0: _ = realm.freeze()
            case 1: _ = person.freeze()
            case 2: _ = person.dogs.freeze()
            default: _ = realm.objects(Person.self).freeze()
            }
        }
        expectMessage(result, "can't be frozen within a write transaction")
    }

    /// A frozen object holds its version (SEMANTICS 9).
    @Test func heldVersionsAreListedUntilTheyAreReleased() throws {
        let realm = try memoryRealm()
        try realm.write { realm.add(Dog(1, "Rex")) }
        var held: [Dog] = []
        for age in 0..<10 {
            try realm.write { realm.objects(Dog.self)[0].age = age }
            held.append(realm.objects(Dog.self)[0].freeze())
        }
        #expect(held.map(\.age) == Array(0..<10))
        #expect(realm.activeVersions.count >= 10)
        held = []
        #expect(realm.activeVersions.count == 1)
    }

    @Test func resultsHoldNoVersion() throws {
        let realm = try memoryRealm()
        let results = realm.objects(Dog.self).where { $0.age > 3 }.sorted(byKeyPath: "age")
        #expect(results.count == 0)
        try realm.write {
            realm.add(Dog(0, "in", age: 9))
            #expect(results.count == 1 && results[0].age == 9)
            realm.objects(Dog.self)[0].age = 10
            #expect(results[0].age == 10)
            realm.objects(Dog.self)[0].age = 1
            #expect(results.count == 0)
        }
        for id in 1..<20 { try realm.write { realm.add(Dog(id, "n", age: id)) } }
        #expect(realm.activeVersions.count == 1)
        #expect(results.count == 16 && results[0].age == 4)
    }
}
