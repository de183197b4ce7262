import Firn
import Foundation
import Testing

/// `Object.history()`.
@Suite(.timeLimit(.minutes(20))) struct ObjectHistoryTests {
    @Test func aHistoryHasEveryStateOfTheObject() throws {
        let music = try Music(seed: 30)
        /// The states of each object by version, in order.
        var states: [String: [(version: UInt64, state: [String: String])]] = [:]
        for _ in 0..<150 {
            try music.transact()
            let number = music.version
            for track in music.realm.objects(Track.self) {
                let now = state(track)
                if states["Track \(track.id)"]?.last?.state != now {
                    states["Track \(track.id)", default: []].append((number, now))
                }
            }
            for album in music.realm.objects(Album.self) {
                let now = state(album)
                if states["Album \(album.name)"]?.last?.state != now {
                    states["Album \(album.name)", default: []].append((number, now))
                }
            }
        }
        let dates = Dictionary(uniqueKeysWithValues: music.realm.versions.map { ($0.number, $0.date) })
        func check(_ past: [Past<some Object>], _ name: String) {
            let expected = states[name] ?? []
            #expect(past.map(\.version) == expected.map(\.version), "\(name)")
            #expect(past.map { state($0.object) } == expected.map(\.state), "\(name)")
            #expect(past.allSatisfy { $0.object.isFrozen && $0.date == dates[$0.version] }, "\(name)")
        }
        for track in music.realm.objects(Track.self) { check(try track.history(), "Track \(track.id)") }
        for album in music.realm.objects(Album.self).prefix(5) { check(try album.history(), "Album \(album.name)") }
        #expect(states.values.contains { $0.count > 5 })
        #expect(music.realm.activeVersions.count == 1)
    }

    @Test func theHistoryOfAFrozenObjectEndsAtItsVersion() throws {
        let music = try Music(seed: 31)
        let realm = music.realm
        let track = Track(value: ["id": 1])
        try realm.write { realm.add(track) }
        for plays in 1...4 { try realm.write { track.plays = plays } }
        let frozen = track.freeze()
        for plays in 5...6 { try realm.write { track.plays = plays } }
        #expect(try frozen.history().map(\.object.plays) == [0, 1, 2, 3, 4])
        #expect(try track.history().map(\.object.plays) == [0, 1, 2, 3, 4, 5, 6])
        let past = try track.history()[2]
        #expect(try past.object.history().map(\.object.plays) == [0, 1, 2])
        #expect(past.object.thaw()?.isSameObject(as: track) == true && past.object.realm?.isFrozen == true)
        // An uncommitted change is no state yet, and a new object has none.
        try realm.write {
            track.plays = 9
            let last = try track.history().last
            #expect(last?.object.plays == 6)
            let new = Track(value: ["id": 2])
            realm.add(new)
            let states = try new.history()
            #expect(states.isEmpty)
        }
        #expect(try track.history().last?.object.plays == 9)
    }

    @Test func unretainedVersionsAreOmittedAndTheOldestStateComesFirst() throws {
        let music = try Music(seed: 32, retention: .versions(4))
        let realm = music.realm
        let track = Track(value: ["id": 1])
        try realm.write { realm.add(track) }
        for plays in 1...10 { try realm.write { track.plays = plays } }
        for _ in 0..<2 { try realm.write { realm.add(Track(value: ["id": 10 + Int(music.version)])) } }
        // The last two writes to the object are retained, and two writes to others.
        let past = try track.history()
        #expect(past.map(\.object.plays) == [9, 10])
        #expect(past.map(\.version) == [music.version - 3, music.version - 2])
        let none = try Music(seed: 33, retention: .none)
        let alone = Track(value: ["id": 1])
        try none.realm.write { none.realm.add(alone) }
        try none.realm.write { alone.plays = 1 }
        #expect(try alone.history().map(\.object.plays) == [1])
        #expect(try alone.history().map(\.version) == [none.version])
    }

    @Test func anObjectCreatedAgainWithTheSameKeyHasAHistoryOfItsOwn() throws {
        let music = try Music(seed: 34)
        let realm = music.realm
        for plays in [1, 2] {
            try realm.write {
                realm.delete(realm.objects(Track.self))
                realm.add(Track(value: ["id": 1, "plays": plays * 10]))
            }
            try realm.write { realm.objects(Track.self)[0].plays += 1 }
        }
        #expect(try realm.objects(Track.self)[0].history().map(\.object.plays) == [20, 21])
        let gone = realm.objects(Track.self)[0]
        let number = music.version
        try realm.write { realm.delete(gone) }
        let error = #expect(throws: Realm.Error.self) { try gone.history() }
        #expect(error == .invalidInput && error?.message.contains("asOf") == true)
        let found = try #require(try realm.asOf(version: number).object(ofType: Track.self, forPrimaryKey: 1))
        #expect(try found.history().map(\.object.plays) == [20, 21])
        let unmanaged = #expect(throws: Realm.Error.self) { try Track().history() }
        #expect(unmanaged == .invalidInput && unmanaged?.message.contains("unmanaged") == true)
    }
}
