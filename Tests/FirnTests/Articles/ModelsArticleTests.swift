import Firn
import FirnTestSupport
import Foundation
import Testing

/// The code of the article "Models" (`Tools/check articles`): it compiles, and it does what the article says.
@Suite(.timeLimit(.minutes(20))) struct ModelsArticleTests {
    private let temporary = TemporaryFolder()
    private var url: URL { URL(filePath: temporary.path + "/garden.firn") }

    private func newRealm(_ types: [ObjectBase.Type]) throws -> Realm {
        try Realm(configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: types))
    }

    @Test func classesAndTheirProperties() throws {
        // article: Models
        enum Light: String, PersistableEnum { case sun, shade }

        class Plant: Object {
            @Persisted(primaryKey: true) var id = ObjectId.generate()
            @Persisted(indexed: true) var name = ""
            @Persisted var light = Light.sun
            @Persisted var height: Double?
            @Persisted var note: AnyRealmValue
            @Persisted(originProperty: "plants") var gardens: LinkingObjects<Garden>
            var isSelected = false  // not stored
        }

        class Garden: Object {
            @Persisted var favourite: Plant?
            @Persisted var plants: List<Plant>
            @Persisted var tags: MutableSet<String>
            @Persisted var prices: Map<String, Decimal128>
            @Persisted var soil: Soil?
        }

        class Soil: EmbeddedObject { @Persisted var acidity = 7.0 }
        // end
        let types: [ObjectBase.Type] = [Plant.self, Garden.self, Soil.self]
        let blank = Plant()
        #expect(blank.light == .sun && blank.height == nil && blank.note == .none)
        #expect(Plant().id != blank.id && blank.gardens.isEmpty)
        let realm = try newRealm(types)
        // article: Models
        let rose = Plant(value: ["name": "Rose", "height": 1.5] as [String: Any])
        rose.note = .fromDictionary(["month": .int(3), "tools": .fromArray([.string("saw")])])
        let garden = Garden()
        garden.plants.append(rose)
        garden.prices["rose"] = 4.5
        garden.soil = Soil(value: ["acidity": 6.5])
        try realm.write { realm.add(garden) }
        print(rose.gardens.count, realm.objects(Plant.self).where { $0.light == .sun }.count)  // 1 1
        // end
        #expect(rose.gardens.count == 1 && realm.objects(Plant.self).where { $0.light == .sun }.count == 1)
        #expect(rose.realm == realm && garden.soil?.acidity == 6.5 && garden.prices["rose"] == 4.5)

        #expect(rose.note.dictionaryValue?["month"] == .int(3))
        try realm.write { rose.note.dictionaryValue?["month"] = .int(4) }
        #expect(rose.note.dictionaryValue?["month"] == .int(4))
        #expect(rose.note.dictionaryValue?["tools"]?.listValue.map { Array($0) } == [.string("saw")])

        // A deleted object leaves nil in links, and a shorter list.
        let oak = Plant(value: ["name": "Oak"])
        try realm.write {
            garden.favourite = oak
            garden.plants.append(oak)
            rose.note = .object(oak)
        }
        try realm.write { realm.delete(oak) }
        #expect(garden.favourite == nil && garden.plants.map(\.name) == ["Rose"] && rose.note == .none)
        // An embedded object is deleted with the link to it.
        let soil = try #require(garden.soil)
        try realm.write { garden.soil = nil }
        #expect(soil.isInvalidated)
        // An ordinary property is not stored.
        rose.isSelected = true
        #expect(realm.object(ofType: Plant.self, forPrimaryKey: rose.id)?.isSelected == false)

        let configuration = Realm.Configuration(fileURL: url, objectTypes: types)
        let names = try Realm(configuration: configuration).schema.objectSchema.map(\.className)
        #expect(Set(names) == ["Garden", "Plant", "Soil"])
        // What they link to must be among them.
        let error = #expect(throws: Realm.Error.self) { _ = try newRealm([Garden.self, Soil.self]) }
        #expect(error?.code == .schemaMismatch && error?.message.contains("Plant") == true)

        // article: Models
        class Tray<Content: Object>: Object { @Persisted var contents: List<Content> }
        Realm.register(Tray<Plant>.self)
        // end
        let all = try Realm(configuration: .init(inMemoryIdentifier: UUID().uuidString))
        try all.write { all.create(Tray<Plant>.self).contents.append(Plant(value: ["name": "Fern"])) }
        #expect(all.objects(Tray<Plant>.self).first?.contents.first?.name == "Fern")
    }

    @Test func whatAClassSaysOfItsProperties() throws {
        class Seedling: Object {
            @Persisted var code = ""
            @Persisted var tray = 0
            @Persisted var label: String?
            @Persisted var draft = "none"

            override class func primaryKey() -> String? { "code" }
            override class func indexedProperties() -> [String] { ["tray"] }
            override class func requiredProperties() -> [String] { ["label"] }
            override class func ignoredProperties() -> [String] { ["draft"] }
            override class func propertiesMapping() -> [String: String] { ["tray": "tray_number"] }
            override class func _realmObjectName() -> String? { "YoungPlant" }
        }
        let realm = try newRealm([Seedling.self])
        let schema = try #require(realm.schema["YoungPlant"])
        #expect(schema.primaryKeyProperty?.name == "code" && schema["tray"]?.isIndexed == true)
        #expect(schema["tray"]?.columnName == "tray_number" && schema["label"]?.isOptional == false)
        #expect(schema["draft"] == nil && Seedling.className() == "YoungPlant")
        try realm.write {
            let error = #expect(throws: Realm.Error.self) {
                try realm.create(Seedling.self, validating: ["code": "a"])
            }
            #expect(error?.code == .invalidInput)
            realm.create(Seedling.self, value: ["code": "a", "label": "A"])
        }
        #expect(realm.object(ofType: Seedling.self, forPrimaryKey: "a")?.draft == "none")
    }

    @Test func typesOfTheApplication() throws {
        // article: Models
        struct Centimetres: CustomPersistable {
            var count: Double
            init(persistedValue: Double) { count = persistedValue }
            var persistableValue: Double { count }
        }

        class Growth: Object {
            @Persisted var height: Centimetres  // realm.objects(Growth.self).where { $0.height.persistableValue > 12 }
        }
        // end
        let realm = try newRealm([Growth.self])
        let growth = Growth()
        #expect(growth.height.count == 0)
        growth.height = Centimetres(persistedValue: 12.5)
        try realm.write { realm.add(growth) }
        let found = realm.objects(Growth.self).where { $0.height.persistableValue > 12 }
        #expect(found.first?.height.count == 12.5)
    }

    @Test func objectsFromJSON() throws {
        class SeedPacket: Object, Codable {
            @Persisted(primaryKey: true) var code: String
            @Persisted var weight: Double?
            @Persisted var months: List<Int>
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        let realm = try newRealm([SeedPacket.self])
        let json = Data(#"{"code": "R7", "months": [3, 4]}"#.utf8)
        // article: Models
        let packet = try JSONDecoder().decode(SeedPacket.self, from: json)
        try realm.write { realm.add(packet, update: .modified) }
        let copy = try JSONEncoder().encode(SeedPacket(value: packet))
        // end
        #expect(packet.weight == nil && Array(packet.months) == [3, 4])
        let again = try JSONDecoder().decode(SeedPacket.self, from: copy)
        #expect(again.code == "R7" && Array(again.months) == [3, 4] && again.realm == nil)
        // The managed object itself is refused.
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(packet) }
    }

    /// What the article says of subclasses, and of declarations that opening refuses.
    @Test func subclassesAndFaults() throws {
        class Shrub: Object {
            @Persisted var height = 0
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        class Hedge: Shrub {
            @Persisted var length = 0
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        class Arbour: Object {
            @Persisted(indexed: true) var light: Brightness
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        let realm = try newRealm([Shrub.self, Hedge.self])
        try realm.write { realm.create(Hedge.self, value: ["height": 2, "length": 9]) }
        #expect(realm.objects(Shrub.self).isEmpty && realm.objects(Hedge.self).first?.height == 2)
        let error = #expect(throws: Realm.Error.self) { _ = try newRealm([Arbour.self]) }
        #expect(error?.code == .schemaMismatch && error?.message.contains("Arbour.light") == true)
    }

    private enum Brightness: Double, PersistableEnum { case low = 0.1, high = 0.9 }
}
