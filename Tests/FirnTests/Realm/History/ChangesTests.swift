import Firn
import Foundation
import Testing

/// `Realm.changes(from:to:)`.
@Suite(.timeLimit(.minutes(20))) struct ChangesTests {
    /// A change as text: kind, object, and each property with its values.
    private func texts(_ changes: [Realm.Change]) -> [String] {
        changes.map { change in
            let properties = change.properties.map { "\($0.name): \(text($0.oldValue)) -> \(text($0.newValue))" }
            return "\(change.kind) \(change.objectType) \(text(change.primaryKey)) \(properties)"
        }
    }

    /// The same texts by comparing two realms object by object, in no order.
    private func compared(_ old: Realm, _ new: Realm) -> [String] {
        func objects(_ realm: Realm) -> [String: (type: String, key: String, object: Object)] {
            var result: [String: (String, String, Object)] = [:]
            for track in realm.objects(Track.self) { result["Track \(track.id)"] = ("Track", "\(track.id)", track) }
            for album in realm.objects(Album.self) { result["Album \(album.name)"] = ("Album", album.name, album) }
            return result
        }
        let (before, after) = (objects(old), objects(new))
        var result: [String] = []
        for name in Set(before.keys).union(after.keys) {
            let (was, isNow) = (before[name], after[name])
            guard let some = isNow ?? was else { continue }
            let (a, b) = (was.map { state($0.object) } ?? [:], isNow.map { state($0.object) } ?? [:])
            let kind = was == nil ? "inserted" : isNow == nil ? "deleted" : "modified"
            let names = some.object.objectSchema.properties.filter { $0.type != .linkingObjects }.map(\.name)
            let properties = names.filter { a[$0] != b[$0] || kind != "modified" }
                .map { "\($0): \(a[$0] ?? "nil") -> \(b[$0] ?? "nil")" }
            if properties.isEmpty { continue }
            result.append("\(kind) \(some.type) \(some.key) \(properties)")
        }
        return result
    }

    @Test func changesBetweenAnyTwoVersionsAgreeWithAComparison() throws {
        let music = try Music(seed: 20)
        for _ in 0..<120 { try music.transact() }
        let newest = Int(music.version)
        for round in 0..<60 {
            let (a, b) = (UInt64(music.below(newest + 1)), UInt64(music.below(newest + 1)))
            let changes = try music.realm.changes(from: a, to: b)
            let expected = compared(try music.realm.asOf(version: a), try music.realm.asOf(version: b))
            #expect(texts(changes).sorted() == expected.sorted(), "from \(a) to \(b)")
            // Always in the same order: by class, then by age.
            #expect(texts(try music.realm.changes(from: a, to: b)) == texts(changes), "from \(a) to \(b)")
            #expect(changes.map(\.objectType) == changes.map(\.objectType).sorted())
            let ids = changes.filter { $0.objectType == "Track" }.compactMap { $0.primaryKey as? Int }
            #expect(ids == ids.sorted())
            if round % 10 == 0 { #expect(try music.realm.changes(from: a, to: a).isEmpty) }
        }
        #expect(try music.realm.changes(from: 0, to: 1).isEmpty)
    }

    @Test func onlyTheNetEffectIsShown() throws {
        let music = try Music(seed: 21)
        let realm = music.realm
        let track = Track(value: ["id": 1, "title": "a", "tags": ["x"]])
        try realm.write { realm.add(track) }
        let first = music.version
        try realm.write { track.title = "b" }
        try realm.write {
            track.title = "a"
            track.plays = 3
            track.tags.append("y")
        }
        try realm.write { realm.add(Track(value: ["id": 2])) }
        try realm.write {
            track.tags.removeLast()
            realm.delete(realm.object(ofType: Track.self, forPrimaryKey: 2)!)
        }
        // An object that is deleted and created again with the same key is another object.
        try realm.write { realm.add(Album(value: ["name": "A", "year": 1])) }
        let second = music.version
        try realm.write {
            realm.delete(realm.objects(Album.self)[0])
            realm.add(Album(value: ["name": "A", "year": 1]))
        }
        let newest = music.version
        #expect(
            texts(try realm.changes(from: first, to: newest)) == [
                "inserted Album A [\"name: nil -> A\", \"year: nil -> 1\", \"tracks: nil -> []\"]",
                "modified Track 1 [\"plays: 0 -> 3\"]",
            ])
        #expect(
            texts(try realm.changes(from: newest, to: first)) == [
                "deleted Album A [\"name: A -> nil\", \"year: 1 -> nil\", \"tracks: [] -> nil\"]",
                "modified Track 1 [\"plays: 3 -> 0\"]",
            ])
        #expect(try realm.changes(from: second, to: newest).map(\.kind) == [.deleted, .inserted])
        #expect(try realm.changes(from: first, to: first + 1).map(\.properties.count) == [1])
    }

    @Test func linksAndListsAreReadInTheirVersion() throws {
        let music = try Music(seed: 22)
        let realm = music.realm
        let track = Track(value: ["id": 1, "title": "a", "album": ["name": "A"], "tags": ["x"]])
        try realm.write { realm.add(track) }
        let first = music.version
        try realm.write {
            track.tags.insert("y", at: 0)
            realm.delete(track.album!)
            track.album = realm.create(Album.self, value: ["name": "B"])
        }
        let newest = music.version
        try realm.write { realm.deleteAll() }
        let changes = try realm.changes(from: first, to: newest)
        let change = try #require(changes.first { $0.kind == .modified })
        try #require(change.properties.map(\.name) == ["album", "tags"])
        let old = try #require(change.properties[0].oldValue as? Album)
        let new = try #require(change.properties[0].newValue as? Album)
        #expect(old.isFrozen && new.isFrozen && old.name == "A" && new.name == "B" && new.thaw() == nil)
        let (tags, now) = (
            change.properties[1].oldValue as? List<String>, change.properties[1].newValue as? List<String>
        )
        #expect(tags?.isFrozen == true && tags.map(Array.init) == ["x"] && now.map(Array.init) == ["y", "x"])
        #expect(change.primaryKey as? Int == 1 && changes.count == 3)
    }

    @Test func anObjectWithoutAPrimaryKeyIsShownWithoutOne() throws {
        var configuration = Realm.Configuration(
            inMemoryIdentifier: UUID().uuidString, objectTypes: [Dog.self, Person.self])
        configuration.historyRetention = .everything
        let realm = try Realm(configuration: configuration)
        try realm.write { realm.add(Dog(1, "Rex")) }
        let frozen = realm.freeze()
        try realm.write { realm.add(Person(value: ["name": "Ann", "dogs": [[2, "Max"]]])) }
        let numbers = realm.versions.map(\.number)
        let changes = try realm.changes(from: numbers[0], to: numbers[1])
        #expect(changes.map(\.objectType) == ["Dog", "Person"] && changes[1].primaryKey == nil)
        withExtendedLifetime(frozen) {}
    }
}
