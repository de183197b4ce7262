import FirnCore
import Foundation
import FirnTestSupport
import Testing

@testable import Firn

/// The data of a realm in memory is gone after its last instance dies (SEMANTICS 3), so it shows what holds a realm.
@Suite(.timeLimit(.minutes(20))) struct LifetimeTests {
    private let name = UUID().uuidString
    private func open() throws -> Realm { try memoryRealm([Dog.self, Person.self], name) }

    private func fill() throws {
        let realm = try open()
        let person = Person(value: ["dogs": [[1, "Rex"]], "numbers": [1]])
        try realm.write { realm.add(person) }
        #expect(person.dogs.count == 1 && person.dogs[0].keepers.count == 1)
        var names: [String] = []
        for dog in realm.objects(Dog.self).where({ $0.age > 0 }) { names.append(dog.name) }
        #expect(names == ["Rex"])
    }

    // MARK: In memory

    /// `try! Realm()` in one line after another, with nothing that keeps it (as Realm's documentation of tests has it).
    @Test func aRealmInMemoryStaysUntilTheTurnEnds() throws {
        let queue = DispatchQueue(label: "in memory")
        let name = UUID().uuidString
        func realm() throws -> Realm {
            try Realm(
                configuration: .init(inMemoryIdentifier: name, objectTypes: [Dog.self, Person.self]), queue: queue)
        }
        let count = try queue.sync {
            try realm().write { try realm().add(Dog(1, "Rex")) }
            return try realm().objects(Dog.self).count
        }
        queue.sync {}
        let later = try queue.sync { try realm().objects(Dog.self).count }
        #expect(count == 1 && later == 0)
    }

    @Test func aReleasedRealmLeavesNothing() throws {
        try fill()
        #expect(try open().isEmpty)
    }

    @Test func anObjectHoldsItsRealm() throws {
        func dog() throws -> Dog {
            try fill()
            let realm = try open()
            let dog = Dog(2, "Max")
            try realm.write { realm.add(dog) }
            return dog
        }
        do {
            let dog = try dog()
            #expect(try open().objects(Dog.self).count == 1 && dog.name == "Max")
        }
        #expect(try open().isEmpty)
    }

    @Test func listsResultsAndFrozenObjectsHoldTheirRealm() throws {
        func parts() throws -> (List<Int>, Results<Dog>, Person) {
            let realm = try open()
            let person = Person(value: ["numbers": [1, 2]])
            try realm.write { realm.add(person) }
            return (person.numbers, realm.objects(Dog.self), person.freeze())
        }
        do {
            let (list, results, frozen) = try parts()
            #expect(list.count == 2 && results.count == 0 && frozen.numbers.count == 2)
            #expect(try !open().isEmpty)
        }
        #expect(try open().isEmpty)
    }

    @Test func releasingAnObjectOnAnotherThreadReleasesItsRealm() async throws {
        let name = name
        let queue = DispatchQueue(label: "owner")
        // The realm belongs to a queue: its objects may be released on any thread.
        try queue.sync {
            let realm = try Realm(
                configuration: .init(inMemoryIdentifier: name, objectTypes: [Dog.self, Person.self]), queue: queue)
            let dog = Dog(1, "Rex")
            try realm.write { realm.add(dog) }
            nonisolated(unsafe) let handed = dog
            Thread { _ = handed }.start()
        }
        for _ in 0..<500 {
            if try open().isEmpty { break }
            try await Task.sleep(for: .milliseconds(2))
        }
        #expect(try open().isEmpty)
    }

    @Test func aTokenHoldsItsRealmUntilItIsInvalidated() throws {
        func observed() throws -> NotificationToken {
            let realm = try open()
            try realm.write { realm.add(Dog(1, "Rex")) }
            return realm.observe { _, _ in }
        }
        let token = try observed()
        #expect(try open().objects(Dog.self).count == 1)
        #expect(token.invalidate())
        // The token still exists, and holds nothing.
        #expect(try open().isEmpty)
        #expect(!token.invalidate())
    }

    @Test func anActorThatKeepsItsRealmAndTokensIsReleasedAfterItsLastUse() async throws {
        func use() async throws -> Weak {
            let owner = Owner()
            try await owner.open(name)
            #expect(try open().objects(Dog.self).count == 1)
            return Weak(owner)
        }
        let owner = try await use()
        // A turn that is scheduled on the actor holds it until then.
        for _ in 0..<500 where owner.actor != nil { try await Task.sleep(for: .milliseconds(5)) }
        // The check is not on the actor itself: a failure would describe what the actor keeps, outside of it.
        let isGone = owner.actor == nil
        #expect(isGone)
        #expect(try open().isEmpty)
    }

    /// An actor's address may be used again; its realm must not.
    @Test func theRealmOfAReleasedActorIsNotReused() async throws {
        let realm = try open()
        func instance(_ scheduler: Scheduler) -> _RealmInstance {
            realm.instance.shared.instance(
                realm.configuration, schema: realm.instance.schema, scheduler: scheduler, at: CallSite(#fileID, #line))
        }
        var owner: Owner? = Owner()
        let scheduler = Scheduler.actor(try #require(owner))
        let first = instance(scheduler)
        #expect(instance(scheduler) === first)
        owner = nil
        #expect(instance(scheduler) !== first)
    }

    /// An accessor's memory may be used again; its values must not.
    @Test func manyShortLivedAccessorsHaveTheRightRows() throws {
        let realm = try open()
        try realm.write { for id in 0..<3000 { realm.add(Dog(id, "dog \(id)", age: id)) } }
        let dogs = realm.objects(Dog.self)
        var random = SeededRandom(seed: 9)
        for _ in 0..<5000 {
            let id = Int.random(in: 0..<3000, using: &random)
            let dog = id % 2 == 0 ? dogs[id] : realm.object(ofType: Dog.self, forPrimaryKey: id)!
            #expect(dog.id == id && dog.age == id && dog.name == "dog \(id)")
        }
    }
}

/// An actor that keeps its realm and all its tokens.
private actor Owner {
    private var realm: Realm?
    private var tokens: [NotificationToken] = []

    func open(_ name: String) async throws {
        let realm = try await Realm(
            configuration: .init(inMemoryIdentifier: name, objectTypes: [Dog.self, Person.self]), actor: self)
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        tokens = [
            realm.observe { _, _ in },
            dog.observe { (_: ObjectChange<Dog>) in },
            await dog.observe(on: self) { (_, _: ObjectChange<Dog>) in },
            await realm.objects(Dog.self).observe(on: self) { _, _ in },
        ]
        try realm.write { dog.age = 2 }
        self.realm = realm
    }
}

private struct Weak {
    private(set) weak var actor: Owner?
    init(_ actor: Owner) { self.actor = actor }
}
