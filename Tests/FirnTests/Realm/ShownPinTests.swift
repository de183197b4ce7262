import FirnTestSupport
import Foundation
import Testing

@testable import Firn

/// A realm moves the pin of the version that it shows, if nothing else refers to that pin.
@Suite("A realm advances without making a pin", .timeLimit(.minutes(20)))
struct ShownPinTests {
    private let name = UUID().uuidString
    private func open() throws -> Realm { try memoryRealm([Dog.self, Person.self], name) }

    private func pin(_ realm: Realm) -> ObjectIdentifier? { realm.instance.pin.map(ObjectIdentifier.init) }

    private func writeElsewhere(_ age: Int) throws {
        try onAnotherThread(name, types: [Dog.self, Person.self]) { other in
            try other.write { other.objects(Dog.self)[0].age = age }
        }
    }

    @Test("at a commit and at a refresh") func moves() throws {
        let realm = try open()
        try realm.write { realm.add(Dog(1, "Rex")) }
        let dog = realm.objects(Dog.self)[0]
        let first = try #require(pin(realm))
        for age in 2..<6 {
            try realm.write { dog.age = age }
            #expect(pin(realm) == first && dog.age == age)
            try writeElsewhere(age * 10)
            #expect(dog.age == age)
            realm.refresh()
            #expect(pin(realm) == first && dog.age == age * 10)
        }
        realm.beginWrite()
        dog.age = 1
        realm.cancelWrite()
        #expect(pin(realm) == first && dog.age == 50)
        #expect(realm.activeVersions.count == 1)
    }

    @MainActor
    @Test("at a turn of the main queue") func turn() async throws {
        let realm = try open()
        try realm.write { realm.add(Dog(1, "Rex")) }
        let dog = realm.objects(Dog.self)[0]
        let first = try #require(pin(realm))
        try writeElsewhere(7)
        await wait { dog.age == 7 }
        #expect(pin(realm) == first && dog.age == 7)
    }

    @Test("unless an iterator refers to it, which goes on reading its version") func iterator() throws {
        let realm = try open()
        try realm.write { for id in 0..<600 { realm.add(Dog(id, "dog", age: id)) } }
        let first = try #require(pin(realm))
        var iterator = realm.objects(Dog.self).makeIterator()
        #expect(iterator.next()?.age == 0)
        try realm.write { realm.delete(realm.objects(Dog.self).where { $0.age < 300 }) }
        #expect(pin(realm) != first)
        var (gone, left) = (0, 0)
        while let dog = iterator.next() { if dog.isInvalidated { gone += 1 } else { left += 1 } }
        #expect(gone == 299 && left == 300)
    }

    @Test("and what is frozen stays at its version") func frozen() throws {
        let realm = try open()
        try realm.write { realm.add(Dog(1, "Rex", age: 1)) }
        let dog = realm.objects(Dog.self)[0]
        let frozen = (realm.freeze(), dog.freeze())
        for age in 2..<5 { try realm.write { dog.age = age } }
        #expect(frozen.0.objects(Dog.self)[0].age == 1 && frozen.1.age == 1 && dog.age == 4)
        #expect(realm.activeVersions.count == 2)
    }

    @MainActor
    @Test("and an observer that is added in the transaction is called for it") func observer() async throws {
        let realm = try open()
        try realm.write { realm.add(Dog(1, "Rex", age: 1)) }
        let dog = realm.objects(Dog.self)[0]
        realm.beginWrite()
        nonisolated(unsafe) var ages: [Int] = []
        let token = dog.observe { (change: ObjectChange<Dog>) in
            guard case .change(_, let properties) = change else { return }
            ages += properties.compactMap { $0.newValue as? Int }
        }
        dog.age = 5
        try realm.commitWrite()
        await waitForDeliveries(of: realm)
        #expect(ages == [5])
        token.invalidate()
        // The last observer ends, and the next commit has none.
        try realm.write { dog.age = 6 }
        await waitForDeliveries(of: realm)
        #expect(ages == [5] && dog.age == 6)
    }
}
