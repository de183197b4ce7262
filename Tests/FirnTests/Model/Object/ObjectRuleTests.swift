import Firn
import FirnTestSupport
import Foundation
import Testing

private class MaybeKeyed: Object {
    @Persisted(primaryKey: true) var id: Int?
    @Persisted var note = "note"
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class MaybeNamed: Object {
    @Persisted(primaryKey: true) var name: String?
    @Persisted var size = 1
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// The rules for single objects, their keys and their links.
@Suite(.timeLimit(.minutes(20))) struct ObjectRuleTests {
    /// A set of mixed values refuses a list and a dictionary, which stop the program where no error can be thrown.
    @Test func aSetOfMixedValuesRefusesCollections() throws {
        let realm = try memoryRealm(Box.types)
        for elements in [[["a": 7]], [[1, 2]], [3, ["a": [1]] as [String: Any]]] as [[Any]] {
            let value = ["set": elements] as [String: Any]
            #expect(throws: Realm.Error.self) { try Box(validating: value) }
            try realm.write {
                #expect(throws: Realm.Error.self) { try realm.create(Box.self, validating: value) }
            }
            #expect(realm.objects(Box.self).isEmpty)
        }
    }

    /// A key may be optional (SPEC S47). At most one object has a nil key, found by `forPrimaryKey: nil` (SPEC S66,
    /// SEMANTICS 30).
    @Test func anOptionalPrimaryKeyIsNilForOneObjectAtMost() throws {
        let realm = try memoryRealm([MaybeKeyed.self, MaybeNamed.self])
        try realm.write {
            realm.create(MaybeKeyed.self, value: ["note": "nil"])
            realm.create(MaybeKeyed.self, value: ["id": 0, "note": "zero"])
            realm.create(MaybeNamed.self, value: ["size": 7])
            realm.create(MaybeNamed.self, value: ["name": "", "size": 8])
            #expect(throws: Realm.Error.invalidInput) { try realm.create(MaybeKeyed.self, validating: ["note": "x"]) }
            #expect(throws: Realm.Error.invalidInput) { try realm.add(validating: MaybeNamed()) }
            realm.create(MaybeKeyed.self, value: ["id": NSNull(), "note": "updated"], update: .modified)
        }
        #expect(realm.objects(MaybeKeyed.self).count == 2 && realm.objects(MaybeNamed.self).count == 2)
        #expect(realm.object(ofType: MaybeKeyed.self, forPrimaryKey: Int?.none)?.note == "updated")
        #expect(realm.object(ofType: MaybeKeyed.self, forPrimaryKey: 0)?.note == "zero")
        #expect(realm.object(ofType: MaybeNamed.self, forPrimaryKey: String?.none)?.size == 7)
        #expect(realm.object(ofType: MaybeNamed.self, forPrimaryKey: "")?.size == 8)
    }

    /// Unmanaged, already deleted and foreign objects can't be deleted (SEMANTICS 34).
    @Test(arguments: [
        (0, "is unmanaged"), (1, "was deleted already"), (2, "belongs to another realm"), (3, "is frozen"),
    ])
    func objectsThatAreNotLiveInTheRealmCannotBeDeleted(which: Int, part: String) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [which] in
            let realm = try memoryRealm()
            let other = try memoryRealm()
            let dog = Dog(1, "Rex")
            let foreign = Dog(1, "Max")
            try realm.write { realm.add(dog) }
            try other.write { other.add(foreign) }
            try realm.write {
                switch which {
                case 0: realm.delete(Dog(2, "Bo"))
                case 1:
                    realm.delete(dog)
                    realm.delete(dog)
                case 2: realm.delete(foreign)
                default: realm.delete(other.objects(Dog.self)[0].freeze())
                }
            }
        }
        expectMessage(result, "Firn: can't delete", part)
    }

    /// `delete` needs a write transaction (SEMANTICS 34).
    @Test func deletingOutsideOfAWriteStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm()
            let dog = Dog(1, "Rex")
            try realm.write { realm.add(dog) }
            realm.delete(dog)
        }
        expectMessage(result, "can't delete an object outside of a write transaction")
    }

    /// A link leads to a live object of its own realm (SEMANTICS 77): one of another realm, a deleted one and a frozen
    /// one stop.
    @Test(arguments: [
        (0, "belongs to another realm"), (1, "was deleted already"), (2, "is frozen"), (3, "belongs to another realm"),
        (4, "was deleted already"),
    ])
    func linkingToAnObjectThatIsNotLiveInTheRealmStops(which: Int, part: String) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [which] in
            let (realm, other) = (try memoryRealm(), try memoryRealm())
            let (dog, person, gone, foreign) = (Dog(1, "Rex"), Person(), Person(), Person())
            let (foreignDog, goneDog) = (Dog(1, "Max"), Dog(2, "Bo"))
            try other.write { other.add([foreign, foreignDog] as [Object]) }
            try realm.write { realm.add([dog, person, gone, goneDog] as [Object]) }
            try realm.write { realm.delete([gone, goneDog] as [Object]) }
            try realm.write {
                dog.owner = person
                switch which {
                case 0: dog.owner = foreign
                case 1: dog.owner = gone
                case 2: dog.owner = other.objects(Person.self)[0].freeze()
                case 3: person.dogs.append(foreignDog)
                default: person.dogs.append(goneDog)
                }
            }
        }
        expectMessage(result, "Firn: can't link to an object of \(which < 3 ? "Person" : "Dog")", part)
    }

    /// `distinct` keeps the first object in the current order and drops objects with a nil link on the path
    /// (SEMANTICS 72). Deleting it deletes these representatives only (SEMANTICS 36).
    @Test func distinctKeepsTheFirstInOrderAndDeletingItDeletesOnlyThoseObjects() throws {
        let realm = try memoryRealm()
        let people = [40, nil, 40, nil].map { Person(value: ["age": $0 as Any]) }
        try realm.write {
            realm.add(people)
            for (id, name) in ["Rex", "Max", "Rex", "Bo", "Max"].enumerated() {
                let dog = Dog(id, name, age: 10 - id)
                dog.owner = id < 4 ? people[id] : nil
                realm.add(dog)
            }
        }
        let dogs = realm.objects(Dog.self)
        #expect(dogs.distinct(by: ["name"]).map(\.id) == [0, 1, 3])
        #expect(dogs.sorted(byKeyPath: "age").distinct(by: ["name"]).map(\.id) == [4, 3, 2])
        // Nil is one group; a dog without an owner is in no group.
        #expect(dogs.distinct(by: ["owner.age"]).map(\.id) == [0, 1])
        #expect(realm.objects(Person.self).distinct(by: ["age"]).count == 2)
        try realm.write { realm.delete(dogs.distinct(by: ["name"])) }
        #expect(dogs.map(\.id) == [2, 4])
    }

    /// A list that holds an object twice contributes two backlinks (SEMANTICS 40). Deleting the object removes every
    /// occurrence (SEMANTICS 33).
    @Test func backlinksCountEveryLink() throws {
        let realm = try memoryRealm()
        let dog = Dog(1, "Rex")
        let (ann, bob) = (Person(value: ["name": "Ann"]), Person(value: ["name": "Bob"]))
        try realm.write {
            realm.add([ann, bob])
            ann.dogs.append(objectsIn: [dog, dog])
            bob.dogs.append(dog)
        }
        #expect(dog.keepers.count == 3 && dog.keepers.map(\.name).sorted() == ["Ann", "Ann", "Bob"])
        try realm.write { ann.dogs.remove(at: 0) }
        #expect(dog.keepers.map(\.name).sorted() == ["Ann", "Bob"])
        try realm.write { realm.delete(dog) }
        #expect(ann.dogs.isEmpty && bob.dogs.isEmpty)
    }

    /// Frozen collections can be filtered and sorted (SEMANTICS 65).
    @Test func frozenCollectionsAreFilteredAndSorted() throws {
        let realm = try memoryRealm()
        let person = Person(value: ["dogs": [[1, "Rex", 3], [2, "Max", 2], [3, "Bo", 1]]])
        try realm.write { realm.add(person) }
        let (dogs, list) = (realm.objects(Dog.self).freeze(), person.dogs.freeze())
        try realm.write { for dog in realm.objects(Dog.self) { dog.age = 9 } }
        #expect(dogs.where { $0.age > 1 }.sorted(byKeyPath: "age").map(\.id) == [2, 1])
        #expect(list.filter("age < 3").map(\.id) == [2, 3] && list.sorted(byKeyPath: "name").map(\.id) == [3, 2, 1])
        #expect(dogs.where { $0.age > 1 }.isFrozen && list.sorted(byKeyPath: "name").isFrozen)
    }

    /// Freezing a collection on a thread that is not its realm's stops (SEMANTICS 65).
    @Test func freezingACollectionOfAnotherThreadStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm()
            try realm.write { realm.add(Dog(1, "Rex")) }
            nonisolated(unsafe) let dogs = realm.objects(Dog.self)
            let done = DispatchSemaphore(value: 0)
            Thread {
                print(dogs.freeze().count)
                done.signal()
            }.start()
            _ = done.wait(timeout: .testTimeout)
        }
        expectMessage(result, "Firn: ", "on another thread")
    }

    /// Otherwise it would change what belongs to the realm's thread, without a lock.
    @Test(arguments: 0..<4) func usingACollectionOnAnotherThreadStops(what: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [what] in
            let realm = try memoryRealm()
            try realm.write { realm.add(Person(value: ["dogs": [[1, "Rex"]], "numbers": [1]])) }
            nonisolated(unsafe) let dogs = realm.objects(Dog.self).where { $0.age > 0 }
            nonisolated(unsafe) let list = realm.objects(Person.self)[0].dogs
            guard list.count == 1 else { exit(0) }
            let done = DispatchSemaphore(value: 0)
            Thread {
                // The derived collections are not read.
                switch what {
                case 0: print(dogs.sum(ofProperty: "age") as Int)
                case 1: _ = list.filter("age > 0")
                case 2: _ = list.sorted(byKeyPath: "age")
                default: _ = dogs.where { $0.age > 1 }
                }
                done.signal()
            }.start()
            _ = done.wait(timeout: .testTimeout)
        }
        expectMessage(result, "Firn: ", "on another thread")
    }

    @Test func openingForTheMainQueueOnAnotherThreadStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let done = DispatchSemaphore(value: 0)
            Thread {
                let realm = try? Realm(
                    configuration: .init(inMemoryIdentifier: "m", objectTypes: [MaybeKeyed.self]), queue: .main)
                print(realm?.isEmpty ?? true)
                done.signal()
            }.start()
            _ = done.wait(timeout: .testTimeout)
        }
        expectMessage(result, "Firn: ", "for a queue outside of it")
    }

    /// Comparing a list means "some element"; a collection in the middle of a path needs ANY or an aggregate
    /// (SEMANTICS 75). Two properties need fitting types to be compared, and collections can't be (SEMANTICS 76).
    @Test func collectionsAndTypesThatCannotBeComparedAreRefused() throws {
        let realm = try memoryRealm()
        try realm.write {
            realm.add(Person(value: ["name": "Ann", "age": 2, "numbers": [1, 2], "dogs": [[1, "Rex", 7]]]))
            realm.add(Person(value: ["name": "Bob", "numbers": [3]]))
        }
        let people = realm.objects(Person.self)
        #expect(people.where { $0.numbers == 2 }.map(\.name) == ["Ann"])
        #expect(people.where { $0.numbers > 2 }.map(\.name) == ["Bob"])
        #expect(
            people.filter("ANY dogs.age == 7").map(\.name) == ["Ann"] && people.filter("dogs.@max.age == 7").count == 1)
        let things = realm.objects(Everything.self)
        try realm.write { realm.add(Everything(value: ["int": 3, "double": 3.0, "float": 2.5])) }
        #expect(things.where { $0.int == $0.double }.count == 1 && things.where { $0.float < $0.int }.count == 1)
        for text in [
            "dogs.age == 7", "numbers == numbers", "dogs == numbers", "name == age", "dogs == 'Rex'",
            "age BETWEEN age", "3 BETWEEN age", "3 BETWEEN numbers", "ANY dogs.age BETWEEN age",
            "age IN dogs.@count", "3 IN dogs.@count", "age BETWEEN dogs.@max.age", "dogs.@count BETWEEN age",
            "3 IN SUBQUERY(dogs, $d, $d.age > 1).@count", "{1, 2} BETWEEN age",
            "SUBQUERY(dogs, $d, $d.age BETWEEN $d.id).@count > 0",
        ] {
            let error = try #require(throws: Realm.Error.self) { _ = try people.filter(validating: text) }
            #expect(error.code == .invalidInput, "\(text): \(error)")
        }
    }

    /// `objectTypes` restricts the schema, and other classes stop on use (SEMANTICS 85).
    @Test func aClassThatTheRealmDoesNotHaveStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            print(try memoryRealm([MaybeKeyed.self]).objects(Dog.self).count)
        }
        expectMessage(result, "the realm has no class Dog", "objectTypes")
    }

    /// Functions that validate throw, also for the object itself.
    @Test func aClassThatTheRealmDoesNotHaveIsRefused() throws {
        let realm = try memoryRealm([MaybeKeyed.self])
        let foreign = try memoryRealm()
        try foreign.write { foreign.add(Dog(1, "Rex")) }
        let dog = foreign.objects(Dog.self)[0]
        try realm.write {
            for policy in [Realm.UpdatePolicy.error, .modified, .all] {
                for object in [Dog(2, "Max"), dog, Everything()] {
                    let added = try #require(throws: Realm.Error.self) {
                        try realm.add(validating: object, update: policy)
                    }
                    #expect(added.code == .invalidInput && added.message.contains("has no class"), "\(added)")
                    let created = try #require(throws: Realm.Error.self) {
                        try realm.create(Dog.self, validating: object, update: policy)
                    }
                    #expect(
                        created.code == .invalidInput && created.message.contains("objectTypes"), "\(created)")
                }
            }
        }
        #expect(realm.isEmpty)
    }

    /// A value of more than 16 MB stops (SEMANTICS 89).
    @Test(arguments: [0, 1, 2])
    func aValueOfMoreThanSixteenMegabytesStops(which: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [which] in
            let realm = try memoryRealm()
            let object = Everything()
            try realm.write {
                realm.add(object)
                switch which {
                case 0: object.data = Data(count: 17 << 20)
                case 1: object.string = String(repeating: "x", count: 17 << 20)
                default: realm.create(Everything.self, value: ["optionalData": Data(count: 17 << 20)])
                }
            }
        }
        expectMessage(result, "Firn: ", "bytes", "at most")
    }
}
