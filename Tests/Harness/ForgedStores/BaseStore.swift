import FirnCore
import FirnLog
import FirnStorage
import FirnTestSupport

/// The store that fuzz targets and tests forge: a checkpoint with nodes of every kind, and a log after it. Each process
/// makes it again, always with the same bytes.
package struct BaseStore: Sendable {
    package static let folder = "/store"
    package static let any = TableID(0)
    package static let person = TableID(1)

    /// The files, by path.
    package let files: [String: [UInt8]]
    /// The base store, made at its first use.
    package static let made: BaseStore = {
        do { return try BaseStore() } catch { fatalError("the base store cannot be made: \(error)") }
    }()

    /// The base store's newest version, for queries.
    package static let pinned: Pin = {
        do {
            let storage = try made.storage(replacing: [:])
            let store = try Store(
                options(), storage: storage, clock: ManualClock(), randomness: SeededRandomness(seed: 1))
            return store.pin()
        } catch {
            fatalError("the base store cannot be opened: \(error)")
        }
    }()

    package static let schema: StoreSchema = {
        var columns: [ColumnSchema] = []
        for type in ColumnType.allCases {
            for collection in CollectionKind.allCases {
                columns.append(
                    ColumnSchema(
                        name: "c\(columns.count)", type: type, collection: collection,
                        isNullable: columns.count % 3 == 1 && type != .link,
                        isIndexed: collection == .none && columns.count % 2 == 0 && type != .link,
                        target: type == .link ? any : nil))
            }
        }
        return StoreSchema(
            version: 1,
            tables: [
                TableSchema(name: "Any", columns: columns),
                TableSchema(
                    name: "Person", primaryKey: 0,
                    columns: [
                        ColumnSchema(name: "id", type: .int),
                        ColumnSchema(name: "name", type: .string, isIndexed: true),
                        ColumnSchema(name: "kind", type: .string),
                        ColumnSchema(name: "score", type: .int, isNullable: true, isIndexed: true),
                        ColumnSchema(name: "friend", type: .link, target: person),
                        ColumnSchema(name: "friends", type: .link, collection: .list, target: person),
                        ColumnSchema(name: "tags", type: .string, collection: .list),
                        ColumnSchema(name: "photo", type: .data, isNullable: true),
                        ColumnSchema(name: "isGood", type: .bool),
                    ]),
            ])
    }()

    /// A value that a property may have; `number` decides which.
    package static func value(_ column: ColumnSchema, _ number: Int) -> Value {
        func scalar(_ number: Int) -> Value {
            if column.isNullable, number % 5 == 0 { return .null }
            switch column.type {
            case .bool: return .bool(number % 2 == 0)
            case .int: return .int(Int64(number &* 7919 % 1000))
            case .float: return .float(Float(number) / 4)
            case .double: return .double(Double(number) / 8)
            case .string:
                return .string(String(repeating: "aé\(number % 10)", count: number % 12 == 7 ? 300 : number % 6))
            case .data:
                return .data([UInt8](repeating: UInt8(truncatingIfNeeded: number), count: number % 11 == 5 ? 1500 : 4))
            case .date: return .date(Timestamp(seconds: Int64(number) * 1000, nanoseconds: Int32(number % 7)))
            case .objectID: return .objectID(ObjectIDBytes(a: UInt32(number), b: 7, c: 9))
            case .uuid: return .uuid(UUIDBytes(high: UInt64(number), low: 5))
            case .decimal: return .decimal(DecimalBits(high: 0x3040_0000_0000_0000, low: UInt64(number)))
            case .link: return .link(Int64(number % 12))
            case .mixed:
                switch number % 6 {
                case 0: return .int(Int64(number))
                case 1: return .string("mixed \(number)")
                case 2: return .typedLink(any, 3)
                case 3: return .list([.int(1), .null, .list([.string("deep")])])
                case 4: return .map([Value.MapEntry(key: "k", value: .int(2))])
                default: return .double(Double(number))
                }
            }
        }
        switch column.collection {
        case .none: return scalar(number)
        case .list: return .list((0..<(number % 4)).map { scalar(number + $0) })
        case .set: return .set([scalar(number)])
        case .map: return .map([])
        }
    }

    package static func options(access: LogOptions.Access = .readWrite(waitMilliseconds: 0)) -> StoreOptions {
        var log = LogOptions(folder: folder, access: access)
        log.usesThreads = false
        log.reserveByteCount = 0
        return StoreOptions(log: log)
    }

    package static func add(_ transaction: WriteTransaction, table: TableID, values: [Int: Value]) throws {
        var row = transaction.beginRow(table)
        for (column, value) in values.sorted(by: { $0.key < $1.key }) {
            transaction.fill(&row, column: column, value: value)
        }
        try transaction.endRow(row)
    }

    private init() throws {
        let storage = MemoryStorage()
        let clock = ManualClock()
        let store = try Store(Self.options(), storage: storage, clock: clock, randomness: SeededRandomness(seed: 1))
        func commit(_ body: (WriteTransaction) throws -> Void) throws {
            clock.advance(by: 1_000_000_000)
            let transaction = try store.beginWrite()
            try body(transaction)
            _ = try transaction.commit()
        }
        try commit { try $0.changeSchema(to: Self.schema) }
        try commit { transaction in
            for _ in 0..<12 { try Self.add(transaction, table: Self.any, values: [:]) }
            for key in 0..<Int64(12) {
                for (number, column) in Self.schema.tables[0].columns.enumerated() where column.collection != .map {
                    transaction.set(Self.any, column: number, key: key, to: Self.value(column, Int(key) * 13 + number))
                }
            }
        }
        try commit { transaction in
            for id in 0..<600 {
                try Self.add(
                    transaction, table: Self.person,
                    values: [
                        0: .int(Int64(id)), 1: .string("Person \(id * 7919 % 1000) of many"),
                        2: .string("kind \(id % 5)"), 3: id % 3 == 0 ? .null : .int(Int64(id * id % 1000)),
                        4: id == 0 ? .null : .link(Int64(id / 2)),
                        7: id % 200 == 0 ? .data([UInt8](repeating: UInt8(id / 100), count: 1200)) : .null,
                        8: .bool(id % 3 == 0),
                    ])
                guard id % 60 == 0 else { continue }
                transaction.edit(Self.person, column: 5, key: Int64(id)) { list in
                    for other in 0...id / 60 { list.append(.link(Int64(other))) }
                }
                transaction.edit(Self.person, column: 6, key: Int64(id)) { list in
                    for tag in 0..<(id == 60 ? 900 : 3) { list.append(.string("tag \(tag)")) }
                }
            }
        }
        try commit { transaction in for key in 100..<Int64(140) { transaction.delete(Self.person, key) } }
        _ = try store.compact()
        // The commits of the log after the checkpoint.
        try commit { transaction in
            transaction.set(Self.person, column: 1, key: 7, to: .string("renamed"))
            transaction.set(Self.person, column: 3, key: 8, to: .int(5))
            transaction.set(Self.person, column: 4, key: 9, to: .link(1))
            transaction.edit(Self.person, column: 6, key: 60) { list in
                list.remove(at: 450)
                list.insert(.string("new"), at: 2)
                list.move(from: 5, to: 700)
            }
            transaction.edit(Self.person, column: 5, key: 120 + 60) { $0.append(.link(3)) }
        }
        try commit { transaction in
            transaction.delete(Self.person, 300)
            try Self.add(transaction, table: Self.person, values: [0: .int(2000), 1: .string("late"), 4: .link(2)])
            for (number, column) in Self.schema.tables[0].columns.enumerated() where column.collection != .map {
                transaction.set(Self.any, column: number, key: 2, to: Self.value(column, 99 + number))
            }
        }
        try commit { transaction in
            var schema = Self.schema
            schema.version = 2
            schema.tables[1].columns.append(ColumnSchema(name: "extra", type: .int))
            schema.tables[1].columns[2].isRemoved = true
            try transaction.changeSchema(to: schema)
        }
        try commit { $0.set(Self.person, column: 9, key: 5, to: .int(1)) }
        try store.close()
        var files: [String: [UInt8]] = [:]
        for folder in ["", "/log", "/checkpoint"] {
            for name in try storage.list(Self.folder + folder) {
                let path = Self.folder + folder + "/" + name
                guard try storage.status(path)?.kind == .file, name != "lock" else { continue }
                files[path] = try storage.bytes(path)
            }
        }
        self.files = files
    }

    package var manifest: [UInt8] { files[Self.folder + "/manifest"]! }
    package var segmentPath: String { files.keys.filter { $0.hasSuffix(".segment") }.max()! }
    package var segment: [UInt8] { files[segmentPath]! }
    package var checkpointPath: String { files.keys.filter { $0.hasSuffix(".checkpoint") }.max()! }
    package var checkpoint: [UInt8] { files[checkpointPath]! }
    package var page: [UInt8] { files[Self.folder + "/shared"]! }

    /// A copy of the store whose segment ends with one more commit, which has these parts: see `Forging.appendCommit`.
    package func storage(appendingCommit parts: [UInt8]) throws -> MemoryStorage {
        try storage(replacing: [segmentPath: Forging.appendCommit(parts, to: segment)])
    }

    /// A copy of the store on a storage of its own, with other bytes in some files.
    package func storage(replacing changed: [String: [UInt8]]) throws -> MemoryStorage {
        let storage = MemoryStorage()
        for folder in ["", "/log", "/checkpoint"] { try storage.createFolder(Self.folder + folder) }
        for (path, bytes) in files.merging(changed, uniquingKeysWith: { $1 }) {
            let file = try storage.open(path, .create)
            defer { file.close() }
            try bytes.withUnsafeBytes { try file.write($0, at: 0) }
        }
        return storage
    }
}

extension MemoryStorage {
    package func bytes(_ path: String) throws -> [UInt8] {
        let file = try open(path, .read)
        defer { file.close() }
        var bytes = [UInt8](repeating: 0, count: try file.size())
        _ = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
        return bytes
    }
}
