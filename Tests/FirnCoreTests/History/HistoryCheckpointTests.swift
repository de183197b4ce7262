import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// Past versions of a store that is compacted. The log before a checkpoint goes if nothing retained needs it, and
/// opening a retained version begins from the newest checkpoint that is not after it.
@Suite(.timeLimit(.minutes(20))) struct HistoryCheckpointTests {
    private func run(_ retention: HistoryRetention, _ storage: any Storage) throws -> (StoreScript, Store) {
        let script = StoreScript([.commit(StoreScript.schema), .commit(StoreScript.create(0, 12))]) {
            $0.segmentByteCount = 4096
        }
        var options = StoreOptions(log: script.options)
        options.historyRetention = retention
        options.historyCheckpointByteCount = 8 << 10
        let store = try Store(options, storage: storage, clock: ManualClock())
        for step in script.steps { if case .commit(let body) = step { try script.commit(body, to: store) } }
        for round in 0..<48 {
            let body: StoreScript.Body
            switch round % 6 {
            case 0: body = StoreScript.create(0, 2)
            case 1: body = StoreScript.editLists
            case 2: body = StoreScript.set(0, 3)
            case 3: body = StoreScript.create(1, 1)
            case 4: body = StoreScript.blob(900 + round)
            default: body = StoreScript.delete(0, 1)
            }
            try script.commit(body, to: store)
            if round % 5 == 4 { try store.compact(garbageShare: round % 2 == 0 ? -1 : 10) }
        }
        return (script, store)
    }

    private func check(_ script: StoreScript, _ store: Store, from oldest: UInt64) throws {
        for version in oldest...store.publishedVersion {
            let past = try store.version(version)
            let fault = try #require(script.versions[version]).check(past.pin.snapshot, "version \(version)")
            #expect(fault == nil)
        }
        // In another order, so that the past stores that are kept open don't help.
        for version in (oldest...store.publishedVersion).reversed() where version % 7 == 3 {
            let past = try store.version(version)
            let fault = try #require(script.versions[version]).check(past.pin.snapshot, "version \(version) again")
            #expect(fault == nil)
        }
    }

    @Test func everyRetainedVersionSurvivesCompactions() throws {
        let storage = MemoryStorage()
        let (script, store) = try run(.everything, storage)
        // Several checkpoints are listed, but not one for each compaction.
        let listed = try #require(store.log?.listedCheckpoints)
        #expect(listed.count > 2 && listed.count < 9)
        try check(script, store, from: 1)
        try store.close()
        var options = StoreOptions(log: script.options)
        options.historyRetention = .everything
        let again = try Store(options, storage: storage, clock: ManualClock())
        #expect(again.log?.listedCheckpoints == listed)
        try check(script, again, from: 1)
    }

    @Test func versionsThatAreNotRetainedAreRemovedFromTheDisk() throws {
        let storage = MemoryStorage()
        let (script, store) = try run(.versions(10), storage)
        let first = try #require(try store.log?.firstVersion)
        #expect(first > 20)
        let newest = store.publishedVersion
        try check(script, store, from: newest - 9)
        #expect(throws: StoreError.self) { try store.version(newest - 10) }
        #expect(try store.storedVersions().map(\.number) == Array(newest - 9...newest))
        let (_, none) = try run(.none, MemoryStorage())
        #expect(none.log?.listedCheckpoints.count == 1)
        #expect(try none.storedVersions().map(\.number) == [none.publishedVersion])
    }

    /// Retention begins with a store that was compacted without it: everything from then on is there.
    @Test func historyCanBeginAfterACompaction() throws {
        let storage = MemoryStorage()
        let (script, store) = try run(.none, storage)
        try store.compact()
        let start = store.publishedVersion
        try store.close()
        var options = StoreOptions(log: script.options)
        options.historyRetention = .everything
        let again = try Store(options, storage: storage, clock: ManualClock())
        for round in 0..<12 {
            try script.commit(StoreScript.set(0, 3), to: again)
            if round % 4 == 3 { try again.compact(garbageShare: -1) }
        }
        try check(script, again, from: start)
        #expect(throws: StoreError.self) { try again.version(start - 1) }
    }

    /// The oldest retained version is a checkpoint, the schema grows, and there is nothing before it to replay from.
    @Test(arguments: [false, true]) func aCheckpointIsShownInASchemaThatGrewAfterIt(isConverted: Bool) throws {
        let storage = MemoryStorage()
        let (script, old) = try run(.none, storage)
        try old.compact(garbageShare: -1)
        let start = old.publishedVersion
        try old.close()
        var options = StoreOptions(log: script.options)
        options.historyRetention = .everything
        let store = try Store(options, storage: storage, clock: ManualClock())
        let schema = store.schema
        var oracle = script.oracle
        oracle.addColumn(0, ColumnSchema(name: "later", type: .int), holding: .int(0))
        if isConverted { oracle.schema.tables[0].columns[1].isNullable.toggle() }
        oracle.schema.version = schema.version + 1
        let transaction = try store.beginWrite()
        try transaction.changeSchema(to: oracle.schema)
        try transaction.commit()
        let stored = try store.storedVersions().map(\.number)
        #expect(stored == [start, start + 1], "\(stored), \(start)")

        let past = try store.version(start)
        #expect(past.pin.version == start && past.schema == schema)
        #expect(past.pin.snapshot.schema.tables == store.schema.tables)
        #expect(oracle.keys[0].count > 0 && oracle.check(past.pin.snapshot, "the checkpoint") == nil)
        past.pin.snapshot._checkInvariants()
        // What is replayed from the same checkpoint.
        #expect(oracle.check(try store.version(start + 1).pin.snapshot, "the version after it") == nil)
        #expect(throws: StoreError.self) { try store.version(start - 1) }
        try store.close()
    }

    /// A version that is only held, and older than every checkpoint, can't be shown in a schema that grew since.
    @Test func aHeldVersionBeforeEveryCheckpointIsNotShownInALaterSchema() throws {
        let (script, store) = try run(.none, MemoryStorage())
        let held = store.pin()
        let key = try #require(script.oracle.keys[0].first)
        try script.commit(StoreScript.create(0, 1), to: store)
        try store.compact(garbageShare: -1)
        try script.commit(StoreScript.wider, to: store)
        let error = #expect(throws: StoreError.self) {
            try store.states(of: key, in: TableID(0), columns: [0], through: held.version)
        }
        #expect(error?.code == .versionNotRetained)
        try store.close()
    }

    /// A compaction may write a checkpoint of version 0, and another one of the tree that the first one has made.
    @Test(arguments: [1, 2]) func anEmptyStoreThatWasCompactedHasItsVersionZero(compactions: Int) throws {
        var options = StoreOptions(log: LogOptions(folder: "/store"))
        options.historyRetention = .everything
        let storage = MemoryStorage()
        let store = try Store(options, storage: storage, clock: ManualClock())
        for _ in 0..<compactions { try store.compact(garbageShare: -1) }
        #expect(store.log?.listedCheckpoints.map(\.version) == [0])
        let log = try #require(store.log)
        let stamp = try CheckpointState.read(#require(log.checkpoint), log).stamp
        #expect((stamp == 1) == (compactions == 1), "\(stamp)")
        try StoreScript([]).commit(StoreScript.schema, to: store)
        let past = try store.version(0)
        #expect(past.pin.version == 0 && past.schema == StoreSchema() && past.pin.snapshot.schema == StoreSchema())
        try store.close()
        let again = try Store(options, storage: storage, clock: ManualClock())
        #expect(try again.version(0).pin.version == 0)
        try again.close()
    }
}
