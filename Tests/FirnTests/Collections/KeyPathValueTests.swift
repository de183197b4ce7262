import Firn
import FirnTestSupport
import Foundation
import Testing

private class Crate: Object {
    @Persisted var dogs: List<Dog>
    @Persisted var numbers: List<Int>
    @Persisted var halves: List<Double?>
    @Persisted var amounts: Map<String, Decimal128>
    @Persisted var byName: Map<String, Dog?>
    @Persisted var inner: List<Crate>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// `value(forKey:)`, `value(forKeyPath:)` and `setValue(_:forKey:)` of collections and objects (R41, S59).
@Suite(.timeLimit(.minutes(20))) struct KeyPathValueTests {
    private func crate() throws -> Crate {
        let realm = try memoryRealm([Crate.self, Dog.self, Person.self])
        let crate = Crate()
        let owner = Person()
        owner.name = "Ann"
        crate.dogs.append(objectsIn: [Dog(1, "Rex", age: 3), Dog(2, "Max", age: 5), Dog(3, "Rex", age: 7)])
        crate.dogs[1].owner = owner
        crate.numbers.append(objectsIn: [3, 1, 3])
        crate.halves.append(objectsIn: [0.5, nil, .nan, 2.5])
        crate.amounts = ["a": "1.10", "b": "2.20"]
        crate.byName = ["r": crate.dogs[0], "nil": nil]
        let inner = Crate()
        inner.numbers.append(objectsIn: [3, 9])
        crate.inner.append(objectsIn: [inner, Crate()])
        try realm.write { realm.add(crate) }
        return crate
    }

    /// Alike for managed and unmanaged ones. A nil element is nil (SEMANTICS 97).
    @Test(arguments: [true, false]) func pathsAndOperatorsGiveValues(isManaged: Bool) throws {
        let managed = try crate()
        let crate = isManaged ? managed : Crate(value: managed)
        #expect(crate.dogs.value(forKey: "name") as? [String] == ["Rex", "Max", "Rex"])
        #expect(crate.dogs.value(forKeyPath: "owner.name") as? [String?] == [nil, "Ann", nil])
        #expect(crate.dogs.value(forKeyPath: "@count") as? Int == 3)
        #expect(crate.dogs.value(forKeyPath: "@min.age") as? Int == 3)
        #expect(crate.dogs.value(forKeyPath: "@max.age") as? Int == 7)
        #expect(crate.dogs.value(forKeyPath: "@sum.age") as? Int == 15)
        #expect(crate.dogs.value(forKeyPath: "@avg.age") as? Double == 5)
        #expect(crate.dogs.value(forKeyPath: "@unionOfObjects.name") as? [String] == ["Rex", "Max", "Rex"])
        #expect(crate.dogs.value(forKeyPath: "@distinctUnionOfObjects.name") as? [String] == ["Rex", "Max"])
        #expect(crate.numbers.value(forKeyPath: "@max.self") as? Int == 3)
        #expect(crate.numbers.value(forKey: "self") as? [Int] == [3, 1, 3])
        #expect(crate.numbers.value(forKeyPath: "@distinctUnionOfObjects.self") as? [Int] == [3, 1])
        #expect(crate.halves.value(forKeyPath: "@min.self") as? Double == 0.5)
        #expect((crate.halves.value(forKeyPath: "@sum.self") as? Double)?.isNaN == true)
        #expect(crate.amounts.value(forKeyPath: "@sum") as? Decimal128 == "3.3")
        #expect(crate.amounts.value(forKeyPath: "@avg.self") as? Decimal128 == "1.65")
        #expect(crate.amounts.value(forKeyPath: "a") as? Decimal128 == "1.1")
        #expect(crate.byName.value(forKeyPath: "r.name") as? String == "Rex")
        #expect(crate.byName.value(forKeyPath: "@count") as? Int == 2)
        #expect(crate.value(forKeyPath: "dogs.@max.age") as? Int == 7)
        #expect(crate.value(forKeyPath: "dogs.owner.age") as? [Int?] == [nil, nil, nil])
        #expect(crate.inner.value(forKeyPath: "@unionOfArrays.numbers") as? [Int] == [3, 9])
        #expect(crate.inner.value(forKeyPath: "@max.dogs.@count") as? Int == 0)
        #expect(Crate().dogs.value(forKeyPath: "@avg.age") == nil)
        #expect(Crate().dogs.value(forKeyPath: "@sum.age") as? Int == 0)
    }

    /// Aggregates by name agree for managed and unmanaged collections, of values and through collections.
    @Test(arguments: [true, false]) func aggregatesByNameOfValuesAndThroughCollections(isManaged: Bool) throws {
        let managed = try crate()
        let crate = isManaged ? managed : Crate(value: managed)
        func numbers<C: RealmCollection>(_ collection: C, _ name: String) -> [Int?] where C.Element: AddableType {
            let sum: Int = collection.value(forKeyPath: "@sum.\(name)") as? Int ?? -1
            return [collection.value(forKeyPath: "@max.\(name)") as? Int, sum]
        }
        #expect(numbers(crate.numbers, "self") == [3, 7])
        let most: Int? = crate.inner.max(ofProperty: "numbers")
        let total: Int = crate.inner.sum(ofProperty: "numbers")
        let ages: Int? = [crate].reduce(into: List<Crate>()) { $0.append($1) }.max(ofProperty: "dogs.age")
        #expect(most == 9 && total == 12 && ages == 7)
    }

    @Test func resultsAndBacklinksHaveThem() throws {
        let crate = try crate()
        let realm = try #require(crate.realm)
        let dogs = realm.objects(Dog.self).where { $0.name == "Rex" }.sorted(by: \.age)
        #expect(dogs.value(forKeyPath: "@sum.age") as? Int == 10 && dogs.value(forKey: "age") as? [Int] == [3, 7])
        try realm.write { dogs.setValue(11, forKey: "age") }
        #expect(crate.dogs.map(\.age) == [11, 5, 11])
        let owner = try #require(realm.objects(Person.self).first)
        #expect(owner.value(forKeyPath: "owned.@max.age") as? Int == 5)
        try realm.write { crate.dogs.setValue(nil, forKey: "owner") }
        #expect(crate.dogs.allSatisfy { $0.owner == nil })
    }

    @Test func wrongPathsStop() async {
        let name = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = try KeyPathValueTests().crate().dogs.value(forKeyPath: "@max.size")
        }
        expectMessage(name, "the class Dog has no property \"size\"")
        let type = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = try KeyPathValueTests().crate().dogs.value(forKeyPath: "@sum.name")
        }
        expectMessage(type, "@sum needs numbers")
        let unknown = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = try KeyPathValueTests().crate().dogs.value(forKeyPath: "@median.age")
        }
        expectMessage(unknown, "\"@median\" is not an operator")
        let beyond = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = try KeyPathValueTests().crate().value(forKeyPath: "dogs.name.length")
        }
        expectMessage(beyond, "\"length\" follows a value of type String")
    }

    /// A part of a list is read and replaced (R46).
    @Test(arguments: [true, false]) func partsOfListsAreReadAndReplaced(isManaged: Bool) throws {
        let managed = try crate()
        let crate = isManaged ? managed : Crate(value: managed)
        try managed.realm?.write {
            #expect(Array(crate.numbers[1..<3]) == [1, 3] && crate.numbers[0..<0].isEmpty)
            let part: List<Int>.SubSequence = crate.numbers[1...]
            #expect(part.first == 1 && part.startIndex == 1)
            crate.numbers[0..<2] = crate.numbers[2..<3]
            #expect(Array(crate.numbers) == [3, 3])
        }
    }
}
