import FirnLog
import FirnStorage
import FirnTestSupport
import Foundation
import Testing

@testable import FirnCore

/// A store that the first release wrote, with two checkpoint files with holes and a log after them, can still be
/// read.
@Suite(.timeLimit(.minutes(20))) struct StoreGoldenTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Golden/store-1").path
    private static let count = 1500
    private static let files = [
        "manifest", "checkpoint/0000000001.checkpoint", "checkpoint/0000000002.checkpoint", "log/0000000003.segment",
    ]

    private static let schema = StoreSchema(tables: [
        TableSchema(
            name: "Member", primaryKey: 0,
            columns: [
                ColumnSchema(name: "id", type: .int), ColumnSchema(name: "name", type: .string, isIndexed: true),
                ColumnSchema(name: "city", type: .string), ColumnSchema(name: "score", type: .double),
                ColumnSchema(name: "isActive", type: .bool, isNullable: true),
                ColumnSchema(name: "photo", type: .data, isNullable: true),
                ColumnSchema(name: "friend", type: .link, target: TableID(0)),
                ColumnSchema(name: "tags", type: .string, collection: .list),
                ColumnSchema(name: "since", type: .date), ColumnSchema(name: "token", type: .uuid),
                ColumnSchema(name: "any", type: .mixed),
            ])
    ])

    /// The value of a member's property after `round` changes.
    private static func value(_ column: Int, of id: Int, round: Int) -> Value {
        switch column {
        case 0: .int(Int64(id * 3))
        case 1: .string("member \(id), changed \(round) times")
        case 2: .string(["Aarau", "Bern", "Chur", "Davos"][(id + round) % 4])
        case 3: .double(Double(id) / 8 - Double(round))
        case 4: id % 5 == 0 ? .null : .bool((id + round) % 2 == 0)
        case 5:
            id % 3 == 0
                ? .null
                : .data([UInt8](repeating: UInt8(truncatingIfNeeded: id), count: id == 201 ? 70_000 : id % 40))
        case 6: id == 0 ? .null : .link(Int64(id / 2))
        case 7: .list((0..<id % 4).map { .string("tag \($0) of \(id)") })
        case 8: .date(Timestamp(seconds: 1_700_000_000 + Int64(id), nanoseconds: Int32(id * 1000)))
        case 9: .uuid(UUIDBytes(high: UInt64(id), low: UInt64(round)))
        default: [.null, .int(Int64(id)), .string("any \(id)"), .double(0.5)][id % 4]
        }
    }

    /// How often a member was changed.
    private static func round(_ id: Int) -> Int { id >= 1490 ? 2 : id < 1100 ? 1 : 0 }

    /// Writes the golden store: run this once for each released format, and commit the result.
    @Test(.enabled(if: TestEnvironment.value("FIRN_WRITE_GOLDEN") == "store")) func writeGolden() throws {
        var options = StoreOptions(log: LogOptions(folder: Self.folder))
        options.log?.segmentByteCount = 1 << 20
        options.log?.reserveByteCount = 0
        options.log?.usesThreads = false
        options.compaction.isAutomatic = false
        let store = try Store(
            options, storage: PosixStorage.shared, clock: ManualClock(), randomness: SeededRandomness(seed: 4))
        var transaction = try store.beginWrite()
        try transaction.changeSchema(to: Self.schema)
        for id in 0..<Self.count {
            var row = transaction.beginRow(TableID(0))
            for column in Self.schema.tables[0].columns.indices {
                transaction.fill(&row, column: column, value: Self.value(column, of: id, round: 0))
            }
            try transaction.endRow(row)
        }
        try transaction.commit()
        try store.compact()
        for round in 1...2 {
            transaction = try store.beginWrite()
            for id in 0..<Self.count where Self.round(id) >= round {
                for column in [1, 2, 3, 4, 9] {
                    transaction.set(
                        TableID(0), column: column, key: Int64(id), to: Self.value(column, of: id, round: round))
                }
            }
            try transaction.commit()
            if round == 1 { try store.compact(garbageShare: 10) }
        }
        try store.close()
        for name in ["lock", "shared"] { try PosixStorage.shared.remove(Self.folder + "/" + name) }
    }

    @Test func theGoldenStoreOpensAndHoldsWhatWasCommitted() throws {
        let storage = try GoldenStore.copy(of: Self.folder, files: Self.files)
        let store = try Store(StoreOptions(log: LogOptions(folder: "/g", verify: .everything)), storage: storage)
        #expect(store.recovery?.outcome == .clean && store.publishedVersion == 3)
        let checkpoint = try #require(store.log?.checkpoint)
        #expect(checkpoint.version == 2 && checkpoint.files.count == 2)
        #expect(try !CheckpointState.decode(checkpoint.state).holes.isEmpty)
        #expect(store.schema.tables == Self.schema.tables)
        let table = store.pin().snapshot.table(TableID(0))
        #expect(table.count == Self.count)
        for id in 0..<Self.count {
            for column in Self.schema.tables[0].columns.indices {
                let found = table.value(column, of: Int64(id))
                #expect(
                    found == Self.value(column, of: id, round: Self.round(id)), "property \(column) of member \(id)")
            }
            #expect(table.firstKey(primaryKeyInt: Int64(id * 3)) == Int64(id))
        }
        store._checkInvariants()
        try store.compact(garbageShare: -1)
        store._checkInvariants()
        try store.close()
    }
}
