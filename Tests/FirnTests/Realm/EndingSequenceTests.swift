import Firn
import Foundation
import Testing

/// Sequences run code of the application, which may end the transaction, begin another, or change the collection that
/// they are put into.
@Suite(.timeLimit(.minutes(20))) struct EndingSequenceTests {
    /// A sequence that commits the transaction and begins another before every tenth element.
    private func batched(_ realm: Realm, _ count: Int) throws -> LazyMapCollection<Range<Int>, Int> {
        let other = try memoryRealm()
        return (0..<count).lazy.map { number in
            if number % 10 == 9 {
                try! realm.commitWrite()
                // Reuses the memory of the transaction that has ended.
                other.beginWrite()
                realm.beginWrite()
                other.cancelWrite()
            }
            return number
        }
    }

    @Test(arguments: [Realm.UpdatePolicy.error, .modified]) func anImportInBatchesIsAdded(policy: Realm.UpdatePolicy)
        throws
    {
        let realm = try memoryRealm()
        realm.beginWrite()
        realm.add(try batched(realm, 1000).map { Dog($0, "dog") } as LazyMapCollection, update: policy)
        try realm.commitWrite()
        #expect(realm.objects(Dog.self).map(\.id) == Array(0..<1000))
    }

    @Test(arguments: [false, true]) func anImportInBatchesIsCreated(isUpdate: Bool) throws {
        let realm = try memoryRealm()
        realm.beginWrite()
        if isUpdate { for id in 0..<50 { realm.create(Dog.self, value: ["id": id, "name": "old"]) } }
        let value: [String: Any] = [
            "id": 7, "owner": ["dogs": try batched(realm, 100).map { ["id": $0, "name": "new"] } as LazyMapCollection],
        ]
        let dog =
            try isUpdate
            ? realm.create(Dog.self, value: value, update: .modified)
            : realm.create(Person.self, validating: value["owner"] as Any).dogs[7]
        try realm.commitWrite()
        #expect(dog.id == 7 && dog.name == "new" && realm.objects(Dog.self).count == 100)
        #expect(realm.objects(Person.self)[0].dogs.map(\.name) == Array(repeating: "new", count: 100))
    }

    @Test func listsAcceptValuesComputedInBatches() throws {
        let realm = try memoryRealm()
        let person = Person(value: ["numbers": [1, 2, 3]])
        realm.beginWrite()
        realm.add(person)
        person.numbers.insert(contentsOf: try batched(realm, 30), at: 1)
        #expect(Array(person.numbers) == [1] + Array(0..<30) + [2, 3])
        person.numbers.replaceSubrange(1..., with: try batched(realm, 50))
        #expect(Array(person.numbers) == [1] + Array(0..<50))
        person.numbers.append(objectsIn: try batched(realm, 20))
        person["numbers"] = try batched(realm, 20)
        #expect(Array(person.numbers) == Array(0..<20))
        person.dogs.replaceSubrange(0..., with: try batched(realm, 20).map { Dog($0, "dog") } as LazyMapCollection)
        try realm.commitWrite()
        #expect(person.dogs.map(\.id) == Array(0..<20) && realm.objects(Dog.self).count == 20)
    }

    @Test func objectsFoundInBatchesAreDeleted() throws {
        let realm = try memoryRealm()
        realm.beginWrite()
        realm.add((0..<100).map { Dog($0, "dog") })
        let dogs = realm.objects(Dog.self)
        realm.delete(try batched(realm, 40).map { dogs[$0] } as LazyMapCollection)
        try realm.commitWrite()
        #expect(dogs.map(\.id) == Array(40..<100))
    }

    /// A sequence that ends the transaction, and begins no other, stops the program; nothing is written to the ended
    /// transaction.
    @Test(arguments: 0..<8) func aSequenceThatEndsTheTransactionStops(use: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [use] in
            let realm = try memoryRealm()
            let person = Person(value: ["numbers": [1, 2, 3], "dogs": [[1, "Rex"]]])
            try realm.write { realm.add(person) }
            let dog = person.dogs[0]
            realm.beginWrite()
            let numbers = (10..<11).lazy.map { number in
                if use % 2 == 0 { realm.cancelWrite() } else { try! realm.commitWrite() }
                return number
            }
            let dogs = numbers.map { Dog($0, "Max") } as LazyMapCollection
            switch use {
            case 0, 1: person.numbers.insert(contentsOf: numbers, at: 0)
            case 2: person.dogs.replaceSubrange(0..., with: dogs)
            case 3: realm.add(dogs)
            case 4: realm.create(Person.self, value: ["dogs": dogs])
            case 5: try realm.create(Person.self, validating: ["numbers": numbers])
            case 6: realm.create(Dog.self, value: ["id": 1, "owner": ["dogs": dogs]], update: .modified)
            default: realm.delete(numbers.map { _ in dog } as LazyMapCollection)
            }
            exit(0)
        }
        expectMessage(result, "outside of a write transaction")
    }

    @Test(arguments: [false, true]) func elementsThatShortenTheirListAreCheckedAgainstTheRest(isManaged: Bool) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [isManaged] in
            let realm = try memoryRealm()
            let person = Person(value: ["numbers": [1, 2, 3]])
            realm.beginWrite()
            if isManaged { realm.add(person) }
            let list = person.numbers
            list.replaceSubrange(
                0..<3,
                with: [7].lazy.map { number in
                    list.removeAll()
                    return number
                })
            exit(0)
        }
        expectMessage(result, "lies outside of a list of 0 elements")
    }

    /// An object that the application's code deletes meanwhile is not written to.
    @Test func anObjectThatIsDeletedBeforeItsUpdateStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm()
            realm.beginWrite()
            let dog = Dog(1, "Rex")
            realm.add(dog)
            let dogs = (0..<1).lazy.map { _ in
                realm.delete(dog)
                return Dog(2, "Max")
            }
            realm.create(Dog.self, value: ["id": 1, "name": "Bo", "owner": ["dogs": dogs]], update: .modified)
            exit(0)
        }
        expectMessage(result, "an object of Dog was deleted")
    }
}
