import CFirn
import Firn
import Foundation
import Testing

// Classes of the same table name at different times: `_realmObjectName` stands for a new build of the program.
class CatBefore: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String?
    @Persisted var gone = 3
    @Persisted var kind = 7
    override class func _realmObjectName() -> String? { "Cat" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class CatAfter: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name = "unnamed"
    @Persisted(indexed: true) var added = 5
    @Persisted var kind = "text"
    override class func _realmObjectName() -> String? { "Cat" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class Bad: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted(primaryKey: true) var second: String
    @Persisted var required: Dog
    @Persisted(originProperty: "nothing") var links: LinkingObjects<Dog>
    override class func indexedProperties() -> [String] { ["missing"] }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class Animal: Object {
    @Persisted var legs = 4
}

class Bird: Animal {
    @Persisted var wings = 2
    override class func propertiesMapping() -> [String: String] { ["wings": "wing_count"] }
    override class func indexedProperties() -> [String] { ["wings"] }
}

private class PrivateAnimal: Object {
    @Persisted var x = 1
}

@Suite(.timeLimit(.minutes(20))) struct SchemaTests {
    private func file() -> URL {
        FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).firn")
    }

    /// The default schema has every `Object` subclass of the process (SPEC R68).
    @Test func classesAreFoundWithoutRegistration() throws {
        class Local: Object { @Persisted var x = 1 }
        let realm = try Realm(configuration: .init(inMemoryIdentifier: UUID().uuidString))
        let names = Set(realm.schema.objectSchema.map(\.className))
        #expect(
            names.isSuperset(of: ["Dog", "Person", "Everything", "Animal", "Bird", "PrivateAnimal", "Local"]),
            "\(names)")
        #expect(!names.contains("Bad") && !names.contains("Object"))
    }

    /// A subclass has its parent's properties and its own table (SPEC R71). Schemas can be inspected (SPEC R69), and
    /// a property may have another column name (SPEC S56).
    @Test func aClassHasItsSuperclassesPropertiesAndATableOfItsOwn() throws {
        let realm = try memoryRealm([Animal.self, Bird.self])
        try realm.write { realm.add(Bird(value: ["legs": 2, "wings": 3])) }
        #expect(realm.objects(Animal.self).count == 0 && realm.objects(Bird.self)[0].legs == 2)
        let schema = realm.objects(Bird.self)[0].objectSchema
        #expect(schema.properties.map(\.name) == ["legs", "wings"] && schema["wings"]?.columnName == "wing_count")
        #expect(schema["wings"]?.isIndexed == true && schema == Bird().objectSchema)
        #expect(
            realm.objects(Bird.self).where { $0.wings == 3 }.count == 1
                && realm.objects(Bird.self).filter("wings == 3").count == 1)
    }

    /// The error lists every fault of every class's declaration, such as a link that is not optional (SPEC S51, S54,
    /// S55). Classes that are linked to must be there, too (SPEC R28).
    @Test func aClassThatCannotBeStoredIsRefusedWithAllItsErrors() throws {
        let error = #expect(throws: Realm.Error.self) { _ = try memoryRealm([Bad.self, Dog.self, Person.self]) }
        #expect(error?.code == .schemaMismatch)
        for part in [
            "2 primary keys", "Bad.required is a link that is not optional", "\"nothing\"",
            "indexedProperties() names \"missing\"",
        ] {
            #expect(error?.message.contains(part) == true, "\(String(describing: error?.message))")
        }
        #expect(throws: Realm.Error.schemaMismatch) { _ = try memoryRealm([Dog.self]) }
    }

    /// `primaryKey()` names a property of a key's type (SPEC S47): others are refused.
    @Test func aPrimaryKeyOfAWrongTypeIsRefused() throws {
        class Keyed: Object {
            @Persisted var flag = false
            @Persisted var price = 0.5
            @Persisted var day: Date?
            @Persisted var bytes = Data()
            @Persisted var decimal: Decimal128 = 1
            @Persisted var any: AnyRealmValue
            @Persisted var dog: Dog?
            @Persisted var numbers: List<Int>
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        class FlagKeyed: Keyed { override class func primaryKey() -> String? { "flag" } }
        class PriceKeyed: Keyed { override class func primaryKey() -> String? { "price" } }
        class DayKeyed: Keyed { override class func primaryKey() -> String? { "day" } }
        class BytesKeyed: Keyed { override class func primaryKey() -> String? { "bytes" } }
        class DecimalKeyed: Keyed { override class func primaryKey() -> String? { "decimal" } }
        class AnyKeyed: Keyed { override class func primaryKey() -> String? { "any" } }
        class DogKeyed: Keyed { override class func primaryKey() -> String? { "dog" } }
        class NumbersKeyed: Keyed { override class func primaryKey() -> String? { "numbers" } }
        for type in [
            FlagKeyed.self, PriceKeyed.self, DayKeyed.self, BytesKeyed.self, DecimalKeyed.self, AnyKeyed.self,
            DogKeyed.self, NumbersKeyed.self,
        ] as [Keyed.Type] {
            let error = #expect(throws: Realm.Error.self) { _ = try memoryRealm([type, Dog.self, Person.self]) }
            let name = "\(type.className()).\(type.primaryKey() ?? "")"
            #expect(error?.code == .schemaMismatch, "\(name)")
            #expect(
                error?.message.contains(name) == true && error?.message.contains("can't be a primary key") == true,
                "\(String(describing: error?.message))")
        }
    }

    /// A property without an entry in the mapping is stored under its own name (SPEC S57), so no other may have that
    /// name there.
    @Test func twoPropertiesOfOneStoredNameAreRefused() {
        class Mapped: Object {
            @Persisted var first = 1
            @Persisted var second = 2
            override class func propertiesMapping() -> [String: String] { ["first": "second"] }
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        let error = #expect(throws: Realm.Error.self) { _ = try memoryRealm([Mapped.self]) }
        #expect(error?.code == .schemaMismatch)
        #expect(error?.message.contains("Mapped has two properties stored as \"second\"") == true)
    }

    /// The properties of an `objectSchema` are the stored ones and, unlike in Realm, the backlinks (SEMANTICS 99).
    /// SEMANTICS 99.
    @Test func backlinksAreNotAmongThePropertiesButFoundByName() throws {
        let realm = try memoryRealm()
        for schema in [Dog().objectSchema, try #require(realm.schema["Dog"])] {
            #expect(schema.properties.map(\.name) == ["id", "name", "age", "owner"])
            #expect(schema["keepers"]?.type == .linkingObjects && schema["keepers"]?.isArray == true)
            #expect(schema["keepers"]?.objectClassName == "Person")
            #expect(schema["keepers"]?.linkOriginPropertyName == "dogs")
        }
    }

    @Test func valuesSurviveReopening() throws {
        let url = file()
        defer { try? FileManager.default.removeItem(at: url) }
        let configuration = Realm.Configuration(fileURL: url, objectTypes: [Dog.self, Person.self, Everything.self])
        func fill() throws {
            let realm = try Realm(configuration: configuration)
            try realm.write {
                realm.add(Everything())
                realm.add(
                    Person(value: ["name": "Ann", "dogs": [[1, "Rex"], [2, "Max"]], "numbers": Array(0..<500)]))
                realm.object(ofType: Dog.self, forPrimaryKey: 1)!.owner = realm.objects(Person.self)[0]
            }
            try realm.write { realm.objects(Dog.self)[1].age = 12 }
        }
        try fill()
        #expect(Realm.fileExists(for: configuration))
        func check() throws {
            let realm = try Realm(configuration: configuration)
            let person = realm.objects(Person.self)[0]
            #expect(
                person.name == "Ann" && person.dogs.map(\.name) == ["Rex", "Max"]
                    && Array(person.numbers) == Array(0..<500))
            #expect(realm.object(ofType: Dog.self, forPrimaryKey: 2)?.age == 12 && person.owned.count == 1)
            #expect(realm.objects(Dog.self).where { $0.name == "Max" }.count == 1)
            #expect(realm.objects(Everything.self)[0].uuid.uuidString.hasPrefix("0011"))
            #expect(throws: Realm.Error.alreadyOpen) { _ = try Realm.deleteFiles(for: configuration) }
        }
        try check()
        #expect(try Realm.deleteFiles(for: configuration) && !Realm.fileExists(for: configuration))
    }

    /// A changed class is a schema mismatch without a higher version; with one, values that fit are kept (SEMANTICS
    /// 80).
    @Test func aChangedClassNeedsAHigherVersionAndKeepsWhatFits() throws {
        let url = file()
        defer { try? FileManager.default.removeItem(at: url) }
        func before() throws {
            let realm = try Realm(configuration: .init(fileURL: url, objectTypes: [CatBefore.self]))
            try realm.write { realm.add([CatBefore(value: [1, "Tom"]), CatBefore(value: [2])]) }
        }
        try before()
        let error = #expect(throws: Realm.Error.self) {
            _ = try Realm(configuration: .init(fileURL: url, objectTypes: [CatAfter.self]))
        }
        #expect(error?.code == .schemaMismatch)
        for part in [
            "\"Cat.name\" has been made required", "\"Cat.added\" has been added", "\"Cat.gone\" has been removed",
            "\"Cat.kind\" has been changed from int to string",
        ] {
            #expect(error?.message.contains(part) == true, "\(String(describing: error?.message))")
        }
        func after() throws {
            let realm = try Realm(configuration: .init(fileURL: url, schemaVersion: 1, objectTypes: [CatAfter.self]))
            let cats = realm.objects(CatAfter.self)
            #expect(cats.map(\.name) == ["Tom", ""])
            #expect(cats.map(\.kind) == ["", ""])
            #expect(cats.map(\.added) == [0, 0])
            #expect(
                realm.object(ofType: CatAfter.self, forPrimaryKey: 2) != nil && cats.where { $0.added == 0 }.count == 2)
        }
        try after()
        #expect(throws: Realm.Error.schemaMismatch) {
            _ = try Realm(configuration: .init(fileURL: url, objectTypes: [CatAfter.self]))
        }
        try after()
    }

    /// New classes need no higher version (SPEC R83, SEMANTICS 80).
    @Test func aClassMayBeAddedWithoutAHigherVersion() throws {
        let url = file()
        defer { try? FileManager.default.removeItem(at: url) }
        func open(_ types: [ObjectBase.Type]) throws -> Int {
            let realm = try Realm(configuration: .init(fileURL: url, objectTypes: types))
            try realm.write { realm.create(Animal.self) }
            return realm.objects(Animal.self).count
        }
        #expect(try open([Animal.self]) == 1 && open([Animal.self, Bird.self]) == 2 && open([Animal.self]) == 3)
    }

    /// A missing store and a file that is not a store have their own errors (SEMANTICS 86).
    @Test func whateverIsNotAStoreIsRefused() throws {
        let url = file()
        defer { try? FileManager.default.removeItem(at: url) }
        #expect(throws: Realm.Error.fileNotFound) {
            _ = try Realm(configuration: .init(fileURL: url, readOnly: true, objectTypes: [Animal.self]))
        }
        try Data("no store".utf8).write(to: url)
        #expect(throws: Realm.Error.invalidDatabase) {
            _ = try Realm(configuration: .init(fileURL: url, objectTypes: [Animal.self]))
        }
        #expect(throws: Realm.Error.unsupportedFeature) {
            _ = try Realm(
                configuration: .init(
                    inMemoryIdentifier: "x", encryptionKey: Data(count: 64), objectTypes: [Animal.self]))
        }
    }

    /// A store in the format of a later Firn has an error of its own (SEMANTICS 86), and stays as it is.
    @Test func aStoreOfANewerFormatIsRefused() throws {
        let url = file()
        defer { try? FileManager.default.removeItem(at: url) }
        let configuration = Realm.Configuration(fileURL: url, objectTypes: [Animal.self])
        do { _ = try Realm(configuration: configuration) }
        #expect(waitUntilClosed(url))
        // Format 9, with the correct checksum of the manifest's header.
        let manifest = url.appendingPathComponent("manifest")
        var bytes = [UInt8](try Data(contentsOf: manifest))
        bytes[8] = 9
        withUnsafeBytes(of: firn_crc32c(0, bytes, 60).littleEndian) { bytes.replaceSubrange(60..<64, with: $0) }
        try Data(bytes).write(to: manifest)
        let error = #expect(throws: Realm.Error.unsupportedFileFormatVersion) {
            _ = try Realm(configuration: configuration)
        }
        #expect(error?.fileURL == url && error?.message.contains("9") == true, "\(String(describing: error))")
        #expect(try Data(contentsOf: manifest) == Data(bytes))
    }

    /// A store is open in one way at a time (SPEC R25, SEMANTICS 85).
    @Test func aReadOnlyRealmReadsTheStore() throws {
        let url = file()
        defer { try? FileManager.default.removeItem(at: url) }
        func fill() throws {
            let realm = try Realm(configuration: .init(fileURL: url, objectTypes: [Animal.self]))
            try realm.write { realm.create(Animal.self) }
        }
        try fill()
        let realm = try Realm(configuration: .init(fileURL: url, readOnly: true, objectTypes: [Animal.self]))
        #expect(realm.objects(Animal.self).count == 1)
        #expect(throws: Realm.Error.alreadyOpen) {
            _ = try Realm(configuration: .init(fileURL: url, objectTypes: [Animal.self]))
        }
    }

    /// A schema has each name once, unless the classes store the same (SPEC S18, SEMANTICS 96).
    @Test func twoClassesOfOneNameAreRefused() {
        class Other: Object {
            override class func _realmObjectName() -> String? { "Dog" }
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        #expect {
            try memoryRealm([Dog.self, Person.self, Other.self])
        } throws: {
            ($0 as? Realm.Error)?.code == .schemaMismatch && "\($0)".contains("Two classes are named \"Dog\"")
        }
    }

    private class FirstLook: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var first = ""
        @Persisted var next: FirstLook?
        @Persisted var all: List<FirstLook>
        @Persisted(originProperty: "next") var previous: LinkingObjects<FirstLook>
        override class func _realmObjectName() -> String? { "Look" }
        override class func propertiesMapping() -> [String: String] { ["first": "name"] }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    private class SecondLook: Object {
        @Persisted var links: List<SecondLook>
        @Persisted var second = ""
        @Persisted(primaryKey: true) var key: Int
        @Persisted var follower: SecondLook?
        override class func _realmObjectName() -> String? { "Look" }
        override class func propertiesMapping() -> [String: String] {
            ["second": "name", "key": "id", "follower": "next", "links": "all"]
        }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    /// SEMANTICS 96.
    @Test func twoClassesMayShowOneTable() throws {
        let realm = try memoryRealm([FirstLook.self, SecondLook.self])
        try realm.write {
            let one = realm.create(FirstLook.self, value: ["id": 1, "first": "a"] as [String: Any])
            let two = realm.create(SecondLook.self, value: ["key": 2, "second": "b"] as [String: Any])
            let seen = try #require(realm.object(ofType: FirstLook.self, forPrimaryKey: 2))
            one.next = seen
            one.all.append(seen)
            two.links.append(try #require(realm.object(ofType: SecondLook.self, forPrimaryKey: 1)))
        }
        let (first, second) = (realm.objects(FirstLook.self), realm.objects(SecondLook.self))
        #expect(first.map(\.first) == ["a", "b"] && second.map(\.second) == ["a", "b"])
        #expect(second[0].follower?.second == "b" && first[1].all.map(\.first) == ["a"])
        #expect(second[0].links.where { $0.key == 2 }.first?.second == "b" && first[1].previous.first?.first == "a")
        #expect(second.where { $0.follower.second == "b" }.count == 1 && second.sorted(by: \.second).last?.key == 2)
        #expect(first.freeze()[0].next?.first == "b" && second.freeze()[0].follower?.second == "b")
        #expect(second[0]["links"] as? List<SecondLook> != nil && second[0]["follower"] is SecondLook)
        try realm.write { realm.delete(second.where { $0.key == 2 }) }
        #expect(first.count == 1 && first[0].next == nil && second[0].links.isEmpty)
        let only = try memoryRealm([FirstLook.self])
        #expect(only.schema["Look"]?.properties.count == 4)
    }

    private class IndexedNumber: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted(indexed: true) var number: Int
        @Persisted var text: String
        override class func _realmObjectName() -> String? { "Numbered" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    private class IndexedText: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var number: Int
        @Persisted(indexed: true) var text: String
        override class func _realmObjectName() -> String? { "Numbered" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    /// A column is indexed if one of the classes that show it says so.
    @Test(arguments: [false, true]) func twoClassesOfOneTableMayDifferInIndexes(isTurned: Bool) throws {
        let types = [IndexedNumber.self, IndexedText.self]
        let realm = try memoryRealm(isTurned ? types.reversed() : types)
        let (numbers, texts) = (realm.objects(IndexedNumber.self), realm.objects(IndexedText.self))
        try realm.write {
            for id in 0..<1000 {
                realm.create(IndexedText.self, value: [id, id, "\(id)"])
                // The class that does not know an index keeps it up.
                texts[id].number += 1
                numbers[id].text += "x"
            }
        }
        #expect(numbers.where { $0.number == 501 }.map(\.id) == [500])
        #expect(texts.where { $0.text == "500x" }.map(\.id) == [500])
        #expect(texts.where { $0.number == 501 }.explain().contains("index"))
        #expect(numbers.where { $0.text == "500x" }.explain().contains("index"))
    }

    /// What one class shows is linked to, not copied, where the other one is wanted.
    @Test func anObjectOfASharedTableFitsBothClasses() throws {
        let realm = try memoryRealm([FirstLook.self, SecondLook.self])
        try realm.write {
            let one = realm.create(FirstLook.self, value: ["id": 1, "first": "a"] as [String: Any])
            let two = realm.create(
                SecondLook.self, value: ["key": 2, "follower": one, "links": [one]] as [String: Any])
            two["follower"] = one
            two["links"] = [one]
            two.dynamicList("links").append(realm.dynamicObjects("Look")[0])
            #expect(realm.create(SecondLook.self, value: one, update: .modified).key == 1)
            realm.create(FirstLook.self, value: ["id": 1, "next": two] as [String: Any], update: .modified)
        }
        let second = realm.objects(SecondLook.self).sorted(by: \.key)
        #expect(second.map(\.key) == [1, 2])
        #expect(second[1].links.map(\.key) == [1, 1] && second[1].follower?.key == 1 && second[0].follower?.key == 2)
    }

    /// SEMANTICS 96.
    @Test func aClassMayBeListedTwice() throws {
        let realm = try memoryRealm([Dog.self, Person.self, Dog.self])
        #expect(realm.schema.objectSchema.map(\.className).sorted() == ["Dog", "Person"])
        try realm.write { realm.add(Dog(1, "Rex")) }
        #expect(realm.objects(Dog.self).count == 1)
    }
}
