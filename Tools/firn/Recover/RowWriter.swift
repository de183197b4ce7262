import FirnCore
import FirnCrypto
import FirnLog
import FirnStorage

/// Writes rows to a new store, through Firn itself, which makes indexes and backlinks anew.
///
/// All objects are written in one transaction. Links come after all objects, so links to lost objects are recognised.
///
/// It is used by one thread.
final class RowWriter {
    /// What a new store holds, and what it lacks.
    struct Written {
        /// How many objects there are, by table.
        fileprivate(set) var objects: [Int: Int] = [:]
        /// How many embedded objects were left out because their parents are lost, by table.
        fileprivate(set) var orphans: [Int: Int] = [:]
        /// Links that led to lost objects.
        fileprivate(set) var cutLinks = Losses()
        /// What the rows lacked.
        fileprivate(set) var losses = RowLosses()
    }

    private let schema: DecodedSchema
    private let transaction: WriteTransaction
    private var written = Written()
    /// The objects that exist, by table.
    private var keys: [KeySet]
    /// The embedded objects that have a parent, by table.
    private var owned: [KeySet]

    /// Makes the store. What was made is removed if this fails.
    static func write(
        _ rows: MergedRows, to path: String, encryptionKey: EncryptionKey?, storage: any Storage, clock: any Clock,
        _ output: Output
    ) throws -> Written {
        guard let schema = rows.schema.storeSchema else {
            throw ToolError(.damage, "\(path) was not made: the schema has types that this release does not know.")
        }
        return try NewStore.make(at: path, storage: storage, output) { partial in
            var options = LogOptions(folder: partial)
            // Nobody else has the store yet.
            options.usesThreads = false
            options.encryptionKey = encryptionKey
            do {
                let store = try Store(StoreOptions(log: options), storage: storage, clock: clock)
                let written: Written
                do {
                    written = try write(rows, to: store, schema)
                } catch {
                    // The first error is the one that counts.
                    try? store.close()
                    throw error
                }
                try store.close()
                return written
            } catch let error as StoreError {
                throw ToolError(error, path)
            }
        }
    }

    private static func write(_ rows: MergedRows, to store: Store, _ schema: StoreSchema) throws -> Written {
        let first = try store.beginWrite()
        try first.changeSchema(to: schema)
        _ = try first.commit()
        let transaction = try store.beginWrite()
        let written: Written
        do {
            let writer = RowWriter(transaction, schema: rows.schema)
            try writer.write(rows)
            written = writer.written
        } catch {
            transaction.cancel()
            throw error
        }
        _ = try transaction.commit()
        return written
    }

    private init(_ transaction: WriteTransaction, schema: DecodedSchema) {
        self.transaction = transaction
        self.schema = schema
        keys = Array(repeating: KeySet(), count: schema.tables.count)
        owned = keys
    }

    private func write(_ rows: MergedRows) throws {
        written.losses = try rows.forEachRow(.plain) { row in
            try Interrupts.check()
            try insert(row)
        }
        if schema.tables.contains(where: \.mayLink) {
            // The walk for the plain columns has returned all losses.
            _ = try rows.forEachRow(.linking) { row in
                try Interrupts.check()
                link(row)
            }
        }
        deleteOrphans()
        for (number, table) in schema.tables.enumerated() where !table.isRemoved {
            written.objects[number] = count(number)
        }
        if let damage = transaction.metDamage { throw damage }
    }

    private func count(_ table: Int) -> Int { transaction.table(TableID(table)).count }

    // MARK: Objects

    private func insert(_ row: RecoveredRow) throws {
        let (table, id) = (schema.tables[row.table], TableID(row.table))
        // Objects come in the order in which they were inserted. So one with the same primary key was deleted before
        // this one was inserted, in a version that is lost.
        if let column = table.primaryKey,
            let stale = transaction.table(id).firstKey(
                primaryKey: row.values[column] ?? Self.blank(table.columns[column]))
        {
            transaction.delete(id, stale)
            keys[row.table].remove(stale)
        }
        // An object that gets the next number may be written to the log at once, which saves memory.
        var fresh =
            try row.key == transaction.table(id).nextKey
            ? transaction.beginRow(id) : transaction.beginRow(id, key: row.key)
        var sets: [(column: Int, elements: [Value])] = []
        for (number, column) in table.columns.enumerated() where !column.isRemoved && !column.mayLink {
            guard let value = row.values[number] else { continue }
            // A set puts its elements in order, and takes each once.
            if case .set(let elements) = value {
                sets.append((number, elements))
            } else {
                transaction.fill(&fresh, column: number, value: value)
            }
        }
        try transaction.endRow(fresh)
        for (column, elements) in sets { setMembers(elements, table: id, column: column, key: row.key) }
        keys[row.table].insert(row.key)
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

    private func setMembers(_ elements: [Value], table: TableID, column: Int, key: Int64) {
        transaction.edit(table, column: column, key: key) { set in
            for element in elements { set.insertMember(element) }
        }
    }

    // MARK: Links

    private func link(_ row: RecoveredRow) {
        guard keys[row.table].contains(row.key) else { return }
        for (number, column) in schema.tables[row.table].columns.enumerated() {
            guard let value = row.values[number], value != .null else { continue }
            var allowed: Set<ChangedObject.Identity> = []
            var cut = 0
            value.forEachLink { table, key in
                guard let target = table?.index ?? column.target else { return }
                let identity = ChangedObject.Identity(table: target, key: key)
                if allowed.contains(identity) { return }
                if mayLead(to: identity) { allowed.insert(identity) } else { cut += 1 }
            }
            if cut > 0 {
                written.cutLinks.add(row.key, count: cut, at: SchemaPath(table: row.table, column: number))
            }
            let kept = value.keepingLinks { table, key in
                allowed.contains(ChangedObject.Identity(table: table?.index ?? column.target ?? -1, key: key))
            }
            set(kept, table: TableID(row.table), column: number, key: row.key)
        }
    }

    /// Whether an object exists and, if it is embedded, has no parent yet. A link from a second parent is stale.
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
            setMembers(elements, table: id, column: column, key: key)
        default: transaction.set(id, column: column, key: key, to: value)
        }
    }

    /// Deletes embedded objects whose parents are lost: Firn has none without a parent.
    private func deleteOrphans() {
        let embedded = schema.tables.indices.filter { schema.tables[$0].isEmbedded && !schema.tables[$0].isRemoved }
        let before = embedded.map(count)
        for number in embedded {
            // An orphan may have been deleted already, as a part of another orphan.
            for key in keys[number].elements
            where !owned[number].contains(key) && transaction.table(TableID(number)).find(key) != nil {
                transaction.delete(TableID(number), key)
            }
        }
        for (number, count) in zip(embedded, before) { written.orphans[number] = count - self.count(number) }
    }
}
