import Firn
import FirnTestSupport
import Foundation
import Testing

// Forms of the classes House, Room and Lamp, which one store has in turn.

private class HouseOfLinks: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var hall: FreeRoom?
    @Persisted var cellar: FreeRoom?
    @Persisted var rooms: List<FreeRoom>
    @Persisted var byName: Map<String, FreeRoom?>
    override class func _realmObjectName() -> String? { "House" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class FreeRoom: Object {
    @Persisted var name = ""
    @Persisted var lamp: FreeLamp?
    override class func _realmObjectName() -> String? { "Room" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class FreeLamp: Object {
    @Persisted(primaryKey: true) var watts: Int
    override class func _realmObjectName() -> String? { "Lamp" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class House: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var hall: Room?
    @Persisted var rooms: List<Room>
    @Persisted var byName: Map<String, Room?>
    override class func _realmObjectName() -> String? { "House" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Room: EmbeddedObject {
    @Persisted var title = "untitled"
    @Persisted var floor = 0
    @Persisted var lamp: RoomLamp?
    override class func _realmObjectName() -> String? { "Room" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class RoomLamp: EmbeddedObject {
    @Persisted var watts: Int
    override class func _realmObjectName() -> String? { "Lamp" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Migrations that make classes embedded whose objects were shared: each parent gets an object of its own.
@Suite(.timeLimit(.minutes(20))) struct BecomingEmbeddedTests {
    private let folder = TemporaryFolder()
    private var url: URL { URL(filePath: folder.path + "/h.firn") }

    private func openFree() throws -> Realm {
        try Realm(
            configuration: .init(
                fileURL: url, schemaVersion: 0, objectTypes: [HouseOfLinks.self, FreeRoom.self, FreeLamp.self]))
    }

    /// Opens the store with the embedded classes. The rooms' names become titles.
    private func migrate(_ body: @escaping @Sendable (Migration) -> Void) throws -> Realm {
        try Realm(
            configuration: .init(
                fileURL: url, schemaVersion: 1,
                migrationBlock: { migration, _ in
                    migration.renameProperty(onType: "Room", from: "name", to: "title")
                    body(migration)
                }, objectTypes: [House.self, Room.self, RoomLamp.self]))
    }

    private func fill(_ body: (Realm) -> Void) throws {
        let realm = try openFree()
        try realm.write { body(realm) }
    }

    private func rooms(_ realm: Realm) -> [String] {
        realm.objects(House.self).sorted(by: \.id).flatMap { house -> [String] in
            let named = house.byName.sorted { $0.key < $1.key }.compactMap(\.value)
            return ([house.hall].compactMap { $0 } + Array(house.rooms) + named).map {
                "\(house.id):\($0.title)/\($0.floor)/\($0.lamp?.watts ?? -1)"
            }
        }
    }

    /// Two houses share a room and its lamp; the lamp of another room is that one, too.
    private func fillShared() throws {
        try fill { realm in
            let lamp = realm.create(FreeLamp.self, value: ["watts": 60])
            let room = realm.create(FreeRoom.self, value: ["name": "red", "lamp": lamp] as [String: Any])
            let blue = realm.create(FreeRoom.self, value: ["name": "blue", "lamp": lamp] as [String: Any])
            for id in 1...2 {
                realm.create(
                    HouseOfLinks.self,
                    value: [
                        "id": id, "hall": room, "rooms": [room, blue, room], "byName": ["r": room, "n": nil],
                    ] as [String: Any])
            }
        }
    }

    @Test func eachParentGetsACopyOfWhatItIsGiven() throws {
        try fillShared()
        let realm = try migrate { migration in
            migration.enumerateObjects(ofType: "House") { old, new in
                guard let old, let new else { return }
                for name in ["hall", "rooms", "byName"] { new[name] = old[name] }
                // What is changed now is this parent's own.
                (new["hall"] as? MigrationObject)?["floor"] = new["id"]
            }
        }
        #expect(
            rooms(realm) == [
                "1:red/1/60", "1:red/0/60", "1:blue/0/60", "1:red/0/60", "1:red/0/60", "2:red/2/60", "2:red/0/60",
                "2:blue/0/60", "2:red/0/60", "2:red/0/60",
            ])
        #expect(realm.countEmbedded(Room.self) == 10 && realm.countEmbedded(RoomLamp.self) == 10)
        #expect(realm.objects(House.self)[0].byName["n"] == .some(nil))
        try realm.write { realm.delete(realm.objects(House.self)[0]) }
        #expect(realm.countEmbedded(Room.self) == 5 && realm.countEmbedded(RoomLamp.self) == 5)
    }

    /// A program that copies, and then deletes what it has copied.
    @Test func theCopiesStayWhenTheBlockDeletesTheObjects() throws {
        try fillShared()
        let realm = try migrate { migration in
            migration.enumerateObjects(ofType: "House") { old, new in
                new?["hall"] = old?["hall"]
                new?["rooms"] = old?["rooms"]
                new?["byName"] = nil
            }
            migration.enumerateObjects(ofType: "Room") { _, new in if let new { migration.delete(new) } }
            migration.enumerateObjects(ofType: "Lamp") { _, new in if let new { migration.delete(new) } }
        }
        #expect(rooms(realm).filter { $0.hasPrefix("2") } == ["2:red/0/60", "2:red/0/60", "2:blue/0/60", "2:red/0/60"])
        #expect(realm.countEmbedded(Room.self) == 8 && realm.countEmbedded(RoomLamp.self) == 8)
    }

    @Test func newParentsAndListsGetCopies() throws {
        try fill { realm in
            let room = realm.create(FreeRoom.self, value: ["name": "red", "lamp": ["watts": 5]] as [String: Any])
            realm.create(HouseOfLinks.self, value: ["id": 1, "hall": room] as [String: Any])
        }
        let realm = try migrate { migration in
            migration.enumerateObjects(ofType: "House") { old, new in
                guard let old, let new else { return }
                migration.create("House", value: ["id": 2, "hall": old["hall"], "rooms": [old["hall"], new["hall"]]])
                new.dynamicList("rooms").append(new["hall"] as! MigrationObject)
                new.dynamicList("rooms").append(old["hall"] as! MigrationObject)
                // A link that is set to what it leads to keeps it.
                new["hall"] = new["hall"]
            }
        }
        #expect(
            rooms(realm) == [
                "1:red/0/5", "1:red/0/5", "1:red/0/5", "2:red/0/5", "2:red/0/5", "2:red/0/5",
            ])
        #expect(realm.countEmbedded(Room.self) == 6 && realm.countEmbedded(RoomLamp.self) == 6)
    }

    /// The link's own property goes with the migration.
    @Test func whatIsMovedToAnotherPropertyStays() throws {
        try fill { realm in
            let room = realm.create(FreeRoom.self, value: ["name": "coal", "lamp": ["watts": 5]] as [String: Any])
            for id in 1...2 { realm.create(HouseOfLinks.self, value: ["id": id, "cellar": room] as [String: Any]) }
        }
        let realm = try migrate { migration in
            migration.enumerateObjects(ofType: "House") { old, new in new?["hall"] = old?["cellar"] }
        }
        #expect(rooms(realm) == ["1:coal/0/5", "2:coal/0/5"])
        #expect(realm.countEmbedded(Room.self) == 2 && realm.countEmbedded(RoomLamp.self) == 2)
    }

    /// As an embedded object that loses its parent is deleted. What another parent has as well stays.
    @Test func whatLosesItsLastParentInTheBlockIsDeleted() throws {
        try fill { realm in
            let lamp = realm.create(FreeLamp.self, value: ["watts": 60])
            let room = realm.create(FreeRoom.self, value: ["name": "red", "lamp": lamp] as [String: Any])
            realm.create(HouseOfLinks.self, value: ["id": 1, "hall": room] as [String: Any])
            realm.create(
                HouseOfLinks.self, value: ["id": 2, "hall": ["name": "old", "lamp": ["watts": 7]]] as [String: Any])
            realm.create(
                HouseOfLinks.self, value: ["id": 3, "hall": ["name": "gone", "lamp": lamp]] as [String: Any])
        }
        let realm = try migrate { migration in
            migration.enumerateObjects(ofType: "House") { old, new in
                guard let old, let new else { return }
                if old["id"] as? Int == 2 { new["hall"] = ["title": "new"] }
                if old["id"] as? Int == 3 { migration.delete(new) }
            }
        }
        #expect(rooms(realm) == ["1:red/0/60", "2:new/0/-1"])
        #expect(realm.countEmbedded(Room.self) == 2 && realm.countEmbedded(RoomLamp.self) == 1)
    }

    @Test func whatHasNoParentOrSeveralIsNamed() throws {
        try fill { realm in
            let room = realm.create(FreeRoom.self, value: ["name": "red"])
            for id in 1...2 { realm.create(HouseOfLinks.self, value: ["id": id, "hall": room] as [String: Any]) }
            realm.create(FreeRoom.self, value: ["name": "nowhere"])
            for watts in 1...7 { realm.create(FreeLamp.self, value: ["watts": watts * 10]) }
            realm.create(HouseOfLinks.self, value: ["id": 3, "cellar": ["name": "coal"]] as [String: Any])
        }
        let error = try #require(throws: Realm.Error.self) { _ = try migrate { _ in } }
        #expect(error.code == .schemaMismatch)
        for text in [
            #""Room" is an embedded class now: 3 of its objects are not linked to by exactly one property of one object: object 0 (title: "red") by 2, object 1 (title: "nowhere") by none, object 2 (title: "coal") by none. In a migrationBlock, give each object one parent, or delete it."#,
            #""Lamp" is an embedded class now: 7 of its objects are not linked to by exactly one property of one object: object 0 (watts: 10) by none,"#,
            "object 4 (watts: 50) by none, …. In a migrationBlock",
        ] { #expect(error.message.contains(text), "\(error.message)") }
        // Nothing was changed.
        #expect(try openFree().objects(FreeLamp.self).count == 7)
    }

    /// Long lists that are moved are deleted in one pass, not once for each element.
    @Test func aLongListIsMoved() throws {
        try fill { realm in
            let house = realm.create(HouseOfLinks.self, value: ["id": 1])
            for number in 0..<20_000 { house.rooms.append(FreeRoom(value: ["name": "\(number)"])) }
        }
        let realm = try migrate { migration in
            migration.enumerateObjects(ofType: "House") { old, new in
                new?["rooms"] = Array(old!.dynamicList("rooms").reversed())
            }
        }
        let house = realm.objects(House.self)[0]
        #expect(house.rooms.count == 20_000 && house.rooms[0].title == "19999")
        #expect(realm.countEmbedded(Room.self) == 20_000)
    }
}
