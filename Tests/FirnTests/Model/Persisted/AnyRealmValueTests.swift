@testable import Firn
import FirnTestSupport
import Foundation
import Testing

/// `AnyRealmValue` (R59, SEMANTICS 33, 71).
@Suite(.timeLimit(.minutes(20))) struct AnyRealmValueTests {
    private func realm() throws -> Realm { try memoryRealm(Box.types) }

    /// One value of each type but objects.
    static var plain: [AnyRealmValue] {
        [
            .none, .int(-7), .int(.max), .bool(true), .bool(false), .float(1.5), .double(-0.25), .string("text"),
            .string(""), .string("é\u{301}"), .data(Data([1, 2])), .data(Data()),
            .date(Date(timeIntervalSinceReferenceDate: 700_000_000.5)),
            .objectId(ObjectId("0123456789abcdef01234567")), .decimal128("1.50"),
            .uuid(UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF")!),
            .fromArray([]), .fromDictionary([:]),
            .fromArray([.int(1), .none, .fromArray([.string("x")]), .fromDictionary(["k": .fromArray([.bool(true)])])]),
            .string(String(repeating: "long", count: 1_000)),
        ]
    }

    // MARK: Round trips

    /// What is stored is what is read: added, set, in collections, after a reopening, and frozen.
    @Test func everyValueIsReadAsItIsStored() throws {
        let folder = TemporaryFolder()
        let configuration = Realm.Configuration(
            fileURL: URL(filePath: folder.path + "/a.firn"), objectTypes: Box.types)
        func check(_ realm: Realm, _ isFrozen: Bool = false) throws {
            let realm = isFrozen ? realm.freeze() : realm
            for (index, value) in Self.plain.enumerated() {
                for id in [index, 100 + index, 200 + index] {
                    let box = try #require(realm.object(ofType: Box.self, forPrimaryKey: id))
                    #expect(box.any == value, "\(id)")
                    #expect(box.list.count == 1 && box.list[0] == value && Array(box.list) == [value])
                    #expect(box.map.keys == ["k"] && box.map["k"] == value && box.map.values == [value])
                }
            }
        }
        do {
            let realm = try Realm(configuration: configuration)
            try realm.write {
                for (index, value) in Self.plain.enumerated() {
                    // Added, set, and created from untyped values.
                    let added = Box(index, value)
                    added.list.append(value)
                    added.map["k"] = value
                    realm.add(added)
                    let set = realm.create(Box.self, value: ["id": 100 + index])
                    set.any = value
                    set.list.append(value)
                    set.map["k"] = value
                    realm.create(
                        Box.self,
                        value: ["id": 200 + index, "any": value, "list": [value], "map": ["k": value]] as [String: Any])
                    if index % 2 == 0 { added.set.insert(objectsIn: Self.plain.prefix(index % 12)) }
                }
            }
            try check(realm)
            try check(realm, true)
            try realm.compact()
            try check(realm)
        }
        let realm = try Realm(configuration: configuration)
        try check(realm)
        try check(realm, true)
    }

    /// Untyped values become mixed ones and come back (S14, S59).
    @Test func untypedValuesAreConverted() throws {
        let realm = try realm()
        let values: [(Any, AnyRealmValue)] = [
            (1, .int(1)), (Int8(-1), .int(-1)), (UInt(7), .int(7)), (true, .bool(true)), (Float(0.5), .float(0.5)),
            (2.5, .double(2.5)), ("s", .string("s")), (NSNumber(value: false), .bool(false)),
            (NSNumber(value: 3), .int(3)), (NSNumber(value: 1.5), .double(1.5)), (NSString("n"), .string("n")),
            (NSNull(), .none), ([1, "a", NSNull()] as [Any], .fromArray([.int(1), .string("a"), .none])),
            (["k": [true]] as [String: Any], .fromDictionary(["k": .fromArray([.bool(true)])])),
            (NSDictionary(dictionary: ["k": 1]), .fromDictionary(["k": .int(1)])),
            (NSArray(array: [1]), .fromArray([.int(1)])), (Mood.wild, .string("wild")),
            (Decimal128(1), .decimal128(1)), (AnyRealmValue.int(4), .int(4)),
        ]
        try realm.write {
            for (index, (any, _)) in values.enumerated() { realm.create(Box.self, value: [index, any] as [Any]) }
        }
        for (index, (any, value)) in values.enumerated() {
            let box = try #require(realm.object(ofType: Box.self, forPrimaryKey: index))
            #expect(box.any == value, "\(any)")
            // By name, reading and writing.
            try realm.write { box["any"] = box["any"] }
            #expect(box.any == value, "\(any)")
        }
        let json = try JSONSerialization.jsonObject(
            with: Data(#"{"id": 99, "any": {"a": [true, 1, 1.5, null, "x"]}}"#.utf8))
        try realm.write { _ = realm.create(Box.self, value: json) }
        #expect(
            realm.object(ofType: Box.self, forPrimaryKey: 99)?.any
                == .fromDictionary(["a": .fromArray([.bool(true), .int(1), .double(1.5), .none, .string("x")])]))
        try realm.write {
            let error = #expect(throws: Realm.Error.self) {
                try realm.create(Box.self, validating: ["id": 100, "any": URL(string: "x")!] as [String: Any])
            }
            #expect(error?.code == .invalidInput && error?.message.contains("any") == true)
            #expect(throws: Realm.Error.self) {
                try realm.create(Box.self, validating: ["id": 100, "any": UInt64.max] as [String: Any])
            }
            #expect(throws: Realm.Error.self) {
                try realm.create(Box.self, validating: ["id": 100, "any": ["a.b": 1]] as [String: Any])
            }
            let long = String(repeating: "x", count: 9 << 20)
            for value in [long + long, [long, long], ["k": long, "l": long]] as [Any] {
                let error = #expect(throws: Realm.Error.self) {
                    try realm.create(Box.self, validating: ["id": 100, "any": value] as [String: Any])
                }
                #expect(error?.message.contains("is too long") == true)
            }
            var deep: [Any] = []
            for _ in 0..<200 { deep = [deep] }
            #expect(throws: Realm.Error.self) {
                try realm.create(Box.self, validating: ["id": 100, "any": deep] as [String: Any])
            }
        }
        #expect(realm.object(ofType: Box.self, forPrimaryKey: 100) == nil)
    }

    // MARK: Links

    /// Objects in mixed values are added with their policy, linked, and become nil when they are deleted (SEMANTICS
    /// 33).
    @Test func objectsAreLinkedAndBecomeNil() throws {
        let realm = try realm()
        let (rex, max) = (Dog(1, "Rex"), Dog(2, "Max"))
        let box = Box(1, .object(rex))
        box.list.append(objectsIn: [.object(rex), .int(1), .object(max), .fromArray([.object(rex), .string("x")])])
        box.map["rex"] = .object(rex)
        box.map["nested"] = .fromDictionary(["max": .object(max), "rex": .object(rex)])
        box.set.insert(objectsIn: [.object(rex), .object(max), .int(3)])
        box.indexed = .object(max)
        try realm.write { realm.add(box) }
        #expect(rex.realm != nil && realm.objects(Dog.self).count == 2)
        #expect(box.any.object(Dog.self)?.name == "Rex" && box.any.object(Person.self) == nil)
        #expect(box.list[3].listValue?[0].object(Dog.self)?.name == "Rex" && box.set.count == 3)
        #expect(box.any == .object(rex) && box.indexed == .object(max))
        realm.beginWrite()
        realm.delete(rex)
        func checkRexIsGone() {
            #expect(box.any == .none && box.map["rex"] == .some(.none) && box.list.count == 4 && box.list[0] == .none)
            #expect(box.list[3] == .fromArray([.none, .string("x")]) && box.list[2].object(Dog.self)?.name == "Max")
            #expect(box.map["nested"]?.dictionaryValue?["rex"] == .some(.none))
            #expect(box.map["nested"]?.dictionaryValue?["max"]?.object(Dog.self)?.id == 2 && box.set.count == 2)
        }
        checkRexIsGone()
        realm.cancelWrite()
        #expect(box.any.object(Dog.self)?.name == "Rex" && box.set.count == 3)
        try realm.write { realm.delete(realm.object(ofType: Dog.self, forPrimaryKey: 1)!) }
        checkRexIsGone()
        // A replaced link is one no more: nothing is left for the deletion to find.
        try realm.write {
            box.indexed = .int(2)
            box.map["nested"] = nil
            box.list.removeAll()
            box.set.removeAll()
        }
        try realm.write { realm.delete(max) }
        #expect(box.indexed == .int(2))
        // A cycle of objects and mixed values is added once, and freed.
        let (a, b) = (Box(10), Box(11))
        a.any = .object(b)
        b.any = .fromArray([.object(a), .object(b)])
        try realm.write { realm.add(a) }
        #expect(realm.objects(Box.self).count == 3 && b.any.listValue?[0].object(Box.self) == a)
        try realm.write { realm.delete(b) }
        #expect(a.any == .none)
    }

    /// `create` copies objects of other realms, updates those with a key, and links those of its own (SEMANTICS 23).
    @Test func createdMixedValuesResolveTheirObjects() throws {
        let (realm, other) = (try realm(), try realm())
        let foreign = Dog(1, "Foreign")
        try other.write { other.add(foreign) }
        try realm.write {
            realm.create(Dog.self, value: [2, "Own"])
            let own = realm.object(ofType: Dog.self, forPrimaryKey: 2)!
            let box = realm.create(
                Box.self,
                value: [
                    "id": 1, "any": foreign, "list": [own, Dog(3, "New")], "map": ["k": [own]],
                ] as [String: Any])
            #expect(
                box.any.object(Dog.self)?.name == "Foreign"
                    && box.any.object(Dog.self)?.isSameObject(as: foreign) == false)
            #expect(
                box.list[0].object(Dog.self)?.isSameObject(as: own) == true && box.list[1].object(Dog.self)?.id == 3)
            #expect(box.map["k"]?.listValue?[0].object(Dog.self)?.id == 2)
        }
        #expect(realm.objects(Dog.self).count == 3)
        // An update with a policy reaches the objects in mixed values.
        try realm.write {
            realm.create(
                Box.self, value: ["id": 1, "any": Dog(1, "Renamed"), "list": [Dog(2, "Other")]] as [String: Any],
                update: .modified)
            let box = Box(2, .object(Dog(3, "Third")))
            realm.add(box, update: .all)
        }
        #expect(realm.objects(Dog.self).sorted(by: \.id).map(\.name) == ["Renamed", "Other", "Third"])
        #expect(realm.object(ofType: Box.self, forPrimaryKey: 1)?.list.count == 1)
    }

    // MARK: Nested collections

    /// Collections in a managed object are live, wherever they are.
    @Test func nestedCollectionsAreLive() throws {
        let realm = try realm()
        let box = Box(1, .fromDictionary(["list": .fromArray([.int(1)])]))
        box.list.append(.fromArray([.string("a")]))
        box.map["m"] = .fromDictionary(["deep": .fromArray([])])
        try realm.write { realm.add(box) }
        let list = try #require(box.any.dictionaryValue?["list"]?.listValue)
        let frozen = list.freeze()
        #expect(list.realm == realm && !list.isFrozen && frozen.isFrozen && frozen.realm?.isFrozen == true)
        try realm.write {
            list.append(.int(2))
            list.insert(.fromArray([.none]), at: 0)
            box.any.dictionaryValue?["new"] = .object(Dog(5, "Rex"))
            box.list[0].listValue?[0] = .string("b")
            box.list[0].listValue?.append(.string("c"))
            for element in box.list { element.listValue?.append(.bool(true)) }
            box.map["m"]?.dictionaryValue?["deep"]?.listValue?.append(.int(9))
        }
        #expect(box.any.dictionaryValue?["list"] == .fromArray([.fromArray([.none]), .int(1), .int(2)]))
        #expect(box.any.dictionaryValue?["new"]?.object(Dog.self)?.name == "Rex")
        #expect(list.count == 3 && list[0].listValue?.count == 1 && Array(frozen) == [.int(1)])
        #expect(box.list[0] == .fromArray([.string("b"), .string("c"), .bool(true)]))
        #expect(box.map["m"] == .fromDictionary(["deep": .fromArray([.int(9)])]))
        try realm.write { list[0].listValue?.removeAll() }
        #expect(box.any.dictionaryValue?["list"]?.listValue?[0] == .fromArray([]))
        // Assigning a value that consists of its own parts.
        try realm.write { box.any = .list(list) }
        #expect(box.any.listValue?.count == 3 && list.isInvalidated)
        try realm.write { box.any = box.any }
        #expect(box.any.listValue?.count == 3)
        try realm.write { realm.delete(realm.object(ofType: Dog.self, forPrimaryKey: 5)!) }
        // The frozen ones stay.
        #expect(Array(frozen) == [.int(1)] && frozen.thaw() == nil)
    }

    @Test func changingANestedCollectionOutsideATransactionStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm(Box.types)
            let box = Box(1, .fromArray([]))
            try realm.write { realm.add(box) }
            box.any.listValue?.append(.int(1))
        }
        expectMessage(result, "Box.any", "write transaction")
        let gone = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm(Box.types)
            let box = Box(1, .fromArray([]))
            try realm.write { realm.add(box) }
            let list = box.any.listValue
            try realm.write {
                box.any = .int(1)
                list?.append(.int(1))
            }
        }
        expectMessage(gone, "although it is gone")
        let endless = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm(Box.types)
            let list = List<AnyRealmValue>()
            list.append(.list(list))
            try realm.write { realm.add(Box(1, .list(list))) }
        }
        expectMessage(endless, "nested more than 100 levels deep")
        let inSet = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm(Box.types)
            let box = Box(1)
            try realm.write {
                realm.add(box)
                box.set.insert(.fromArray([]))
            }
        }
        expectMessage(inSet, "a set of mixed values can't hold a list")
    }

    /// A realm without a class shows links to it as nothing, deletes nothing, and refuses to lose them.
    @Test func linksToClassesThatARealmLacks() async throws {
        let name = UUID().uuidString
        let realm = try memoryRealm([Box.self, Label.self], name)
        let box = Box(1, .fromArray([.object(Label()), .int(1)]))
        try realm.write { realm.add(box) }
        try onAnotherThread(name, types: [Box.self]) { other in
            let box = other.objects(Box.self)[0]
            #expect(box.any == .fromArray([.none, .int(1)]))
            try other.write { box.map["x"] = .int(1) }
        }
        realm.refresh()
        #expect(box.any.listValue?[0].object(Label.self)?.text == "kept" && box.map["x"] == .int(1))
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let name = UUID().uuidString
            let realm = try memoryRealm([Box.self, Label.self], name)
            try realm.write { realm.add(Box(1, .fromArray([.object(Label())]))) }
            try onAnotherThread(name, types: [Box.self]) { other in
                try other.write { other.objects(Box.self)[0].any.listValue?.append(.int(2)) }
            }
        }
        expectMessage(result, "Box.any can't be changed", "opened without")
    }

    // MARK: Sets, order, queries

    /// A set holds one of several numbers with one value, managed or not (SEMANTICS 71).
    @Test func setsCompareNumbersByValue() throws {
        let realm = try realm()
        let values: [AnyRealmValue] = [
            .int(1), .double(1), .float(1), .decimal128("1.00"), .bool(true), .string("1"), .double(0.5), .float(0.5),
            .decimal128("0.50"), .int(.max), .double(0x1p63), .decimal128("9223372036854775807"), .double(.nan),
            .double(.nan), .none, .none, .double(-0.0), .int(0),
        ]
        let (managed, unmanaged) = (Box(1), Box(2))
        try realm.write { realm.add(managed) }
        try realm.write {
            for value in values {
                managed.set.insert(value)
                unmanaged.set.insert(value)
            }
        }
        #expect(managed.set.count == unmanaged.set.count && managed.set.count == 9)
        for value in values { #expect(managed.set.contains(value) && unmanaged.set.contains(value), "\(value)") }
    }

    /// The total order of types (SEMANTICS 71).
    @Test func valuesAreSortedInTheTotalOrder() throws {
        let realm = try realm()
        let dog = Dog(1, "Rex")
        let ascending: [AnyRealmValue] = [
            .none, .bool(false), .bool(true), .double(-.infinity), .int(-1), .float(0.5), .decimal128("0.75"), .int(1),
            .double(0x1p53), .int(1 << 53 + 1), .string("a"), .string("b"), .data(Data([0])),
            .date(Date(timeIntervalSinceReferenceDate: 0)), .objectId(ObjectId("0123456789abcdef01234567")),
            .uuid(UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF")!), .object(dog), .fromArray([.int(1)]),
            .fromDictionary([:]),
        ]
        let list = Box(1000)
        list.list.append(objectsIn: ascending.reversed())
        try realm.write {
            realm.add(list)
            for (index, value) in ascending.enumerated().reversed() {
                let box = Box(index, value)
                if index < ascending.count - 2 { box.indexed = value }
                realm.add(box)
            }
        }
        let boxes = realm.objects(Box.self).where { $0.id < 1000 }
        #expect(boxes.sorted(by: \.any).map(\.id) == Array(ascending.indices))
        #expect(boxes.sorted(by: \.any, ascending: false).map(\.id) == ascending.indices.reversed())
        #expect(list.list.sorted().map { $0 } == ascending)
        #expect(list.list.sorted(ascending: false).first == .fromDictionary([:]))
    }

    @Test func mixedValuesAreQueried() throws {
        let realm = try realm()
        let dog = Dog(1, "Rex")
        let values: [AnyRealmValue] = [
            .none, .int(3), .double(3), .decimal128(4), .string("3"), .string("Text"), .object(dog), .bool(true),
            .fromArray([.int(5), .fromDictionary(["k": .string("deep")])]),
            .fromDictionary(["k": .int(6), "l": .none]),
        ]
        try realm.write {
            for (index, value) in values.enumerated() {
                let box = Box(index, value)
                if index < 8 { box.indexed = value }
                box.list.append(value)
                box.map["key"] = value
                realm.add(box)
            }
        }
        let boxes = realm.objects(Box.self)
        func ids(_ condition: (Query<Box>) -> Query<Bool>) -> [Int] { boxes.where(condition).map(\.id) }
        func ids(_ text: String, _ args: Any...) -> [Int] {
            (args.isEmpty ? boxes.filter(text) : boxes.filter(text, args[0])).map(\.id)
        }
        #expect(ids { $0.any == .int(3) } == [1, 2] && ids { $0.indexed == .double(3) } == [1, 2])
        #expect(ids { $0.any == .string("3") } == [4] && ids { $0.any == .none } == [0])
        #expect(ids { $0.any != .int(3) }.count == 8 && ids { $0.any > .int(3) } == [3])
        #expect(ids { $0.any >= .decimal128(3) } == [1, 2, 3] && ids { $0.indexed >= .int(3) } == [1, 2, 3])
        #expect(ids { $0.any == .object(dog) } == [6] && ids { $0.indexed == .object(dog) } == [6])
        #expect(ids { $0.any.contains(.string("ex")) } == [5])
        #expect(ids { $0.any.starts(with: .string("te"), options: .caseInsensitive) } == [5])
        #expect(ids { $0.any.in([.int(4), .bool(true)]) } == [3, 7])
        #expect(ids { $0.any[0] == .int(5) } == [8] && ids { $0.any["k"] == .int(6) } == [9])
        #expect(ids { $0.any[1]["k"] == .string("deep") } == [8])
        #expect(ids { $0.any.any == .int(5) } == [8] && ids { $0.any.any == .int(6) } == [9])
        #expect(ids { $0.any.any.any == .string("deep") } == [8] && ids { $0.any.any == .none } == [9])
        #expect(ids { $0.list.contains(.int(3)) } == [1, 2] && ids { $0.list[0] == .string("3") } == [4])
        #expect(ids { $0.map.values == .int(3) } == [1, 2] && ids { $0.map["key"] == .string("3") } == [4])
        #expect(ids { $0.map["key"][0] == .int(5) } == [8] && ids { $0.map.keys == "key" }.count == 10)
        #expect(ids { $0.map.keys == "no" } == [] && ids { $0.map["no"] == .none }.count == 10)
        #expect(ids { $0.map.count == 1 }.count == 10 && ids { $0.map.contains(.string("Text")) } == [5])
        #expect(ids("#any == 3") == [1, 2] && ids("#any == %@", dog) == [6] && ids("#any[0] == 5") == [8])
        #expect(ids("#any[*] == 6") == [9] && ids("#any['k'] == 6") == [9] && ids("list == '3'") == [4])
        #expect(ids("#any[1]['k'] BEGINSWITH 'de'") == [8])
        #expect(boxes.distinct(by: ["any"]).count == 9)
    }

    @Test func aMixedValueIsAnArgument() throws {
        let realm = try realm()
        let dog = Dog(value: ["id": 1])
        let values: [AnyRealmValue] = [
            .int(1), .double(2), .string("x"), .none, .object(dog), .fromArray([.int(1), .object(dog)]),
            .decimal128("2.0"), .bool(true),
        ]
        try realm.write { for (id, value) in values.enumerated() { realm.add(Box(id, value)) } }
        let boxes = realm.objects(Box.self)
        func ids(_ text: String, _ arguments: Any...) -> [Int] {
            boxes.filter(RealmPredicate(format: text, argumentArray: arguments)).map(\.id)
        }
        for (id, value) in values.enumerated() {
            let expected = boxes.where { $0.any == value }.map(\.id)
            #expect(ids("#any == %@", value) == expected && expected.contains(id), "\(id)")
            #expect(ids("#any IN %@", [value]) == expected && ids("#any != %@", value).count == 8 - expected.count)
        }
        #expect(ids("#any < %@", AnyRealmValue.int(2)) == [0] && ids("#any IN %@", values).count == 8)
        #expect(ids("#any == %@", AnyRealmValue.none) == [3])
        let stranger = try memoryRealm(Box.types)
        let foreign = try stranger.write { stranger.create(Dog.self, value: [1]) }
        for value in [AnyRealmValue.object(foreign), .fromArray([.object(foreign)])] {
            #expect(throws: Realm.Error.self) { try boxes.filter(validating: "#any == %@", value) }
        }
        // An unmanaged object equals none (SEMANTICS 77).
        let unmanaged = Dog(value: ["id": 2])
        for value in [AnyRealmValue.object(unmanaged), .fromArray([.object(unmanaged)])] {
            #expect(try boxes.filter(validating: "#any == %@", value).isEmpty)
            #expect(boxes.where { $0.any == value }.isEmpty)
        }
        let list = List<AnyRealmValue>()
        list.append(.list(list))
        #expect(throws: Realm.Error.self) { try boxes.filter(validating: "#any == %@", AnyRealmValue.list(list)) }
    }

    /// Mixed values with objects are equal if the objects are: by row with a primary key, and otherwise, unlike in
    /// Realm, by instance (SEMANTICS 95). In a store and in a query, rows are compared.
    @Test func objectsInThemAreComparedAsObjects() throws {
        let realm = try realm()
        let (dog, person, box) = (Dog(1, "Rex"), Person(), Box(1))
        try realm.write {
            realm.add([dog, person, box] as [Object])
            box.any = .object(person)
        }
        let (sameDog, samePerson) = (realm.objects(Dog.self)[0], realm.objects(Person.self)[0])
        #expect(AnyRealmValue.object(dog) == .object(sameDog))
        #expect(Set([AnyRealmValue.object(dog), .object(sameDog)]).count == 1)
        // Without a primary key, too, objects go by row (SEMANTICS 95).
        #expect(AnyRealmValue.object(person) == .object(person) && AnyRealmValue.object(person) == .object(samePerson))
        #expect(Set([AnyRealmValue.object(person), .object(person), .object(samePerson)]).count == 1)
        #expect(AnyRealmValue.object(Person()) != .object(Person()))
        let list = List<AnyRealmValue>()
        list.append(objectsIn: [.int(1), .object(person), .string("e\u{301}")])
        #expect(list.index(of: .object(samePerson)) == 1 && list.contains(.object(samePerson)))
        // Texts are equal if their bytes are, as in queries.
        #expect(list.index(of: .string("\u{E9}")) == nil && list.contains(.string("e\u{301}")))
        let same = List<AnyRealmValue>()
        same.append(objectsIn: [.int(1), .object(samePerson), .string("e\u{301}")])
        #expect(list == same && AnyRealmValue.list(list) == .list(same))
        #expect(box.any == .object(person) && box.any.object(Person.self)?.isSameObject(as: person) == true)
        #expect(realm.objects(Box.self).where { $0.any == .object(samePerson) }.count == 1)
        try realm.write { box.set.insert(objectsIn: [.object(person), .object(samePerson)]) }
        #expect(box.set.count == 1)
    }

    /// A query can't compare with an object of another realm (SEMANTICS 77).
    @Test func anObjectOfAnotherRealmInACollectionStopsAQuery() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (realm, other) = (try memoryRealm(Box.types), try memoryRealm(Box.types))
            let dog = try other.write { other.create(Dog.self, value: [1]) }
            print(realm.objects(Box.self).where { $0.any == .fromArray([.object(dog)]) }.count)
        }
        expectMessage(result, "of another realm")
    }

    /// What a refused call has copied is freed, although the copies link to each other.
    @Test func refusedCopiesAreFreed() throws {
        final class Counter: @unchecked Sendable { var value = 0 }
        let counter = Counter()
        class Held: Object {
            nonisolated(unsafe) static var counter: Counter?
            @Persisted(primaryKey: true) var id: Int
            @Persisted var any: AnyRealmValue
            @Persisted var list: List<AnyRealmValue>
            @Persisted var number: Int
            @Persisted var next: Held?
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
            required init() {
                super.init()
                Self.counter?.value += 1
            }
            deinit { Self.counter?.value -= 1 }
        }
        let realm = try memoryRealm([Held.self])
        Held.counter = counter
        defer { Held.counter = nil }
        autoreleased {
            let (a, b) = (Held(value: [1]), Held(value: [2]))
            (a.any, b.any) = (.object(b), .object(a))
            b.list.append(.object(a))
            realm.beginWrite()
            #expect(throws: Realm.Error.self) {
                // By then both copies have their values.
                let wrong: [String: Any] = ["id": 4, "next": ["id": 5, "next": ["id": 6, "number": "none"]]]
                try realm.create(Held.self, validating: ["id": 3, "any": AnyRealmValue.object(a), "next": wrong])
            }
            realm.cancelWrite()
            (a.any, b.any) = (.none, .none)
            b.list.removeAll()
        }
        #expect(counter.value == 0)
    }

    private func autoreleased(_ body: () -> Void) { body() }

    /// Adding releases what unmanaged links held (SEMANTICS 21). The last reference to an object may go while others
    /// are added, and its `deinit` may add one, too.
    @Test func aDeinitMayAddObjects() throws {
        final class Last: Object {
            nonisolated(unsafe) static var whenGone: (() -> Void)?
            @Persisted(primaryKey: true) var id: Int
            @Persisted var next: Last?
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
            deinit {
                let body = Self.whenGone
                Self.whenGone = nil
                body?()
            }
        }
        let realm = try memoryRealm([Last.self, Dog.self, Person.self])
        try realm.write {
            for round in 0..<3 {
                let first = Last(value: [10_000 * round])
                var last = first
                for id in 1...5_000 {
                    last.next = Last(value: [10_000 * round + id])
                    last = last.next!
                }
                var isCalled = false
                Last.whenGone = {
                    isCalled = true
                    realm.add(Dog(round, "gone"))
                }
                // Only the chain holds its objects.
                last = first
                realm.add(first)
                #expect(isCalled)
            }
        }
        #expect(realm.objects(Last.self).count == 15_003 && realm.objects(Dog.self).count == 3)
        realm.instance.store._checkInvariants()
    }

    /// Sets, sorted values, distinct values and distinct objects agree on what is equal.
    @Test func distinctComparesNumbersByValue() throws {
        let realm = try realm()
        let nan = AnyRealmValue.double(.nan)
        let values: [AnyRealmValue] = [
            .int(1), .double(1), .decimal128("1.0"), .float(1), .bool(true), .double(-0.0), .int(0),
            .decimal128("-0.00"),
            .float(.infinity), .double(.infinity), .decimal128("inf"), .int(1 << 60), .double(0x1p60), .float(0.5),
            .decimal128("0.50"), .decimal128("0.1"), .double(0.1), nan, nan, .string("1"), .none, .none,
        ]
        let box = Box(1000)
        box.list.append(objectsIn: values)
        box.set.insert(objectsIn: values)
        try realm.write {
            realm.add(box)
            for (id, value) in values.enumerated() { realm.add(Box(id, value)) }
        }
        // 1, true, 0, infinity, 2^60, 0.5, 0.1 as a decimal, 0.1 as a double, NaN, "1", none.
        #expect(box.set.count == 11 && box.list.distinct().count == 11)
        #expect(Array(box.list.distinct())[0...2] == [.int(1), .bool(true), .double(-0.0)])
        let boxes = realm.objects(Box.self).where { $0.id < 1000 }
        #expect(boxes.distinct(by: ["any"]).map(\.id) == [0, 4, 5, 8, 11, 13, 15, 16, 17, 19, 20])
    }

    /// An object that collections of mixed values lead back to is described as deep as any other.
    @Test func aCircleThroughMixedValuesIsDescribed() throws {
        let realm = try realm()
        for variant in 0..<4 {
            let (a, b) = (Box(10 * variant), Box(10 * variant + 1))
            switch variant {
            case 0:
                a.list.append(.object(b))
                b.list.append(.object(a))
            case 1: a.set.insert(.object(a))
            case 2: (a.any, b.map["k"]) = (.object(b), .object(a))
            default: a.any = .fromArray([.fromDictionary(["x": .object(b)]), .object(a)])
            }
            for isManaged in [false, true] {
                if isManaged { try realm.write { realm.add(a) } }
                let text = a.description
                #expect(text.contains("id = \(10 * variant);") && text.utf8.count < 100_000, "\(variant)")
                #expect(text.contains("<Maximum depth exceeded>"), "\(variant) \(text)")
            }
            try realm.write { (a.any, b.any) = (.none, .none) }
        }
        let list = List<AnyRealmValue>()
        list.append(.list(list))
        #expect(!list.description.isEmpty)
    }

    // MARK: Change

    @MainActor @Test func observersSeeMixedValues() async throws {
        let realm = try realm()
        let box = Box(1, .int(1))
        try realm.write { realm.add(box) }
        var names: [[String]] = []
        var new: [AnyRealmValue?] = []
        let token = box.observe { (change: ObjectChange<Box>) in
            guard case .change(_, let changes) = change else { return }
            names.append(changes.map(\.name).sorted())
            new.append(try? changes.first { $0.name == "any" }.map { try AnyRealmValue._fromAny($0.newValue) })
        }
        try realm.write {
            box.any = .fromArray([.int(2)])
            box.map["x"] = .int(1)
        }
        await waitForDeliveries(of: realm)
        try realm.write { box.any.listValue?.append(.int(3)) }
        await waitForDeliveries(of: realm)
        #expect(names == [["any", "map"], ["any"]] && new.last == .fromArray([.int(2), .int(3)]))
        token.invalidate()
    }

    @Test func aggregatesOfMixedValues() throws {
        let realm = try realm()
        let box = Box(1)
        box.list.append(objectsIn: [.int(1), .string("x"), .double(2.5), .none, .decimal128("0.25")])
        try realm.write { realm.add(box) }
        #expect(box.list.sum() == .decimal128("3.75"))
        let average: Decimal128? = box.list.average()
        #expect(average == "1.25")
        // A date has an order, but no sum.
        let dated = Box(2)
        dated.list.append(objectsIn: [.int(1), .date(Date(timeIntervalSince1970: 5)), .int(3)])
        try realm.write { realm.add(dated) }
        #expect(dated.list.average() as Double? == 2)
        try realm.write {
            for (id, value) in zip(10..., dated.list) { realm.create(Box.self, value: ["id": id, "any": value]) }
        }
        let boxes = realm.objects(Box.self).filter("id >= 10")
        #expect(boxes.count == 3 && boxes.average(ofProperty: "any") as Double? == 2)
        #expect(dated.list.max() == .date(Date(timeIntervalSince1970: 5)) && dated.list.min() == .int(1))
        #expect(realm.schema["Box"]?["any"]?.type == .any && realm.schema["Box"]?["list"]?.isArray == true)
    }
}
