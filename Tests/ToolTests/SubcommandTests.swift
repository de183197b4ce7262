import FirnCore
import FirnLog
import FirnStorage
import Testing

@testable import FirnTool

@Suite("What the subcommands show of an intact store", .timeLimit(.minutes(20))) struct SubcommandTests {
    @Test("verify finds nothing in a store that Firn wrote") func verifyIsClean() throws {
        let run = try Run.verify(SampleStore().storage)
        #expect(run.status == .fine, "\(run.out)\(run.error)")
        #expect(run.out.hasPrefix("no damage"))
    }

    @Test("log lists each version with its counts") func log() throws {
        let sample = try SampleStore()
        let run = try Run.log(sample.storage)
        #expect(run.status == .fine, "\(run.error)")
        let lines = run.out.split(separator: "\n")
        #expect(lines.count == 5)
        #expect(lines[0].contains("schema"))
        #expect(lines[1].contains("Person +2, Dog +1"))
        #expect(lines[2].contains("Person ~2"))
        #expect(lines[3].contains("Person ~1"))
        #expect(lines[4].contains("Dog -1"))
        #expect(lines[0].hasPrefix("1  2023-11-14T22:13:21.500Z  "), "\(lines[0])")
        let some = try Run.log(sample.storage, from: 2, to: 3)
        #expect(some.out.split(separator: "\n").map { $0.first } == ["2", "3"])
        #expect(try Run.log(sample.storage, from: 77).status == .usage)
    }

    @Test("show names objects, and gives old and new values") func show() throws {
        let sample = try SampleStore()
        let inserted = try Run.show(sample.storage, 2)
        #expect(inserted.status == .fine, "\(inserted.error)")
        for text in [
            "+ Person #0 \"Anna\"", "age: 41", #"notes: "likes \"snow\"\nand Öl""#, "notes: nil",
            #"tags: ["tag 0", "tag 1", "tag 2", "tag 3", "tag 4"]"#, "born: 1970-01-02T00:00:00.000000005Z",
            "weight: 61.5", "(3000 B)", "+ Dog #0", "owner: #0", "id: 00112233-4455-6677-8899-AABBCCDDEEFF",
            "number: 0102030405060708090a0b0c", "price: 19.95", "isGood: true",
        ] { #expect(inserted.out.contains(text), "\(text) is missing in \(inserted.out)") }
        let updated = try Run.show(sample.storage, 3)
        #expect(updated.out.contains("~ Person #0 \"Anna\"\n    age: 41 -> 42"), "\(updated.out)")
        #expect(updated.out.contains("age: -7, assigned again"))
        let json = try Run.show(sample.storage, 3, json: true)
        #expect(json.out.contains(#""new":-7,"unchanged":true"#), "\(json.out)")
        #expect(updated.out.contains("notes: nil -> \"was nil\""))
        let edited = try Run.show(sample.storage, 4)
        #expect(edited.out.contains("insert at 0: \"first\""), "\(edited.out)")
        #expect(edited.out.contains("remove at 3: \"tag 2\""))
        #expect(edited.out.contains("replace at 1: \"tag 0\" -> \"set\""))
        #expect(edited.out.contains("move 0 -> 4"))
        let deleted = try Run.show(sample.storage, 5)
        #expect(deleted.out.contains("- Dog #0\n    name: \"Rex\""), "\(deleted.out)")
        #expect(try Run.show(sample.storage, 6).status == .usage)
        #expect(try Run.show(sample.storage, 0).status == .usage)
    }

    @Test("show gives complete values as JSON") func showJSON() throws {
        let run = try Run.show(SampleStore().storage, 2, json: true)
        #expect(run.out.contains(#""name":"notes","new":"likes \"snow\"\nand Öl""#), "\(run.out)")
        #expect(run.out.contains(#""name":"photo","new":"BwcH"#))
        #expect(run.out.split(separator: "\n").count == 4)
    }

    @Test("info counts the objects of each class") func info() throws {
        let sample = try SampleStore()
        let run = try Run.info(sample.storage)
        #expect(run.status == .fine, "\(run.error)")
        #expect(run.out.contains("Person  2 objects"), "\(run.out)")
        #expect(run.out.contains("Dog  0 objects"))
        #expect(run.out.contains("name: string, primary key"))
        #expect(run.out.contains("dogs: list of Dog"))
        #expect(run.out.contains("last version  5, 2023-11-14T22:13:27.500Z"))
        #expect(!run.out.contains("clock"))
        let ahead = sample.clock.now() - 90_000_000_000
        let behind = try Run {
            try InfoCommand.run(SampleStore.path, json: false, storage: sample.storage, now: ahead, $0)
        }
        #expect(behind.out.contains("clock         90 s behind the last version's time"), "\(behind.out)")
        let json = try Run.info(sample.storage, json: true)
        #expect(
            json.out.contains(#""lastVersion":5"#)
                && json.out.contains(#""name":"Person","embedded":false,"objects":2"#))
    }

    @Test("replay makes a store that Firn opens and that ends with the version", arguments: [1, 3, 200] as [UInt64])
    func replay(version: UInt64) throws {
        let sample = try SampleStore(more: 300, segmentByteCount: 8192)
        #expect(try sample.files().count > 4)
        let run = try Run.replay(sample.storage, to: version)
        #expect(run.status == .fine, "\(run.error)")
        let checked = try Run.verify(sample.storage, path: "/new")
        #expect(checked.status == .fine, "\(checked.out)")
        var options = LogOptions(folder: "/new", verify: .everything)
        options.usesThreads = false
        let store = try Store(StoreOptions(log: options), storage: sample.storage, clock: sample.clock)
        #expect(store.recovery?.outcome == .clean)
        #expect(store.recovery?.lastVersion == version)
        #expect(store.recovery?.rewrittenCommits == 0)
        #expect(store.schema.tables.count == 2)
        #expect(store.pin().snapshot.table(SampleStore.person).count == (version == 1 ? 0 : 2))
        try store.close()
        #expect(try Run.replay(sample.storage, to: version).status == .usage)
        #expect(try Run.replay(sample.storage, to: 999, output: "/other").status == .usage)
        #expect(try sample.storage.status("/other") == nil)
    }

    @Test("a replayed store rolls to new segments, each with the schema in force") func replayRolls() throws {
        let sample = try SampleStore(more: 20)
        var maker = try StoreMaker(
            "/rolled", storage: sample.storage, storeHigh: 5, storeLow: 6, created: 7, segmentByteCount: 1024)
        let store = try OpenedStore.open(SampleStore.path, storage: sample.storage)
        _ = try LogWalk(store: store).run { event in
            if case .frame(let frame, let payload, _) = event, frame.kind.isPart { try maker.add(frame, payload) }
            return true
        }
        try maker.finish(version: sample.lastVersion)
        #expect(maker.manifest.segments.count > 3)
        let run = try Run.verify(sample.storage, path: "/rolled")
        #expect(run.status == .fine, "\(run.out)")
        var options = LogOptions(folder: "/rolled", verify: .everything)
        options.usesThreads = false
        let opened = try Store(StoreOptions(log: options), storage: sample.storage, clock: sample.clock)
        #expect(opened.recovery?.lastVersion == sample.lastVersion)
        #expect(opened.pin().snapshot.table(SampleStore.person).count == 2)
        try opened.close()
    }

    @Test("a store that is being written is read up to what is published") func inUse() throws {
        let sample = try SampleStore()
        let store = try sample.open()
        let transaction = try store.beginWrite()
        transaction.set(SampleStore.person, column: 1, key: 0, to: .int(50))
        try transaction.commit()
        let next = try store.beginWrite()
        next.set(SampleStore.person, column: 1, key: 0, to: .int(51))
        _ = try next.commitWithoutWaiting()  // in the log, not published
        let info = try Run.info(sample.storage)
        #expect(info.out.contains("open for writing"), "\(info.out)")
        #expect(info.out.contains("last version  6"), "\(info.out)")
        #expect(info.out.contains("  process \(currentProcessID())  since 20"), "\(info.out)")
        #expect(try Run.log(sample.storage).out.split(separator: "\n").count == 6)
        #expect(try Run.verify(sample.storage).status == .fine)
        #expect(try Run.show(sample.storage, 7).status == .usage)
        #expect(try Run.replay(sample.storage, to: 6).status == .fine)
        try store.close()
        #expect(try Run.log(sample.storage).out.split(separator: "\n").count == 7)
    }
}
