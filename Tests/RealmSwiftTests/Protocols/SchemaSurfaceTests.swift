import FirnTestSupport
import RealmSwift
import Testing

// RealmSwift's signatures of schemas and migrations, as requirements. The compiler checks that they are satisfied.

private protocol SchemaSurface: Equatable, CustomStringConvertible {
    var objectSchema: [ObjectSchema] { get }
    var description: String { get }
    subscript(className: String) -> ObjectSchema? { get }
}
extension Schema: SchemaSurface {}

private protocol ObjectSchemaSurface: Equatable, CustomStringConvertible {
    var properties: [Property] { get }
    var className: String { get }
    var isEmbedded: Bool { get }
    var primaryKeyProperty: Property? { get }
    var description: String { get }
    subscript(propertyName: String) -> Property? { get }
    static func == (lhs: Self, rhs: Self) -> Bool
}
extension ObjectSchema: ObjectSchemaSurface {}

private protocol PropertySurface: Equatable, CustomStringConvertible {
    var name: String { get }
    var columnName: String { get }
    var type: PropertyType { get }
    var isIndexed: Bool { get }
    var isOptional: Bool { get }
    var isArray: Bool { get }
    var isSet: Bool { get }
    var isMap: Bool { get }
    var objectClassName: String? { get }
    var description: String { get }
}
extension Property: PropertySurface {}

private protocol PropertyTypeSurface: Equatable {
    static var int: Self { get }
    static var bool: Self { get }
    static var float: Self { get }
    static var double: Self { get }
    static var string: Self { get }
    static var data: Self { get }
    static var date: Self { get }
    static var any: Self { get }
    static var object: Self { get }
    static var linkingObjects: Self { get }
    static var objectId: Self { get }
    static var decimal128: Self { get }
    static var UUID: Self { get }
}
extension PropertyType: PropertyTypeSurface {}
extension PropertyTypeSurface {
    fileprivate static var all: [Self] {
        [
            int, bool, string, data, date, float, double, object, linkingObjects, any, objectId, decimal128, UUID,
        ]
    }
}

private protocol MigrationSurface: AnyObject {
    var oldSchema: Schema { get }
    var newSchema: Schema { get }
    func enumerateObjects(ofType typeName: String, _ block: MigrationObjectEnumerateBlock)
    func create(_ typeName: String, value: Any) -> MigrationObject
    func delete(_ object: MigrationObject)
    func deleteData(forType typeName: String) -> Bool
    func renameProperty(onType typeName: String, from oldName: String, to newName: String)
}
extension Migration: MigrationSurface {}

/// Renames a property, looks at each lake, deletes one, makes another, and drops a class.
private func migrate<M: MigrationSurface>(_ migration: M, _ before: inout [String]) {
    migration.renameProperty(onType: "Lake", from: "title", to: "name")
    var titles: [String] = []
    let block: MigrationObjectEnumerateBlock = { old, new in
        guard let old, let new else { return }
        titles.append("\(old["title"] ?? "") \(new["name"] ?? "")")
        if old["title"] as? String == "Brienz" { migration.delete(new) }
    }
    migration.enumerateObjects(ofType: "Lake", block)
    before += titles
    let made: MigrationObject = migration.create("Lake", value: ["name": "Oeschinen"])
    before.append("\(made["name"] ?? "") \(migration.deleteData(forType: "Pond"))")
    before.append("\(migration.oldSchema["Pond"] != nil) \(migration.newSchema["Pond"] == nil)")
}

@Suite(.timeLimit(.minutes(20))) struct SchemaSurfaceTests {
    @Test func aSchemaAnswersThroughItsRequirements() throws {
        func classes<S: SchemaSurface>(_ schema: S) -> [String] {
            schema.objectSchema.map(\.className).sorted() + [schema["Spot"]?.className ?? "none"]
                + ["\(schema["Lake"] == nil)", "\(schema.description.isEmpty)", "\(schema == schema)"]
        }
        let realm = try peaks()
        #expect(classes(realm.schema) == ["Peak", "Spot", "Spot", "true", "false", "true"])
        #expect(try realm.schema == peaks().schema)
    }

    @Test func aClassAndItsPropertiesAnswerThroughTheirRequirements() throws {
        func facts<S: ObjectSchemaSurface>(_ schema: S) -> [String] {
            [
                schema.className, "\(schema.isEmbedded)", schema.primaryKeyProperty?.name ?? "none",
                "\(schema.properties.isEmpty)", schema["name"]?.name ?? "none", "\(schema["lake"] == nil)",
                "\(schema.description.isEmpty)", "\(schema == schema)",
            ]
        }
        func facts<P: PropertySurface>(_ property: P) -> [String] {
            [
                property.name, property.columnName, "\(property.type)", property.objectClassName ?? "none",
                [property.isIndexed, property.isOptional, property.isArray, property.isSet, property.isMap]
                    .map { $0 ? "1" : "0" }.joined(), "\(property.description.isEmpty)", "\(property == property)",
            ]
        }
        let schema = try peaks().schema
        let (peak, spot) = (try #require(schema["Peak"]), try #require(schema["Spot"]))
        #expect(facts(peak) == ["Peak", "false", "id", "false", "name", "true", "false", "true"])
        #expect(facts(spot) == ["Spot", "true", "none", "false", "none", "true", "false", "true"] && peak != spot)
        #expect(peak.objectClass == Peak.self)
        let properties = ["name", "year", "neighbours", "rivals", "tolls"].compactMap { peak[$0] }.map(facts)
        let rest = ["false", "true"]
        #expect(
            properties == [
                ["name", "name", "string", "none", "10000"] + rest, ["year", "year", "int", "none", "01000"] + rest,
                ["neighbours", "neighbours", "object", "Peak", "00100"] + rest,
                ["rivals", "rivals", "object", "Peak", "00010"] + rest,
                ["tolls", "tolls", "int", "none", "00001"] + rest,
            ])
    }

    @Test func thePropertyTypesAreRealmSwifts() {
        #expect(PropertyType.all.map(\.rawValue) == Array(0...12))
    }

    @Test func aMigrationAnswersThroughItsRequirements() throws {
        let folder = TemporaryFolder()
        let url = URL(fileURLWithPath: folder.path + "/lakes.firn")
        try autoreleasepool {
            let realm = try Realm(
                configuration: .init(fileURL: url, schemaVersion: 1, objectTypes: [Version1.Lake.self, Pond.self]))
            try realm.write {
                for name in ["Thun", "Brienz"] { realm.create(Version1.Lake.self, value: ["title": name]) }
                realm.create(Pond.self)
            }
        }
        let seen = Seen()
        let block: MigrationBlock = { migration, oldVersion in
            var before = ["\(oldVersion)"]
            migrate(migration, &before)
            seen.texts = before
        }
        let configuration = Realm.Configuration(
            fileURL: url, schemaVersion: 2, migrationBlock: block, objectTypes: [Lake.self])
        try Realm.performMigration(for: configuration)
        #expect(seen.texts == ["1", "Thun Thun", "Brienz Brienz", "Oeschinen true", "true true"])
        let lakes = try Realm(configuration: configuration, queue: nil).objects(Lake.self)
        #expect(Set(lakes.map { $0.name }) == ["Thun", "Oeschinen"])
        #expect(try schemaVersionAtURL(url, encryptionKey: nil) == 2 && schemaVersionAtURL(url) == 2)
    }
}

/// What a migration saw. Its block is `@Sendable`, but runs where the realm is opened.
private final class Seen: @unchecked Sendable {
    // Unchecked because one thread alone uses it.
    var texts: [String] = []
}

private enum Version1 {
    class Lake: Object {
        @Persisted var title: String
        override class func _realmObjectName() -> String? { "Lake" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
}

class Lake: Object {
    @Persisted var name: String
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class Pond: Object {
    @Persisted var name: String
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
