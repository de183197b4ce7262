import FirnLog
import FirnStorage
import ForgedStores
import Testing

@testable import FirnCore

@Suite("Damage to a large checkpoint is thrown by the operation that meets it", .timeLimit(.minutes(20)))
struct DamageWhileWritingTests {
    private static let folder = "/store"
    private static let item = TableID(0)
    private static let schema = StoreSchema(
        version: 1,
        tables: [
            TableSchema(
                name: "Item", primaryKey: 0,
                columns: [
                    ColumnSchema(name: "id", type: .int), ColumnSchema(name: "name", type: .string, isIndexed: true),
                    ColumnSchema(name: "text", type: .string), ColumnSchema(name: "next", type: .link, target: item),
                    ColumnSchema(name: "tags", type: .string, collection: .list),
                    // Few values and many rows: its chunks share a dictionary.
                    ColumnSchema(name: "kind", type: .string),
                    // Long values that repeat themselves: its chunks are compressed.
                    ColumnSchema(name: "note", type: .string),
                ])
        ])
    private static let count = 20_000

    private static func open(_ storage: any Storage) throws -> Store {
        var options = LogOptions(folder: folder)
        options.usesThreads = false
        return try Store(StoreOptions(log: options), storage: storage, clock: ManualClock())
    }

    private static func write(_ store: Store, _ body: (WriteTransaction) throws -> Void) throws {
        let transaction = try store.beginWrite()
        do { try body(transaction) } catch {
            transaction.cancel()
            throw error
        }
        _ = try transaction.commit()
    }

    /// Changes something in every structure that a table has.
    private static func change(_ transaction: WriteTransaction) throws {
        for key in stride(from: Int64(0), to: Int64(count), by: 500) {
            transaction.set(item, column: 1, key: key, to: .string("renamed \(key)"))
            transaction.set(item, column: 2, key: key + 1, to: .string("changed"))
            transaction.set(item, column: 3, key: key + 2, to: .link(key))
            transaction.edit(item, column: 4, key: key + 3) { $0.append(.string("more")) }
            transaction.set(item, column: 5, key: key + 5, to: .string("a kind of its own"))
            transaction.set(item, column: 6, key: key + 6, to: .string("noted"))
            transaction.delete(item, key + 4)
        }
        try BaseStore.add(transaction, table: item, values: [0: .int(1_000_000), 1: .string("new")])
    }

    /// The files of a store with a checkpoint above 1 MiB, whose nodes are validated when they are first reached. The
    /// log after it has changes if `changed`.
    private static func files(changed: Bool) throws -> [String: [UInt8]] {
        let storage = MemoryStorage()
        let store = try open(storage)
        try write(store) { transaction in
            try transaction.changeSchema(to: schema)
            for id in 0..<count {
                try BaseStore.add(
                    transaction, table: item,
                    values: [
                        0: .int(Int64(id)), 1: .string("name \(id * 7919 % count)"),
                        2: .string("text \(id &* 48271) of an item, no two of which are the same, \(id % 977)"),
                        3: id == 0 ? .null : .link(Int64(id / 2)), 5: .string("kind \(id % 7)"),
                        6: .string("note \(id % 5), note \(id % 5), note \(id % 5), note \(id % 5)"),
                    ])
            }
        }
        _ = try store.compact()
        if changed { try write(store, change) }
        try store.close()
        var files: [String: [UInt8]] = [:]
        for part in ["", "/log", "/checkpoint"] {
            for name in try storage.list(folder + part) where name != "lock" {
                let path = folder + part + "/" + name
                if try storage.status(path)?.kind == .file { files[path] = try storage.bytes(path) }
            }
        }
        return files
    }

    private static func storage(_ files: [String: [UInt8]]) throws -> MemoryStorage {
        let storage = MemoryStorage()
        for part in ["", "/log", "/checkpoint"] { try storage.createFolder(folder + part) }
        for (path, bytes) in files {
            let file = try storage.open(path, .create)
            try bytes.withUnsafeBytes { try file.write($0, at: 0) }
            file.close()
        }
        return storage
    }

    /// The middle byte of some nodes of each kind and of each form of chunk.
    private static func flips(_ checkpoint: [UInt8]) -> [(kind: UInt8, byte: Int)] {
        let kinds = Dictionary(grouping: Forging.nodes(of: checkpoint)) { node in
            UInt16(checkpoint[node.lowerBound + 16] & 0x3F) << 8 | UInt16(checkpoint[node.lowerBound + 17])
        }
        return kinds.sorted { $0.key < $1.key }.flatMap { kind, nodes in
            stride(from: 0, to: nodes.count, by: max(1, nodes.count / 6)).map {
                (UInt8(kind >> 8), nodes[$0].lowerBound + nodes[$0].count / 2)
            }
        }
    }

    private static func node(around byte: Int, _ checkpoint: [UInt8]) -> Int {
        Forging.nodes(of: checkpoint).first { $0.contains(byte) }?.lowerBound ?? 0
    }

    /// A storage with the files, and with `checkpoint` at `path`.
    private static func storage(files: [String: [UInt8]], _ path: String, _ checkpoint: [UInt8]) throws -> MemoryStorage
    {
        var files = files
        files[path] = checkpoint
        return try storage(files)
    }

    private static func forms(_ checkpoint: [UInt8]) -> Set<UInt8> {
        let chunks = Forging.nodes(of: checkpoint).filter {
            checkpoint[$0.lowerBound + 16] & 0x3F == Node.Kind.chunk.rawValue
        }
        return Set(chunks.map { checkpoint[$0.lowerBound + 17] })
    }

    /// The newest version's values of some rows in each leaf and of every row that `change` reaches.
    private static func content(_ store: Store) throws -> [Int64: [Value]] {
        let pin = store.pin()
        return try DamageRecord.throwing { () throws(StoreError) in
            let table = pin.snapshot.table(item)
            var content: [Int64: [Value]] = [-1: [.int(Int64(table.count))]]
            table.forEachLeaf { leaf, _ in
                for row in 0..<leaf.count where leaf.key(row) % 37 == 0 || leaf.key(row) % 250 < 8 {
                    content[leaf.key(row)] = (0..<schema.tables[0].columns.count).map {
                        table.value($0, leaf: leaf, row: row)
                    }
                }
                return true
            }
            return content
        }
    }

    @Test("opening throws when the log is replayed onto the checkpoint") func replay() throws {
        let files = try Self.files(changed: true)
        let path = try #require(files.keys.first { $0.hasSuffix(".checkpoint") })
        let checkpoint = try #require(files[path])
        #expect(checkpoint.count > 1 << 20)
        var refused: Set<UInt8> = []
        for (kind, byte) in Self.flips(checkpoint) {
            var files = files
            files[path]![byte] ^= 8
            do {
                try Self.open(try Self.storage(files)).close()
            } catch let error as StoreError {
                #expect("\(error)".contains(path) && "\(error)".contains("firn verify"), "\(error)")
                refused.insert(kind)
            }
        }
        let expected: [Node.Kind] = [
            .root, .table, .rowInner, .leaf, .chunk, .integerIndexInner, .integerIndexLeaf, .bytesIndexInner,
            .bytesIndexLeaf,
        ]
        #expect(refused.isSuperset(of: expected.map(\.rawValue)), "\(refused)")
        // Without damage it opens.
        try Self.open(try Self.storage(files)).close()
    }

    @Test("a write throws each time, changes nothing, and the store remains usable") func write() throws {
        let files = try Self.files(changed: false)
        let path = try #require(files.keys.first { $0.hasSuffix(".checkpoint") })
        let checkpoint = try #require(files[path])
        #expect(
            Self.forms(checkpoint).isSuperset(of: [ChunkEncoding.Form.dictionary, .lz4, .text].map(\.rawValue)))
        let sound = try Self.open(try Self.storage(files))
        let unchanged = try Self.content(sound)
        try Self.write(sound, Self.change)
        let changed = try Self.content(sound)
        try sound.close()
        #expect(unchanged != changed)
        var refused: Set<UInt8> = []
        for (kind, byte) in Self.flips(checkpoint) where kind > Node.Kind.table.rawValue {
            var files = files
            files[path]![byte] ^= 8
            let storage = try Self.storage(files)
            let store = try Self.open(storage)
            let before = store.publishedVersion
            var isChanged = true
            do {
                try Self.write(store, Self.change)
            } catch let error as StoreError {
                isChanged = false
                #expect("\(error)".contains(path), "\(error)")
                #expect(store.publishedVersion == before)
                refused.insert(kind)
                // The next attempt finds nothing that the failed one made.
                for _ in 0..<2 {
                    let error = #expect(throws: StoreError.self) { try Self.write(store, Self.change) }
                    #expect(error?.description.contains(path) ?? false, "\(error as Any)")
                }
                #expect(store.publishedVersion == before)
                // Everything that the damage does not affect can still be changed.
                try Self.write(store) { try $0.changeSchema(to: StoreSchema(version: 2, tables: Self.schema.tables)) }
                #expect(store.publishedVersion == before + 1)
            }
            do { _ = try store.compact() } catch {
                #expect("\(error)".contains(path), "\(error)")
            }
            try store.close()
            // Once the bit is restored, the content is the original or what the change made of it.
            if try storage.status(path) != nil {
                let file = try storage.open(path, .readWrite)
                try checkpoint[byte...byte].withUnsafeBytes { try file.write($0, at: byte) }
                file.close()
            }
            let again = try Self.open(storage)
            #expect(try Self.content(again) == (isChanged ? changed : unchanged), "kind \(kind), byte \(byte)")
            try again.close()
        }
        let expected: [Node.Kind] = [
            .rowInner, .leaf, .chunk, .integerIndexInner, .integerIndexLeaf, .bytesIndexInner, .bytesIndexLeaf,
        ]
        #expect(refused.isSuperset(of: expected.map(\.rawValue)), "\(refused)")
    }

    @Test("a change of one cell throws each time, or never") func oneCell() throws {
        let files = try Self.files(changed: false)
        let path = try #require(files.keys.first { $0.hasSuffix(".checkpoint") })
        let checkpoint = try #require(files[path])
        var refused: Set<Int> = []
        for (_, byte) in Self.flips(checkpoint) where checkpoint[Self.node(around: byte, checkpoint) + 16] & 0x3F == 5 {
            var files = files
            files[path]![byte] ^= 8
            let storage = try Self.storage(files)
            let store = try Self.open(storage)
            var set: [Int64: [Int: Value]] = [:]
            // If the damaged chunk is one that is unpacked, alone or with the nodes that it refers to, the thread
            // must not keep the result.
            for column in [2, 5, 6] {
                for key in stride(from: Int64(0), to: Int64(Self.count), by: 250) {
                    func change() throws {
                        try Self.write(store) { $0.set(Self.item, column: column, key: key, to: .string("mine")) }
                    }
                    do { try change() } catch let error as StoreError {
                        #expect("\(error)".contains(path), "\(error)")
                        for _ in 0..<3 { #expect(throws: StoreError.self) { try change() } }
                        refused.insert(column)
                        break
                    }
                    set[key, default: [:]][column] = .string("mine")
                }
            }
            try? store.close()
            let file = try storage.open(path, .readWrite)
            try checkpoint[byte...byte].withUnsafeBytes { try file.write($0, at: byte) }
            file.close()
            let (again, sound) = (
                try Self.open(storage), try Self.open(try Self.storage(files: files, path, checkpoint))
            )
            var expected = try Self.content(sound)
            for (key, values) in set {
                for (column, value) in values { expected[key]?[column] = value }
            }
            #expect(try Self.content(again) == expected, "byte \(byte)")
            try again.close()
            try sound.close()
        }
        #expect(refused == [2, 5, 6])
    }

    @Test("following throws, and the store stays at its version") func follow() throws {
        let files = try Self.files(changed: false)
        let path = try #require(files.keys.first { $0.hasSuffix(".checkpoint") })
        let checkpoint = try #require(files[path])
        var refused = 0
        for (kind, byte) in Self.flips(checkpoint)
        where kind == Node.Kind.leaf.rawValue || kind == Node.Kind.chunk.rawValue {
            let storage = try Self.storage(files)
            let writer = try Self.open(storage)
            // The follower opens a file that is damaged; the writer has read all of it before.
            try writer.verify()
            let file = try storage.open(path, .readWrite)
            let bytes = [checkpoint[byte] ^ 8]
            let follower = try Self.open(storage)
            try bytes.withUnsafeBytes { try file.write($0, at: byte) }
            file.close()
            let before = follower.publishedVersion
            try Self.write(writer, Self.change)
            do { try follower.catchUp() } catch {
                #expect("\(error)".contains(path), "\(error)")
                #expect(follower.publishedVersion == before)
                refused += 1
            }
            try follower.close()
            try writer.close()
        }
        #expect(refused > 0)
    }
}
