import Firn
import FirnTestSupport
import Foundation
import Testing

/// The rows of the reference pages about finding objects, and of the specification about `Results` and queries.
@Suite(.timeLimit(.minutes(20))) struct FindingRowTests {
    private let realm: Realm

    init() throws {
        realm = try memoryRealm()
        try realm.write { [realm] in
            realm.add([Dog(1, "Rex", age: 3), Dog(2, "Max", age: 5), Dog(3, "Ida", age: 5)])
            realm.add(Person(value: ["name": "Ann", "dogs": [Dog](), "numbers": [1, 2, 3]] as [String: Any]))
        }
    }

    private func names(_ dogs: Results<Dog>) -> [String] { dogs.map(\.name) }

    /// All objects, those that a text with arguments finds, and the one with a primary key, in a realm that is given
    /// (S68 to S72). The arguments of the `va_list` forms (S64, S70) are those of
    /// `RealmPredicate(format:argumentArray:)`.
    @Test func classesFindTheirObjects() {
        #expect(names(Dog.allObjects(in: realm)) == ["Rex", "Max", "Ida"])
        #expect(names(Dog.objects(in: realm, where: "age > %@ AND name != %@", 3, "Ida")) == ["Max"])
        let predicate = RealmPredicate(format: "age == %@", argumentArray: [5])
        #expect(names(realm.objects(Dog.self).filter(predicate)) == ["Max", "Ida"])
        #expect(Dog.object(in: realm, forPrimaryKey: 2)?.name == "Max")
        #expect(Dog.object(in: realm, forPrimaryKey: 9) == nil)
        #expect(realm.object(ofType: Dog.self, forPrimaryKey: 3)?.name == "Ida")
    }

    /// A class without a primary key has none to be found by (S67).
    @Test func findingByAKeyNeedsAKey() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Person.object(in: try memoryRealm(), forPrimaryKey: 1)
        }
        expectMessage(result, "the class Person has no primary key")
    }

    /// The forms on the default realm (S62, S63, S66). It is one for the process, so this runs in a process of its own.
    @Test func theDefaultRealmIsSearched() async {
        await #expect(processExitsWith: .success) {
            Realm.Configuration.defaultConfiguration = .init(
                inMemoryIdentifier: "default", objectTypes: [Dog.self, Person.self])
            let realm = try Realm(queue: nil)
            try realm.write { realm.add([Dog(1, "Rex", age: 3), Dog(2, "Max", age: 5)]) }
            guard Dog.allObjects().count == 2, Dog.objects(where: "age > %@", 3).map(\.name) == ["Max"],
                Dog.object(forPrimaryKey: 1)?.name == "Rex", Dog.object(forPrimaryKey: 7) == nil
            else { exit(1) }
        }
    }

    /// Reading results by index (R34): the first, the last and several elements; an index out of bounds stops the
    /// program; iterating is safe while the realm is written.
    @Test func resultsAreReadByIndex() async throws {
        let dogs = realm.objects(Dog.self)
        #expect(dogs.first?.name == "Rex" && dogs.last?.name == "Ida" && dogs.count == 3 && dogs[1].name == "Max")
        #expect(dogs.objects(at: [2, 0]).map(\.name) == ["Ida", "Rex"])
        #expect(dogs.where { $0.age > 9 }.first == nil && dogs.where { $0.age > 9 }.last == nil)
        var met: [String] = []
        try realm.write {
            for dog in dogs.where({ $0.age == 5 }) {
                met.append(dog.name)
                dog.age = 1
                realm.add(Dog(10 + met.count, "new", age: 5))
            }
        }
        #expect(met == ["Max", "Ida"] && dogs.count == 5)
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = try memoryRealm().objects(Dog.self)[0]
        }
        expectMessage(result, "index 0 is out of bounds of a collection of 0 elements")
    }

    /// What every collection has (R43): its realm, whether it is frozen or gone, its frozen and its live form.
    @Test func everyCollectionBelongsToARealm() throws {
        let person = try #require(realm.objects(Person.self).first)
        func check<C: RealmCollection>(_ collection: C) throws {
            #expect(collection.realm == realm && !collection.isFrozen && !collection.isInvalidated)
            let frozen = collection.freeze()
            #expect(frozen.isFrozen && frozen.realm?.isFrozen == true && frozen.count == collection.count)
            #expect(try #require(frozen.thaw()).isFrozen == false)
        }
        try check(realm.objects(Dog.self))
        try check(realm.objects(Dog.self).where { $0.age > 3 })
        try check(person.dogs)
        try check(person.numbers)
        try check(person.owned)
        try check(AnyRealmCollection(person.dogs))
    }

    /// A condition on an element may lead through another collection (R76), or be about a whole value.
    @Test func conditionsBehindAnotherCollection() throws {
        class Toy: Object {
            @Persisted var price = 0
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        class Pet: Object {
            @Persisted var age = 0
            @Persisted var toys: List<Toy>
            @Persisted var sizes: Map<String, Int>
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        class Keeper: Object {
            @Persisted var pets: List<Pet>
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        let realm = try memoryRealm([Toy.self, Pet.self, Keeper.self])
        try realm.write {
            let pets: [[String: Any]] = [
                ["age": 5, "toys": [["price": 1]], "sizes": ["abc": 1]], ["age": 1, "toys": [["price": 9]]],
            ]
            realm.create(Keeper.self, value: ["pets": pets])
        }
        let keepers = realm.objects(Keeper.self)
        #expect(keepers.where { ($0.pets.toys.price > 5 && $0.pets.age < 3).count > 0 }.count == 1)
        #expect(keepers.where { ($0.pets.toys.price > 5 && $0.pets.age > 3).count > 0 }.count == 0)
        #expect(keepers.where { ($0.pets.sizes.keys.contains("ab") && $0.pets.age > 3).count == 1 }.count == 1)
        #expect(keepers.where { ($0.pets.sizes["abc"] == 1 && $0.pets.age > 3).count == 1 }.count == 1)
        #expect(keepers.where { (!($0.pets.age > 3)).count == 1 }.count == 1)
    }

    /// IN and BETWEEN (R74): a list of values, a half-open and a closed range.
    @Test func valuesAndRanges() {
        let dogs = realm.objects(Dog.self)
        #expect(names(dogs.where { $0.name.in(["Rex", "Ida", "nobody"]) }) == ["Rex", "Ida"])
        #expect(names(dogs.where { $0.age.contains(3..<5) }) == ["Rex"])
        #expect(names(dogs.where { $0.age.contains(3...5) }) == ["Rex", "Max", "Ida"])
        #expect(names(dogs.filter("age BETWEEN {4, 5} AND name IN %@", ["Max"])) == ["Max"])
    }

    /// A text may also sort, keep one object for each value, and limit the number (R36).
    @Test func textsWithStages() throws {
        let dogs = realm.objects(Dog.self)
        #expect(names(dogs.filter("age > 1 SORT(age DESC, name ASC)")) == ["Ida", "Max", "Rex"])
        #expect(names(dogs.filter("TRUEPREDICATE SORT(name ASC) DISTINCT(age) LIMIT(%@)", 5)) == ["Ida", "Rex"])
        #expect(names(dogs.filter("TRUEPREDICATE LIMIT(2)").where { $0.age > 3 }) == ["Max"])
        #expect(throws: Realm.Error.invalidInput) { try dogs.filter(validating: "age > 1 SORT(nothing ASC)") }
        let error = try #require(throws: Realm.Error.self) { try dogs.filter(validating: "age > 1 LIMIT(x)") }
        #expect(error.message.contains("LIMIT takes a number"))
    }

    /// Several conditions on one element of a list are a SUBQUERY (R76).
    @Test func conditionsOnOneElement() throws {
        let people = realm.objects(Person.self)
        try realm.write { people[0].dogs.append(objectsIn: realm.objects(Dog.self)) }
        #expect(people.where { ($0.dogs.age == 5 && $0.dogs.name == "Ida").count == 1 }.count == 1)
        #expect(people.where { ($0.dogs.age == 3 && $0.dogs.name == "Ida").count > 0 }.count == 0)
        #expect(people.filter("SUBQUERY(dogs, $d, $d.age == 5).@count == 2").count == 1)
    }

    /// Maps have keys, values and elements by key (R77), and so have mixed values, which may also be lists.
    @Test func mapsAndMixedValues() throws {
        class Shelf: Object {
            @Persisted var sizes: Map<String, Int>
            @Persisted var any: AnyRealmValue
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        let realm = try memoryRealm([Shelf.self])
        try realm.write {
            realm.create(
                Shelf.self,
                value: ["sizes": ["a": 1, "b": 5], "any": [1, ["k": "v"] as [String: Any]] as [Any]] as [String: Any])
            realm.create(Shelf.self, value: ["sizes": ["c": 9], "any": ["k": 7] as [String: Any]] as [String: Any])
        }
        let shelves = realm.objects(Shelf.self)
        #expect(shelves.where { $0.sizes.keys == "c" }.count == 1 && shelves.where { $0.sizes.values > 4 }.count == 2)
        #expect(shelves.where { $0.sizes["a"] == 1 }.count == 1)
        #expect(
            shelves.where { $0.any[0] == .int(1) }.count == 1 && shelves.where { $0.any["k"] == .int(7) }.count == 1)
        #expect(
            shelves.where { $0.any[1]["k"] == .string("v") }.count == 1
                && shelves.where { $0.any.any == .int(7) }.count == 1)
        #expect(shelves.filter("sizes['b'] > 4 AND #any[1]['k'] == 'v'").count == 1)
    }

    /// How a query is run (`explain()`): by an index or a scan, from a list, and what an observer of it costs.
    @Test func queriesExplainThemselves() throws {
        let dogs = realm.objects(Dog.self)
        #expect(dogs.explain().contains("all 3 objects of Dog"))
        let indexed = dogs.where { $0.name == "Rex" && $0.age > 1 }.sorted(by: \.age).explain()
        #expect(indexed.contains("name") && indexed.contains("sort by age") && indexed.contains("an observer is shown"))
        let distinct = dogs.where { $0.age > 1 }.distinct(by: ["age"]).explain()
        #expect(distinct.contains("3 objects of Dog") && distinct.contains("one object for each age"))
        #expect(distinct.contains("an observer"))
        #expect(!dogs.filter("age > 1 LIMIT(2)").explain().contains("an observer"))
        let person = try #require(realm.objects(Person.self).first)
        try realm.write { person.dogs.append(objectsIn: dogs) }
        #expect(person.dogs.where { $0.age > 3 }.explain().contains("3 linked objects of Dog"))
        #expect(person.numbers.sorted().explain().contains("values of a collection"))
        realm.invalidate()
        #expect(dogs.explain().contains("invalidated"))
    }
}
