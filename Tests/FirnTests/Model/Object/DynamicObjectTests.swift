import Firn
import FirnTestSupport
import Foundation
import Testing

private class Shelf: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var mood = Mood.calm
    @Persisted var first: Dog?
    @Persisted var dogs: List<Dog>
    @Persisted var favourites: MutableSet<Dog>
    @Persisted var byName: Map<String, Dog?>
    @Persisted var numbers: List<Int>
    @Persisted var any: AnyRealmValue
    @Persisted var gear: Gear?
    @Persisted var gears: List<Gear>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
    override class func propertiesMapping() -> [String: String] { ["numbers": "stored_numbers"] }
}

private class Values: Object {
    @Persisted var numbers: List<Int>
    @Persisted var gaps: List<Int?>
    @Persisted var moods: List<Mood>
    @Persisted var mixed: List<AnyRealmValue>
    @Persisted var words: MutableSet<String>
    @Persisted var prices: Map<String, Int>
    @Persisted var mixedSet: MutableSet<AnyRealmValue>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// `DynamicObject`, and the functions that take names (R19, R21, R58, R96, S59).
@Suite(.timeLimit(.minutes(20))) struct DynamicObjectTests {
    private static let types: [ObjectBase.Type] = [Shelf.self, Dog.self, Person.self, Gear.self, Machine.self]

    private func realm() throws -> Realm { try memoryRealm(Self.types) }

    private func filled() throws -> (Realm, Shelf) {
        let realm = try realm()
        let shelf = Shelf(value: ["id": 1, "numbers": [1, 2], "gear": ["name": "g"]] as [String: Any])
        let (rex, max) = (Dog(1, "Rex", age: 3), Dog(2, "Max", age: 5))
        shelf.first = rex
        shelf.dogs.append(objectsIn: [rex, max, rex])
        shelf.favourites.insert(max)
        shelf.byName["r"] = rex
        shelf.any = .object(max)
        shelf.gears.append(Gear("list"))
        try realm.write {
            realm.add([rex, max])
            realm.add(shelf)
        }
        return (realm, shelf)
    }

    @Test func everyKindOfPropertyIsRead() throws {
        let (realm, shelf) = try filled()
        let dynamic = try #require(realm.dynamicObject(ofType: "Shelf", forPrimaryKey: 1))
        #expect(dynamic.isSameObject(as: shelf) && dynamic.realm == realm && dynamic.objectSchema.className == "Shelf")
        #expect(dynamic["id"] as? Int == 1 && dynamic.id as? Int == 1 && dynamic.mood as? String == "calm")
        #expect((dynamic.first as? DynamicObject)?.name as? String == "Rex")
        let dogs = try #require(dynamic.dogs as? List<DynamicObject>)
        #expect(dogs.map { $0.name as? String } == ["Rex", "Max", "Rex"] && dogs[1]["age"] as? Int == 5)
        #expect(dogs == shelf.dynamicList("dogs") && dogs.realm == realm)
        #expect((dynamic.favourites as? MutableSet<DynamicObject>)?.map { $0.id as? Int } == [2])
        #expect(shelf.dynamicMutableSet("favourites").first?.name as? String == "Max")
        let map: Map<String, DynamicObject?> = shelf.dynamicMap("byName")
        #expect(map["r"]??.name as? String == "Rex" && map.map { $0.value?.id as? Int } == [1])
        #expect(dynamic["numbers"] as? List<Int> == shelf.numbers && dynamic["stored_numbers"] as? List<Int> != nil)
        #expect((dynamic.any as? DynamicObject)?.name as? String == "Max" && shelf.any.dynamicObject?.id as? Int == 2)
        let gear = try #require(dynamic.gear as? DynamicObject)
        #expect(
            gear.name as? String == "g" && (dynamic.gears as? List<DynamicObject>)?.first?.name as? String == "list")
        #expect(dynamic.description.hasPrefix("Shelf {\n\tid = 1;") && dynamic.description.contains("name = Rex"))
        // Backlinks.
        try realm.write {
            let person = Person()
            person.name = "Ann"
            person.dogs.append(objectsIn: shelf.dogs)
            realm.add(person)
        }
        let keepers = (dynamic.first as? DynamicObject)?.keepers as? LinkingObjects<DynamicObject>
        #expect(keepers?.map { $0.name as? String } == ["Ann", "Ann"])
    }

    @Test func resultsAreQueriedSortedAndIterated() throws {
        let (realm, shelf) = try filled()
        let dogs = realm.dynamicObjects("Dog")
        #expect(dogs.count == 2 && dogs[0].name as? String == "Rex" && dogs.last?.name as? String == "Max")
        #expect(dogs.filter("age > 3").map { $0.name as? String } == ["Max"])
        #expect(dogs.sorted(byKeyPath: "age", ascending: false).first?.id as? Int == 2)
        #expect(dogs.max(ofProperty: "age") == 5 && dogs.index(of: dogs[1]) == 1)
        #expect(shelf.dynamicList("dogs").filter("name == 'Rex'").count == 2)
        var kept: [DynamicObject] = []
        for dog in dogs { kept.append(dog) }
        #expect(kept.map { $0.id as? Int } == [1, 2])
        let frozen = dogs.freeze()
        try realm.write { realm.delete(dogs[0]) }
        #expect(dogs.count == 1 && kept[0].isInvalidated && !kept[1].isInvalidated)
        #expect(frozen.count == 2 && frozen[0].name as? String == "Rex" && frozen.map { $0.isFrozen } == [true, true])
        #expect(frozen[1].thaw()?.name as? String == "Max" && frozen[0].thaw() == nil)
        #expect(kept[1].freeze().name as? String == "Max")
        #expect(realm.dynamicObject(ofType: "Dog", forPrimaryKey: 1) == nil)
    }

    @Test func everyKindOfPropertyIsSet() throws {
        let (realm, shelf) = try filled()
        let dynamic = try #require(realm.dynamicObjects("Shelf").first)
        let max = try #require(realm.dynamicObject(ofType: "Dog", forPrimaryKey: 2))
        try realm.write {
            dynamic.mood = "wild"
            dynamic.first = max
            dynamic["numbers"] = [7, 8, 9]
            dynamic.any = max
            dynamic.dogs = [max, ["id": 3, "name": "New"]]
            dynamic.favourites = [Dog(4, "Set")]
            dynamic.byName = ["m": max, "nil": NSNull()]
            dynamic.gear = ["name": "other"]
            (dynamic.gears as? List<DynamicObject>)?.remove(at: 0)
            shelf.dynamicList("dogs").append(max)
        }
        #expect(shelf.mood == .wild && shelf.first?.name == "Max" && Array(shelf.numbers) == [7, 8, 9])
        #expect(shelf.any.object(Dog.self)?.id == 2 && shelf.dogs.map(\.name) == ["Max", "New", "Max"])
        #expect(shelf.favourites.map(\.name) == ["Set"] && shelf.byName["m"]??.id == 2 && shelf.byName.count == 2)
        #expect(shelf.gear?.name == "other" && realm.countEmbedded() == 1 && shelf.gears.isEmpty)
        try realm.write {
            dynamic.first = nil
            shelf.first = shelf.dogs[1]
            let map: Map<String, DynamicObject?> = shelf.dynamicMap("byName")
            map["r"] = max
            shelf.dynamicMutableSet("favourites").insert(max)
        }
        #expect(shelf.first?.name == "New" && shelf.byName["r"]??.id == 2 && shelf.favourites.count == 2)
    }

    @Test func objectsAreCreatedAndUpdatedByName() throws {
        let realm = try realm()
        try realm.write {
            let dog = realm.dynamicCreate(
                "Dog", value: ["id": 1, "name": "Rex", "owner": ["name": "Ann"]] as [String: Any])
            #expect(dog.name as? String == "Rex" && dog.age as? Int == 1)
            realm.dynamicCreate("Dog", value: ["id": 1, "age": 9], update: .modified)
            #expect(dog.age as? Int == 9)
            // A dynamic object is copied and linked to like the object that it shows.
            realm.dynamicCreate("Shelf", value: ["id": 5, "first": dog, "dogs": [dog]] as [String: Any])
            let person = realm.create(Person.self, value: ["dogs": [dog]])
            #expect(person.dogs[0].name == "Rex" && Dog(value: dog).name == "Rex")
            #expect(throws: Realm.Error.self) { try realm.dynamicCreate("Dog", validating: ["id": "x"]) }
            #expect(throws: Realm.Error.self) { try realm.dynamicCreate("Nothing", validating: [:]) }
            let embedded = #expect(throws: Realm.Error.self) { try realm.dynamicCreate("Gear", validating: [:]) }
            #expect(embedded?.message.contains("embedded in others") == true)
        }
        #expect(realm.objects(Dog.self).count == 1 && realm.objects(Shelf.self).first?.first?.id == 1)
    }

    /// Adding an object that the realm manages already changes nothing (SEMANTICS 22).
    @Test func aManagedOneIsTheObjectThatItsRowIs() throws {
        let (realm, shelf) = try filled()
        let dynamic = try #require(realm.dynamicObject(ofType: "Shelf", forPrimaryKey: 1))
        #expect(Set<ObjectBase>([shelf, dynamic]).count == 1 && shelf.hash == dynamic.hash)
        #expect(Set<ObjectBase>([shelf.freeze(), dynamic.freeze()]).count == 1)
        try realm.write {
            realm.add(dynamic, update: .modified)
            try realm.add(validating: dynamic, update: .all)
        }
        #expect(realm.objects(Shelf.self).count == 1 && shelf.numbers.count == 2)
    }

    /// A mixed value can't link to an embedded object, not even by a dynamic one.
    @Test func embeddedObjectsStayWithTheirParents() throws {
        let (realm, shelf) = try filled()
        let gear = try #require(realm.dynamicObject(ofType: "Shelf", forPrimaryKey: 1)?.gear as? DynamicObject)
        try realm.write {
            for value in [gear as Any, AnyRealmValue.object(gear), [gear]] {
                let error = #expect(throws: Realm.Error.self) {
                    try realm.create(Shelf.self, validating: ["id": 2, "any": value] as [String: Any])
                }
                #expect(error?.message.contains("can't lead to an embedded object of Gear") == true)
            }
            // Elsewhere it is copied.
            realm.create(Shelf.self, value: ["id": 3, "gear": gear, "gears": [gear]] as [String: Any])
        }
        #expect(realm.countEmbedded() == 4 && shelf.gear?.name == "g" && realm.objects(Shelf.self).count == 2)
    }

    @MainActor @Test func dynamicObjectsAreObserved() async throws {
        let (realm, shelf) = try filled()
        let dynamic = try #require(realm.dynamicObject(ofType: "Dog", forPrimaryKey: 1))
        var seen: [String] = []
        let tokens = [
            dynamic.observe { (change: ObjectChange<DynamicObject>) in
                if case .change(let dog, let changes) = change {
                    seen.append("\(dog.name as? String ?? "") \(changes.map(\.name))")
                }
            },
            realm.dynamicObjects("Dog").observe { change in
                if case .update(let dogs, _, _, let modifications) = change {
                    seen.append("\(dogs[0].name as? String ?? "") \(modifications)")
                }
            },
        ]
        await waitForDeliveries(of: realm)
        try realm.write { shelf.first?.name = "Moritz" }
        await waitForDeliveries(of: realm)
        #expect(seen.sorted() == ["Moritz [\"name\"]", "Moritz [0]"])
        tokens.forEach { $0.invalidate() }
    }

    /// SEMANTICS 97.
    @Test func aListOfValuesIsCountedAndEmptied() throws {
        let (realm, shelf) = try filled()
        let numbers = shelf.dynamicList("numbers")
        #expect(numbers.count == 2 && !numbers.isEmpty && numbers.realm == realm)
        try realm.write { numbers.remove(at: 0) }
        #expect(Array(shelf.numbers) == [2])
        try realm.write { numbers.removeAll() }
        #expect(shelf.numbers.isEmpty && numbers.isEmpty)
    }

    /// The elements of a collection of values show the values, managed or not.
    @Test(arguments: [true, false]) func valuesAreShownAsElements(isManaged: Bool) throws {
        let values = Values(value: [
            "numbers": [3, 1, 3], "gaps": [NSNull(), 2], "moods": ["wild"], "words": ["a"], "prices": ["tea": 5],
            "mixed": [1, "x", NSNull()],
        ])
        let realm = try memoryRealm([Values.self])
        if isManaged { try realm.write { realm.add(values) } }
        let numbers = values.dynamicList("numbers")
        #expect(numbers.count == 3 && numbers.map { $0["self"] as? Int } == [3, 1, 3])
        #expect("\(numbers)".contains("[0] 3,\n\t[1] 1") && "\(numbers[0])" == "3")
        #expect(numbers.first?.value(forKey: "self") as? Int == 3 && numbers.last == numbers.first)
        #expect(numbers[0] != numbers[1] && Set(numbers).count == 2 && numbers.index(of: numbers[1]) == 1)
        #expect(numbers.value(forKeyPath: "@sum.self") as? Int == 7)
        #expect(values.dynamicList("gaps").map { "\($0)" } == ["nil", "2"])
        #expect(values.dynamicList("moods").map { $0["self"] as? String } == ["wild"])
        #expect(values.dynamicList("mixed").map { "\($0)" } == ["1", "x", "nil"])
        #expect(values.dynamicMutableSet("words").map { $0["self"] as? String } == ["a"])
        let prices: Map<String, DynamicObject?> = values.dynamicMap("prices")
        #expect(prices["tea"]??["self"] as? Int == 5 && "\(prices)".contains("[tea]: 5") && prices["milk"] == nil)
    }

    /// A link among mixed values stays one, whichever way it goes through a dynamic collection.
    @Test func linksAmongMixedValuesStayLinks() throws {
        let realm = try memoryRealm([Values.self])
        try realm.write {
            let (values, other) = (realm.create(Values.self), realm.create(Values.self))
            values.mixed.append(objectsIn: [.object(other), .int(3)])
            var mixed = values.dynamicList("mixed")
            mixed[0] = mixed[0]
            mixed.append(mixed[0])
            mixed.append(realm.dynamicObjects("Values")[0])
            let expected: [AnyRealmValue] = [.object(other), .int(3), .object(other), .object(values)]
            #expect(Array(values.mixed) == expected)
            #expect(mixed.index(of: mixed[2]) == 0 && mixed.contains(mixed[3]) && mixed.index(of: mixed[1]) == 1)
            let set = values.dynamicMutableSet("mixedSet")
            set.insert(mixed[0])
            set.insert(mixed[2])
            #expect(set.count == 1 && Array(values.mixedSet) == [.object(other)] && set.contains(mixed[0]))
            set.remove(mixed[0])
            #expect(set.isEmpty)
            mixed.reverse()
            #expect(Array(values.mixed) == expected.reversed())
        }
    }

    /// Nil is none of the values of a collection of values that are not optional.
    @Test func nilIsRefusedWhereNoElementIsNil() async {
        await #expect(processExitsWith: .failure) {
            let realm = try memoryRealm([Values.self])
            realm.beginWrite()
            let prices: Map<String, DynamicObject?> = realm.create(Values.self).dynamicMap("prices")
            prices["tea"] = .some(nil)
        }
    }

    /// A managed collection takes the elements of another one of its type.
    @Test func valuesAreAddedAsElements() throws {
        let realm = try memoryRealm([Values.self])
        try realm.write {
            let values = realm.create(Values.self, value: ["numbers": [3, 1], "mixed": [2]] as [String: Any])
            let (numbers, mixed) = (values.dynamicList("numbers"), values.dynamicList("mixed"))
            numbers.append(numbers[0])
            mixed.append(numbers[1])
            numbers[0] = mixed[0]
            mixed.append(objectsIn: values.dynamicList("mixed"))
            #expect(Array(values.numbers) == [2, 1, 3] && Array(values.mixed) == [.int(2), .int(1), .int(2), .int(1)])
        }
        let objects = realm.objects(Values.self)
        try realm.write { objects[0].mixed.append(.object(objects[0])) }
        #expect(objects[0].dynamicList("mixed")[4].numbers as? List<Int> == objects[0].numbers)
        #expect(objects[0].freeze().dynamicList("numbers").map { "\($0)" } == ["2", "1", "3"])
    }

    @Test func misuseStops() async {
        let name = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (_, shelf) = try DynamicObjectTests().filled()
            _ = shelf.dynamicList("dogs").first?.surname
        }
        expectMessage(name, "the class Dog has no property \"surname\"")
        let missing = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = try DynamicObjectTests().realm().dynamicObjects("Nothing")
        }
        expectMessage(missing, "the realm has no class Nothing")
        let kind = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = try DynamicObjectTests().filled().1.dynamicList("favourites")
        }
        expectMessage(kind, "Shelf.favourites is not a list.")
        let unmanaged = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Shelf().dynamicList("dogs")
        }
        expectMessage(unmanaged, "an unmanaged object of Shelf has no dynamic collections of objects")
        let value = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = try DynamicObjectTests().filled().1.dynamicList("numbers")[0].surname
        }
        expectMessage(
            value, #"has no property "surname". Its value is element["self"], which is replaced in the collection."#)
        let added = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (realm, shelf) = try DynamicObjectTests().filled()
            try realm.write { shelf.dynamicList("dogs").append(shelf.dynamicList("numbers")[0]) }
        }
        expectMessage(added, "the element is the value 1, and Shelf.dogs takes no such value")
        let foreign = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (realm, shelf) = try DynamicObjectTests().filled()
            let other = realm.dynamicObjects("Shelf")[0]
            try realm.write { shelf.dynamicList("dogs").append(other) }
        }
        expectMessage(foreign, "links to Dog can't lead to an object of Shelf")
    }
}
