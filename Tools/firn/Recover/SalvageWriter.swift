import FirnCore
import FirnLog
import FirnStorage

/// Writes what a salvage finds to a new store, through Firn itself, which makes indexes and backlinks anew.
///
/// All objects are one transaction. Links come after all objects, so that those to lost objects are known.
final class SalvageWriter {
    private let salvage: Salvage
    private let schema: DecodedSchema
    private let transaction: WriteTransaction
    /// The objects that exist, by table.
    private var keys: [KeySet]
    /// The highest key so far, by table.
    private var lastKeys: [Int64]
    /// The embedded objects that have a parent, by table.
    private var owned: [KeySet]

    /// Makes the store. What was made is removed if it fails.
    static func write(
        _ salvage: Salvage, to path: String, storage: any Storage, clock: any Clock, _ output: Output
    ) throws {
        guard let schema = salvage.schema.storeSchema else {
            throw ToolError(.damage, "\(path) was not made: the schema has types that this release does not know.")
        }
        try NewStore.make(at: path, storage: storage, output) { partial in
            var options = LogOptions(folder: partial)
            // Nobody else has the store yet.
            options.usesThreads = false
            try made(path) {
                let store = try Store(StoreOptions(log: options), storage: storage, clock: clock)
                do {
                    let first = try store.beginWrite()
                    try first.changeSchema(to: schema)
                    _ = try first.commit()
                    let transaction = try store.beginWrite()
                    do {
                        try SalvageWriter(salvage, transaction).run()
                    } catch {
                        transaction.cancel()
                        throw error
                    }
                    _ = try transaction.commit()
                } catch {
                    // The first error is the one that counts.
                    try? store.close()
                    throw error
                }
                try store.close()
            }
        }
    }

    /// Turns an error of Firn's store into one of the tool.
    private static func made(_ path: String, _ body: () throws -> Void) throws {
        do { try body() } catch let error as StoreError { throw ToolError(error, path) }
    }

    private init(_ salvage: Salvage, _ transaction: WriteTransaction) {
        self.salvage = salvage
        schema = salvage.schema
        self.transaction = transaction
        keys = Array(repeating: KeySet(), count: schema.tables.count)
        owned = keys
        lastKeys = Array(repeating: -1, count: schema.tables.count)
    }

    private func run() throws {
        try salvage.forEachRow { row in
            try Interrupts.check()
            try self.insert(row)
        }
        if schema.tables.contains(where: { table in table.columns.contains { Self.mayLink($0) && !$0.isRemoved } }) {
            try salvage.forEachRow { row in
                try Interrupts.check()
                self.link(row)
            }
        }
        deleteOrphans()
        if let fault = transaction.fault { throw fault }
    }

    private static func mayLink(_ column: DecodedSchema.Column) -> Bool {
        column.type == .link || column.type == .mixed
    }

    /// The primary key of a new object.
    private static func blank(_ column: DecodedSchema.Column) -> Value {
        if column.isNullable { return .null }
        switch column.type {
        case .bool: return .bool(false)
        case .int: return .int(0)
        case .string: return .string("")
        case .objectID: return .objectID(ObjectIDBytes(a: 0, b: 0, c: 0))
        case .uuid: return .uuid(UUIDBytes(high: 0, low: 0))
        default: return .null
        }
    }

    // MARK: Objects

    private func insert(_ row: Salvage.Row) throws {
        let (table, id) = (schema.tables[row.table], TableID(row.table))
        // Leaves whose keys overlap contradict each other: the first one wins.
        guard row.key > lastKeys[row.table] else { return salvage.loseVisited(row.table, row.key) }
        lastKeys[row.table] = row.key
        // Objects come in the order in which they were inserted. So one with the same primary key was deleted before
        // this one was inserted, in a version that is lost.
        if let column = table.primaryKey,
            let stale = transaction.table(id).firstKey(
                primaryKey: row.cells[column]?.value() ?? Self.blank(table.columns[column]))
        {
            transaction.delete(id, stale)
            keys[row.table].remove(stale)
            salvage.removeStale(row.table)
        }
        // An object that gets the next number may be written to the log at once, which saves memory.
        var fresh =
            try row.key == transaction.table(id).nextKey
            ? transaction.beginRow(id) : transaction.beginRow(id, key: row.key)
        var sets: [(column: Int, elements: [Value])] = []
        for (number, column) in table.columns.enumerated() where !column.isRemoved && !Self.mayLink(column) {
            guard let value = row.cells[number]?.value() else { continue }
            // A set puts its elements in order, and takes each once.
            if case .set(let elements) = value {
                sets.append((number, elements))
            } else {
                transaction.fill(&fresh, column: number, value: value)
            }
        }
        try transaction.endRow(fresh)
        for (column, elements) in sets {
            transaction.edit(id, column: column, key: row.key) { set in
                for element in elements { set.insertMember(element) }
            }
        }
        keys[row.table].insert(row.key)
    }

    // MARK: Links

    private func link(_ row: Salvage.Row) {
        guard keys[row.table].contains(row.key) else { return }
        for (number, column) in schema.tables[row.table].columns.enumerated()
        where !column.isRemoved && Self.mayLink(column) {
            guard let cell = row.cells[number] else { continue }
            if case .null = cell { continue }
            var allowed: Set<ChangedObject.Identity> = []
            var cut = 0
            cell.forEachLink { table, key in
                guard let target = table ?? column.target else { return }
                let identity = ChangedObject.Identity(table: target, key: key)
                if allowed.contains(identity) { return }
                if mayLead(to: identity) { allowed.insert(identity) } else { cut += 1 }
            }
            if cut > 0 { salvage.note(\.cutLinks, row.table, column: number, key: row.key, count: cut) }
            let value = cell.value { table, key in
                allowed.contains(ChangedObject.Identity(table: table ?? column.target ?? -1, key: key))
            }
            set(value, table: TableID(row.table), column: number, key: row.key)
        }
    }

    /// Whether an object exists and, if it is embedded, has no parent yet: a link from a second one is out of date.
    private func mayLead(to target: ChangedObject.Identity) -> Bool {
        guard schema.tables.indices.contains(target.table), keys[target.table].contains(target.key) else {
            return false
        }
        return !schema.tables[target.table].isEmbedded || owned[target.table].insert(target.key)
    }

    private func set(_ value: Value, table id: TableID, column: Int, key: Int64) {
        switch value {
        case .null: return
        case .set(let elements) where schema.tables[id.index].columns[column].collection == .set:
            transaction.edit(id, column: column, key: key) { set in
                for element in elements { set.insertMember(element) }
            }
        default: transaction.set(id, column: column, key: key, to: value)
        }
    }

    /// Deletes embedded objects whose parents are lost: Firn has none without a parent.
    private func deleteOrphans() {
        let embedded = schema.tables.indices.filter { schema.tables[$0].isEmbedded && !schema.tables[$0].isRemoved }
        let before = embedded.map { transaction.table(TableID($0)).count }
        for number in embedded {
            // An orphan may have gone already, as a part of another one.
            for key in keys[number].elements
            where !owned[number].contains(key) && transaction.table(TableID(number)).find(key) != nil {
                transaction.delete(TableID(number), key)
            }
        }
        for (number, count) in zip(embedded, before) {
            salvage.lose(orphans: count - transaction.table(TableID(number)).count, of: number)
        }
    }
}
