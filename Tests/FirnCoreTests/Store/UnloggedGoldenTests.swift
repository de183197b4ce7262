import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// A store with changesets without old values, as a full disk makes them, can still be read. (The tool's own reader
/// reads the same store: `UnloggedValueTests`.)
@Suite(.timeLimit(.minutes(20))) struct UnloggedGoldenTests {
    private static let folder =
        String(#filePath.dropLast("Store/UnloggedGoldenTests.swift".utf8.count))
        + "Golden/store-full-disk"
    private static let files = ["manifest", "log/0000000001.segment"]
    private static let person = TableID(0)

    private static let schema = StoreSchema(tables: [
        TableSchema(
            name: "Person", primaryKey: 0,
            columns: [
                ColumnSchema(name: "name", type: .string), ColumnSchema(name: "age", type: .int),
                ColumnSchema(name: "notes", type: .string, isNullable: true),
                ColumnSchema(name: "tags", type: .string, collection: .list),
                ColumnSchema(name: "photo", type: .data),
                ColumnSchema(name: "friend", type: .link, target: person),
            ])
    ])

    /// Bytes that don't compress.
    private static let photo: [UInt8] = {
        var random = SeededRandom(seed: 9)
        return (0..<4000).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    }()

    private static let names = ["Anna", "Ben", "Cleo", "Dan"]

    /// Makes the store: the disk is full from version 4 to version 8.
    private static func make(_ storage: SimulatedStorage) throws {
        var options = StoreOptions(log: LogOptions(folder: "/store", durability: .none))
        options.log?.reserveByteCount = 64 << 10
        options.log?.usesThreads = false
        options.compaction.isAutomatic = false
        let clock = ManualClock()
        let store = try Store(options, storage: storage, clock: clock, randomness: SeededRandomness(seed: 4))
        func commit(_ body: (WriteTransaction) throws -> Void) throws {
            clock.advance(by: 1_500_000_000)
            let transaction = try store.beginWrite()
            try body(transaction)
            try transaction.commit()
        }
        try commit { try $0.changeSchema(to: schema) }
        try commit { transaction in
            for (number, name) in names.enumerated() {
                var row = transaction.beginRow(person)
                transaction.fill(&row, column: 0, value: .string(name))
                transaction.fill(&row, column: 1, value: .int(Int64(40 + number)))
                transaction.fill(&row, column: 2, value: .string("notes of \(name)"))
                transaction.fill(&row, column: 3, value: .list((0..<4).map { .string("tag \($0) of \(name)") }))
                transaction.fill(&row, column: 4, value: .data(photo))
                transaction.fill(&row, column: 5, value: number == 0 ? .null : .link(Int64(number - 1)))
                try transaction.endRow(row)
            }
        }
        try commit { transaction in
            transaction.set(person, column: 1, key: 0, to: .int(42))
            transaction.edit(person, column: 3, key: 0) { $0.insert(.string("first"), at: 0) }
        }
        storage.disk.capacity = storage.disk.usedByteCount + 64
        try commit { transaction in
            transaction.set(person, column: 4, key: 0, to: .data([]))
            transaction.set(person, column: 2, key: 0, to: .null)
            transaction.set(person, column: 1, key: 0, to: .int(42))
        }
        try commit { $0.edit(person, column: 3, key: 0) { list in _ = list.remove(at: 2) } }
        try commit { $0.set(person, column: 3, key: 1, to: .list([])) }
        try commit { $0.delete(person, 2) }
        try commit { transaction in
            transaction.edit(person, column: 3, key: 0) { $0.set(.string("x"), at: 0) }
            transaction.delete(person, 3)
        }
        storage.disk.capacity = nil
        try commit { $0.set(person, column: 2, key: 0, to: .string("again")) }
        try store.close()
    }

    /// Writes the golden store: run this once for each released format, and commit the result.
    @Test(.enabled(if: TestEnvironment.value("FIRN_WRITE_GOLDEN") == "full")) func writeGolden() throws {
        let storage = SimulatedStorage(seed: 1)
        try Self.make(storage)
        try? PosixStorage.shared.createFolder(Self.folder)
        try? PosixStorage.shared.createFolder(Self.folder + "/log")
        for name in Self.files {
            let from = try storage.open("/store/" + name, .read)
            var bytes = [UInt8](repeating: 0, count: try from.size())
            _ = try bytes.withUnsafeMutableBytes { try from.read(into: $0, at: 0) }
            let to = try PosixStorage.shared.open(Self.folder + "/" + name, .create)
            try bytes.withUnsafeBytes { try to.write($0, at: 0) }
            to.close()
        }
    }

    @Test func theGoldenStoreOpensWithEveryVersionAndSaysWhichChangesetsHaveOldValues() throws {
        let storage = try GoldenStore.copy(of: Self.folder, files: Self.files)
        var options = StoreOptions(log: LogOptions(folder: "/g", verify: .everything))
        options.log?.usesThreads = false
        options.historyRetention = .everything
        let store = try Store(options, storage: storage)
        #expect(store.recovery?.outcome == .clean && store.publishedVersion == 9)
        store._checkInvariants()
        // Past versions are replayed forwards, so they are whole.
        func tags(_ name: String, _ numbers: Int...) -> [Value] { numbers.map { .string("tag \($0) of \(name)") } }
        let annas: [UInt64: [Value]] = [
            3: [
                .int(42), .string("notes of Anna"), .list([.string("first")] + tags("Anna", 0, 1, 2, 3)),
                .data(Self.photo),
            ],
            4: [.int(42), .null, .list([.string("first")] + tags("Anna", 0, 1, 2, 3)), .data([])],
            5: [.int(42), .null, .list([.string("first")] + tags("Anna", 0, 2, 3)), .data([])],
            7: [.int(42), .null, .list([.string("first")] + tags("Anna", 0, 2, 3)), .data([])],
            8: [.int(42), .null, .list([.string("x")] + tags("Anna", 0, 2, 3)), .data([])],
            9: [.int(42), .string("again"), .list([.string("x")] + tags("Anna", 0, 2, 3)), .data([])],
        ]
        for (version, expected) in annas {
            let table = try store.version(version).pin.snapshot.table(Self.person)
            #expect((1...4).map { table.value($0, of: 0) } == expected, "version \(version)")
            #expect(table.count == (version < 7 ? 4 : version < 8 ? 3 : 2), "version \(version)")
        }
        let cleo = try store.version(6).pin.snapshot.table(Self.person)
        #expect(cleo.value(2, of: 2) == .string("notes of Cleo") && cleo.value(5, of: 3) == .link(2))
        // So are the differences between versions, which are decoded from the changesets.
        let (old, new) = (try store.version(3).pin, try store.version(8).pin)
        let summary = try #require(try store.changeSummary(from: old, to: new).tables[Self.person])
        #expect(
            summary.deleted == [2, 3] && Set(summary.modified.keys).union(summary.scripts.keys.map(\.key)) == [0, 1])
        // Only the commits on the full disk have none.
        var haveOldValues: [Bool] = []
        try #require(store.log).replay(after: 0, through: 9) { commit in
            let reader = ChangesetReader(version: commit.version, direction: .both)
            while let part = try commit.next() {
                if part.kind == .changes { try reader.read(part.bytes) { _ in } }
            }
            haveOldValues.append(reader.hasOldValues)
        }
        #expect(haveOldValues == [true, true, true, false, false, false, false, false, true])
    }
}
