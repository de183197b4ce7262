import Firn
import Foundation
import Testing

class Keyless: Object {
    @Persisted var id: Int
    @Persisted var code: String?
    @Persisted var note = "note"
    override class func _realmObjectName() -> String? { "Keyed" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class KeyedByNumber: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var code: String?
    @Persisted var note = "note"
    override class func _realmObjectName() -> String? { "Keyed" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class KeyedByText: Object {
    @Persisted var id: Int
    @Persisted(primaryKey: true) var code: String?
    @Persisted var note = "note"
    override class func _realmObjectName() -> String? { "Keyed" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class KeyedByRequiredText: Object {
    @Persisted var id: Int
    @Persisted(primaryKey: true) var code: String
    @Persisted var note = "note"
    override class func _realmObjectName() -> String? { "Keyed" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class KeyedByNew: Object {
    @Persisted var id: Int
    @Persisted var code: String?
    @Persisted var note = "note"
    @Persisted(primaryKey: true) var fresh: Int
    override class func _realmObjectName() -> String? { "Keyed" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// No migration ends with two objects of one primary key (SPEC S49: keys are unique). It needs a higher version
/// (SEMANTICS 80), and a failing migration leaves the file and its version unchanged (SEMANTICS 81).
@Suite(.timeLimit(.minutes(20))) struct PrimaryKeyMigrationTests {
    private let url = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).firn")

    private func fill(_ values: [(Int, String?)]) throws {
        let realm = try Realm(configuration: .init(fileURL: url, objectTypes: [Keyless.self]))
        try realm.write {
            for (id, code) in values { realm.create(Keyless.self, value: ["id": id, "code": code as Any]) }
        }
    }

    private func open(_ type: Object.Type, _ version: UInt64 = 1) throws -> Int {
        try Realm(configuration: .init(fileURL: url, schemaVersion: version, objectTypes: [type])).objects(type).count
    }

    private func checkRefused(_ type: Object.Type, _ parts: String..., count: Int) throws {
        let error = try #require(throws: Realm.Error.self) { _ = try open(type) }
        #expect(error.code == .schemaMismatch && error.fileURL == url)
        for part in parts { #expect(error.message.contains(part), "\(error)") }
        // Nothing is changed, and the old classes open the store as before.
        #expect(try open(Keyless.self, 0) == count)
        let realm = try Realm(configuration: .init(fileURL: url, objectTypes: [Keyless.self]))
        try realm.write { realm.create(Keyless.self, value: ["id": 1_000_000]) }
        #expect(realm.objects(Keyless.self).count == count + 1)
    }

    @Test func duplicatesOfANumberAreRefusedAndNamed() throws {
        defer { try? FileManager.default.removeItem(at: url) }
        try fill([(1, "a"), (2, "b"), (1, "c"), (3, "d"), (3, "e"), (3, "f")])
        try checkRefused(KeyedByNumber.self, "\"Keyed.id\"", "1 (2 objects)", "3 (3 objects)", count: 6)
    }

    @Test func onlySomeOfManyDuplicatesAreNamed() throws {
        defer { try? FileManager.default.removeItem(at: url) }
        try fill((0..<1200).map { ($0 % 400, nil) })
        try checkRefused(KeyedByNumber.self, "400 keys", "0 (3 objects)", "4 (3 objects)", count: 1200)
    }

    @Test func duplicatesOfTextAndNilAreRefusedAndNamed() throws {
        defer { try? FileManager.default.removeItem(at: url) }
        let long = String(repeating: "l", count: 2000)
        try fill([
            (1, "a"), (2, "a"), (3, nil), (4, nil), (5, long + "1"), (6, long + "2"), (7, "\u{1B}[31m"),
            (8, "\u{1B}[31m"),
        ])
        let error = try #require(throws: Realm.Error.self) { _ = try open(KeyedByText.self) }
        for part in ["3 keys", "\"a\" (2 objects)", "nil (2 objects)"] {
            #expect(error.message.contains(part), "\(error)")
        }
        #expect(!error.message.unicodeScalars.contains("\u{1B}"))
    }

    /// This includes those that are too long for the index, which are found in another way.
    @Test func theFirstDuplicatesInAscendingOrderAreNamed() throws {
        defer { try? FileManager.default.removeItem(at: url) }
        let long = String(repeating: "l", count: 2000)
        let names = ["h", "b" + long, "e" + long, "a" + long, "g" + long, "d", "c" + long, "f" + long]
        try fill((names + names).enumerated().map { ($0, $1) })
        let error = try #require(throws: Realm.Error.self) { _ = try open(KeyedByText.self) }
        let initials = try error.message.matches(of: Regex("\"([a-h])l*[^\"]*\" \\(2 objects\\)")).map {
            $0[1].substring
        }
        #expect(initials == ["a", "b", "c", "d", "e"], "\(error)")
    }

    @Test func nilsThatBecomeBlanksCountAsDuplicates() throws {
        defer { try? FileManager.default.removeItem(at: url) }
        try fill([(1, nil), (2, "")])
        try checkRefused(KeyedByRequiredText.self, "\"Keyed.code\"", "\"\" (2 objects)", count: 2)
    }

    @Test func aNewPropertyCannotBecomeThePrimaryKeyOfSeveralObjects() throws {
        defer { try? FileManager.default.removeItem(at: url) }
        try fill([(1, nil), (2, nil)])
        try checkRefused(KeyedByNew.self, "\"Keyed.fresh\"", "0 (2 objects)", count: 2)
    }

    @Test func longKeysWithTheSamePrefixAreDistinct() throws {
        defer { try? FileManager.default.removeItem(at: url) }
        let long = String(repeating: "l", count: 2000)
        try fill([(1, long + "1"), (2, long + "2"), (3, nil), (4, "")])
        #expect(try open(KeyedByText.self) == 4)
        let realm = try Realm(configuration: .init(fileURL: url, schemaVersion: 1, objectTypes: [KeyedByText.self]))
        #expect(realm.object(ofType: KeyedByText.self, forPrimaryKey: long + "2")?.id == 2)
    }

    @Test func uniqueValuesBecomeAPrimaryKey() throws {
        defer { try? FileManager.default.removeItem(at: url) }
        try fill((0..<1000).map { (999 - $0, nil) })
        #expect(try open(KeyedByNumber.self) == 1000)
        let realm = try Realm(configuration: .init(fileURL: url, schemaVersion: 1, objectTypes: [KeyedByNumber.self]))
        try realm.write {
            #expect(throws: Realm.Error.invalidInput) { try realm.create(KeyedByNumber.self, validating: ["id": 7]) }
        }
    }
}
