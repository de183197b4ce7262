import FirnCore
import FirnLog
import FirnQuery
import FirnStorage

/// Firn through FirnCore, below the object layer: bytes in and out, rows found by key, no Swift strings.
///
/// `@unchecked Sendable`: immutable, and a store takes calls from any thread.
final class StoreEngine: Engine, @unchecked Sendable {
    static let takesStrings = false
    static let note = "Firn's store (FirnCore) without its object layer: rows by key, texts as bytes."

    fileprivate let store: Store
    private let folder: String

    convenience init(folder: String, durability: Durability) throws {
        try self.init(folder: folder, durability: durability, compactsByItself: true)
    }

    init(folder: String, durability: Durability, compactsByItself: Bool) throws {
        self.folder = folder
        let log = LogOptions(folder: folder + "/people.firn", durability: durability == .full ? .full : .none)
        var options = StoreOptions(log: log)
        options.compaction.isAutomatic = compactsByItself
        store = try Store(options, storage: PosixStorage.shared)
        guard store.schema.tables.isEmpty else { return }
        let transaction = try store.beginWrite()
        try transaction.changeSchema(to: Self.schema)
        try transaction.commit()
    }

    fileprivate static let person = TableID(0)

    fileprivate enum Column {
        static let id = 0
        static let name = 1
        static let email = 2
        static let age = 3
        static let score = 4
        static let city = 5
        static let active = 6
        static let created = 7
        static let bio = 8
    }

    private static let schema = StoreSchema(tables: [
        TableSchema(
            name: "Person", primaryKey: Column.id,
            columns: [
                ColumnSchema(name: "id", type: .int), ColumnSchema(name: "name", type: .string),
                ColumnSchema(name: "email", type: .string), ColumnSchema(name: "age", type: .int),
                ColumnSchema(name: "score", type: .double), ColumnSchema(name: "city", type: .string),
                ColumnSchema(name: "active", type: .bool), ColumnSchema(name: "created", type: .int),
                ColumnSchema(name: "bio", type: .string),
            ])
    ])

    func load(_ people: People, batch: Int) throws {
        var next = 0
        while next < people.count {
            let transaction = try store.beginWrite()
            for index in next..<min(next + batch, people.count) { try Self.insert(people, index, transaction) }
            try transaction.commit()
            next += batch
        }
    }

    @inline(__always)
    fileprivate static func insert(_ people: People, _ index: Int, _ transaction: WriteTransaction) throws {
        let record = people.records[index]
        var row = transaction.beginRow(person)
        transaction.fill(row, Column.id, fixed: Int64(record.id))
        transaction.fill(row, Column.age, fixed: Int64(record.age))
        transaction.fill(row, Column.score, fixed: record.score)
        transaction.fill(row, Column.active, fixed: record.active)
        transaction.fill(row, Column.created, fixed: Int64(record.created))
        var text = UnsafeRawPointer(people.bytes + record.textOffset)
        @inline(__always)
        func fill(_ column: Int, _ length: UInt8) {
            transaction.fill(&row, column, bytes: UnsafeRawBufferPointer(start: text, count: Int(length)))
            text += Int(length)
        }
        fill(Column.name, record.nameLength)
        fill(Column.email, record.emailLength)
        fill(Column.city, record.cityLength)
        fill(Column.bio, record.bioLength)
        try transaction.endRow(row)
    }

    func makeReader() throws -> any Reader { StoreReader(store) }
    func makeWriter() throws -> any Writer { StoreWriter(store) }
    func waitUntilIdle() throws { try waitForCompactor(folder + "/people.firn") }
    func compact() throws { try store.compact() }
    func makeCompactor() throws -> () throws -> Void { compact }
    func hold() throws -> Any { store.pin() }
    var retainedBytes: Int? { store.activeVersions.reduce(0) { $0 + $1.retainedByteCount } }
    func close() throws { try store.close() }
}

private final class StoreWriter: Writer {
    private let store: Store

    init(_ store: Store) { self.store = store }

    @inline(__always)
    private func key(_ id: Int, _ transaction: WriteTransaction) throws -> Int64 {
        guard let key = transaction.table(StoreEngine.person).firstKey(primaryKeyInt: Int64(id)) else {
            throw BenchError("no person \(id)")
        }
        return key
    }

    func setAge(_ age: Int, ofPerson id: Int) throws {
        let transaction = try store.beginWrite()
        let key = try key(id, transaction)
        withUnsafeBytes(of: Int64(age)) {
            transaction.set(StoreEngine.person, column: StoreEngine.Column.age, key: key, fixed: $0)
        }
        try transaction.commit()
    }

    func apply(_ changes: [Change], of people: People) throws {
        let transaction = try store.beginWrite()
        for change in changes {
            switch change {
            case .setAge(let age, let person):
                let key = try key(person, transaction)
                withUnsafeBytes(of: Int64(age)) {
                    transaction.set(StoreEngine.person, column: StoreEngine.Column.age, key: key, fixed: $0)
                }
            case .setBio(let index, let person):
                let record = people.records[index]
                let bio = UnsafeRawBufferPointer(
                    start: people.bytes + record.bioOffset, count: Int(record.bioLength))
                transaction.set(
                    StoreEngine.person, column: StoreEngine.Column.bio, key: try key(person, transaction), bytes: bio)
            case .insert(let index): try StoreEngine.insert(people, index, transaction)
            case .delete(let person): transaction.delete(StoreEngine.person, try key(person, transaction))
            }
        }
        try transaction.commit()
    }

    func setAgeOfEveryone(_ age: Int) throws {
        let transaction = try store.beginWrite()
        transaction.base.snapshot.table(StoreEngine.person).forEachLeaf { leaf, _ in
            for row in 0..<leaf.count {
                withUnsafeBytes(of: Int64(age)) {
                    transaction.set(StoreEngine.person, column: StoreEngine.Column.age, key: leaf.key(row), fixed: $0)
                }
            }
            return true
        }
        try transaction.commit()
    }

    func insert(_ people: People, at index: Int) throws {
        let transaction = try store.beginWrite()
        try StoreEngine.insert(people, index, transaction)
        try transaction.commit()
    }
}

private final class StoreReader: Reader {
    private let store: Store
    private var pin: Pin

    init(_ store: Store) {
        self.store = store
        pin = store.pin()
    }

    private var table: TableView { pin.snapshot.table(StoreEngine.person) }

    @inline(__always)
    private func digest(_ leaf: Leaf, _ row: Int) -> UInt64 {
        let age = leaf.load(StoreEngine.Column.age, row, as: Int64.self)
        let name = leaf.cell(StoreEngine.Column.name, row).bytes.unsafelyUnwrapped
        return readDigest(age: Int(age), nameLength: name.count, firstByte: name[0])
    }

    func pointReads(_ keys: [Int]) throws -> UInt64 {
        let table = table
        var sum: UInt64 = 0
        for key in keys {
            guard let found = table.firstKey(primaryKeyInt: Int64(key)), let location = table.find(found) else {
                throw BenchError("no person \(key)")
            }
            sum &+= digest(location.leaf, location.row)
        }
        return sum
    }

    func sumOfAges() throws -> Int {
        let all = try QueryPipeline(table: StoreEngine.person, schema: store.schema)
        guard case .int(let sum) = try all.aggregate(.sum, PropertyPath(["age"]), in: pin.snapshot) else {
            throw BenchError("the sum of integers is not an integer")
        }
        return Int(sum)
    }

    func count(olderThan age: Int) throws -> Int {
        let older = Predicate.compare(.path("age"), .greater, .value(.int(Int64(age))))
        return try QueryPipeline([.filter(older)], table: StoreEngine.person, schema: store.schema).count(
            in: pin.snapshot)
    }

    func readEveryone() throws -> UInt64 {
        var sum: UInt64 = 0
        table.forEachLeaf { leaf, _ in
            // A chunk may be packed, so code that reads most rows of a leaf gets its chunks once.
            let ages = leaf.chunk(StoreEngine.Column.age)
            let names = leaf.chunk(StoreEngine.Column.name)
            for row in 0..<leaf.count {
                let name = names.bytes(row).unsafelyUnwrapped
                sum &+= readDigest(
                    age: Int(ages.load(row, as: Int64.self)), nameLength: name.count, firstByte: name[0])
            }
            return true
        }
        return sum
    }

    func readEverything() throws -> UInt64 {
        var sum: UInt64 = 0
        table.forEachLeaf { leaf, _ in
            let chunks = (0...Column.bio).map { leaf.chunk($0) }
            for row in 0..<leaf.count { sum &+= everything(chunks, row) }
            return true
        }
        return sum
    }

    private typealias Column = StoreEngine.Column

    private func everything(_ chunks: [Chunk], _ row: Int) -> UInt64 {
        func text(_ position: UInt64, _ column: Int) -> UInt64 {
            let bytes = chunks[column].bytes(row).unsafelyUnwrapped
            return textDigest(position, length: bytes.count, firstByte: bytes[0])
        }
        return fullDigest(
            id: Int(chunks[Column.id].load(row, as: Int64.self)),
            age: Int(chunks[Column.age].load(row, as: Int64.self)),
            score: chunks[Column.score].load(row, as: Double.self),
            created: Int(chunks[Column.created].load(row, as: Int64.self)),
            active: chunks[Column.active].load(row, as: Bool.self),
            texts: text(0, Column.name) &+ text(1, Column.email) &+ text(2, Column.city) &+ text(3, Column.bio))
    }

    func openSnapshots(_ count: Int) throws {
        for _ in 0..<count { escape(UInt64(truncatingIfNeeded: store.pin().version)) }
    }

    func freeze(_ count: Int) throws { try openSnapshots(count) }
    func refresh() throws { pin = store.pin() }
}
