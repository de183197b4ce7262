import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// A past version whose replay fails leaves nothing behind that could answer another request.
@Suite(.timeLimit(.minutes(20))) struct FailedReplayTests {
    private static let table = TableID(0)

    private static func schema(_ columns: [ColumnSchema], version: UInt64) -> StoreSchema {
        StoreSchema(
            version: version,
            tables: [
                TableSchema(
                    name: "Thing", primaryKey: 0, columns: [ColumnSchema(name: "id", type: .int)] + columns)
            ])
    }

    /// Makes a store with versions 1 to 4 in one schema, a checkpoint of version 4, a changed schema, three more
    /// versions and another checkpoint.
    private static func made(_ storage: any Storage, from old: [ColumnSchema], to new: [ColumnSchema]) throws -> Store {
        var options = StoreOptions(log: LogOptions(folder: "/store"))
        options.log?.usesThreads = false
        options.log?.reserveByteCount = 0
        options.historyRetention = .everything
        options.historyCheckpointByteCount = 1
        let store = try Store(options, storage: storage, clock: ManualClock())
        func commit(_ body: (WriteTransaction) throws -> Void) throws {
            let transaction = try store.beginWrite()
            try body(transaction)
            try transaction.commit()
        }
        func add(_ id: Int64) throws {
            try commit { transaction in
                var row = transaction.beginRow(table)
                transaction.fill(&row, column: 0, value: .int(id))
                try transaction.endRow(row)
            }
        }
        try commit { try $0.changeSchema(to: schema(old, version: 0)) }
        for id in 0..<3 { try add(Int64(id)) }
        _ = try store.compact()
        try commit { try $0.changeSchema(to: schema(new, version: 1)) }
        for id in 3..<6 { try add(Int64(id)) }
        _ = try store.compact()
        return store
    }

    private static func failReads(of storage: SimulatedStorage) {
        storage.inject(
            SimulatedFault(.io, times: 100) {
                ($0.operation == .read || $0.operation == .open || $0.operation == .map) && $0.path.hasSuffix("segment")
            })
    }

    @Test func aCheckpointOfAnEarlierSchemaIsNotShownUnconverted() throws {
        let storage = SimulatedStorage(seed: 1)
        let store = try Self.made(storage, from: [], to: [ColumnSchema(name: "number", type: .int)])
        #expect(store.log?.listedCheckpoints.map(\.version) == [4, 8])
        Self.failReads(of: storage)
        #expect(throws: StoreError.self) { try store.version(6) }
        storage.removeFaults()
        let past = try store.version(4)
        #expect(past.pin.snapshot.schema.tables[0].columns.count == 2)
        guard past.pin.snapshot.schema.tables[0].columns.count == 2 else { return }
        let view = past.pin.snapshot.table(Self.table)
        #expect(view.count == 3 && view.value(1, of: 2) == .int(0))
        past.pin.snapshot._checkInvariants()
        #expect(try store.version(6).pin.snapshot.table(Self.table).count == 4)
        try store.close()
    }

    /// Columns are converted last of all: if that fails, the commits that follow can still be replayed.
    @Test func aFailedConversionCanBeRetried() throws {
        let old = Self.schema([ColumnSchema(name: "number", type: .int)], version: 0)
        let new = Self.schema([ColumnSchema(name: "number", type: .int, isNullable: true)], version: 1)
        let store = try Store(StoreOptions(log: nil), storage: MemoryStorage())
        let transaction = try store.beginWrite()
        try transaction.changeSchema(to: old)
        try transaction.commit()
        let past = PastSchema(from: 1, old, as: new)
        let failing = try store.beginWrite()
        failing.recordingDamage { DamageRecord.contradiction("something was damaged") }
        #expect(throws: StoreError.self) { try past.end(failing) }
        failing.cancel()
        #expect(past.canContinue)
        let next = try store.beginWrite()
        try past.begin(next, at: 1)
        try past.end(next)
        #expect(!past.canContinue && next.resolvedSchema.schema.tables[0].columns[1].isNullable)
        next.cancel()
    }
}
