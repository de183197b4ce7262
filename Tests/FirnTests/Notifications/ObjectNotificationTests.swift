import Foundation
import Testing

@testable import Firn
@testable import FirnCore

@MainActor
@Suite(.timeLimit(.minutes(20))) struct ObjectNotificationTests {
    private let name = UUID().uuidString
    private let types: [ObjectBase.Type] = [Dog.self, Person.self]
    private func open() throws -> Realm { try memoryRealm(types, name) }

    private func text(_ change: ObjectChange<Dog>) -> String {
        switch change {
        case .deleted: "deleted"
        case .error: "error"
        case .change(_, let properties):
            properties.map {
                "\($0.name): \($0.oldValue.map { "\($0)" } ?? "-") > \($0.newValue.map { "\($0)" } ?? "-")"
            }.joined(separator: ", ")
        }
    }

    /// For an observer that lags behind, the realm remembers what it changed itself. The other observer has already
    /// been shown that, and what comes then is another writer's.
    @Test func changesOfOthersHaveOldValuesAlthoughAnObserverLagsBehind() async throws {
        let realm = try open()
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        var seen: [String] = []
        var isFirst = true
        let (name, types) = (name, types)
        let lagging = dog.observe { (_: ObjectChange<Dog>) in
            guard isFirst else { return }
            isFirst = false
            do {
                try realm.write { dog.age = 5 }
                try onAnotherThread(name, types: types) { other in
                    try other.write { other.objects(Dog.self)[0].age = 9 }
                }
            } catch { Issue.record(error) }
        }
        let token = dog.observe { (change: ObjectChange<Dog>) in seen.append(text(change)) }
        try realm.write { dog.name = "Max" }
        await wait { seen.count == 3 }
        #expect(seen == ["name: - > Max", "age: - > 5", "age: 5 > 9"])
        for token in [lagging, token] { token.invalidate() }
    }

    /// There is no initial call, and calls come after the commit, asynchronously (SEMANTICS 44, SPEC S81). Own
    /// changes have no old values (SEMANTICS 45), and assigning the same value counts as a change (SEMANTICS 26, SPEC
    /// S74).
    @Test func assignmentsAreDeliveredAfterTheCommitWithoutAnInitialCall() async throws {
        let realm = try open()
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        var seen: [String] = []
        let token = dog.observe { (change: ObjectChange<Dog>) in seen.append(text(change)) }
        await waitForDeliveries(of: realm)
        #expect(seen.isEmpty)
        try realm.write { dog.age = 4 }
        #expect(seen.isEmpty)
        await wait { seen.count == 1 }
        #expect(seen == ["age: - > 4"])
        try realm.write { dog.age = 4 }
        await wait { seen.count == 2 }
        #expect(seen.last == "age: - > 4")
        try realm.write { dog.owner = Person() }
        await wait { seen.count == 3 }
        #expect(seen.last?.hasPrefix("owner: - > Person {") == true)
        try realm.write { dog.owner?.name = "not observed" }
        await waitForDeliveries(of: realm)
        #expect(seen.count == 3)
        token.invalidate()
        try realm.write { dog.age = 5 }
        await waitForDeliveries(of: realm)
        #expect(seen.count == 3 && !token.invalidate())
    }

    /// Changes made by others have old values (SEMANTICS 45). They are delivered when the realm is refreshed (SPEC
    /// S75), within `refresh()` if that is called (SEMANTICS 46).
    @Test func changesOfOthersAreDeliveredWithOldValuesWithinRefresh() async throws {
        let realm = try open()
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        var seen: [String] = []
        let token = dog.observe { (change: ObjectChange<Dog>) in seen.append(text(change)) }
        await waitForDeliveries(of: realm)
        try onAnotherThread(name, types: types) { other in
            try other.write {
                other.objects(Dog.self)[0].age = 7
                other.objects(Dog.self)[0].name = "Max"
            }
        }
        #expect(realm.refresh())
        #expect(seen == ["name: Rex > Max, age: 1 > 7"])
        try onAnotherThread(name, types: types) { other in try other.write { other.objects(Dog.self)[0].age = 8 } }
        await wait { seen.count == 2 }
        #expect(seen.last == "age: 7 > 8" && dog.age == 8)
        token.invalidate()
    }

    /// Deletion gives `.deleted` exactly once, also with key paths (SEMANTICS 47).
    @Test func aDeletionIsDeliveredOnce() async throws {
        let realm = try open()
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        var seen: [String] = []
        let tokens = [
            dog.observe { (change: ObjectChange<Dog>) in seen.append(text(change)) },
            dog.observe(keyPaths: ["name"]) { (change: ObjectChange<Dog>) in seen.append(text(change)) },
        ]
        try realm.write { realm.delete(dog) }
        await wait { seen.count == 2 }
        try realm.write { realm.add(Dog(2, "")) }
        await waitForDeliveries(of: realm)
        #expect(seen == ["deleted", "deleted"])
        withExtendedLifetime(tokens) {}
    }

    @Test func anObserverOfADeletedObjectHoldsNothing() async throws {
        let realm = try open()
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        var seen: [String] = []
        let token = dog.observe { (change: ObjectChange<Dog>) in seen.append(text(change)) }
        try realm.write { realm.delete(dog) }
        await waitForDeliveries(of: realm)
        #expect(seen == ["deleted"])
        for id in 2..<12 { try realm.write { realm.add(Dog(id, "")) } }
        #expect(realm.activeVersions.count == 1)
        #expect(!realm.instance.store.changeJournal.isWanted)
        withExtendedLifetime(token) {}
    }

    /// A change behind a key path is reported under the path's first component, without values (SEMANTICS 48); paths
    /// may run through backlinks (SEMANTICS 49). Only changes on the paths count; without paths, those of all
    /// properties, but not of linked objects (SPEC S86–S90).
    @Test func keyPathsFilterNotifications() async throws {
        let realm = try open()
        let person = Person(value: ["dogs": [[1, "Rex"]]])
        let friend = Person()
        try realm.write {
            realm.add([person, friend])
            person.friend = friend
        }
        var seen: [String] = []
        func observe(_ label: String, _ paths: [String]?) -> NotificationToken {
            person.observe(keyPaths: paths) { (change: ObjectChange<Person>) in
                guard case .change(_, let properties) = change else { return }
                seen.append(
                    "\(label):"
                        + properties.map { "\($0.name)=\($0.newValue.map { "\($0)" } ?? "-")" }.joined(separator: ","))
            }
        }
        let tokens = [
            observe("all", nil), observe("name", ["name"]), observe("dogs", ["dogs"]),
            observe("dogs.name", ["dogs.name"]),
            observe("friend.name", ["friend.name"]), observe("friends.name", ["friends.name"]),
        ]
        func observed(_ body: () throws -> Void) async throws -> [String] {
            seen = []
            try realm.write(body)
            await waitForDeliveries(of: realm)
            return seen.sorted()
        }
        #expect(try await observed { person.name = "Ann" } == ["all:name=Ann", "name:name=Ann"])
        #expect(try await observed { person.dogs[0].name = "Max" } == ["dogs.name:dogs=-"])
        #expect(try await observed { person.dogs[0].age = 9 } == [])
        #expect(
            try await observed { person.dogs.append(Dog(2, "Bo")) } == [
                "all:dogs=-", "dogs.name:dogs=-", "dogs:dogs=-",
            ])
        #expect(try await observed { friend.name = "Bob" } == ["friend.name:friend=-"])
        #expect(try await observed { friend.friend = person } == ["friends.name:friends=-"])
        #expect(try await observed { friend.name = "Cy" } == ["friend.name:friend=-", "friends.name:friends=-"])
        withExtendedLifetime(tokens) {}
    }

    /// An empty array of key paths means the same as nil, on the realm's thread, on a queue and on an actor (SPEC S86,
    /// S96).
    @Test func anEmptyArrayOfKeyPathsMeansAllProperties() async throws {
        let realm = try open()
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        let seen = Seen()
        let queue = DispatchQueue(label: "observer")
        let keeper = Keeper()
        let names = [String]()
        let paths = [PartialKeyPath<Dog>]()
        let tokens = [
            dog.observe(keyPaths: names) { (_: ObjectChange<Dog>) in seen.append("own names") },
            dog.observe(keyPaths: paths) { (_: ObjectChange<Dog>) in seen.append("own paths") },
            dog.observe(keyPaths: names, on: queue) { (_: ObjectChange<Dog>) in seen.append("queue's names") },
            dog.observe(keyPaths: paths, on: queue) { (_: ObjectChange<Dog>) in seen.append("queue's paths") },
            await dog.observe(keyPaths: names, on: keeper) { (_, _: ObjectChange<Dog>) in seen.append("actor's names")
            },
            await dog.observe(keyPaths: paths, on: keeper) { (_, _: ObjectChange<Dog>) in seen.append("actor's paths")
            },
        ]
        try realm.write { dog.age = 2 }
        await wait { seen.all.count == 6 }
        #expect(
            seen.all.sorted() == [
                "actor's names", "actor's paths", "own names", "own paths", "queue's names", "queue's paths",
            ])
        for token in tokens { token.invalidate() }
    }

    /// Key paths may run through backlinks (SEMANTICS 49): an object that no longer links is found in the version
    /// before.
    @Test func losingABacklinkIsDelivered() async throws {
        let realm = try open()
        let dog = Dog(1, "Rex")
        let person = Person()
        let owner = Person()
        try realm.write { realm.add([dog, person, owner] as [Object]) }
        var seen: [String] = []
        let tokens = [
            dog.observe(keyPaths: ["keepers"]) { (_: ObjectChange<Dog>) in seen.append("keepers") },
            dog.observe(keyPaths: ["keepers.name"]) { (_: ObjectChange<Dog>) in seen.append("keepers.name") },
            owner.observe(keyPaths: ["owned"]) { (_: ObjectChange<Person>) in seen.append("owned") },
            realm.objects(Dog.self).observe(keyPaths: ["keepers"]) { change in
                if case .update(_, _, _, [0]) = change { seen.append("dogs") }
            },
        ]
        await waitForDeliveries(of: realm)
        func observed(_ body: () throws -> Void) async throws -> [String] {
            seen = []
            try realm.write(body)
            await waitForDeliveries(of: realm)
            return seen.sorted()
        }
        let keepers = ["dogs", "keepers", "keepers.name"]
        #expect(try await observed { person.dogs.append(dog) } == keepers)
        #expect(try await observed { person.dogs.removeAll() } == keepers)
        #expect(try await observed { person.dogs.append(dog) } == keepers)
        #expect(try await observed { realm.delete(person) } == keepers)
        #expect(try await observed { dog.owner = owner } == ["owned"])
        #expect(try await observed { dog.owner = nil } == ["owned"])
        #expect(try await observed { dog.owner = owner } == ["owned"])
        #expect(try await observed { realm.delete(dog) }.contains("owned"))
        withExtendedLifetime(tokens) {}
    }

    /// Key paths may be Swift's instead of strings (SPEC S93).
    @Test func swiftKeyPathsAreAccepted() async throws {
        let realm = try open()
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        var seen = 0
        let token = dog.observe(keyPaths: [\Dog.name, \Dog.owner?.name]) { (_: ObjectChange<Dog>) in seen += 1 }
        try realm.write { dog.age = 3 }
        await waitForDeliveries(of: realm)
        #expect(seen == 0)
        try realm.write { dog.owner = Person() }
        await wait { seen == 1 }
        try realm.write { dog.owner?.name = "Bob" }
        await wait { seen == 2 }
        #expect(seen == 2)
        token.invalidate()
    }

    /// With a queue, delivery is on that queue (SPEC S78).
    @Test func aQueueGetsItsOwnObject() async throws {
        let realm = try open()
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        let queue = DispatchQueue(label: "observer")
        let seen = Seen()
        let token = dog.observe(on: queue) { (change: ObjectChange<Dog>) in
            dispatchPrecondition(condition: .onQueue(queue))
            guard case .change(let object, let properties) = change else { return }
            seen.append("\(object.name) \(properties[0].oldValue ?? "-")")
        }
        try realm.write { dog.name = "Max" }
        await wait { seen.all.count == 1 }
        #expect(seen.all == ["Max Rex"])
        token.invalidate()
    }

    /// On an actor (SPEC S94), the block gets a copy of the object that is isolated to the actor (SPEC S95).
    @Test func anActorGetsItsOwnObject() async throws {
        let realm = try open()
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        let keeper = Keeper()
        let token = await dog.observe(on: keeper) { (keeper, change: ObjectChange<Dog>) in
            guard case .change(let object, _) = change else { return }
            keeper.seen.append(object.name)
        }
        try realm.write { dog.name = "Max" }
        for _ in 0..<500 where await keeper.seen.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        #expect(await keeper.seen == ["Max"])
        token.invalidate()
    }

    /// In a cancelled task, observing on an actor returns a token that has ended, and the block is never called
    /// (SEMANTICS 50).
    @Test func aCancelledTaskObservesNothingOnAnActor() async throws {
        let realm = try open()
        let (dog, person) = (Dog(1, "Rex"), Person())
        try realm.write {
            realm.add(dog)
            realm.add(person)
        }
        let keeper = Keeper()
        var tokens: [NotificationToken] = []
        await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            tokens += [
                await dog.observe(on: keeper) { (keeper, _: ObjectChange<Dog>) in keeper.seen.append("object") },
                await dog.observe(keyPaths: [\Dog.name], on: keeper) { (keeper, _: ObjectChange<Dog>) in
                    keeper.seen.append("key path")
                },
                await realm.objects(Dog.self).observe(on: keeper) { keeper, _ in keeper.seen.append("results") },
                await person.dogs.observe(on: keeper) { keeper, _ in keeper.seen.append("list") },
            ]
        }.value
        // It is added last, so it is called last.
        let last = await dog.observe(on: keeper) { (keeper, _: ObjectChange<Dog>) in keeper.seen.append("last") }
        try realm.write {
            dog.name = "Max"
            person.dogs.append(dog)
        }
        for _ in 0..<500 where await keeper.seen.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        #expect(await keeper.seen == ["last"])
        #expect(tokens.map { $0.invalidate() } == [false, false, false, false])
        #expect(last.invalidate())
    }

    /// Only managed objects can be observed (SPEC S82).
    @Test func observingAnUnmanagedObjectStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Dog(1, "").observe { (_: ObjectChange<Dog>) in }
        }
        expectMessage(result, "unmanaged object of Dog can't be observed")
    }

    /// An invalid string key path stops the program (SPEC S91).
    @Test func anInvalidKeyPathStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { @MainActor in
            let realm = try memoryRealm()
            let dog = Dog(1, "")
            try realm.write { realm.add(dog) }
            _ = dog.observe(keyPaths: ["nam"]) { (_: ObjectChange<Dog>) in }
        }
        expectMessage(result, "\"nam\"", "can't be observed")
    }
}

/// The changes that a block on another thread received.
final class Seen: @unchecked Sendable {
    // Guarded by the lock.
    private let lock = NSLock()
    private var texts: [String] = []
    func append(_ text: String) { lock.withLock { texts.append(text) } }
    var all: [String] { lock.withLock { texts } }
}

actor Keeper {
    var seen: [String] = []
}
