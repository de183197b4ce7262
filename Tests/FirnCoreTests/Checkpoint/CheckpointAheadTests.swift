import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore
@testable import FirnLog

@Suite("A store whose log ends before its checkpoint", .timeLimit(.minutes(20))) struct CheckpointAheadTests {
    private static let table = TableID(0)

    private static func options(_ storage: SimulatedStorage) -> StoreOptions {
        var log = LogOptions(folder: "/store")
        log.usesThreads = false
        log.reserveByteCount = 0
        return StoreOptions(log: log)
    }

    private static func add(_ store: Store, _ id: Int64) throws {
        let transaction = try store.beginWrite()
        var row = transaction.beginRow(table)
        transaction.fill(&row, column: 0, value: .int(id))
        try transaction.endRow(row)
        try transaction.commit()
    }

    private static func ids(_ store: Store) -> [Int64] {
        let rows = store.pin().snapshot.table(table)
        return (0..<3 as Range<Int64>).filter { rows.firstKey(primaryKeyInt: $0) != nil }
    }

    /// A store with two commits and a checkpoint of both. Its log is then cut after the first commit, as a disk does
    /// that loses synced data.
    private static func make(_ storage: SimulatedStorage) throws {
        let store = try Store(options(storage), storage: storage)
        let transaction = try store.beginWrite()
        try transaction.changeSchema(
            to: StoreSchema(tables: [
                TableSchema(name: "Dog", primaryKey: 0, columns: [ColumnSchema(name: "id", type: .int)])
            ]))
        try transaction.commit()
        try add(store, 0)
        _ = try store.compact()
        try store.close()
        let folder = try StoreFolder(path: "/store", storage: storage)
        let manifest = try folder.readManifest()
        var cut = manifest
        cut.generation += 1
        cut.segments = [Manifest.Segment(segment: 2, epoch: 1, firstVersion: 2)]
        let header = SegmentHeader(
            storeID: manifest.storeID, epoch: 1, segment: 2, chain: 0, firstVersion: 2, mark: 1)
        let file = try folder.open(folder.segment(2), .readWrite)
        try file.truncate(to: 0)
        try file.write(SegmentPrologue.encode(header, schema: [], time: 0, cipher: nil).bytes, at: 0)
        try file.sync()
        try folder.replaceManifest(manifest, with: cut)
        try storage.remove("/store/shared")
        try storage.syncFolder("/store")
    }

    @Test("opens with all its objects, accepts commits, and repeats its schema in the log") func opens() throws {
        let storage = SimulatedStorage(seed: 1)
        try Self.make(storage)
        let store = try Store(Self.options(storage), storage: storage)
        #expect(store.recovery?.missingFromLog == 2...2)
        #expect(Self.ids(store) == [0])
        try Self.add(store, 1)
        #expect(store.publishedVersion == 3)

        let process = storage.disk.afterPowerCut(seed: 1, .nothing).newProcess()
        let again = try Store(Self.options(process), storage: process)
        #expect(again.recovery?.missingFromLog == nil)
        #expect(Self.ids(again) == [0, 1])
        #expect(again.log?.schema == SchemaCoding.encode(again.schema))
        try again.close()
    }

    @Test("a crash at any call of opening it loses nothing, and the log still gets the schema") func crash() throws {
        let trial = SimulatedStorage(seed: 1)
        try Self.make(trial)
        let start = trial.callCount
        _ = try Store(Self.options(trial), storage: trial)
        let calls = trial.callCount - start
        for stop in 0..<calls {
            let storage = SimulatedStorage(seed: 1)
            try Self.make(storage)
            storage.crashAt = storage.callCount + stop
            _ = try? Store(Self.options(storage), storage: storage)
            for seed in 0..<4 as Range<UInt64> {
                let process = storage.disk.afterPowerCut(seed: seed).newProcess()
                let store = try Store(Self.options(process), storage: process)
                #expect(Self.ids(store) == [0], "stopped at call \(stop) of \(calls), seed \(seed)")
                #expect(store.log?.schema.isEmpty == false)
                try Self.add(store, 2)
            }
        }
    }
}
