import Firn
import FirnTestSupport
import Foundation
import Testing

class CatBetween: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted(indexed: true) var name = "unnamed"
    @Persisted var kind = 7
    @Persisted var weight = 4.5
    @Persisted var friends: List<CatBetween>
    @Persisted var toy: Toy?
    @Persisted(originProperty: "friends") var admirers: LinkingObjects<CatBetween>
    override class func _realmObjectName() -> String? { "Cat" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class Toy: Object {
    @Persisted var name = ""
    @Persisted(originProperty: "toy") var cats: LinkingObjects<CatBetween>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// The past is seen through the current classes.
@Suite(.timeLimit(.minutes(20))) struct PastClassesTests {
    private let folder = TemporaryFolder()

    private func open(_ types: [ObjectBase.Type], _ version: UInt64) throws -> Realm {
        var configuration = Realm.Configuration(
            fileURL: URL(fileURLWithPath: folder.path).appendingPathComponent("cats.firn"), schemaVersion: version,
            objectTypes: types)
        configuration.historyRetention = .everything
        return try Realm(configuration: configuration)
    }

    /// Makes three versions of the oldest class; returns the number of the last one.
    private func fill() throws -> UInt64 {
        let realm = try open([CatBefore.self], 0)
        try realm.write { realm.create(CatBefore.self, value: ["id": 1, "name": "Tom", "gone": 9, "kind": 3]) }
        try realm.write { realm.create(CatBefore.self, value: ["id": 2]) }
        return realm.versions.last!.number
    }

    @Test func aPropertyAddedLaterIsBlankAndAClassAddedLaterIsEmpty() throws {
        let number = try fill()
        let realm = try open([CatBetween.self, Toy.self], 1)
        try realm.write {
            realm.objects(CatBetween.self)[0].weight = 5
            realm.objects(CatBetween.self)[0].toy = Toy(value: ["name": "ball"])
            realm.objects(CatBetween.self)[0].friends.append(realm.objects(CatBetween.self)[1])
        }
        let past = try realm.asOf(version: number)
        let cats = past.objects(CatBetween.self)
        #expect(cats.map(\.name) == ["Tom", ""] && cats.map(\.kind) == [3, 7])
        #expect(cats.allSatisfy { $0.weight == 0 && $0.friends.isEmpty && $0.toy == nil && $0.admirers.isEmpty })
        // By an index that was added later, and along links that did not exist.
        #expect(cats.where { $0.name == "Tom" }.count == 1 && cats.where { $0.toy.name == "ball" }.isEmpty)
        #expect(cats.where { $0.weight > 0 }.isEmpty && cats.where { $0.weight == 0 }.count == 2)
        #expect(past.objects(Toy.self).isEmpty && past.objects(Toy.self).where { $0.name == "" }.isEmpty)
        #expect(past.objects(Toy.self).filter("ANY cats.name == 'Tom'").isEmpty)
        #expect(past.object(ofType: CatBetween.self, forPrimaryKey: 2)?.thaw()?.admirers.count == 1)
        for version in realm.versions where version.number < number {
            let early = try realm.asOf(version: version.number)
            #expect(early.objects(CatBetween.self).count == Int(max(version.number, 1)) - 1)
            #expect(early.objects(CatBetween.self).where { $0.name == "Tom" }.count == (version.number > 1 ? 1 : 0))
            #expect(early.objects(Toy.self).isEmpty && early.object(ofType: CatBetween.self, forPrimaryKey: 3) == nil)
        }
        // Across the migration: a value that was converted from nil is no change, a value that was set since is one.
        let changes = try realm.changes(from: number, to: realm.versions.last!.number)
        #expect(
            changes.map(\.objectType) == ["Cat", "Toy"]
                && changes[0].properties.map(\.name) == ["weight", "friends", "toy"])
        let states = try realm.objects(CatBetween.self)[0].history()
        #expect(states.map(\.object.weight) == [0, 5] && states[0].version == 2)
    }

    @Test func aPropertyThatHadAnotherTypeIsRefusedWithItsName() throws {
        let number = try fill()
        let realm = try open([CatAfter.self], 1)
        try realm.write { realm.objects(CatAfter.self)[0].added = 1 }
        let newest = realm.versions.last!.number
        let error = #expect(throws: Realm.Error.self) { try realm.asOf(version: number) }
        #expect(error == .schemaMismatch)
        for part in ["Version \(number)", "\"Cat.kind\" was int at that version", "string", "cats.firn"] {
            #expect(error?.description.contains(part) == true, "\(String(describing: error))")
        }
        #expect(throws: Realm.Error.schemaMismatch) { try realm.changes(from: number, to: newest) }
        #expect(throws: Realm.Error.schemaMismatch) { try realm.objects(CatAfter.self)[0].history() }
        #expect(try realm.asOf(version: newest - 1).objects(CatAfter.self).count == 2)
        #expect(try realm.asOf(version: 0).isEmpty)
    }
}
