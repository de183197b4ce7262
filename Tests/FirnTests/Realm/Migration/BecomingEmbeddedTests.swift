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

private class FreeLink: Object {
    @Persisted var name = ""
    @Persisted var next: FreeLink?
    override class func _realmObjectName() -> String? { "Link" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Link: EmbeddedObject {
    @Persisted var name = ""
    @Persisted var next: Link?
    override class func _realmObjectName() -> String? { "Link" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class FreeChain: Object {
    @Persisted var first: FreeLink?
    @Persisted var any: AnyRealmValue
    override class func _realmObjectName() -> String? { "Chain" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Chain: Object {
    @Persisted var first: Link?
    @Persisted var any: AnyRealmValue
    override class func _realmObjectName() -> String? { "Chain" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class DeskOfLinks: Object {
    @Persisted var slip: FreeSlip?
    override class func _realmObjectName() -> String? { "Desk" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class FreeSlip: Object {
    @Persisted var text = ""
    override class func _realmObjectName() -> String? { "Slip" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Desk: Object {
    @Persisted var slip: Slip?
    override class func _realmObjectName() -> String? { "Desk" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Slip: EmbeddedObject {
    @Persisted var words = ""
    override class func _realmObjectName() -> String? { "Slip" }
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

    /// A chain of migrations for several versions may copy a property more than once.
    @Test func copiesThatNoParentHasAnyMoreAreDeleted() throws {
        try fillShared()
        let realm = try migrate { migration in
            for _ in 0..<2 {
                migration.enumerateObjects(ofType: "House") { old, new in
                    guard let old, let new else { return }
                    for name in ["hall", "rooms"] { new[name] = old[name] }
                    new["byName"] = nil
                }
            }
            migration.create("House", value: ["id": 3, "hall": ["title": "short"]])
            migration.enumerateObjects(ofType: "House") { old, new in
                if old?["id"] as? Int == 2 { new?["hall"] = nil }
            }
            migration.enumerateObjects(ofType: "House") { old, _ in
                if let old, old["id"] as? Int == 1 {
                    let copy = migration.create("House", value: ["id": 4, "hall": old["hall"]])
                    migration.delete(copy)
                }
            }
        }
        #expect(
            rooms(realm) == [
                "1:red/0/60", "1:red/0/60", "1:blue/0/60", "1:red/0/60", "2:red/0/60", "2:blue/0/60", "2:red/0/60",
                "3:short/0/-1",
            ])
        #expect(realm.countEmbedded(Room.self) == 8 && realm.countEmbedded(RoomLamp.self) == 7)
    }

    /// The old form shares no property with the new one.
    @Test func anObjectWhosePropertiesAreAllRenamedIsCopied() throws {
        do {
            let realm = try Realm(
                configuration: .init(
                    fileURL: url, schemaVersion: 0, objectTypes: [DeskOfLinks.self, FreeSlip.self]))
            try realm.write { realm.create(DeskOfLinks.self, value: ["slip": ["text": "note"]]) }
        }
        let realm = try Realm(
            configuration: .init(
                fileURL: url, schemaVersion: 1,
                migrationBlock: { migration, _ in
                    migration.renameProperty(onType: "Slip", from: "text", to: "words")
                    migration.enumerateObjects(ofType: "Desk") { old, new in new!["slip"] = old!["slip"] }
                }, objectTypes: [Desk.self, Slip.self]))
        #expect(realm.objects(Desk.self)[0].slip?.words == "note" && realm.countEmbedded(Slip.self) == 1)
    }

    // MARK: Chains

    private func fillChain(_ body: (Realm) -> Void) throws {
        let realm = try Realm(
            configuration: .init(fileURL: url, schemaVersion: 0, objectTypes: [FreeChain.self, FreeLink.self]))
        try realm.write { body(realm) }
    }

    private func migrateChain(_ body: @escaping MigrationBlock = { _, _ in }) throws -> Realm {
        try Realm(
            configuration: .init(
                fileURL: url, schemaVersion: 1, migrationBlock: body, objectTypes: [Chain.self, Link.self]))
    }

    private func expectRefusal(_ text: String, _ body: @escaping MigrationBlock = { _, _ in }) throws {
        let error = try #require(throws: Realm.Error.self) { _ = try migrateChain(body) }
        #expect(error.code == .schemaMismatch && error.message.contains(text), "\(error.message)")
    }

    /// Its copy hangs under itself, so that deleting it would lose both.
    @Test func anObjectIsNotDeletedForACopyThatNoParentHas() throws {
        try fillChain { realm in realm.create(FreeLink.self, value: ["name": "precious"]) }
        try expectRefusal(#"object 0 (name: "precious") by none"#) { migration, _ in
            migration.enumerateObjects(ofType: "Link") { _, new in new!["next"] = new! }
        }
        // Two take copies of each other.
        try fillChain { realm in realm.create(FreeLink.self, value: ["name": "other"]) }
        try expectRefusal(#"object 0 (name: "precious") by none, object 1 (name: "other") by none"#) { migration, _ in
            var links: [MigrationObject] = []
            migration.enumerateObjects(ofType: "Link") { old, _ in links.append(old!) }
            migration.enumerateObjects(ofType: "Link") { old, new in
                new!["next"] = links.first { $0["name"] as? String != old!["name"] as? String }
            }
        }
        let realm = try migrateChain { migration, _ in _ = migration.deleteData(forType: "Link") }
        #expect(realm.countEmbedded(Link.self) == 0)
    }

    /// Each has one parent, but no object of another class leads to them.
    @Test func objectsThatAreOnlyPartsOfThemselvesAreNamed() throws {
        try fillChain { realm in
            let (one, two, three) = (FreeLink(), FreeLink(), FreeLink())
            (one.name, two.name, three.name) = ("one", "two", "three")
            realm.add([one, two, three])
            one.next = two
            two.next = one
            realm.create(FreeChain.self, value: ["first": three])
        }
        try expectRefusal(
            #"2 of its objects are not linked to by exactly one property of one object: object 0 (name: "one") only by its own parts, object 1 (name: "two") only by its own parts."#
        )
        let realm = try migrateChain { migration, _ in
            migration.enumerateObjects(ofType: "Link") { _, new in
                if new!["name"] as? String != "three" { migration.delete(new!) }
            }
        }
        #expect(realm.objects(Chain.self)[0].first?.name == "three" && realm.countEmbedded(Link.self) == 1)
    }

    /// A copy of an object that is a part of itself would have no end.
    @Test(arguments: [1, 2]) func copyingAnObjectIntoItselfIsRefused(count: Int) throws {
        try fillChain { realm in
            let links = ["one", "two"].prefix(count).map { FreeLink(value: ["name": $0]) }
            for (index, link) in links.enumerated() { link.next = links[(index + 1) % count] }
            realm.create(FreeChain.self, value: ["first": links[0]])
        }
        let text =
            #""Link": 1 of its objects is a part of itself, so no parent can have a copy: object 0 (name: "one")."#
        try expectRefusal(text) { migration, _ in
            migration.enumerateObjects(ofType: "Chain") { old, new in new!["first"] = old!["first"] }
        }
        try expectRefusal(text) { migration, _ in
            migration.enumerateObjects(ofType: "Chain") { old, _ in
                migration.create("Chain", value: ["first": old!["first"]])
            }
        }
        let realm = try Realm(
            configuration: .init(fileURL: url, schemaVersion: 0, objectTypes: [FreeChain.self, FreeLink.self]))
        #expect(realm.objects(FreeLink.self).count == count)
    }

    /// A mixed value can't hold an embedded object: it would show nil.
    @Test func objectsInMixedValuesAreNamed() throws {
        try fillChain { realm in
            let link = realm.create(FreeLink.self, value: ["name": "one"])
            let chain = realm.create(FreeChain.self, value: ["first": link])
            chain.any = .object(link)
        }
        try expectRefusal(#"object 0 (name: "one") by one and by Chain.any, a mixed value"#)
        try expectRefusal(#"object 0 (name: "one") by Chain.any"#) { migration, _ in
            migration.enumerateObjects(ofType: "Chain") { _, new in new!["first"] = nil }
        }
        let realm = try migrateChain { migration, _ in
            migration.enumerateObjects(ofType: "Chain") { _, new in new!["any"] = 7 }
        }
        #expect(realm.objects(Chain.self)[0].any == .int(7) && realm.objects(Chain.self)[0].first?.name == "one")
    }

    /// As many objects as this, each the part of the one before, took minutes when each looked at all before it.
    @Test func aLongChainIsCopied() throws {
        try fillChain { realm in
            var first: FreeLink?
            for number in 0..<20_000 {
                let link = FreeLink()
                (link.name, link.next) = ("\(number)", first)
                first = link
            }
            realm.create(FreeChain.self, value: ["first": first])
        }
        let realm = try migrateChain { migration, _ in
            migration.enumerateObjects(ofType: "Chain") { old, _ in
                migration.create("Chain", value: ["first": old!["first"]])
            }
        }
        #expect(realm.countEmbedded(Link.self) == 40_000)
        #expect(Set(realm.objects(Chain.self).map { $0.first?.name }) == ["19999"])
    }
}
