import FirnLog
import FirnStorage
import FirnTestSupport
import Foundation
import Testing

@testable import FirnCore

/// A store of the release ed7dd23, with every type of property, a checkpoint, history and a log after it, is read
/// by every later release.
@Suite(.timeLimit(.minutes(20))) struct ReleaseGoldenTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Golden/store-ed7dd23").path
    private static let count = 24
    private static let rounds = 5
    private static let types: [ColumnType] = [
        .bool, .int, .float, .double, .string, .data, .date, .objectID, .uuid, .decimal, .link, .mixed,
    ]

    /// For each type a property, one that may be nil, a list, a set and a map.
    private static let schema: StoreSchema = {
        var columns = [ColumnSchema(name: "id", type: .int)]
        for (number, type) in types.enumerated() {
            let target = type == .link ? TableID(0) : nil
            let mayBeNull = type == .link || type == .mixed
            columns.append(ColumnSchema(name: "plain\(number)", type: type, isNullable: mayBeNull, target: target))
            columns.append(
                ColumnSchema(
                    name: "optional\(number)", type: type, isNullable: true, isIndexed: type == .string, target: target)
            )
            columns.append(ColumnSchema(name: "list\(number)", type: type, collection: .list, target: target))
            columns.append(ColumnSchema(name: "set\(number)", type: type, collection: .set, target: target))
            columns.append(
                ColumnSchema(
                    name: "map\(number)", type: type, collection: .map, isNullable: mayBeNull, target: target))
        }
        return StoreSchema(tables: [TableSchema(name: "All", primaryKey: 0, columns: columns)])
    }()

    private static func scalar(_ type: ColumnType, _ number: Int) -> Value {
        switch type {
        case .bool: .bool(number % 2 == 0)
        case .int: .int(Int64(number) * 1_000_003 - 7)
        case .float: .float(Float(number) / 4)
        case .double: .double(Double(number) / 3)
        case .string: .string("text \(number) é🐕" + String(repeating: "x", count: number % 5 == 0 ? 1500 : 0))
        case .data: .data([UInt8](repeating: UInt8(truncatingIfNeeded: number), count: number % 40))
        case .date: .date(Timestamp(seconds: 1_700_000_000 + Int64(number), nanoseconds: Int32(number * 1000)))
        case .objectID: .objectID(ObjectIDBytes(a: UInt32(number), b: 2, c: 3))
        case .uuid: .uuid(UUIDBytes(high: UInt64(number), low: 9))
        case .decimal: .decimal(DecimalBits(high: 0x303E << 48, low: UInt64(number)))
        case .link: .link(Int64(number % count))
        case .mixed: [Value.int(Int64(number)), .string("mixed \(number)"), .double(0.5), .bool(true)][number % 4]
        }
    }

    private static func value(_ column: Int, of id: Int, round: Int) -> Value {
        if column == 0 { return .int(Int64(id)) }
        let (type, number) = (types[(column - 1) / 5], id * 7 + round)
        switch (column - 1) % 5 {
        case 0: return scalar(type, number)
        case 1: return number % 3 == 0 ? .null : scalar(type, number)
        case 2: return .list((0..<number % 4).map { scalar(type, number + $0) })
        case 3: return .set(number % 2 == 0 ? [] : [scalar(type, number)])
        default: return .map((0..<number % 3).map { .init(key: "key \($0)", value: scalar(type, number + $0)) })
        }
    }

    private static func options(_ folder: String) -> StoreOptions {
        var options = StoreOptions(log: LogOptions(folder: folder, verify: .everything))
        options.log?.usesThreads = false
        options.compaction.isAutomatic = false
        options.historyRetention = .everything
        return options
    }

    /// Which objects a round changes. Version 1 has all of them as of round 0; each round is a version.
    private static func isChanged(_ id: Int, in round: Int) -> Bool { id % 3 == round % 3 }

    private static func lastRound(_ id: Int, through round: Int) -> Int {
        (0...round).last { $0 == 0 || isChanged(id, in: $0) } ?? 0
    }

    /// Writes the golden store. Run once, with the release that it is named after.
    @Test(.enabled(if: TestEnvironment.value("FIRN_WRITE_GOLDEN") == "release")) func writeGolden() throws {
        var options = Self.options(Self.folder)
        options.log?.reserveByteCount = 0
        let store = try Store(
            options, storage: PosixStorage.shared, clock: ManualClock(), randomness: SeededRandomness(seed: 5))
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
        for round in 1...Self.rounds {
            transaction = try store.beginWrite()
            for id in 0..<Self.count where Self.isChanged(id, in: round) {
                for column in Self.schema.tables[0].columns.indices.dropFirst() {
                    transaction.set(
                        TableID(0), column: column, key: Int64(id), to: Self.value(column, of: id, round: round))
                }
            }
            try transaction.commit()
            if round == 2 || round == 4 { try store.compact() }
        }
        try store.close()
        for name in ["lock", "shared"] { try PosixStorage.shared.remove(Self.folder + "/" + name) }
    }

    private func check(_ snapshot: Snapshot, round: Int) {
        let table = snapshot.table(TableID(0))
        #expect(table.count == Self.count)
        for id in 0..<Self.count {
            let last = Self.lastRound(id, through: round)
            for column in Self.schema.tables[0].columns.indices {
                let found = table.value(column, of: Int64(id))
                let name = Self.schema.tables[0].columns[column].name
                #expect(found == Self.value(column, of: id, round: last), "\(name) of \(id) in round \(round)")
            }
        }
    }

    @Test func everyLaterReleaseReadsItAndItsPast() throws {
        var files = ["manifest"]
        for folder in ["log", "checkpoint"] {
            files += try PosixStorage.shared.list(Self.folder + "/" + folder).sorted().map { folder + "/" + $0 }
        }
        #expect(files.count > 3)
        let storage = try GoldenStore.copy(of: Self.folder, files: files)
        let store = try Store(Self.options("/g"), storage: storage)
        #expect(store.recovery?.outcome == .clean && store.publishedVersion == UInt64(Self.rounds + 1))
        #expect(store.schema.tables == Self.schema.tables)
        check(store.pin().snapshot, round: Self.rounds)
        for round in 0...Self.rounds { check(try store.version(UInt64(round + 1)).pin.snapshot, round: round) }
        // It goes on as a store of this release.
        let transaction = try store.beginWrite()
        transaction.set(TableID(0), column: 2, key: 0, to: .null)
        try transaction.commit()
        try store.compact(garbageShare: -1)
        store._checkInvariants()
        try store.close()
        let again = try Store(Self.options("/g"), storage: storage)
        check(try again.version(UInt64(Self.rounds + 1)).pin.snapshot, round: Self.rounds)
        try again.close()
    }
}
