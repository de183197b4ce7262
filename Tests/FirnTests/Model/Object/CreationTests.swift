import Firn
import Foundation
import Testing

/// An object that can link to itself in each way that there is.
private class Knot: Object {
    @Persisted var link: Knot?
    @Persisted var list: List<Knot>
    @Persisted var set: MutableSet<Knot>
    @Persisted var map: Map<String, Knot?>
    @Persisted var mixed: AnyRealmValue
    @Persisted var mixedList: List<AnyRealmValue>
    @Persisted var mixedMap: Map<String, AnyRealmValue>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

@Suite(.timeLimit(.minutes(20))) struct CreationTests {
    /// Values are dictionaries, arrays, objects or structs (SPEC S14). Arrays may be shorter than the class (SPEC
    /// S17), and unknown keys are ignored (SEMANTICS 27).
    @Test func valuesComeFromDictionariesArraysObjectsAndStructs() throws {
        struct Source {
            var name = "struct"
            var age = 4
            var unknown = 1
        }
        #expect(Dog(value: ["id": 3, "name": "Rex", "unknown": 1]).name == "Rex")
        let short = Dog(value: [4, "Max"])
        #expect(short.id == 4 && short.name == "Max" && short.age == 1)
        #expect(Dog(value: Source()).age == 4)
        let copy = Dog(value: Dog(7, "Bo", age: 3))
        #expect(copy.id == 7 && copy.name == "Bo" && copy.age == 3)
        let person = Person(value: [
            "dogs": [["id": 1], [2, "b"], Dog(3, "c")], "friend": ["name": "x"], "numbers": [1, 2.0],
        ])
        #expect(person.dogs.map(\.id) == [1, 2, 3] && person.friend?.name == "x" && Array(person.numbers) == [1, 2])
    }

    /// A value that does not fit its property's type is a typed error (SPEC S16) with the path of the property.
    @Test func aValueOfTheWrongTypeIsRefusedWithItsPath() throws {
        let faults: [([String: Any], String)] = [
            (["id": "x"], "id"), (["age": 1.5], "age"), (["age": NSNull()], "age"), (["owner": 5], "owner"),
            (["name": 5], "name"),
            (["owner": ["dogs": [["id": 1], ["age": "old"]]]], "owner.dogs[1].age"),
        ]
        for (value, path) in faults {
            let error = #expect(throws: Realm.Error.self) { _ = try Dog(validating: value) }
            #expect(
                error?.code == .invalidInput && error?.message.contains("\"\(path)\"") == true,
                "\(String(describing: error))")
        }
    }

    /// An array may be shorter than the class, and not longer (SPEC S17, SEMANTICS 27).
    @Test func anArrayLongerThanTheClassIsRefused() throws {
        let error = #expect(throws: Realm.Error.self) { _ = try Dog(validating: [1, "a", 3, NSNull(), 5]) }
        #expect(error?.message.contains("4 properties") == true)
    }

    /// `add` makes the given instances managed and keeps their lists (SEMANTICS 21), each instance once even in
    /// cycles (SEMANTICS 23).
    @Test func addingACycleAddsEachObjectOnceAndKeepsInstancesAndLists() throws {
        let realm = try memoryRealm()
        let person = Person()
        let dog = Dog(1, "Rex")
        dog.owner = person
        person.friend = person
        let list = person.dogs
        list.append(dog)
        list.append(dog)
        person.numbers.append(objectsIn: [3, 1, 2])
        try realm.write { realm.add(person) }
        #expect(realm.objects(Person.self).count == 1 && realm.objects(Dog.self).count == 1)
        #expect(person.friend?.isSameObject(as: person) == true && dog.owner?.isSameObject(as: person) == true)
        #expect(list === person.dogs && list.count == 2 && list[1] == dog && dog.realm == realm)
        #expect(Array(person.numbers) == [3, 1, 2])
        try realm.write { list.append(Dog(2, "Max")) }
        #expect(person.dogs.count == 3 && realm.objects(Dog.self).count == 2)
    }

    @Test func addingALongChainNeedsNoDeepStack() throws {
        let realm = try memoryRealm()
        var last: Person?
        for _ in 0..<50_000 {
            let person = Person()
            person.friend = last
            last = person
        }
        let head = last!
        try realm.write { realm.add(head) }
        #expect(realm.objects(Person.self).count == 50_000)
    }

    /// What an unmanaged object's links held is released by `add`, so a cycle is freed (SEMANTICS 21).
    @Test(arguments: 0..<8) func anAddedCycleIsFreed(by link: Int) throws {
        let realm = try memoryRealm([Knot.self])
        weak var first: Knot?
        weak var second: Knot?
        func addCycle() throws {
            let (one, other) = (Knot(), Knot())
            for (knot, target) in [(one, other), (other, one)] {
                switch link {
                case 0: knot.link = target
                case 1: knot.list.append(target)
                case 2: knot.set.insert(target)
                case 3: knot.map["k"] = target
                case 4: knot.mixed = .object(target)
                case 5: knot.mixedList.append(.object(target))
                case 6: knot.mixedMap["k"] = .object(target)
                default: knot.mixed = .fromArray([.fromDictionary(["k": .object(target)])])
                }
            }
            (first, second) = (one, other)
            try realm.write { realm.add(one) }
            #expect(other.realm == realm)
        }
        try addCycle()
        #expect(first == nil && second == nil && realm.objects(Knot.self).count == 2)
    }

    /// `create` copies an unmanaged object (SEMANTICS 24). Absent properties get the values of a fresh instance
    /// (SEMANTICS 28).
    @Test func createCopiesAnUnmanagedObjectAndUsesDefaultsForTheRest() throws {
        let realm = try memoryRealm()
        let source = Dog(1, "Rex")
        source.owner = Person()
        let created = try realm.write { realm.create(Dog.self, value: source) }
        #expect(
            source.realm == nil && source.owner?.realm == nil && created.name == "Rex"
                && created.owner?.name == "nobody")
        let other = try realm.write { realm.create(Dog.self, value: ["id": 2]) }
        #expect(other.age == 1)
    }

    /// `.modified` changes only what differs, `.all` every property supplied (SEMANTICS 25). Absent keys leave their
    /// properties as they are (SEMANTICS 27, SPEC S32).
    @Test func anUpdateChangesThePropertiesGivenAndNoOthers() throws {
        let realm = try memoryRealm()
        let dog = try realm.write { realm.create(Dog.self, value: ["id": 1, "name": "Rex", "age": 5]) }
        let updated = try realm.write {
            realm.create(Dog.self, value: ["id": 1, "name": "Max", "owner": ["name": "Ann"]], update: .modified)
        }
        #expect(updated == dog && dog.name == "Max" && dog.age == 5 && dog.owner?.name == "Ann")
        try realm.write { realm.add(Dog(1, "Bo"), update: .all) }
        #expect(dog.name == "Bo" && dog.age == 1 && dog.owner == nil && realm.objects(Dog.self).count == 1)
        try realm.write {
            realm.create(
                Dog.self,
                value: ["id": 1, "owner": ["dogs": [["id": 1, "name": "Upserted"], ["id": 2, "name": "New"]]]],
                update: .modified)
        }
        #expect(dog.name == "Upserted" && dog.owner?.dogs.map(\.name) == ["Upserted", "New"])
    }

    @Test func theKeyOfAnExistingObjectIsRefusedAndNothingIsChanged() throws {
        let realm = try memoryRealm()
        try realm.write { realm.add(Dog(1, "Rex")) }
        try realm.write {
            let owner = Person(value: ["dogs": [[1, "again"]]])
            let error = #expect(throws: Realm.Error.self) { try realm.add(validating: owner) }
            #expect(error?.code == .invalidInput && error?.message.contains("primary key") == true)
            #expect(throws: Realm.Error.self) { try realm.create(Dog.self, validating: ["id": 1]) }
            #expect(throws: Realm.Error.self) { try realm.create(Dog.self, validating: ["id": 2, "age": "x"]) }
        }
        #expect(realm.objects(Dog.self).count == 1 && realm.objects(Person.self).count == 0)
    }

    /// `.error` with an existing key stops, and leaves nothing behind (SEMANTICS 25).
    @Test func addingAnExistingKeyStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm()
            try realm.write {
                realm.add(Dog(1, "Rex"))
                realm.add(Dog(1, "Max"))
            }
        }
        expectMessage(result, "Dog with the primary key 1 exists")
    }

    /// Adding an object that another realm manages stops (SEMANTICS 22).
    @Test func addingAnObjectOfAnotherRealmStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm()
            let other = try memoryRealm()
            let dog = Dog(1, "Rex")
            try realm.write { realm.add(dog) }
            try other.write { other.add(dog) }
        }
        expectMessage(result, "belongs to another realm")
    }

    /// `.modified` and `.all` stop for a class without a primary key (SEMANTICS 25). What stops in `add` and `create`
    /// is thrown by their validating variants, and nothing is changed.
    @Test(arguments: [Realm.UpdatePolicy.modified, .all])
    func updatingAClassWithoutAPrimaryKeyThrowsWhenValidating(policy: Realm.UpdatePolicy) throws {
        let realm = try memoryRealm()
        try realm.write {
            let created = try #require(throws: Realm.Error.self) {
                try realm.create(Person.self, validating: ["name": "Ann"], update: policy)
            }
            let person = Person()
            let added = try #require(throws: Realm.Error.self) { try realm.add(validating: person, update: policy) }
            for error in [created, added] {
                #expect(error.code == .invalidInput)
                #expect(error.message.contains("Person") && error.message.contains("primary key"), "\(error)")
            }
            #expect(person.realm == nil && realm.objects(Person.self).count == 0)
            // Nested objects of such a class are created.
            try realm.create(Dog.self, validating: ["id": 1, "owner": ["name": "Ann"]], update: policy)
        }
        #expect(realm.objects(Person.self).map(\.name) == ["Ann"])
    }

    /// What stops has a variant that throws (SPEC S116). Deleted objects can't be added again (SEMANTICS 22).
    @Test func theValidatingAddThrowsWhereAddStopsAndChangesNothing() throws {
        let realm = try memoryRealm()
        let other = try memoryRealm()
        let foreign = Dog(1, "Rex")
        try other.write { other.add(foreign) }
        let gone = Dog(2, "Max")
        try realm.write { realm.add(gone) }
        try realm.write { realm.delete(gone) }
        let long = Everything()
        long.data = Data(count: 17 << 20)
        let texts = Person()
        texts.name = String(repeating: "x", count: 17 << 20)
        try realm.write {
            for (object, part) in [
                (foreign as Object, "another realm"), (gone, "deleted"), (long, "bytes"), (texts, "bytes"),
                (Person(value: ["dogs": [foreign]]), "another realm"),
            ] {
                let error = try #require(throws: Realm.Error.self) { try realm.add(validating: object) }
                #expect(error.code == .invalidInput && error.message.contains(part), "\(error)")
            }
            for value: [String: Any] in [["data": Data(count: 17 << 20)], ["optionalString": texts.name]] {
                let error = try #require(throws: Realm.Error.self) {
                    try realm.create(Everything.self, validating: value)
                }
                #expect(error.code == .invalidInput && error.message.contains("bytes"), "\(error)")
            }
        }
        #expect(realm.isEmpty)
    }

    /// A value may contain a deleted object at any depth.
    @Test(arguments: [false, true]) func aDeletedObjectIsRefusedAsAValue(isInvalidated: Bool) throws {
        let realm = try memoryRealm()
        let (dog, person) = (Dog(1, "Rex"), Person(value: ["name": "Ann", "dogs": [[2, "Max"]], "numbers": [1]]))
        try realm.write { realm.add([dog, person]) }
        let (dogs, numbers) = (person.dogs, person.numbers)
        if isInvalidated { realm.invalidate() } else { try realm.write { realm.deleteAll() } }
        let values: [(ObjectBase.Type, Any)] = [
            (Person.self, person), (Dog.self, dog), (Person.self, dog), (Dog.self, ["id": 3, "owner": person]),
            (Dog.self, ["id": 3, "owner": dog]), (Person.self, ["dogs": [dog]]), (Person.self, ["dogs": [person]]),
            (Person.self, ["dogs": [dog, ["id": 4]] as [Any]]), (Person.self, ["dogs": dogs]),
            (Person.self, ["numbers": numbers]), (Person.self, ["friend": ["friend": person]]),
        ]
        for (type, value) in values {
            let unmanaged = #expect(throws: Realm.Error.self, "\(type) \(value)") {
                if type == Dog.self { _ = try Dog(validating: value) } else { _ = try Person(validating: value) }
            }
            #expect(unmanaged?.code == .invalidInput && unmanaged?.message.contains("deleted") == true)
            try realm.write {
                let managed = #expect(throws: Realm.Error.self, "\(type) \(value)") {
                    if type == Dog.self {
                        try realm.create(Dog.self, validating: value)
                    } else {
                        try realm.create(Person.self, validating: value)
                    }
                }
                #expect(managed?.code == .invalidInput && managed?.message.contains("deleted") == true)
            }
        }
        #expect(realm.objects(Person.self).count == (isInvalidated ? 1 : 0))
    }

    /// `.all` on a class without a primary key stops (SEMANTICS 25).
    @Test func updatingAClassWithoutAPrimaryKeyStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm()
            try realm.write { realm.create(Person.self, value: ["name": "Ann"], update: .all) }
        }
        expectMessage(result, "update: .all needs a primary key", "Person")
    }

    /// Such values are structs, too, but no sets of properties.
    @Test func aValueThatIsNotASetOfPropertiesIsRefused() throws {
        struct Car { var wheels = 4 }
        final class Boat { let length = 3 }
        struct Nothing {}
        let realm = try memoryRealm()
        for value in [
            UUID(), Date(), Data([1]), ObjectId.generate(), Car(), Boat(), URL(fileURLWithPath: "/"), 1.5, "text", true,
        ] as [Any] {
            try realm.write {
                let error = #expect(throws: Realm.Error.self) {
                    try realm.create(Dog.self, validating: ["id": 1, "owner": value])
                }
                #expect(error?.message.contains("\"owner\"") == true, "\(value): \(String(describing: error))")
            }
            #expect(throws: Realm.Error.invalidInput) { _ = try Person(validating: value) }
            #expect(realm.objects(Person.self).isEmpty && realm.objects(Dog.self).isEmpty)
        }
        // A value without properties leaves everything at its initial value.
        #expect(try Person(validating: Nothing()).name == "nobody")
    }
}
