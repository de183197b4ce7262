import FirnCore
import Foundation
import Testing

@testable import Firn

/// An observer on a queue begins in that queue's realm, which may show another version than the one that the call was
/// made in.
@MainActor
@Suite(.timeLimit(.minutes(20))) struct QueueObserverTests {
    private let name = UUID().uuidString
    private let types: [ObjectBase.Type] = [Dog.self, Person.self]
    private let queue = DispatchQueue(label: "observer")
    private let seen = Seen()
    private func open() throws -> Realm { try memoryRealm(types, name) }

    /// The queue's realm, which shows the version that is the newest now, until it is asked to refresh.
    private func openOnQueue() throws -> Realm {
        try queue.sync {
            let realm = try Realm(configuration: .init(inMemoryIdentifier: name, objectTypes: types), queue: queue)
            realm.autorefresh = false
            _ = realm.isEmpty
            return realm
        }
    }

    private func observe<C: RealmCollection>(_ label: String, _ collection: C) -> NotificationToken {
        let seen = seen
        return collection.observe(on: queue) { change in
            switch change {
            case .initial(let now): seen.append("\(label): initial \(now.count)")
            case .update(let now, let deletions, let insertions, _):
                seen.append("\(label): \(now.count) \(deletions) \(insertions)")
            case .error: seen.append("\(label): error")
            }
        }
    }

    @Test func aListIsObservedInARealmThatIsOlderThanItsOwner() async throws {
        let realm = try open()
        try realm.write { realm.add(Dog(9, "first")) }
        let own = try openOnQueue()
        let person = Person(value: ["dogs": [[1, "Rex"]], "numbers": [1, 2]])
        try realm.write { realm.add(person) }
        let tokens = [
            observe("dogs", person.dogs), observe("numbers", person.numbers),
            observe("keepers", person.dogs[0].keepers), observe("results", person.dogs.where { $0.age > 0 }),
        ]
        await wait { seen.all.count == 4 }
        #expect(seen.all == ["dogs: initial 1", "numbers: initial 2", "keepers: initial 1", "results: initial 1"])
        try realm.write { person.numbers.append(3) }
        queue.sync { _ = own.refresh() }
        // The keeper has changed, too.
        #expect(seen.all.dropFirst(4) == ["numbers: 3 [] [2]", "keepers: 1 [] []"])
        tokens.forEach { $0.invalidate() }
    }

    /// If the owner is deleted (SEMANTICS 60) before the first call, that call comes, and has an empty collection.
    @Test func theInitialCallHasAnEmptyListIfTheOwnerIsDeletedWhileTheQueueIsSuspended() async throws {
        let realm = try open()
        let person = Person(value: ["dogs": [[1, "Rex"]], "numbers": [1, 2]])
        let dog = Dog(2, "Max")
        try realm.write {
            realm.add(person)
            realm.add(dog)
        }
        queue.suspend()
        let tokens = [
            observe("dogs", person.dogs), observe("numbers", person.numbers), observe("keepers", dog.keepers),
            observe("results", person.dogs.where { $0.age > 0 }),
        ]
        try realm.write {
            realm.delete(person)
            realm.delete(dog)
        }
        queue.resume()
        await wait { seen.all.count == 4 }
        #expect(seen.all == ["dogs: initial 0", "numbers: initial 0", "keepers: initial 0", "results: initial 0"])
        try realm.write { realm.add(Dog(3, "Bo")) }
        queue.sync {}
        #expect(seen.all.count == 4)
        tokens.forEach { $0.invalidate() }
    }

    /// An object that a transaction has deleted is there again when the transaction is cancelled.
    @Test func aListCanBeObservedWhileATransactionOfTheQueueHasDeletedItsOwner() async throws {
        let realm = try open()
        let person = Person(value: ["dogs": [[1, "Rex"]]])
        try realm.write { realm.add(person) }
        let own = try openOnQueue()
        queue.sync {
            own.beginWrite()
            own.delete(own.objects(Person.self)[0])
        }
        let token = observe("dogs", person.dogs)
        queue.sync {}
        #expect(seen.all.isEmpty)
        queue.sync { own.cancelWrite() }
        await wait { !seen.all.isEmpty }
        #expect(seen.all == ["dogs: initial 1"])
        token.invalidate()
    }

    /// No version is shown before it is durable. The empty transaction, in which observing is allowed (SEMANTICS 59),
    /// begins from a version that is not published yet; the queue's realm is opened for the observer.
    @Test func anotherRealmShowsOnlyPublishedVersions() async throws {
        let realm = try open()
        try realm.write { realm.add(Dog(1, "Rex", age: 1)) }
        let binding = realm.instance.binding(of: Dog.self)
        let age = try #require(binding.info.stored.first { $0.name == "age" })
        let other = try realm.instance.store.beginWrite()
        other.set(binding.table, column: binding.column(age), key: 0, to: .int(9))
        _ = try other.commitWithoutWaiting()
        realm.beginWrite()
        let seen = seen
        let token = realm.objects(Dog.self).observe(on: queue) { change in
            switch change {
            case .initial(let now): seen.append("initial \(now[0].age)")
            case .update(let now, _, _, let modifications): seen.append("\(now[0].age) \(modifications)")
            case .error: break
            }
        }
        await wait { !seen.all.isEmpty }
        #expect(seen.all == ["initial 1"])
        realm.cancelWrite()
        await wait { seen.all.count == 2 }
        #expect(seen.all == ["initial 1", "9 [0]"])
        token.invalidate()
    }
}
