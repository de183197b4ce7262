import Firn
import Foundation
import Testing

enum Gait: String, PersistableEnum { case walk, trot }

/// A class whose own initialiser sets properties before it calls `super.init()`, as RealmSwift allows (SEMANTICS 101).
private class Horse: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String
    @Persisted var height: Double?
    @Persisted(indexed: true) var stall: Int
    @Persisted var born: Date
    @Persisted var chip = UUID()
    @Persisted var gait: Gait
    @Persisted var rival: Horse?
    @Persisted var notes: List<String>
    @Persisted var tack: Tack?
    override class func shouldIncludeInDefaultSchema() -> Bool { false }

    init(_ name: String, id: Int, rival: Horse?) {
        self.name = name
        height = 1.6
        born = Date(timeIntervalSince1970: 5)
        chip = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
        gait = .trot
        self.rival = rival
        tack = Tack(saddle: "black")
        super.init()
        (self.id, stall) = (id, 7)
        notes.append("made")
    }

    required init() { super.init() }
}

private class Tack: EmbeddedObject {
    @Persisted var saddle: String
    override class func shouldIncludeInDefaultSchema() -> Bool { false }

    init(saddle: String) {
        self.saddle = saddle
        super.init()
    }

    required init() { super.init() }
}

@Suite(.timeLimit(.minutes(20))) struct InitialiserTests {
    @Test func propertiesAreSetBeforeTheClassAboveIsInitialised() throws {
        let realm = try memoryRealm([Horse.self, Tack.self])
        let first = Horse("Rih", id: 1, rival: nil)
        #expect(first.name == "Rih" && first.id == 1 && first.height == 1.6 && first.stall == 7 && first.gait == .trot)
        #expect(first.tack?.saddle == "black" && Array(first.notes) == ["made"])
        try realm.write {
            realm.add(first)
            realm.add(Horse("Hatatitla", id: 2, rival: first))
            realm.create(Horse.self, value: ["id": 3])
        }
        let horses = realm.objects(Horse.self)
        #expect(horses.map(\.name) == ["Rih", "Hatatitla", ""] && horses[1].rival?.name == "Rih")
        #expect(horses.where { $0.stall == 7 }.count == 2 && horses[0].born == Date(timeIntervalSince1970: 5))
        #expect(horses[0].chip.uuidString == "01020304-0506-0708-090A-0B0C0D0E0F10" && horses[2].gait == .walk)
        #expect(horses[1].tack?.saddle == "black" && Array(horses[1].notes) == ["made"] && horses[2].tack == nil)
        try realm.write { horses[0].name = "Iltschi" }
        #expect(realm.object(ofType: Horse.self, forPrimaryKey: 1)?.name == "Iltschi")
    }
}
