import Firn
import FirnTestSupport
import Foundation
import Testing

private class Tagged: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var texts: MutableSet<String>
    @Persisted var numbers: MutableSet<Int>
    @Persisted var gaps: MutableSet<Double?>
    @Persisted var decimals: MutableSet<Decimal128>
    @Persisted var moods: MutableSet<Mood>
    @Persisted var dogs: MutableSet<Dog>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }

    convenience init(_ id: Int) {
        self.init()
        self.id = id
    }
}

private class PetShop: Object {
    @Persisted var pets: MutableSet<Pet>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Pet: Object {
    @Persisted var number: Int
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Kitten: Pet {}

/// `MutableSet` (R50, R51, SEMANTICS 21, 33, 79).
@Suite(.timeLimit(.minutes(20))) struct MutableSetTests {
    private let types: [ObjectBase.Type] = [Tagged.self, Dog.self, Person.self]

    private func realm() throws -> Realm { try memoryRealm(types) }

    // MARK: Edits against an oracle

    private enum Edit: CaseIterable {
        case insert, insertMany, remove, union, intersection, subtract, assign, removeAll, cancel, freeze
    }

    /// Every edit does the same to an unmanaged set, to a managed one, and to a Swift set; frozen versions stay as they
    /// were; and the log gives the same set again.
    @Test(arguments: 1...4 as ClosedRange<UInt64>) func editsBehaveLikeThoseOfASwiftSet(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let folder = TemporaryFolder()
        let configuration = Realm.Configuration(fileURL: URL(filePath: folder.path + "/s.firn"), objectTypes: types)
        var oracle: Set<Int> = []
        let unmanaged = Tagged(0)
        do {
            let realm = try Realm(configuration: configuration)
            let object = Tagged(1)
            try realm.write { realm.add(object) }
            // References taken before and after are one set.
            let managed = object.numbers
            var frozen: [(MutableSet<Int>, Set<Int>)] = []
            for step in 0..<400 {
                // Small and large: the cell is inline or a tree.
                let range = step % 100 < 50 ? 40 : 2_000
                let some = (0..<random.below(range / 4) + 1).map { _ in random.below(range) }
                let edit = Edit.allCases[random.below(Edit.allCases.count)]
                if edit == .cancel {
                    realm.beginWrite()
                    managed.insert(objectsIn: some)
                    managed.remove(some[0])
                    realm.cancelWrite()
                } else if edit == .freeze {
                    if frozen.count == 5 { frozen.removeFirst() }
                    frozen.append((managed.freeze(), oracle))
                } else {
                    realm.beginWrite()
                    for set in [managed, unmanaged.numbers] {
                        let other = MutableSet<Int>()
                        other.insert(objectsIn: some)
                        switch edit {
                        case .insert: set.insert(some[0])
                        case .insertMany: set.insert(objectsIn: some)
                        case .remove: set.remove(some[0])
                        case .union: set.formUnion(other)
                        case .intersection: set.formIntersection(other)
                        case .subtract: set.subtract(other)
                        case .assign: (set === managed ? object : unmanaged).numbers = other
                        default: set.removeAll()
                        }
                    }
                    switch edit {
                    case .insert: oracle.insert(some[0])
                    case .insertMany, .union: oracle.formUnion(some)
                    case .remove: oracle.remove(some[0])
                    case .intersection: oracle.formIntersection(some)
                    case .subtract: oracle.subtract(some)
                    case .assign: oracle = Set(some)
                    default: oracle = []
                    }
                    if random.below(2) == 0 { #expect(Array(managed) == oracle.sorted()) }
                    try realm.commitWrite()
                }
                #expect(
                    object.numbers === managed && Array(managed) == oracle.sorted(),
                    "seed \(seed), step \(step), \(edit)")
                #expect(Set(unmanaged.numbers) == oracle && unmanaged.numbers.count == oracle.count)
                let probe = random.below(range)
                for set in [managed, unmanaged.numbers] {
                    #expect(set.contains(probe) == oracle.contains(probe) && set.count == oracle.count)
                    #expect(set.isSubset(of: unmanaged.numbers) && unmanaged.numbers.intersects(set) == !oracle.isEmpty)
                }
                for (set, content) in frozen { #expect(Array(set) == content.sorted() && set.isFrozen) }
                if step % 100 == 99 { try realm.compact() }
            }
        }
        let realm = try Realm(configuration: configuration)
        let set = try #require(realm.object(ofType: Tagged.self, forPrimaryKey: 1)).numbers
        #expect(Array(set) == oracle.sorted())
    }

    @Test func edgesOfValuesAreTold() throws {
        let realm = try realm()
        let (object, unmanaged) = (Tagged(1), Tagged(2))
        try realm.write {
            realm.add(object)
            for one in [object, unmanaged] {
                one.texts.insert(objectsIn: ["", "é", "e\u{301}", "e\u{301}", String(repeating: "x", count: 1 << 20)])
                one.gaps.insert(objectsIn: [nil, .nan, nil, .nan, -0.0, 0, -.infinity, 1])
                one.decimals.insert(objectsIn: ["1.0", "1.00", "NaN", "NaN", 1, -1])
                one.moods.insert(objectsIn: [.wild, .calm, .wild])
            }
        }
        for one in [object, unmanaged] {
            #expect(one.texts.count == 4 && one.texts.contains("e\u{301}") && !one.texts.contains("e"))
            #expect(one.gaps.count == 5 && one.gaps.contains(nil) && one.gaps.contains(.nan) && one.gaps.contains(0))
            #expect(
                one.decimals.count == 3 && one.decimals.contains("1.000")
                    && one.decimals.contains(Decimal128(value: "NaN")))
            #expect(one.moods.count == 2 && one.moods.contains(.calm))
        }
        #expect(object.gaps[0] == nil && object.gaps[2] == -.infinity)
        #expect(object.decimals.map(\.stringValue) == ["NaN", "-1", "1.0"])
        try realm.write { object.texts.remove("é") }
        #expect(object.texts.contains("e\u{301}") && !object.texts.contains("\u{E9}"))
    }

    // MARK: Objects

    /// Deleting an object removes it from every set (SEMANTICS 33); an unmanaged one is added with the set.
    @Test func objectsAreAddedAndUnlinked() throws {
        let realm = try realm()
        let object = Tagged(1)
        let (rex, max) = (Dog(1, "Rex"), Dog(2, "Max"))
        object.dogs.insert(objectsIn: [rex, max, rex])
        #expect(object.dogs.count == 2 && object.dogs.contains(rex))
        let dogs = object.dogs
        try realm.write { realm.add(object) }
        #expect(dogs === object.dogs && dogs.realm == realm && dogs.contains(rex) && rex.realm == realm)
        try realm.write {
            object.dogs.insert(Dog(3, "Bo"))
            object.dogs.insert(rex)
            for number in 10..<400 { object.dogs.insert(Dog(number, "dog")) }
        }
        #expect(dogs.count == 393 && realm.objects(Dog.self).count == 393 && !dogs.contains(Dog(1, "Rex")))
        try realm.write {
            realm.delete(max)
            realm.delete(realm.objects(Dog.self).where { $0.id >= 10 })
        }
        #expect(dogs.map(\.name) == ["Rex", "Bo"] && object.freeze().dogs.count == 2)
        try realm.write { object.dogs.removeAll() }
        #expect(dogs.isEmpty && realm.objects(Dog.self).count == 2)
        try realm.write {
            object.dogs.insert(rex)
            realm.delete(object)
        }
        #expect(dogs.isInvalidated && !rex.isInvalidated && realm.objects(Dog.self).count == 2)
    }

    /// Objects of two classes may have the same key. An element is found by its row, also without a primary key
    /// (SEMANTICS 95).
    @Test func anObjectOfAnotherClassIsNoElement() throws {
        let realm = try memoryRealm([PetShop.self, Pet.self, Kitten.self])
        let (shop, kitten) = (PetShop(), Kitten(value: [1]))
        try realm.write {
            shop.pets.insert(Pet(value: [1]))
            realm.add([shop, kitten])
            #expect(!shop.pets.contains(kitten) && shop.pets.contains(shop.pets[0]))
            shop.pets.remove(kitten)
            let dynamic = realm.dynamicObjects("PetShop")[0].dynamicMutableSet("pets")
            let other = realm.dynamicObjects("Kitten")[0]
            #expect(!dynamic.contains(other) && dynamic.contains(realm.dynamicObjects("Pet")[0]))
            dynamic.remove(other)
            #expect(dynamic.count == 1)
            dynamic.remove(realm.dynamicObjects("Pet")[0])
            #expect(shop.pets.isEmpty)
        }
    }

    @Test func valuesAreCreatedAndUpdatedByEachPolicy() throws {
        let realm = try realm()
        let value: [String: Any] = [
            "id": 1, "numbers": [3, 1, 3], "dogs": [["id": 1, "name": "Rex"], ["id": 2]], "texts": Set(["a"]),
        ]
        let object = try realm.write { realm.create(Tagged.self, value: value) }
        #expect(Array(object.numbers) == [1, 3] && object.dogs.count == 2 && Array(object.texts) == ["a"])
        try realm.write {
            for policy in [Realm.UpdatePolicy.modified, .all] {
                realm.create(
                    Tagged.self,
                    value: ["id": 1, "numbers": [1, 3, 1], "dogs": [["id": 2, "age": 9]]] as [String: Any],
                    update: policy)
            }
        }
        #expect(Array(object.numbers) == [1, 3] && object.dogs.map(\.age) == [9])
        try realm.write { realm.add(Tagged(1), update: .modified) }
        #expect(object.numbers.isEmpty && object.dogs.isEmpty)
        try realm.write { object["numbers"] = [7, 7] }
        #expect(Array(object.numbers) == [7] && (object["numbers"] as? MutableSet<Int>) === object.numbers)
        try realm.write { object["numbers"] = nil }
        #expect(object.numbers.isEmpty)
        #expect(throws: Realm.Error.self) { try Tagged(validating: ["numbers": ["x"]]) }
        #expect(throws: Realm.Error.self) { try Tagged(validating: ["numbers": 5]) }
        #expect(Tagged(value: [2, ["b"], [1, 1]]).numbers.count == 1)
        // A copy of a managed object of another realm.
        try realm.write { object.dogs.insert(Dog(7, "Bo")) }
        let other = try self.realm()
        let copy = try other.write { other.create(Tagged.self, value: object) }
        #expect(copy.dogs.map(\.name) == ["Bo"] && copy.dogs.first?.realm == other)
    }

    // MARK: Queries and observation

    @Test func queriesReachElements() throws {
        let realm = try realm()
        try realm.write {
            for id in 0..<4 {
                let object = Tagged(id)
                object.numbers.insert(objectsIn: 0..<id)
                object.texts.insert("t\(id)")
                object.dogs.insert(Dog(id, "dog \(id)", age: id))
                realm.add(object)
            }
        }
        let all = realm.objects(Tagged.self)
        func ids(_ results: Results<Tagged>) -> [Int] { results.map(\.id) }
        #expect(ids(all.where { $0.numbers.contains(1) }) == [2, 3] && ids(all.filter("ANY numbers = 1")) == [2, 3])
        #expect(ids(all.where { $0.numbers.count == 0 }) == [0] && ids(all.filter("numbers.@sum > 1")) == [3])
        #expect(ids(all.where { $0.numbers.max == 1 }) == [2] && ids(all.where { $0.dogs.age > 2 }) == [3])
        #expect(ids(all.where { $0.texts.containsAny(in: ["t0", "t3"]) }) == [0, 3])
        let set = all[3].dogs
        #expect(set.where { $0.age == 3 }.count == 1 && set.sorted(by: \.name).first?.name == "dog 3")
        #expect(all[3].numbers.sum() == 3 && all[3].numbers.max() == 2 && all[3].numbers.average() == 1)
        #expect(set.index(of: set[0]) == 0 && set.sum(of: \.age) == 3)
    }

    @MainActor @Test func changesAreReportedByIndices() async throws {
        let realm = try realm()
        let object = Tagged(1)
        object.numbers.insert(objectsIn: [10, 20, 30])
        try realm.write { realm.add(object) }
        var seen: [String] = []
        let token = object.numbers.observe { (change: RealmCollectionChange<MutableSet<Int>>) in
            switch change {
            case .initial(let set): seen.append("\(set.count)")
            case .update(let set, let deletions, let insertions, let modifications):
                seen.append("\(set.count) \(deletions) \(insertions) \(modifications)")
            case .error: seen.append("error")
            }
        }
        var properties: [String] = []
        let other = object.observe { (change: ObjectChange<Tagged>) in
            if case .change(_, let changes) = change { properties += changes.map(\.name) }
        }
        await wait { seen.count == 1 }
        try realm.write {
            object.numbers.remove(20)
            object.numbers.insert(5)
            object.numbers.insert(30)
        }
        await wait { seen.count == 2 && !properties.isEmpty }
        #expect(seen == ["3", "3 [1] [0] []"] && properties == ["numbers"])
        token.invalidate()
        other.invalidate()
    }

    @Test func theSchemaSaysSo() throws {
        let realm = try realm()
        let schema = try #require(realm.schema["Tagged"])
        #expect(
            schema["numbers"]?.isSet == true && schema["numbers"]?.isArray == false
                && schema["gaps"]?.isOptional == true)
        #expect(schema["dogs"]?.description == "dogs: set<Dog>" && schema["id"]?.isSet == false)
        let object = Tagged(1)
        object.numbers.insert(5)
        #expect("\(object)".contains("numbers = MutableSet<Int> (\n\t\t[0] 5\n\t);"))
    }

    @Test func setsAreCodedAsArrays() throws {
        let set: MutableSet<String> = ["b", "a", "b"]
        let data = try JSONEncoder().encode(set)
        #expect(String(decoding: data, as: UTF8.self) == #"["b","a"]"#)
        #expect(try JSONDecoder().decode(MutableSet<String>.self, from: data) == ["a", "b"])
        #expect(set != ["a"] && set != ["a", "c"])
    }

    // MARK: Stops

    @Test func misuseStops() async {
        let outside = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm([Tagged.self, Dog.self, Person.self])
            let object = Tagged(1)
            try realm.write { realm.add(object) }
            object.numbers.insert(1)
        }
        expectMessage(outside, "change the set Tagged.numbers", "outside of a write transaction")
        let index = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Tagged(1).numbers[0]
        }
        expectMessage(index, "index 0 is out of bounds of a set of 0 elements")
        let realms = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (one, other) = (
                try memoryRealm([Tagged.self, Dog.self, Person.self]),
                try memoryRealm([Tagged.self, Dog.self, Person.self])
            )
            let (x, y) = (Tagged(1), Tagged(1))
            try one.write { one.add(x) }
            try other.write { other.add(y) }
            try one.write { x.numbers.formUnion(y.numbers) }
        }
        expectMessage(realms, "belong to different realms")
        let frozen = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Tagged(1).numbers.freeze()
        }
        expectMessage(frozen, "an unmanaged set can't be frozen")
    }

    // MARK: Defects that an audit found

    /// What replaces nil has another place in the order, and the set may have it already.
    @Test func aSetStaysOrderedWhenNilBecomesImpossible() throws {
        class Old: Object {
            @Persisted var numbers: MutableSet<Int?>
            @Persisted var texts: MutableSet<String?>
            override class func _realmObjectName() -> String? { "Converted" }
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        class New: Object {
            @Persisted var numbers: MutableSet<Int>
            @Persisted var texts: MutableSet<String>
            override class func _realmObjectName() -> String? { "Converted" }
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        let folder = TemporaryFolder()
        let url = URL(filePath: folder.path + "/c.firn")
        do {
            let realm = try Realm(configuration: .init(fileURL: url, objectTypes: [Old.self]))
            let old = Old()
            old.numbers.insert(objectsIn: [nil, -5, 0, 3])
            old.texts.insert(objectsIn: [nil, "", "b"])
            try realm.write { realm.add(old) }
        }
        let realm = try Realm(configuration: .init(fileURL: url, schemaVersion: 1, objectTypes: [New.self]))
        let new = try #require(realm.objects(New.self).first)
        #expect(Array(new.numbers) == [-5, 0, 3] && new.numbers.contains(-5) && Array(new.texts) == ["", "b"])
        try realm.write {
            new.numbers.insert(-7)
            new.numbers.insert(-5)
            new.numbers.remove(0)
        }
        #expect(Array(new.numbers) == [-7, -5, 3])
    }

    /// An object's hash changes when it becomes managed.
    @Test func anUnmanagedSetKeepsObjectsThatBecomeManaged() throws {
        let realm = try realm()
        let dogs = (1...6).map { Dog($0, "dog \($0)") }
        let set = MutableSet<Dog>()
        set.insert(objectsIn: dogs)
        try realm.write { realm.add(dogs[0]) }
        set.remove(dogs[5])
        #expect(set.count == 5 && set.contains(dogs[0]) && set.contains(dogs[4]) && !set.contains(dogs[5]))
        set.insert(dogs[0])
        // Another accessor of the same row is the same object.
        let other = try #require(realm.object(ofType: Dog.self, forPrimaryKey: 1))
        #expect(set.count == 5 && set.contains(other))
        set.insert(other)
        set.remove(other)
        #expect(set.count == 4 && !set.contains(dogs[0]) && !set.contains(other))
        set.insert(other)
        #expect(set.contains(dogs[0]) && set.count == 5)
        set.removeAll()
        #expect(set.isEmpty && !set.contains(other))
    }
}
