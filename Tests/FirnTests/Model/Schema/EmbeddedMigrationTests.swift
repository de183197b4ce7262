import Firn
import FirnTestSupport
import Foundation
import Testing

// Forms of the classes Owner and Piece, which one store has in turn.

private class OwnerOfLinks: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var one: FreePiece?
    @Persisted var many: List<FreePiece>
    override class func _realmObjectName() -> String? { "Owner" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class FreePiece: Object {
    @Persisted var name = ""
    override class func _realmObjectName() -> String? { "Piece" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class OwnerOfParts: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var one: Piece?
    @Persisted var many: List<Piece>
    override class func _realmObjectName() -> String? { "Owner" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class OwnerOfOne: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var one: Piece?
    override class func _realmObjectName() -> String? { "Owner" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Piece: EmbeddedObject {
    @Persisted var name = ""
    override class func _realmObjectName() -> String? { "Piece" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// What a change of the classes does to embedded objects (R57, SEMANTICS 80).
@Suite(.timeLimit(.minutes(20))) struct EmbeddedMigrationTests {
    private let folder = TemporaryFolder()
    private var url: URL { URL(filePath: folder.path + "/e.firn") }

    private func open(_ types: [ObjectBase.Type], _ version: UInt64) throws -> Realm {
        try Realm(configuration: .init(fileURL: url, schemaVersion: version, objectTypes: types))
    }

    private func fill(orphan: Bool = false, shared: Bool = false) throws {
        let realm = try open([OwnerOfLinks.self, FreePiece.self], 0)
        try realm.write {
            let owner = realm.create(
                OwnerOfLinks.self,
                value: ["id": 1, "one": ["name": "a"], "many": [["name": "b"], ["name": "c"]]] as [String: Any])
            if orphan { realm.create(FreePiece.self, value: ["name": "alone"]) }
            if shared { owner.many.append(owner.many[0]) }
        }
    }

    @Test func aClassBecomesEmbeddedIfEachObjectHasOneParent() throws {
        try fill()
        let refused = try #require(throws: Realm.Error.self) {
            _ = try open([OwnerOfParts.self, Piece.self], 0)
        }
        #expect(
            refused.code == .schemaMismatch && refused.message.contains("\"Piece\" has been made an embedded class"))
        let realm = try open([OwnerOfParts.self, Piece.self], 1)
        let owner = try #require(realm.object(ofType: OwnerOfParts.self, forPrimaryKey: 1))
        #expect(owner.one?.name == "a" && owner.many.map(\.name) == ["b", "c"])
        let b = owner.many[0]
        try realm.write { owner.many.remove(at: 0) }
        #expect(b.isInvalidated && realm.countEmbedded(Piece.self) == 2)
    }

    @Test(arguments: [true, false]) func otherwiseItIsRefused(orphan: Bool) throws {
        try fill(orphan: orphan, shared: !orphan)
        let error = try #require(throws: Realm.Error.self) { _ = try open([OwnerOfParts.self, Piece.self], 1) }
        #expect(error.code == .schemaMismatch)
        #expect(error.message.contains("1 of its objects is not linked to by exactly one property"), "\(error)")
        let realm = try open([OwnerOfLinks.self, FreePiece.self], 0)
        #expect(realm.objects(FreePiece.self).count == (orphan ? 4 : 3))
    }

    @Test func aClassThatIsEmbeddedNoLongerKeepsItsObjects() throws {
        try fill()
        do { _ = try open([OwnerOfParts.self, Piece.self], 1) }
        let realm = try open([OwnerOfLinks.self, FreePiece.self], 2)
        let owner = try #require(realm.object(ofType: OwnerOfLinks.self, forPrimaryKey: 1))
        try realm.write {
            owner.one = owner.many[0]
            owner.many.removeAll()
        }
        #expect(owner.one?.name == "b" && realm.objects(FreePiece.self).count == 3)
    }

    /// The embedded objects of a property that the class no longer has are deleted with it: now, after a recovery, and
    /// in the version of that time.
    @Test func theObjectsOfARemovedPropertyAreDeleted() throws {
        try fill()
        do {
            let realm = try open([OwnerOfParts.self, Piece.self], 1)
            #expect(realm.countEmbedded(Piece.self) == 3)
        }
        do {
            let realm = try open([OwnerOfOne.self, Piece.self], 2)
            #expect(realm.countEmbedded(Piece.self) == 1)
            #expect(realm.object(ofType: OwnerOfOne.self, forPrimaryKey: 1)?.one?.name == "a")
            // A copy of the folder, as a crash would leave it: opening it replays the migration.
            let copy = URL(filePath: folder.path + "/copy.firn")
            try FileManager.default.copyItem(at: url, to: copy)
            let recovered = try Realm(
                configuration: .init(fileURL: copy, schemaVersion: 2, objectTypes: [OwnerOfOne.self, Piece.self]))
            #expect(recovered.countEmbedded(Piece.self) == 1)
        }
        #expect(waitUntilClosed(url))
        #expect(try open([OwnerOfOne.self, Piece.self], 2).countEmbedded(Piece.self) == 1)
    }
}
