import Firn
import FirnTestSupport
import Foundation
import Testing

private class Shop: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var prices: Map<String, Int>
    @Persisted var notes: Map<String, String?>
    @Persisted var amounts: Map<String, Decimal128>
    @Persisted var dogs: Map<String, Dog?>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }

    convenience init(_ id: Int) {
        self.init()
        self.id = id
    }
}

/// `Map` (R45, R52 to R54, SEMANTICS 21, 33, 89).
@Suite(.timeLimit(.minutes(20))) struct MapTests {
    private let types: [ObjectBase.Type] = [Shop.self, Dog.self, Person.self]

    private func realm() throws -> Realm { try memoryRealm(types) }

    // MARK: Edits against an oracle

    private enum Edit: CaseIterable { case set, update, remove, merge, assign, removeAll, cancel, freeze }

    /// Swift compares texts by their characters, in their composed form. All of these are composed, so that their order
    /// is that of their bytes; comparing byte by byte takes most of an hour in debug mode.
    private func sorted(_ oracle: [String: Int]) -> [String] { oracle.keys.sorted() }

    /// Every edit does the same to an unmanaged map, to a managed one, and to a dictionary; frozen versions stay as
    /// they were; and the log gives the same map again.
    @Test(arguments: 1...4 as ClosedRange<UInt64>) func editsBehaveLikeThoseOfADictionary(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let folder = TemporaryFolder()
        let configuration = Realm.Configuration(fileURL: URL(filePath: folder.path + "/m.firn"), objectTypes: types)
        var oracle: [String: Int] = [:]
        let unmanaged = Shop(0)
        do {
            let realm = try Realm(configuration: configuration)
            let object = Shop(1)
            try realm.write { realm.add(object) }
            let managed = object.prices
            var frozen: [(Map<String, Int>, [String: Int])] = []
            for step in 0..<400 {
                // Small and large: the cell is inline or a tree. Some keys are too long for the cell.
                let range = step % 100 < 50 ? 30 : 1_000
                func key() -> String {
                    let number = random.below(range)
                    return ["", "ключ", "k", String(repeating: "x", count: 600)][number % 4] + "\(number)"
                }
                let some = (0..<random.below(range / 4) + 1).map { _ in (key: key(), value: random.below(100)) }
                let edit = Edit.allCases[random.below(Edit.allCases.count)]
                if edit == .cancel {
                    realm.beginWrite()
                    for (key, value) in some { managed[key] = value }
                    managed.removeObject(for: some[0].key)
                    realm.cancelWrite()
                } else if edit == .freeze {
                    if frozen.count == 5 { frozen.removeFirst() }
                    frozen.append((managed.freeze(), oracle))
                } else {
                    realm.beginWrite()
                    for map in [managed, unmanaged.prices] {
                        switch edit {
                        case .set: map[some[0].key] = some[0].value
                        case .update: for (key, value) in some { map.updateValue(value, forKey: key) }
                        case .remove: for (key, _) in some { map[key] = nil }
                        case .merge: map.merge(some) { $0 + $1 }
                        case .assign:
                            let other = Map<String, Int>()
                            other.merge(some) { $1 }
                            if map === managed { object.prices = other } else { unmanaged.prices = other }
                        default: map.removeAll()
                        }
                    }
                    switch edit {
                    case .set: oracle[some[0].key] = some[0].value
                    case .update: for (key, value) in some { oracle[key] = value }
                    case .remove: for (key, _) in some { oracle[key] = nil }
                    case .merge: oracle.merge(some) { $0 + $1 }
                    case .assign: oracle = Dictionary(some) { $1 }
                    default: oracle = [:]
                    }
                    if random.below(2) == 0 { #expect(managed.keys == sorted(oracle)) }
                    try realm.commitWrite()
                }
                #expect(object.prices === managed, "seed \(seed), step \(step), \(edit)")
                let probe = key()
                for map in [managed, unmanaged.prices] {
                    #expect(
                        map.keys == sorted(oracle) && map.count == oracle.count, "seed \(seed), step \(step), \(edit)")
                    #expect(map.values == sorted(oracle).map { oracle[$0]! } && map[probe] == oracle[probe])
                }
                for (map, content) in frozen {
                    #expect(map.keys == sorted(content) && map.isFrozen && map.sum() == content.values.reduce(0, +))
                }
                if step % 100 == 99 { try realm.compact() }
            }
        }
        let realm = try Realm(configuration: configuration)
        let map = try #require(realm.object(ofType: Shop.self, forPrimaryKey: 1)).prices
        #expect(map.keys == sorted(oracle) && map.filter { _, _ in true } == oracle)
    }

    @Test func entriesAreReadInEveryShape() throws {
        let realm = try realm()
        let (object, unmanaged) = (Shop(1), Shop(2))
        try realm.write { realm.add(object) }
        try realm.write {
            for shop in [object, unmanaged] {
                shop.prices = ["b": 2, "a": 1, "": 3]
                shop.notes["x"] = "text"
                shop.notes["y"] = .some(nil)
                shop.notes.updateValue(nil, forKey: "z")
                shop.notes["x"] = nil
                shop.amounts = ["one": 1.5, "two": "2.25"]
            }
        }
        for shop in [object, unmanaged] {
            #expect(shop.prices.map(\.key) == ["", "a", "b"] && shop.prices.map(\.value) == [3, 1, 2])
            #expect(shop.prices.asKeyValueSequence().map { "\($0)\($1)" } == ["3", "a1", "b2"])
            #expect(shop.notes.keys == ["y", "z"] && shop.notes.values == [nil, nil] && shop.notes["q"] == nil)
            #expect(shop.notes["y"] == .some(nil) && shop.prices.object(forKey: "a") == 1)
            #expect(shop.prices.contains { key, value in key == "b" && value == 2 } && !shop.prices.isEmpty)
            #expect(
                shop.prices.min() == 1 && shop.prices.max() == 3 && shop.prices.sum() == 6 && shop.prices.average() == 2
            )
            #expect(
                shop.amounts.sum() == 3.75 && shop.amounts.average() == 1.875
                    && shop.prices.value(forKey: "a") as? Int == 1)
            // As another type (R40).
            let (whole, single, none): (Int?, Float?, Double?) = (
                shop.amounts.average(), shop.prices.average(), Map<String, Double?>().average()
            )
            #expect(whole == 1 && single == 2 && none == nil)
        }
        try realm.write { object.prices.setValue(NSNumber(value: 7), forKey: "set") }
        #expect(object.prices["set"] == 7)
        // Nil removes (SEMANTICS 97).
        try realm.write { object.prices.setValue(nil, forKey: "set") }
        #expect(!object.prices.keys.contains("set"))
        let map = Map<String, Int?>()
        map.setValue(NSNumber(value: 1), forKey: "a")
        map.setValue(NSNull(), forKey: "b")
        #expect(map.count == 2 && map["b"] == .some(nil))
        map.setValue(Int?.none as Any, forKey: "a")
        #expect(map.keys.sorted() == ["b"])
    }

    // MARK: Objects

    /// As in lists, texts are equal if their bytes are, and objects if they are the same row (SEMANTICS 95).
    @Test func unmanagedMapsAreComparedAsTheStoreDoes() throws {
        let realm = try memoryRealm([Dog.self, Person.self])
        try realm.write { realm.add(Person(value: ["name": "Ann"])) }
        let (one, same) = (Map<String, Person?>(), Map<String, Person?>())
        one["a"] = realm.objects(Person.self)[0]
        same["a"] = realm.objects(Person.self)[0]
        #expect(one["a"] != same["a"] && one == same)
        same["b"] = .some(nil)
        #expect(one != same)
        let (composed, decomposed) = (Map<String, String>(), Map<String, String>())
        composed["k"] = "\u{E9}"
        decomposed["k"] = "e\u{301}"
        #expect(composed != decomposed && composed == composed)
    }

    /// Deleting an object leaves its keys with nil (SEMANTICS 33).
    @Test func objectsAreAddedAndBecomeNil() throws {
        let realm = try realm()
        let object = Shop(1)
        let (rex, max) = (Dog(1, "Rex"), Dog(2, "Max"))
        object.dogs["a"] = rex
        object.dogs["b"] = max
        object.dogs["c"] = rex
        object.dogs["none"] = .some(nil)
        let dogs = object.dogs
        try realm.write { realm.add(object) }
        #expect(dogs === object.dogs && dogs.realm == realm && rex.realm == realm && dogs.count == 4)
        #expect(dogs["a"] == rex && dogs["none"] == .some(nil))
        try realm.write {
            object.dogs["d"] = Dog(3, "Bo", age: 7)
            for number in 10..<300 { object.dogs["n\(number)"] = Dog(number, "dog") }
        }
        #expect(realm.objects(Dog.self).count == 293)
        try realm.write {
            realm.delete(rex)
            realm.delete(realm.objects(Dog.self).where { $0.id >= 10 })
        }
        #expect(dogs.count == 295 && dogs["a"] == .some(nil) && dogs["c"] == .some(nil) && dogs["b"] == max)
        #expect(dogs.sorted(by: \.name).map { $0?.name } == ["Bo", "Max"])
        #expect(dogs.where { $0.age > 5 }.map { $0?.name } == ["Bo"] && dogs.filter("age < 5").count == 1)
        #expect(dogs.sum(of: \.age) == 8 && dogs.freeze()["b"]??.name == "Max")
        try realm.write { dogs.removeAll() }
        #expect(dogs.isEmpty && realm.objects(Dog.self).count == 2)
        try realm.write { realm.delete(object) }
        #expect(dogs.isInvalidated)
    }

    @Test func valuesAreCreatedAndUpdatedByEachPolicy() throws {
        let realm = try realm()
        let value: [String: Any] = [
            "id": 1, "prices": ["x": 3, "y": 1],
            "dogs": ["a": ["id": 1, "name": "Rex"], "b": NSNull()] as [String: Any],
            "notes": ["n": NSNull(), "m": "text"] as [String: Any],
        ]
        let object = try realm.write { realm.create(Shop.self, value: value) }
        #expect(object.prices.keys == ["x", "y"] && object.dogs["a"]??.name == "Rex" && object.dogs["b"] == .some(nil))
        #expect(object.notes["n"] == .some(nil) && object.notes["m"] == "text")
        try realm.write {
            for policy in [Realm.UpdatePolicy.modified, .all] {
                realm.create(
                    Shop.self,
                    value: ["id": 1, "prices": ["z": 9], "dogs": ["c": ["id": 1, "age": 5]]] as [String: Any],
                    update: policy)
            }
        }
        #expect(object.prices.keys == ["z"] && object.dogs.keys == ["c"] && object.dogs["c"]??.age == 5)
        #expect(realm.objects(Dog.self).count == 1 && object.notes.count == 2)
        try realm.write { realm.add(Shop(1), update: .modified) }
        #expect(object.prices.isEmpty && object.dogs.isEmpty)
        try realm.write {
            object["prices"] = ["q": 4]
            object["dogs"] = ["r": Dog(8, "Bo")]
        }
        #expect(object.prices["q"] == 4 && object.dogs["r"]??.name == "Bo")
        // A copy of a managed object of another realm.
        let other = try self.realm()
        let copy = try other.write { other.create(Shop.self, value: object) }
        #expect(copy.dogs["r"]??.realm == other && copy.prices["q"] == 4)
        try realm.write { object["prices"] = nil }
        #expect(object.prices.isEmpty && (object["prices"] as? Map<String, Int>) === object.prices)
        #expect(Shop(value: ["prices": ["a": 1]]).prices["a"] == 1)
        for wrong in [["a.b": 1], ["$a": 1], ["a": "x"], [1: 1], [1]] as [Any] {
            #expect(throws: Realm.Error.self, "\(wrong)") { try Shop(validating: ["prices": wrong]) }
        }
        #expect {
            try Shop(validating: ["prices": ["a": "x"]])
        } throws: {
            "\($0)".contains("prices[\"a\"]")
        }
        #expect(throws: Realm.Error.self) {
            try realm.write {
                try realm.create(Shop.self, validating: ["id": 9, "notes": ["k": Data(count: 9)]] as [String: Any])
            }
        }
        #expect(realm.object(ofType: Shop.self, forPrimaryKey: 9) == nil)
    }

    // MARK: Observation

    @MainActor @Test func changesAreReportedByKeys() async throws {
        let realm = try realm()
        let object = Shop(1)
        object.prices = ["a": 1, "b": 2, "c": 3]
        object.dogs["rex"] = Dog(1, "Rex")
        try realm.write { realm.add(object) }
        var seen: [String] = []
        func text<M: RealmKeyedCollection>(_ change: RealmMapChange<M>) -> String where M.Key == String {
            switch change {
            case .initial(let map): "\(map.count)"
            case .update(let map, let deletions, let insertions, let modifications):
                "\(map.count) \(deletions) \(insertions) \(modifications)"
            case .error: "error"
            }
        }
        let token = object.prices.observe { seen.append(text($0)) }
        var dogs: [String] = []
        let other = object.dogs.observe { dogs.append(text($0)) }
        var properties: [String] = []
        let third = object.observe { (change: ObjectChange<Shop>) in
            if case .change(_, let changes) = change { properties += changes.map(\.name) }
        }
        await wait { seen.count == 1 && dogs.count == 1 }
        try realm.write {
            object.prices["b"] = nil
            object.prices["c"] = 3
            object.prices["d"] = 4
            object.prices["e"] = 5
            object.prices["e"] = nil
        }
        await wait { seen.count == 2 && !properties.isEmpty }
        #expect(properties == ["prices"])
        try realm.write { object.dogs["rex"]??.age = 12 }
        await wait { dogs.count == 2 }
        try realm.write { object.prices = ["a": 1, "z": 9] }
        await wait { seen.count == 3 }
        #expect(seen == ["3", #"3 ["b"] ["d"] ["c"]"#, #"2 ["c", "d"] ["z"] ["a"]"#])
        #expect(dogs == ["1", #"1 [] [] ["rex"]"#])
        try realm.write { realm.delete(realm.objects(Dog.self)) }
        await wait { dogs.count == 3 }
        #expect(dogs.last == #"1 [] [] ["rex"]"#)
        for token in [token, other, third] { token.invalidate() }
    }

    @Test func theSchemaSaysSo() throws {
        let realm = try realm()
        let schema = try #require(realm.schema["Shop"])
        #expect(
            schema["prices"]?.isMap == true && schema["prices"]?.isArray == false && schema["notes"]?.isOptional == true
        )
        #expect(schema["dogs"]?.description == "dogs: map<Dog?>" && schema["id"]?.isMap == false)
        let object = Shop(1)
        object.prices["k"] = 5
        #expect("\(object)".contains("prices = Map<String, Int> (\n\t\t[k]: 5\n\t);"))
        class Wrong: Object {
            @Persisted var dogs: Map<String, Dog>
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        #expect {
            try memoryRealm([Wrong.self, Dog.self, Person.self])
        } throws: {
            "\($0)".contains("map of objects that are not optional")
        }
    }

    @Test func mapsAreCodedAsDictionaries() throws {
        let map: Map<String, Int> = ["b": 2, "a": 1]
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let data = try encoder.encode(map)
        #expect(String(decoding: data, as: UTF8.self) == #"{"a":1,"b":2}"#)
        #expect(try JSONDecoder().decode(Map<String, Int>.self, from: data) == map)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(Map<String, Int>.self, from: Data(#"{"a.b":1}"#.utf8))
        }
    }

    // MARK: Stops

    @Test func misuseStops() async {
        let outside = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm([Shop.self, Dog.self, Person.self])
            let object = Shop(1)
            try realm.write { realm.add(object) }
            object.prices["a"] = 1
        }
        expectMessage(outside, "change the map Shop.prices", "outside of a write transaction")
        let key = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            Shop(1).prices["a.b"] = 1
        }
        expectMessage(key, "\"a.b\" can't be a key of a map")
        let dollar = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm([Shop.self, Dog.self, Person.self])
            try realm.write { realm.create(Shop.self, value: ["prices": ["$a": 1]]) }
        }
        expectMessage(dollar, "\"$a\" can't be a key of a map")
    }

    // MARK: Defects that an audit found

    /// It took a time that grew with the square of the number of keys.
    @Test func anObjectUnderManyKeysIsDeleted() throws {
        let realm = try realm()
        let (object, rex) = (Shop(1), Dog(1, "Rex"))
        try realm.write {
            realm.add(object)
            for number in 0..<5_000 { object.dogs["\(number)"] = rex }
            object.dogs["other"] = Dog(2, "Bo")
        }
        try realm.write { realm.delete(rex) }
        #expect(object.dogs.count == 5_001 && object.dogs.values.compactMap { $0 }.map(\.name) == ["Bo"])
    }

    @Test func keysAreComparedByBytes() throws {
        let realm = try realm()
        let object = Shop(1)
        object.prices["caf\u{E9}"] = 1
        try realm.write { realm.add(object) }
        let same = Shop(1)
        same.prices["cafe\u{301}"] = 1
        try realm.write { realm.add(same, update: .modified) }
        #expect(object.prices.keys.map { $0.utf8.count } == [6] && object.prices["caf\u{E9}"] == nil)
        try realm.write { object.prices["caf\u{E9}"] = 1 }
        #expect(object.prices.count == 2)
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(object.prices) }
    }
}
