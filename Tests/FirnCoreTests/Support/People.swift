import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// A store of people, and its expected content.
struct People {
    let store: Store
    var ages: [Int64]
    var names: [String]

    /// Adds a table of `count` people with a text each, in transactions of 5,000.
    static func fill(_ store: Store, _ count: Int) throws {
        let transaction = try store.beginWrite()
        try transaction.makeTable(
            "Person",
            [
                ColumnSchema(name: "id", type: .int), ColumnSchema(name: "name", type: .string),
                ColumnSchema(name: "age", type: .int, isIndexed: true),
            ])
        try transaction.commit()
        var next = 0
        while next < count {
            let transaction = try store.beginWrite()
            for id in next..<min(next + 5000, count) { try add(id, transaction) }
            try transaction.commit()
            next += 5000
        }
    }

    static func add(_ id: Int, _ transaction: WriteTransaction) throws {
        var row = transaction.beginRow(TableID(0))
        transaction.fill(&row, column: 0, value: .int(Int64(id)))
        transaction.fill(&row, column: 1, value: .string("person number \(id), born to be one of many"))
        transaction.fill(&row, column: 2, value: .int(Int64(id % 90)))
        try transaction.endRow(row)
    }

    static func options(_ folder: String) -> StoreOptions {
        var options = StoreOptions(log: LogOptions(folder: folder, verify: .everything))
        options.log?.usesThreads = false
        options.log?.reserveByteCount = 0
        options.compaction.isAutomatic = false
        return options
    }

    init(_ folder: String, _ storage: any Storage, count: Int = 2000) throws {
        try self.init(People.options(folder), storage, count: count)
    }

    init(_ options: StoreOptions, _ storage: any Storage, count: Int) throws {
        store = try Store(options, storage: storage)
        try Self.fill(store, count)
        ages = (0..<count).map { Int64($0 % 90) }
        names = (0..<count).map { "person number \($0), born to be one of many" }
    }

    /// The same people in a store that was opened again.
    init(_ store: Store, like other: People) {
        self.store = store
        ages = other.ages
        names = other.names
    }

    /// Changes the names and ages of some people.
    mutating func change(_ people: some Sequence<Int>, to round: Int) throws {
        let transaction = try store.beginWrite()
        for person in people {
            ages[person] = Int64(round)
            names[person] = "person \(person) in round \(round), and all of it changed"
            transaction.set(TableID(0), column: 2, key: Int64(person), to: .int(ages[person]))
            transaction.set(TableID(0), column: 1, key: Int64(person), to: .string(names[person]))
        }
        try transaction.commit()
    }

    /// The first difference between a version and the expected content; nil if there is none.
    func fault(_ snapshot: Snapshot) -> String? {
        let table = snapshot.table(TableID(0))
        guard table.count == ages.count else { return "\(table.count) people" }
        for person in ages.indices {
            let key = Int64(person)
            if table.value(2, of: key) != .int(ages[person]) { return "the age of \(person)" }
            if table.value(1, of: key) != .string(names[person]) { return "the name of \(person)" }
        }
        return nil
    }
}

extension Store {
    /// Whether blocks of the newest checkpoint were returned to the file system.
    func hasHoles() throws -> Bool {
        let checkpoint = try #require(log?.checkpoint)
        return try !CheckpointState.decode(checkpoint.state).holes.isEmpty
    }
}
