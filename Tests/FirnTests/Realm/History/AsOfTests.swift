import Firn
import FirnTestSupport
import Foundation
import Testing

/// `Realm.versions` and `Realm.asOf`.
@Suite(.timeLimit(.minutes(20))) struct AsOfTests {
    @Test func everyPastVersionEqualsWhatWasFrozenThen() throws {
        let music = try Music(seed: 1)
        var dumps: [UInt64: [String: [String: String]]] = [:]
        while dumps.count < 220 {
            try music.transact()
            dumps[music.version] = dump(music.realm.freeze())
            // Neither a checkpoint that replaces the log nor a rewritten one changes the past.
            if dumps.count % 30 == 7 { try music.realm.compact() }
        }
        let versions = music.realm.versions
        #expect(versions.map(\.number) == Array(0...versions.last!.number))
        #expect(
            versions.dropFirst().allSatisfy { $0.size > 0 } && versions.map(\.date) == versions.map(\.date).sorted())
        for _ in 0..<200 {
            let number = versions[2 + music.below(versions.count - 2)].number
            let past = try music.realm.asOf(version: number)
            #expect(past.isFrozen && dump(past) == dumps[number], "version \(number)")
        }
        // Every version is found by its date.
        for version in versions where version.number % 17 == 3 {
            #expect(
                dump(try music.realm.asOf(date: version.date)) == dumps[version.number], "version \(version.number)")
        }
        #expect(music.realm.activeVersions.count == 1)
    }

    @Test func openingAHeldVersionReturnsThatVersion() throws {
        let music = try Music(seed: 2, retention: .none)
        for _ in 0..<5 { try music.transact() }
        let frozen = music.realm.freeze()
        let number = music.version
        for _ in 0..<5 { try music.transact() }
        #expect(try music.realm.asOf(version: number) == frozen)
        #expect(try music.realm.asOf(version: music.version) == music.realm.freeze())
        #expect(music.realm.versions.map(\.number) == [number, music.version])
        #expect(try music.realm.asOf(date: .distantFuture) == music.realm.freeze())
    }

    @Test func aPastRealmIsFrozenAndThawsToTheLiveOne() throws {
        let music = try Music(seed: 3)
        let realm = music.realm
        try realm.write {
            realm.add(Track(value: ["id": 1, "title": "a", "tags": ["x"]]))
            realm.add(Track(value: ["id": 2, "title": "b"]))
        }
        let number = music.version
        try realm.write {
            realm.objects(Track.self)[0].title = "c"
            realm.objects(Track.self)[0].tags.append("y")
            realm.delete(realm.objects(Track.self)[1])
        }
        for _ in 0..<3 { try realm.write { realm.objects(Track.self)[0].plays += 1 } }
        let past = try realm.asOf(version: number)
        #expect(past.isFrozen && past.freeze() == past && past.thaw() == realm && past != realm)
        let tracks = past.objects(Track.self)
        #expect(tracks.isFrozen && tracks.count == 2 && tracks.thaw()?.count == 1)
        let (first, second) = (tracks[0], tracks[1])
        #expect(first.title == "a" && first.thaw()?.title == "c" && second.thaw() == nil && first.freeze() === first)
        #expect(first.tags.count == 1 && first.tags.thaw()?.count == 2 && first.realm == past)
        #expect(tracks.where { $0.title == "a" }.first?.thaw()?.plays == 3)
        #expect(tracks.sum(ofProperty: "plays") == 0)
        // A past realm keeps what it shows, on any thread, after the live realm has advanced.
        nonisolated(unsafe) let shared = tracks
        let group = DispatchGroup()
        for _ in 0..<3 {
            group.enter()
            Thread {
                for _ in 0..<50 { #expect(shared.map(\.title) == ["a", "b"] && shared[0].tags.first == "x") }
                group.leave()
            }.start()
        }
        try #require(group.wait(timeout: .testTimeout) == .success, "a thread hangs")
        // A past realm can open any version of the store.
        #expect(try past.asOf(version: music.version) == realm.freeze())
        #expect(past.versions.last?.number == music.version)
    }

    /// A frozen realm begins no write (SEMANTICS 20).
    @Test func writingToAPastRealmStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let music = try Music(seed: 4)
            for _ in 0..<4 { try music.transact() }
            try music.realm.asOf(version: 2).write {}
        }
        expectMessage(result, "a frozen realm can't be written")
    }

    @Test func writingAPastObjectStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let music = try Music(seed: 4)
            try music.realm.write { music.realm.add(Track(value: ["id": 1])) }
            let number = music.version
            try music.realm.write { music.realm.objects(Track.self)[0].plays = 1 }
            try music.realm.asOf(version: number).objects(Track.self)[0].plays = 2
        }
        expectMessage(result, "it is frozen")
    }

    @Test func versionsThatCannotBeOpenedAreRefusedWithAReason() throws {
        let music = try Music(seed: 5, retention: .versions(3))
        for _ in 0..<10 { try music.transact() }
        let realm = music.realm
        let newest = music.version
        #expect(realm.versions.map(\.number) == [newest - 2, newest - 1, newest])
        func message(_ code: Realm.Error, _ body: () throws -> Realm) -> String {
            let error = #expect(throws: Realm.Error.self) { _ = try body() }
            #expect(error == code, "\(String(describing: error))")
            return error?.description ?? ""
        }
        let refused = message(.versionNotRetained) { try realm.asOf(version: 2) }
        for part in [
            "version 2 is not retained", "versions \(newest - 2) to \(newest)", "historyRetention", "music.firn",
        ] {
            #expect(refused.contains(part), "\(refused)")
        }
        _ = message(.versionNotRetained) { try realm.asOf(version: 0) }
        let future = message(.invalidInput) { try realm.asOf(version: newest + 1) }
        #expect(future.contains("no version \(newest + 1) yet"))
        _ = message(.invalidInput) { try realm.asOf(version: .max) }
        let early = message(.versionNotRetained) { try realm.asOf(date: .distantPast) }
        #expect(early.contains("\(newest - 2)"), "\(early)")
        for odd in [.nan, -.infinity, -1e300] as [Double] {
            _ = message(.versionNotRetained) { try realm.asOf(date: Date(timeIntervalSince1970: odd)) }
        }
        #expect(try realm.asOf(date: Date(timeIntervalSince1970: .infinity)) == realm.freeze())
        #expect(throws: Realm.Error.versionNotRetained) { try realm.changes(from: 1, to: newest) }
        #expect(throws: Realm.Error.invalidInput) { try realm.changes(from: newest, to: newest + 1) }
        #expect(throws: Realm.Error.versionNotRetained) { try realm.changes(from: 2, to: 2) }
    }

    @Test func aRealmInMemoryThrowsThatItKeepsNoHistory() throws {
        var configuration = Realm.Configuration(
            inMemoryIdentifier: UUID().uuidString, objectTypes: [Track.self, Album.self])
        configuration.historyRetention = .everything
        let realm = try Realm(configuration: configuration)
        let track = Track(value: ["id": 1])
        try realm.write { realm.add(track) }
        let frozen = realm.freeze()
        let first = realm.versions.last!.number
        try realm.write { track.plays = 1 }
        try realm.write { track.plays = 2 }
        let newest = realm.versions.last!.number
        #expect(realm.versions.map(\.number) == [first, newest] && realm.versions.allSatisfy { $0.size == 0 })
        #expect(try realm.asOf(version: first) == frozen)
        let changes = try realm.changes(from: first, to: newest)
        #expect(changes.count == 1 && changes[0].properties.map(\.name) == ["plays"])
        let error = #expect(throws: Realm.Error.self) { try realm.asOf(version: newest - 1) }
        #expect(error == .versionNotRetained && error?.description.contains("in memory") == true)
        #expect(throws: Realm.Error.versionNotRetained) { try realm.asOf(date: .distantPast) }
        #expect(throws: Realm.Error.versionNotRetained) { try track.history() }
    }

    @Test func retentionIsCheckedAtOpeningAndSettingsAreCombined() throws {
        let music = try Music(seed: 6, retention: .none)
        for _ in 0..<4 { try music.transact() }
        for retention in [.versions(0), .versions(-1), .age(0), .age(-1), .age(.nan)]
            as [Realm.Configuration.HistoryRetention]
        {
            var bad = music.configuration
            bad.historyRetention = retention
            let error = #expect(throws: Realm.Error.self) { _ = try Realm(configuration: bad) }
            #expect(error == .invalidInput && error?.message.contains("historyRetention") == true)
        }
        #expect(music.realm.versions.count == 1)
        var more = music.configuration
        more.historyRetention = .versions(2)
        let other = try Realm(configuration: more)
        #expect(music.realm.versions.count == 2 && other.versions.count == 2)
        more.historyRetention = .age(.infinity)
        #expect(try Realm(configuration: more).versions.count == Int(music.version) + 1)
        #expect(more != music.configuration && "\(more)".contains("historyRetention"))
    }

    @Test func aReadOnlyRealmOpensPastVersions() throws {
        let music = try Music(seed: 7)
        func write() throws -> (UInt64, [String: [String: String]]) {
            let writer = try Music(seed: 8)
            for _ in 0..<20 { try writer.transact() }
            let number = writer.version
            let then = dump(writer.realm.freeze())
            for _ in 0..<20 { try writer.transact() }
            music.configuration.fileURL = URL(fileURLWithPath: music.folder.path).appendingPathComponent("copy.firn")
            try FileManager.default.copyItem(at: writer.configuration.fileURL!, to: music.configuration.fileURL!)
            return (number, then)
        }
        let (number, then) = try write()
        music.configuration.readOnly = true
        let realm = try Realm(configuration: music.configuration)
        #expect(dump(try realm.asOf(version: number)) == then)
        #expect(try realm.changes(from: number, to: realm.versions.last!.number).count > 0)
    }
}
