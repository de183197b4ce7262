import Firn
import FirnTestSupport
import Foundation
import Testing

private class Clan: Object {
    @Persisted var members: List<Person>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// The rows of the reference pages about comparing and freezing, and the general ones.
@Suite(.timeLimit(.minutes(20))) struct IdentityRowTests {
    /// The same row is the same object (S105, S106); equality and hash go by row for classes with a key and for frozen
    /// objects, by instance for others (S107, S108).
    @Test func rowsAndInstances() throws {
        let (realm, other) = (try memoryRealm(), try memoryRealm())
        let person = Person()
        try realm.write {
            realm.add([Dog(1, "Rex"), Dog(2, "Max")]); realm.add(person)
        }
        try other.write { other.add(Dog(1, "Rex")) }
        let (a, b) = (realm.objects(Dog.self)[0], realm.objects(Dog.self)[0])
        #expect(a !== b && a.isEqual(to: b) && a.isSameObject(as: b) && a == b && a.hash == b.hash)
        #expect(a != realm.objects(Dog.self)[1] && !a.isSameObject(as: nil) && a.isEqual(b) && !a.isEqual("Rex"))
        #expect(!a.isSameObject(as: other.objects(Dog.self)[0]) && a != Dog(1, "Rex"))
        let unmanaged = Dog(3, "Pet")
        #expect(unmanaged.isSameObject(as: unmanaged) && !unmanaged.isSameObject(as: Dog(3, "Pet")))
        let again = realm.objects(Person.self)[0]
        #expect(person != again && person.isSameObject(as: again) && person.hash != again.hash)
        #expect(person.freeze() == again.freeze() && person.freeze().hash == again.freeze().hash)
        let before = person.freeze()
        try realm.write { person.name = "new" }
        #expect(!before.isSameObject(as: person.freeze()) && !before.isSameObject(as: person))
    }

    /// Without a primary key, a collection finds the index of an object by its row, but `contains` and the `==` of
    /// unmanaged lists compare instances, unlike in Realm (SEMANTICS 95).
    @Test func collectionsOfObjectsWithoutAKey() throws {
        let realm = try memoryRealm([Clan.self, Dog.self, Person.self])
        let clan = Clan(value: ["members": [["name": "Ann"], ["name": "Bob"]]])
        try realm.write { realm.add(clan) }
        let (people, members) = (realm.objects(Person.self), clan.members)
        let bob = members[1]
        #expect(people.index(of: bob) == 1 && members.index(of: bob) == 1)
        #expect(people.contains(bob) && members.contains(bob) && !members.contains(Person()))
        #expect(people.sorted(byKeyPath: "name").index(of: bob) == 1 && !Array(members).contains(bob))
        let (list, same, other) = (List<Person>(), List<Person>(), List<Person>())
        list.append(bob)
        same.append(bob)
        other.append(members[1])
        #expect(list == same && list == other && other.index(of: bob) == 0 && other.contains(bob))
        // With a primary key they go by row.
        try realm.write { members[0].dogs.append(Dog(1, "Rex")) }
        #expect(members[0].dogs.contains(realm.objects(Dog.self)[0]))
    }

    /// A frozen object never changes, on any thread (S110); thawing gives the live one, itself if it is live, and nil
    /// if it is gone (S113 to S115).
    @Test func freezingAndThawing() throws {
        let realm = try memoryRealm()
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        let frozen = Frozen(dog)
        #expect(frozen.value.freeze() === frozen.value && dog.thaw() === dog)
        try realm.write { dog.name = "Max" }
        let done = DispatchSemaphore(value: 0)
        Thread {
            #expect(frozen.value.name == "Rex")
            done.signal()
        }.start()
        #expect(done.wait(timeout: .testTimeout) == .success)
        #expect(frozen.value.thaw()?.name == "Max" && frozen.value.thaw()?.isFrozen == false)
        try realm.write { realm.delete(dog) }
        #expect(frozen.value.thaw() == nil && frozen.value.name == "Rex")
    }

    /// Misuse stops the program (S115 to S119, SEMANTICS 20).
    @Test func misuseStops() async {
        let unmanaged = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Dog(1, "Rex").thaw()
        }
        expectMessage(unmanaged, "an unmanaged object of Dog can't be thawed")
        let outside = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm()
            let dog = Dog(1, "Rex")
            try realm.write { realm.add(dog) }
            dog.name = "Max"
        }
        expectMessage(outside, "Dog.name", "write transaction")
        let thread = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm()
            let dog = Dog(1, "Rex")
            try realm.write { realm.add(dog) }
            nonisolated(unsafe) let other = realm
            Thread { _ = other.objects(Dog.self).count }.start()
            try await Task.sleep(for: .seconds(60))
        }
        expectMessage(thread, "thread")
        let readOnly = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let folder = TemporaryFolder()
            let url = URL(filePath: folder.path + "/r.firn")
            do { _ = try Realm(configuration: .init(fileURL: url, objectTypes: [Dog.self, Person.self])) }
            var configuration = Realm.Configuration(fileURL: url, objectTypes: [Dog.self, Person.self])
            configuration.readOnly = true
            try Realm(configuration: configuration).beginWrite()
        }
        expectMessage(readOnly, "read-only")
    }
}
