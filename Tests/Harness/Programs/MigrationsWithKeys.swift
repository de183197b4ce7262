import Foundation
import RealmSwift

// Version 0
class P09PersonV0: Object {
    @Persisted var firstName = ""
    @Persisted var lastName = ""
    @Persisted var age = 0
    @Persisted var street: String?
    @Persisted var city: String?
    @Persisted var gender = 0
    override class func _realmObjectName() -> String? { "P09Person" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
class P09OldThing: Object {
    @Persisted var n = 0
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
class P09DocV0: Object {
    @Persisted var number = 0
    @Persisted var title: String?
    @Persisted var tag: P09TagV0?
    @Persisted var page: P09PageV0?
    override class func _realmObjectName() -> String? { "P09Doc" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
class P09TagV0: Object {
    @Persisted var name = ""
    override class func _realmObjectName() -> String? { "P09Tag" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
class P09PageV0: Object {
    @Persisted var text = ""
    override class func _realmObjectName() -> String? { "P09Page" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

// Version 1: fullName, years renamed, a key
class P09PersonV1: Object {
    @Persisted(primaryKey: true) var id: String
    @Persisted var fullName = ""
    @Persisted var years = 0
    @Persisted var street: String?
    @Persisted var city: String?
    @Persisted var gender = ""
    override class func _realmObjectName() -> String? { "P09Person" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

// Version 2: embedded
class P09Address: EmbeddedObject {
    @Persisted var street: String?
    @Persisted var city = "?"
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
class P09PersonV2: Object {
    @Persisted(primaryKey: true) var id: String
    @Persisted var fullName = ""
    @Persisted var years: Int?
    @Persisted var address: P09Address?
    @Persisted var gender = ""
    @Persisted var pets: List<P09Pet>
    override class func _realmObjectName() -> String? { "P09Person" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
class P09Pet: Object {
    @Persisted var name = "unnamed"
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
class P09DocV2: Object {
    @Persisted(primaryKey: true) var number = 0
    @Persisted var title: String
    @Persisted var tag: P09TagV0?
    @Persisted var page: P09PageV2?
    override class func _realmObjectName() -> String? { "P09Doc" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
class P09PageV2: EmbeddedObject {
    @Persisted var text = ""
    override class func _realmObjectName() -> String? { "P09Page" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

nonisolated(unsafe) private var failures = 0
private func expect(_ ok: Bool, _ what: String, line: UInt = #line) {
    if !ok { failures += 1; print("09:\(line): FAILED: \(what)") }
}

private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("p09-" + UUID().uuidString)
private let v0: [ObjectBase.Type] = [P09PersonV0.self, P09OldThing.self, P09DocV0.self, P09TagV0.self, P09PageV0.self]
private let v1: [ObjectBase.Type] = [P09PersonV1.self, P09OldThing.self, P09DocV0.self, P09TagV0.self, P09PageV0.self]
private let v2: [ObjectBase.Type] = [
    P09PersonV2.self, P09Address.self, P09Pet.self, P09DocV2.self, P09TagV0.self, P09PageV2.self,
]

private func makeV0(_ url: URL) throws {
    try autoreleasepool {
        let realm = try Realm(configuration: Realm.Configuration(fileURL: url, objectTypes: v0))
        expect(
            realm.schema["P09Person"]?["firstName"]?.type == .string && realm.schema["P09PersonV0"] == nil,
            "schema uses the given name")
        try realm.write {
            for i in 0..<4 {
                realm.add(
                    P09PersonV0(
                        value: [
                            "firstName": "F\(i)", "lastName": "L\(i)", "age": 20 + i, "street": i == 1 ? nil : "S\(i)",
                            "city": "C\(i)", "gender": i % 2,
                        ] as [String: Any?] as [String: Any]))
            }
            realm.create(P09OldThing.self, value: ["n": 5])
            realm.create(
                P09DocV0.self,
                value: ["number": 1, "title": "One", "tag": ["name": "red"], "page": ["text": "p1"]] as [String: Any])
            realm.create(P09DocV0.self, value: ["number": 1, "tag": ["name": "dup"]] as [String: Any])
            realm.create(P09DocV0.self, value: ["number": 2])
        }
    }
    expect(try schemaVersionAtURL(url) == 0, "version 0")
}

private func stepOne(_ url: URL) throws {
    // needs a migration
    do {
        _ = try Realm(configuration: .init(fileURL: url, objectTypes: v1))
        expect(false, "should need a migration")
    } catch let error as Realm.Error where error.code == .schemaMismatch {
        // Firn says it in other words.
    }
    nonisolated(unsafe) var calls = 0
    nonisolated(unsafe) var seen: [UInt64] = []
    let config = Realm.Configuration(
        fileURL: url, schemaVersion: 1,
        migrationBlock: { migration, oldSchemaVersion in
            calls += 1
            seen.append(oldSchemaVersion)
            if oldSchemaVersion < 1 {
                expect(
                    migration.oldSchema["P09Person"]?["firstName"] != nil
                        && migration.newSchema["P09Person"]?["fullName"] != nil, "schemas")
                migration.enumerateObjects(ofType: "P09Person") { oldObject, newObject in
                    let firstName = oldObject!["firstName"] as! String
                    let lastName = oldObject?["lastName"] as? String ?? ""
                    newObject!["fullName"] = "\(firstName) \(lastName)"
                    newObject!["id"] = "id-\(lastName)"
                    newObject!["gender"] = (oldObject!["gender"] as! Int) == 0 ? "f" : "m"
                }
                migration.renameProperty(onType: "P09Person", from: "age", to: "years")
                migration.create("P09OldThing", value: ["n": 6])
                migration.enumerateObjects(ofType: P09OldThing.className()) { _, new in
                    if new?["n"] as? Int == 5 { migration.delete(new!) }
                }
            }
        }, objectTypes: v1)
    let realm = try Realm(configuration: config)
    expect(calls == 1 && seen == [0], "called once")
    let all = realm.objects(P09PersonV1.self).sorted(byKeyPath: "id")
    expect(all.count == 4 && all[0].id == "id-L0" && all[3].fullName == "F3 L3" && all[3].years == 23, "migrated")
    expect(
        all.map(\.gender) == ["f", "m", "f", "m"] && all[1].street == nil && all[1].city == "C1",
        "types changed, others kept")
    expect(
        realm.objects(P09OldThing.self).map(\.n) == [6],
        "created and deleted: \(realm.objects(P09OldThing.self).map(\.n).map { $0 })")
    expect(realm.object(ofType: P09PersonV1.self, forPrimaryKey: "id-L2")?.years == 22, "key works")
}

private func stepTwo(_ url: URL) throws {
    let config = Realm.Configuration(
        fileURL: url, schemaVersion: 2,
        migrationBlock: { migration, old in
            if old < 2 {
                migration.enumerateObjects(ofType: "P09Person") { oldObject, newObject in
                    newObject?["address"] = ["street": oldObject?["street"] as Any, "city": oldObject?["city"] as Any]
                    let pet = migration.create(P09Pet.className(), value: ["name": "Pet of \(oldObject!["fullName"]!)"])
                    newObject?.dynamicList("pets").append(pet)
                    let blank = migration.create("P09Pet")
                    (newObject?["pets"] as? List<MigrationObject>)?.append(blank)
                }
                var used = Set<Int>()
                migration.enumerateObjects(ofType: "P09Doc") { oldObject, newObject in
                    let number = oldObject!["number"] as! Int
                    if !used.insert(number).inserted {
                        migration.delete(newObject!)
                        return
                    }
                    newObject!["title"] = oldObject!["title"] as? String ?? "untitled"
                    if let tag = newObject!["tag"] as? MigrationObject {
                        tag["name"] = (tag["name"] as! String).uppercased()
                    }
                }
                expect(migration.deleteData(forType: "P09OldThing"), "deleteData")
                expect(!migration.deleteData(forType: "P09Nothing"), "deleteData of an unknown class")
            }
        }, objectTypes: v2)
    try Realm.performMigration(for: config)
    expect(try schemaVersionAtURL(url) == 2, "version 2")
    let realm = try Realm(configuration: config)
    let p = realm.object(ofType: P09PersonV2.self, forPrimaryKey: "id-L1")!
    expect(p.address?.city == "C1" && p.address?.street == nil, "embedded from a dictionary")
    expect(p.years == 21, "int became optional (\(String(describing: p.years)))")
    expect(
        p.pets.map(\.name) == ["Pet of F1 L1", "unnamed"] && realm.objects(P09Pet.self).count == 8,
        "pets: \(p.pets.map(\.name).joined())")
    let docs = realm.objects(P09DocV2.self).sorted(by: \.number)
    expect(docs.map(\.number) == [1, 2] && docs[0].title == "One" && docs[1].title == "untitled", "keys made unique")
    expect(docs[0].page?.text == "p1", "top-level became embedded")
    expect(docs[0].tag?.name == "RED", "linked object changed")
    expect(realm.schema["P09OldThing"] == nil, "class gone")
}

private func others(_ url: URL) throws {
    // deleteRealmIfMigrationNeeded
    let config = Realm.Configuration(fileURL: url, deleteRealmIfMigrationNeeded: true, objectTypes: v1)
    try autoreleasepool {
        let realm = try Realm(configuration: config)
        expect(realm.isEmpty, "deleted")
        try realm.write { realm.add(P09PersonV1(value: ["id": "x"])) }
    }
    expect(
        try autoreleasepool { try Realm(configuration: config).objects(P09PersonV1.self).count } == 1,
        "kept when nothing changed")
    // duplicate keys make the migration fail
    let second = folder.appendingPathComponent("second.realm")
    try makeV0(second)
    let bad = Realm.Configuration(
        fileURL: second, schemaVersion: 1,
        migrationBlock: { m, _ in
            m.enumerateObjects(ofType: "P09Person") { _, new in new!["id"] = "same" }
        }, objectTypes: v1)
    do { _ = try Realm(configuration: bad); expect(false, "duplicate keys should fail") } catch {
        // Firn says it in other words.
    }
    expect(try schemaVersionAtURL(second) == 0, "failed migration left the version")
    // adding a class or a lower version
    var added = Realm.Configuration(fileURL: second, objectTypes: v0 + [P09Pet.self])
    expect(
        try autoreleasepool { try Realm(configuration: added).schema["P09Pet"] != nil },
        "a new class needs no migration")
    added.schemaVersion = 4
    _ = try autoreleasepool { try Realm(configuration: added).isEmpty }
    added.schemaVersion = 3
    do { _ = try Realm(configuration: added); expect(false, "lower version should throw") } catch {
        // Firn says it in other words.
    }
    do { _ = try schemaVersionAtURL(folder.appendingPathComponent("none.realm")); expect(false, "should throw") } catch
    {}
    var readOnly = Realm.Configuration(fileURL: second, readOnly: true, schemaVersion: 4, objectTypes: v0)
    expect(try autoreleasepool { try Realm(configuration: readOnly).objects(P09PersonV0.self).count } == 4, "read-only")
    readOnly.readOnly = false
    expect(try Realm.deleteFiles(for: readOnly) && !FileManager.default.fileExists(atPath: second.path), "deleteFiles")
    expect(!Realm.fileExists(for: readOnly), "fileExists")
}

func run09() throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let url = folder.appendingPathComponent("people.realm")
    try makeV0(url)
    try autoreleasepool { try stepOne(url) }
    try autoreleasepool { try stepTwo(url) }
    try others(url)
    print(failures == 0 ? "09 passed" : "09: \(failures) failures")
}
