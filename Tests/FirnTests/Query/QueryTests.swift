import Firn
import Foundation
import Testing

@Suite(.timeLimit(.minutes(20))) struct QueryTests {
    private func filled() throws -> Realm {
        let realm = try memoryRealm()
        try realm.write {
            let ann = Person(value: ["name": "Ann", "age": 40, "numbers": [1, 2, 3]])
            let bob = Person(value: ["name": "Bob", "numbers": [5]])
            realm.add([ann, bob])
            for id in 0..<10 {
                let dog = Dog(id, ["Rex", "Max", "bella", "Émile"][id % 4], age: id)
                realm.add(dog)
                if id < 6 {
                    dog.owner = id % 2 == 0 ? ann : bob
                    dog.owner!.dogs.append(dog)
                }
            }
            realm.add(Everything(value: ["int": 1, "optionalInt": 5, "optionalMood": "wild", "mood": "calm"]))
        }
        return realm
    }

    private func ids(_ results: Results<Dog>) -> [Int] { results.map(\.id) }

    /// Comparisons, string conditions, ranges and conditions on collections (SPEC R72–R75).
    @Test func conditionsFindTheMatchingObjects() throws {
        let realm = try filled()
        let dogs = realm.objects(Dog.self)
        #expect(ids(dogs.where { $0.age > 7 }) == [8, 9])
        #expect(ids(dogs.where { $0.age >= 2 && $0.age < 4 }) == [2, 3])
        #expect(ids(dogs.where { $0.age == 2 || $0.id == 9 }) == [2, 9])
        #expect(ids(dogs.where { !($0.age < 9) }) == [9])
        #expect(ids(dogs.where { $0.name != "Rex" && $0.age <= 3 }) == [1, 2, 3])
        #expect(ids(dogs.where { $0.owner == nil }) == [6, 7, 8, 9])
        #expect(ids(dogs.where { $0.owner.name == "Ann" }) == [0, 2, 4])
        #expect(ids(dogs.where { $0.owner.age == nil && $0.owner != nil }) == [1, 3, 5])
        let ann = realm.objects(Person.self).where { $0.name == "Ann" }[0]
        #expect(ids(dogs.where { $0.owner == ann }) == [0, 2, 4])
        #expect(ids(dogs.where { $0.id == $0.age && $0.age > 8 }) == [9])
        #expect(
            ids(dogs.where { $0.age.in([3, 5]) }) == [3, 5] && ids(dogs.where { $0.age.contains(1...2) }) == [1, 2])
        #expect(ids(dogs.where { $0.age.contains(1..<2) }) == [1])
        #expect(
            ids(dogs.where { $0.keepers.count == 1 }) == [0, 1, 2, 3, 4, 5]
                && ids(dogs.where { $0.keepers.name == "Bob" }) == [1, 3, 5])
        let people = realm.objects(Person.self)
        #expect(people.where { $0.dogs.age > 4 }.map(\.name) == ["Bob"])
        #expect(
            people.where { $0.numbers.contains(5) }.map(\.name) == ["Bob"]
                && people.where { $0.numbers == 1 }.map(\.name) == ["Ann"])
        #expect(
            people.where { $0.numbers.sum == 6 }.map(\.name) == ["Ann"]
                && people.where { $0.dogs.age.max == 5 }.map(\.name) == ["Bob"])
        #expect(
            people.where { $0.numbers.count > 1 }.count == 1
                && people.where { $0.numbers.containsAny(in: [3, 5]) }.count == 2)
        #expect(
            realm.objects(Everything.self).where {
                $0.bool && $0.mood == .calm && $0.optionalMood == .wild && $0.optionalInt > 4
            }.count == 1)
        #expect(realm.objects(Everything.self).where { $0.mood.in([.wild]) }.count == 0)
    }

    @Test func aBoolBehindACollectionIsACondition() throws {
        class Pup: Object {
            @Persisted var isGood = false
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        class Litter: Object {
            @Persisted var name = ""
            @Persisted var pups: List<Pup>
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        let realm = try memoryRealm([Pup.self, Litter.self])
        try realm.write {
            for (name, pups) in [("none", []), ("bad", [[false]]), ("good", [[true]]), ("both", [[false], [true]])] {
                realm.add(Litter(value: ["name": name, "pups": pups] as [String: Any]))
            }
        }
        let litters = realm.objects(Litter.self)
        #expect(litters.where { $0.pups.isGood == true }.map(\.name) == ["good", "both"])
        #expect(litters.where { $0.pups.isGood }.map(\.name) == ["good", "both"])
        #expect(litters.where { !$0.pups.isGood }.map(\.name) == ["none", "bad"])
        #expect(
            litters.where { $0.pups.isGood && $0.name == "both" || $0.name == "none" }.map(\.name) == ["none", "both"])
    }

    /// Strings compare as UTF-8 bytes, and options fold case and diacritics (SPEC R73, SEMANTICS 68). Every string
    /// contains the empty one (SEMANTICS 69).
    @Test func stringsAreComparedByTheirBytesOrByTheGivenOptions() throws {
        let dogs = try filled().objects(Dog.self)
        #expect(ids(dogs.where { $0.name.starts(with: "R") }) == [0, 4, 8])
        #expect(ids(dogs.where { $0.name.ends(with: "x") && $0.age < 2 }) == [0, 1])
        #expect(ids(dogs.where { $0.name.contains("ELL", options: .caseInsensitive) }) == [2, 6])
        #expect(
            ids(dogs.where { $0.name.equals("emile", options: [.caseInsensitive, .diacriticInsensitive]) }) == [3, 7])
        #expect(ids(dogs.where { $0.name.like("?e*") }) == [0, 2, 4, 6, 8])
        #expect(dogs.where { $0.name.contains("") }.count == 10)
    }

    /// A text query (SPEC R36) builds the same predicate as `where` (SEMANTICS 78).
    @Test func textQueriesFindTheSame() throws {
        let realm = try filled()
        let dogs = realm.objects(Dog.self)
        #expect(ids(dogs.filter("age > %@ AND name BEGINSWITH[c] %@", 3, "r")) == [4, 8])
        #expect(
            ids(dogs.filter("age IN %@", [1, 9])) == [1, 9] && ids(dogs.filter("owner.name = 'Bob'")) == [1, 3, 5])
        #expect(ids(dogs.filter("ANY keepers.name == %@", "Ann")) == [0, 2, 4])
        let ann = realm.objects(Person.self)[0]
        #expect(ids(dogs.filter("owner == %@ AND age BETWEEN %@", ann, [1, 3])) == [2])
        let error = #expect(throws: Realm.Error.self) { _ = try dogs.filter(validating: "agee > 3") }
        #expect(error?.code == .invalidInput && error?.message.contains("agee") == true)
        #expect(throws: Realm.Error.self) { _ = try dogs.filter(validating: "age > ") }
        #expect(throws: Realm.Error.self) { _ = try dogs.filter(validating: "age > %@", Dog(1, "")) }
    }

    /// Sorting is stable and nil comes first (SPEC R38, SEMANTICS 70). `distinct` keeps the first occurrence (SPEC
    /// R39).
    @Test func sortingIsStableAndNilComesFirst() throws {
        let realm = try filled()
        let dogs = realm.objects(Dog.self)
        #expect(ids(dogs.sorted(byKeyPath: "age", ascending: false)) == Array((0..<10).reversed()))
        #expect(ids(dogs.sorted(by: \.name)) == [1, 5, 9, 0, 4, 8, 2, 6, 3, 7])
        #expect(
            ids(dogs.sorted(by: ["name", SortDescriptor(keyPath: "age", ascending: false)])) == [
                9, 5, 1, 8, 4, 0, 6, 2, 7, 3,
            ])
        #expect(ids(dogs.sorted(byKeyPath: "owner.age")) == [1, 3, 5, 0, 2, 4, 6, 7, 8, 9])
        #expect(realm.objects(Person.self)[0].dogs.sorted(byKeyPath: "age", ascending: false).map(\.id) == [4, 2, 0])
        #expect(ids(dogs.distinct(by: ["name"])) == [0, 1, 2, 3] && ids(dogs.distinct(by: ["owner.name"])) == [0, 1])
        #expect(ids(dogs.sorted(by: \.age, ascending: false).where { $0.name == "Rex" }) == [8, 4, 0])
    }

    /// Sorting by the property itself would give another order.
    @Test(arguments: 0..<4) func aKeyPathThatContinuesBeyondAPropertyStops(use: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [use] in
            let realm = try memoryRealm()
            let dogs = realm.objects(Dog.self)
            switch use {
            case 0: _ = dogs.sorted(by: \.name.count)
            case 1: _ = dogs.distinct(by: [\.name.count])
            case 2: let _: Int = dogs.sum(of: \.name.utf8.count)
            default: let _: Int? = realm.objects(Person.self).max(of: \.dogs.count)
            }
        }
        expectMessage(result, "give the key path of the property itself")
    }

    @Test func aKeyPathMayLeadThroughLinksAndComputedProperties() throws {
        let realm = try filled()
        let dogs = realm.objects(Dog.self)
        #expect(dogs.sorted(by: \.owner?.age).first?.id == 1 && dogs.max(of: \.owner?.age) == 40)
        #expect(dogs.sorted(by: \.title, ascending: false).first?.name == "Émile")
        #expect(realm.objects(Everything.self).sorted(by: \.optionalMood).count == 1)
    }

    /// Aggregates skip nil. Of nothing they are nil, and the sum is 0 (SPEC R40, SEMANTICS 73).
    @Test func aggregatesSkipNilAndAreNilForNoValues() throws {
        let realm = try filled()
        let dogs = realm.objects(Dog.self)
        #expect(dogs.min(of: \.age) == 0 && dogs.max(ofProperty: "age") == 9 && dogs.sum(of: \.age) == 45)
        let average: Double? = dogs.average(ofProperty: "age")
        #expect(average == 4.5)
        let none = dogs.where { $0.age > 100 }
        #expect(
            none.min(of: \.age) == nil && none.sum(of: \.age) == 0
                && (none.average(ofProperty: "age") as Double?) == nil)
        #expect(realm.objects(Person.self).max(of: \.age) == 40)
    }

    /// An aggregate (SEMANTICS 73) that its type can't hold is the nearest value that the type can hold.
    @Test func aggregatesBeyondTheirTypeDoNotTrap() throws {
        let realm = try memoryRealm()
        let all = realm.objects(Everything.self)
        try realm.write {
            realm.create(Everything.self, value: ["int": Int.max, "int8": 100, "double": 1000.5] as [String: Any])
            realm.create(Everything.self, value: ["int": Int.max, "int8": 100, "double": -0.75] as [String: Any])
        }
        let average: Int? = all.average(of: \.int)
        let (price, whole): (Int8, Int) = (all.sum(ofProperty: "double"), all.sum(ofProperty: "double"))
        #expect(average == .max && all.sum(of: \.int) == .max && all.sum(of: \.int8) == .max)
        #expect(price == .max && whole == 999)
        try realm.write {
            realm.create(Everything.self, value: ["double": -1e300, "float": Float.nan] as [String: Any])
            realm.create(Everything.self, value: ["double": -Double.infinity] as [String: Any])
        }
        let low: Int = all.sum(ofProperty: "double")
        let lowest: Int16? = all.average(ofProperty: "double")
        let none: Int? = all.average(ofProperty: "float")
        #expect(low == .min && lowest == .min && none == nil)
    }

    /// Results are live collections (SPEC R33–R35). A copy of a result equals it, but two separate results do not
    /// (SEMANTICS 43).
    @Test func resultsAreCollections() throws {
        let realm = try filled()
        let dogs = realm.objects(Dog.self)
        let copy = dogs
        #expect(copy == dogs && realm.objects(Dog.self) != dogs)
        #expect(dogs.first?.id == 0 && dogs.last?.id == 9 && dogs.index(of: dogs[4]) == 4)
        #expect(dogs.index(matching: { $0.age == 6 }) == 6 && dogs.where { $0.age > 3 }.index(of: dogs[5]) == 1)
        #expect(
            realm.object(ofType: Dog.self, forPrimaryKey: 3)?.age == 3
                && realm.object(ofType: Dog.self, forPrimaryKey: 33) == nil)
        #expect(dogs.reversed().map(\.id) == Array((0..<10).reversed()))
        try realm.write { realm.delete(dogs.where { $0.age > 3 }) }
        #expect(dogs.count == 4)
    }

    /// A filter that compares a link with an object of another realm stops (SEMANTICS 77).
    @Test(arguments: [true, false]) func comparingWithAnObjectOfAnotherRealmStops(asText: Bool) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [asText] in
            let (realm, other) = (try memoryRealm(), try memoryRealm())
            let person = try other.write { other.create(Person.self) }
            let dogs = realm.objects(Dog.self)
            _ = asText ? dogs.filter("owner == %@", person) : dogs.where { $0.owner == person }
        }
        expectMessage(result, "Firn: ", "of another realm")
    }

    /// Every entry refuses a comparison of constants: it is a name in quotes, most likely.
    @Test func aConstantComparedWithAConstantIsRefused() throws {
        let dogs = try memoryRealm().objects(Dog.self)
        for text in ["'name' == 2", "1 == 1", "%@ == 'Rex'", "'a' IN {'a'}", "age > 3 AND 'x' BEGINSWITH 'x'"] {
            let error = try #require(throws: Realm.Error.self) {
                _ = try text.hasPrefix("%") ? dogs.filter(validating: text, "Rex") : dogs.filter(validating: text)
            }
            #expect(error.message.contains("onstant is compared with a constant") && error.message.contains("%K"))
        }
        #expect(dogs.filter("TRUEPREDICATE").isEmpty)
    }

    /// Nil is below every value (SEMANTICS 98).
    @Test func everyValueIsAboveNil() throws {
        let realm = try memoryRealm([Dog.self, Person.self])
        try realm.write {
            realm.create(Person.self, value: ["name": "Ann", "friend": ["name": "Bob"]] as [String: Any])
        }
        let people = realm.objects(Person.self)
        #expect(people.filter("friend.name > nil").map(\.name) == ["Ann"])
        #expect(people.filter("friend.name >= nil").count == 2 && people.filter("friend.name <= nil").count == 1)
        #expect(people.filter("friend.name < nil").isEmpty && people.filter("nil < friend.name").count == 1)
        #expect(people.filter("NOT friend.name > nil").map(\.name) == ["Bob"])
        #expect(people.where { $0.age > nil }.isEmpty && people.where { $0.age >= nil }.count == 2)
        #expect(people.filter("friend.name >= friend.friend.name").count == 1)
    }

    /// An unmanaged object equals no link (SEMANTICS 77).
    @Test func nothingIsFoundByAnUnmanagedObject() throws {
        let (realm, person) = (try memoryRealm(), Person())
        try realm.write {
            realm.create(Dog.self, value: ["id": 1, "owner": ["name": "Ann"]] as [String: Any])
            realm.create(Dog.self, value: ["id": 2])
        }
        let dogs = realm.objects(Dog.self)
        for found in [
            dogs.where { $0.owner == person }, dogs.filter("owner == %@", person), dogs.where { $0.owner.in([person]) },
        ] { #expect(found.isEmpty) }
        for found in [dogs.where { $0.owner != person }, dogs.filter("owner != %@", person)] {
            #expect(found.map(\.id) == [1, 2])
        }
        #expect(realm.objects(Person.self).where { $0.dogs.contains(Dog()) }.isEmpty)
    }

    /// A deleted object equals no link, not even one that is nil since then (SEMANTICS 77).
    @Test func nothingIsFoundByADeletedObject() throws {
        let realm = try memoryRealm()
        let (gone, person) = (Person(), Person())
        try realm.write {
            for (id, owner) in [gone, person, nil].enumerated() {
                let dog = Dog(id, "n\(id)")
                dog.owner = owner
                realm.add(dog)
            }
        }
        let dogs = realm.objects(Dog.self)
        let before = dogs.where { $0.owner == gone }
        #expect(before.map(\.id) == [0])
        try realm.write { realm.delete(gone) }
        #expect(before.isEmpty)
        #expect(dogs.where { $0.owner == gone }.isEmpty && dogs.filter("owner == %@", gone).isEmpty)
        #expect(dogs.where { $0.owner == person }.map(\.id) == [1])
        #expect(dogs.where { $0.owner == nil }.map(\.id) == [0, 2])
    }

    /// A path through objects needs one object within the range, not one above its start and another below its end. Of
    /// a collection's own elements all lie in it (SEMANTICS 92).
    @Test func aRangeConditionAppliesToASingleElement() throws {
        let realm = try memoryRealm()
        try realm.write {
            var id = 0
            for (name, ages) in [("wide", [1, 10]), ("in", [4, 10]), ("low", [3]), ("high", [5]), ("none", [])] {
                let person = Person(value: ["name": name, "numbers": ages])
                for age in ages {
                    person.dogs.append(Dog(id, name, age: age))
                    id += 1
                }
                realm.add(person)
            }
        }
        let people = realm.objects(Person.self)
        func names(_ condition: (Query<Person>) -> Query<Bool>) -> [String] { people.where(condition).map(\.name) }
        #expect(names { $0.dogs.age.contains(3..<5) } == ["in", "low"])
        #expect(names { $0.dogs.age.contains(3...4) } == ["in", "low"])
        #expect(names { $0.numbers.contains(3..<5) } == ["low"])
        #expect(names { $0.numbers.contains(1...10) } == ["wide", "in", "low", "high"])
        #expect(names { $0.numbers.contains(1..<10) } == ["low", "high"] && names { $0.numbers.contains(3..<3) } == [])
        #expect(names { !$0.numbers.contains(3...4) } == ["wide", "in", "high", "none"])
        // As text, one element suffices.
        #expect(people.filter("ANY numbers BETWEEN {3, 4}").map(\.name) == ["in", "low"])
        #expect(names { !$0.dogs.age.contains(3..<5) } == ["wide", "high", "none"])
        #expect(names { $0.dogs.age.contains(3..<3) } == [] && names { $0.dogs.age.contains(Int.min..<Int.min) } == [])
        #expect(names { $0.dogs.age.contains(Int.min..<Int.max) } == ["wide", "in", "low", "high"])
        // Through two collections, and to an optional.
        #expect(names { $0.dogs.keepers.dogs.age.contains(3..<5) } == ["in", "low"])
        #expect(names { $0.dogs.keepers.age.contains(3..<5) } == [])
        #expect(names { $0.dogs.age.max.contains(3..<6) } == ["low", "high"])
    }

    @Test func aRangeOfNumbersAndDatesEndsBeforeItsBound() throws {
        class Sample: Object {
            @Persisted var doubles: List<Double>
            @Persisted var floats: List<Float>
            @Persisted var dates: List<Date>
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        let realm = try memoryRealm([Sample.self])
        let epoch = Date(timeIntervalSince1970: 0)
        try realm.write {
            realm.create(Sample.self, value: ["doubles": [2.0], "floats": [2.0], "dates": [epoch]])
            realm.create(
                Sample.self,
                value: ["doubles": [(2.0).nextDown], "floats": [Float(2).nextDown], "dates": [epoch - 1e-6]])
        }
        let samples = realm.objects(Sample.self)
        #expect(samples.where { $0.doubles.contains(1.0..<2.0) }.count == 1)
        #expect(samples.where { $0.floats.contains(1..<2) }.count == 1)
        #expect(samples.where { $0.doubles.contains(1.0..<(2.0).nextUp) }.count == 2)
        for second in [-1.0, 0, 1] {
            let end = epoch + second
            #expect(
                samples.where { $0.dates.contains((end - 10)..<end) }.count == [0, 1, 2][Int(second) + 1], "\(second)")
        }
        #expect(samples.where { $0.dates.contains((epoch - 1)..<(epoch + 1e-6)) }.count == 2)
        #expect(samples.where { $0.doubles.contains(-Double.infinity ..< -Double.infinity) }.count == 0)
    }

    /// The argument's hash runs the application's code, which may query. An alarm ends a process that waits for
    /// itself.
    @Test func aKeyPathWithAnArgumentThatQueriesIsTraced() async {
        await #expect(processExitsWith: .success) {
            alarm(60)
            let realm = try memoryRealm()
            try realm.write { realm.add(Person(value: ["name": "Ann", "dogs": [[1, "Rex"]]])) }
            let people = realm.objects(Person.self)
            // More key paths than are cached.
            for number in 0..<1100 {
                let path: KeyPath<Person, String> = \Person[Asking(number: number)]
                #expect(people.where { $0[dynamicMember: path] == "Ann" }.count == 1)
                #expect(people.sorted(by: path).count == 1)
            }
        }
    }
}

/// Runs a query when it is hashed or compared.
private struct Asking: Hashable {
    let number: Int

    private func ask() {
        guard let realm = try? memoryRealm([Dog.self, Person.self], "asking") else { return }
        _ = realm.objects(Dog.self).where { $0.age > 3 }.sorted(by: \.age).count
    }
    func hash(into hasher: inout Hasher) {
        ask()
        hasher.combine(number)
    }
    static func == (a: Asking, b: Asking) -> Bool {
        a.ask()
        return a.number == b.number
    }
}

extension Person {
    fileprivate subscript(asking: Asking) -> String { name }
}

extension Dog {
    fileprivate var title: String { name }
}
