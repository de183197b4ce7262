import FirnCore
import FirnLog
import FirnStorage

@testable import FirnTool

/// A store written by Firn itself, small enough to be flipped bit by bit, with most of what a changeset can hold.
struct SampleStore {
    static let path = "/store"
    static let person = TableID(0)
    static let dog = TableID(1)

    let storage = MemoryStorage()
    let clock = ManualClock()
    private(set) var lastVersion: UInt64 = 0
    /// The store's key, if it is encrypted.
    var key: EncryptionKey?

    static let schema = StoreSchema(
        version: 3,
        tables: [
            TableSchema(
                name: "Person", primaryKey: 0,
                columns: [
                    ColumnSchema(name: "name", type: .string, isIndexed: true),
                    ColumnSchema(name: "age", type: .int),
                    ColumnSchema(name: "notes", type: .string, isNullable: true),
                    ColumnSchema(name: "tags", type: .string, collection: .list),
                    ColumnSchema(name: "dogs", type: .link, collection: .list, target: dog),
                    ColumnSchema(name: "photo", type: .data),
                    ColumnSchema(name: "born", type: .date, isNullable: true),
                    ColumnSchema(name: "weight", type: .double),
                ]),
            TableSchema(
                name: "Dog",
                columns: [
                    ColumnSchema(name: "name", type: .string), ColumnSchema(name: "isGood", type: .bool),
                    ColumnSchema(name: "owner", type: .link, target: person),
                    ColumnSchema(name: "id", type: .uuid), ColumnSchema(name: "number", type: .objectID),
                    ColumnSchema(name: "price", type: .decimal),
                ]),
        ])

    func open(segmentByteCount: Int = 64 << 20, retainsHistory: Bool = false) throws -> Store {
        var options = LogOptions(folder: Self.path)
        options.usesThreads = false
        options.segmentByteCount = segmentByteCount
        options.encryptionKey = key ?? options.encryptionKey
        var all = StoreOptions(log: options)
        if retainsHistory { all.historyRetention = .everything }
        return try Store(all, storage: storage, clock: clock)
    }

    @discardableResult
    static func add(_ transaction: WriteTransaction, table: TableID, values: [Int: Value]) throws -> Int64 {
        var row = transaction.beginRow(table)
        for (column, value) in values.sorted(by: { $0.key < $1.key }) {
            transaction.fill(&row, column: column, value: value)
        }
        try transaction.endRow(row)
        return row.key
    }

    /// Makes no store yet.
    init(empty: ()) {}

    /// Version 1 has the schema, 2 inserts, 3 updates, 4 edits a list, 5 deletes. Then come `more` versions that
    /// assign one property each.
    init(
        more: Int = 0, segmentByteCount: Int = 64 << 20, closes: Bool = true, key: EncryptionKey? = nil
    ) throws {
        self.key = key
        let store = try open(segmentByteCount: segmentByteCount)
        func commit(_ body: (WriteTransaction) throws -> Void) throws {
            clock.advance(by: 1_500_000_000)
            let transaction = try store.beginWrite()
            try body(transaction)
            lastVersion = try transaction.commit().number
        }
        try commit { try $0.changeSchema(to: Self.schema) }
        try commit { transaction in
            let anna = try Self.add(
                transaction, table: Self.person,
                values: [
                    0: .string("Anna"), 1: .int(41), 2: .string("likes \"snow\"\nand Öl"),
                    6: .date(Timestamp(seconds: 86_400, nanoseconds: 5)), 7: .double(61.5),
                    5: .data(Array(repeating: 7, count: 3000)),
                ])
            try Self.add(transaction, table: Self.person, values: [0: .string("Ben"), 1: .int(-7), 2: .null])
            let rex = try Self.add(
                transaction, table: Self.dog,
                values: [
                    0: .string("Rex"), 1: .bool(true), 2: .link(anna),
                    3: .uuid(UUIDBytes(high: 0x0011_2233_4455_6677, low: 0x8899_AABB_CCDD_EEFF)),
                    4: .objectID(ObjectIDBytes(a: 0x0102_0304, b: 0x0506_0708, c: 0x090A_0B0C)),
                    5: .decimal(DecimalBits(high: 0x303C_0000_0000_0000, low: 1995)),
                ])
            transaction.edit(Self.person, column: 4, key: anna) { $0.append(.link(rex)) }
            transaction.edit(Self.person, column: 3, key: anna) { list in
                for index in 0..<5 { list.append(.string("tag \(index)")) }
            }
        }
        try commit { transaction in
            transaction.set(Self.person, column: 1, key: 0, to: .int(42))
            transaction.set(Self.person, column: 1, key: 1, to: .int(-7))
            transaction.set(Self.person, column: 2, key: 1, to: .string("was nil"))
        }
        try commit { transaction in
            transaction.edit(Self.person, column: 3, key: 0) { list in
                list.insert(.string("first"), at: 0)
                list.remove(at: 3)
                list.set(.string("set"), at: 1)
                list.move(from: 0, to: 4)
            }
        }
        try commit { $0.delete(Self.dog, 0) }
        for index in 0..<more { try commit { $0.set(Self.person, column: 1, key: 0, to: .int(Int64(1000 + index))) } }
        if closes { try store.close() }
    }

    // MARK: Files

    func files() throws -> [String] {
        [Self.path + "/manifest"] + (try storage.list(Self.path + "/log")).sorted().map { Self.path + "/log/" + $0 }
    }

    func bytes(_ path: String) throws -> [UInt8] {
        let file = try storage.open(path, .read)
        defer { file.close() }
        var bytes = [UInt8](repeating: 0, count: try file.size())
        _ = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
        return bytes
    }

    func write(_ path: String, _ bytes: [UInt8]) throws {
        let file = try storage.open(path, storage.status(path) == nil ? .create : .readWrite)
        defer { file.close() }
        try file.truncate(to: bytes.count)
        try bytes.withUnsafeBytes { try file.write($0, at: 0) }
    }

    func flip(_ path: String, byte: Int, bit: Int) throws {
        let file = try storage.open(path, .readWrite)
        defer { file.close() }
        var value: UInt8 = 0
        _ = try withUnsafeMutableBytes(of: &value) { try file.read(into: $0, at: byte) }
        value ^= 1 << UInt8(bit)
        try withUnsafeBytes(of: value) { try file.write($0, at: byte) }
    }
}

/// The output of a subcommand, and its exit status.
struct Run {
    var status: ToolError.Status
    var out = ""
    var error = ""

    /// Runs a subcommand's work as `main` does.
    init(_ work: (Output) throws -> ToolError.Status) throws {
        var out = ""
        var error = ""
        let status: ToolError.Status
        do {
            let box = Box()
            let output = Output(showsProgress: false, out: { box.out += $0 }, error: { box.error += $0 })
            defer {
                out = box.out
                error = box.error
            }
            do {
                status = try work(output)
                try output.flush()
            } catch let failure as ToolError {
                try output.flush()
                box.error += "\(failure)\n"
                self.status = failure.status
                self.out = box.out
                self.error = box.error
                return
            }
        }
        self.status = status
        self.out = out
        self.error = error
    }

    private final class Box {
        var out = ""
        var error = ""
    }

    static func info(_ storage: any Storage, json: Bool = false) throws -> Run {
        try Run { try InfoCommand.run(SampleStore.path, json: json, storage: storage, $0) }
    }

    static func log(_ storage: any Storage, from: UInt64 = 1, to: UInt64 = .max, json: Bool = false) throws -> Run {
        try Run { try LogCommand.run(SampleStore.path, from: from, to: to, json: json, storage: storage, output: $0) }
    }

    static func show(_ storage: any Storage, _ version: UInt64, json: Bool = false) throws -> Run {
        try Run { try ShowCommand.run(SampleStore.path, version: version, json: json, storage: storage, output: $0) }
    }

    static func verify(
        _ storage: any Storage, path: String = SampleStore.path, deep: Bool = true, json: Bool = false
    ) throws -> Run {
        try Run { try VerifyCommand.run(path, deep: deep, json: json, storage: storage, $0) }
    }

    static func replay(_ storage: any Storage, to version: UInt64, output: String = "/new") throws -> Run {
        try Run {
            try ReplayCommand.run(
                SampleStore.path, to: .number(version), output: output, json: false, storage: storage,
                randomness: SystemRandomness.shared, clock: SystemClock.shared, $0)
        }
    }
}
