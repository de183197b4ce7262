import FirnBytes
import FirnCore
import FirnRealmFile

/// Puts all objects of a Realm file into a store that has no classes yet.
///
/// The file is read twice. First all objects get their plain values, and then their links, since a link's target must
/// exist and links may form circles. Objects are committed in batches, so memory does not grow with the file. The
/// exceptions are the keys of embedded objects, and of classes that are numbered anew (`RealmObjectKeys`).
///
/// The store must be the import's alone: nobody may see it before it is complete.
package final class RealmImport {
    /// What was imported, and what could not stay as it was.
    package struct Report: Sendable, Equatable {
        package var objectCount = 0
        /// Texts that are no UTF-8. Their wrong bytes became U+FFFD.
        package var replacedTextCount = 0
        /// Links to objects that the file does not have. They became nil, and were left out of lists and sets.
        package var missingLinkCount = 0
        /// Nulls in properties that are not optional.
        package var replacedNullCount = 0
        /// Embedded objects to which no object links. Nobody could reach them.
        package var orphanCount = 0
        /// Links to embedded objects that had a parent already. They became nil.
        package var secondParentCount = 0
    }

    /// Called between batches with the number of objects read so far, twice for each object, and the number expected.
    package typealias Progress = (_ done: Int, _ expected: Int) throws -> Void

    private let file: RealmFile
    private let schema: RealmImportSchema
    private let store: Store
    private let progress: Progress
    private var values: RealmImportValues
    private var keys: [RealmObjectKeys] = []
    /// The tables' numbers by the tables of the file.
    private var tables: [UInt32: TableID] = [:]
    /// The embedded objects that have a parent.
    private var owned: [TableID: Set<Int64>] = [:]
    private var report = Report()
    private var transaction: WriteTransaction
    private var isOpen = true
    private var pending = 0
    private var done = 0
    private let expected: Int

    /// How many objects a transaction has at most. A transaction is also committed when the text and data that it was
    /// given reach `batchByteCount`.
    private static let batchCount = 20_000
    private static let batchByteCount = 16 << 20

    /// - Throws: `RealmFileError` if the file has a class that no store can have; `StoreError`.
    package init(
        _ file: RealmFile, _ schema: RealmImportSchema, into store: Store, progress: @escaping Progress
    ) throws {
        self.file = file
        self.schema = schema
        self.store = store
        self.progress = progress
        values = RealmImportValues(file)
        expected = 2 * schema.classes.reduce(0) { $0 + file.estimatedCount(of: $1.source) }
        transaction = try store.beginWrite()
    }

    deinit { if isOpen { transaction.cancel() } }

    /// Imports everything. Call it once.
    package func run() throws -> Report {
        try transaction.changeSchema(to: schema.schema)
        for type in schema.classes {
            tables[type.source.table] = type.table
            keys.append(RealmObjectKeys(lastKey: try file.lastKey(of: type.source)))
        }
        file.beginReading()
        for type in schema.classes { try within(type) { try insertObjects(type) } }
        file.beginReading()
        for type in schema.classes where !type.linking.isEmpty { try within(type) { try setLinks(type) } }
        try removeOrphans()
        try commit(begins: false)
        report.replacedTextCount = values.replacedTextCount
        report.missingLinkCount = values.missingLinkCount
        report.replacedNullCount = values.replacedNullCount
        return report
    }

    private func within(_ type: RealmImportClass, _ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as RealmFileError {
            throw error.within(className: type.source.name, path: file.path)
        }
    }

    // MARK: Batches

    private func count(_ objects: Int, byteCount: Int = 0) throws {
        done += objects
        pending += objects + byteCount * Self.batchCount / Self.batchByteCount
        guard pending >= Self.batchCount else { return }
        try commit(begins: true)
        try progress(done, max(done, expected))
    }

    private func commit(begins: Bool) throws {
        if let damage = transaction.metDamage { throw damage }
        isOpen = false
        _ = try transaction.commit()
        pending = 0
        guard begins else { return }
        transaction = try store.beginWrite()
        isOpen = true
    }

    // MARK: Objects

    private func insertObjects(_ type: RealmImportClass) throws {
        try file.forEachBatch(of: type.source) { batch in
            var byteCount = 0
            for index in 0..<batch.count {
                let key = try keys[type.table.index].next(batch.key(index))
                var row =
                    key > transaction.table(type.table).nextKey
                    ? try transaction.beginRow(type.table, key: key) : transaction.beginRow(type.table)
                for (number, column) in type.columns.enumerated() {
                    // A column of links is filled later.
                    if column.type == .link { continue }
                    do {
                        byteCount += try fill(&row, column: number, column, with: batch.value(number, index))
                    } catch let error as RealmFileError {
                        throw error.within(className: type.source.name, propertyName: column.name, path: file.path)
                    }
                }
                do {
                    try transaction.endRow(row)
                } catch let error as StoreError {
                    guard error.code == .primaryKeyTaken else { throw error }
                    throw RealmFileError(
                        .damage, detail: "two objects have the same primary key, the second one is \(batch.key(index))")
                }
            }
            report.objectCount += batch.count
            try count(batch.count, byteCount: byteCount)
        }
    }

    /// Fills a cell, unless the value has a link. Returns about how many bytes it takes.
    private func fill(
        _ row: inout FreshRow, column number: Int, _ column: ColumnSchema, with value: RealmFileValue
    ) throws -> Int {
        if column.collection == .none, column.type != .mixed {
            switch value {
            case .int(let value):
                transaction.fill(row, number, fixed: value)
                return 8
            case .double(let bits):
                transaction.fill(row, number, fixed: bits)
                return 8
            case .string(let bytes) where bytes.count <= Limits.valueByteCount && bytes.isUTF8:
                transaction.fill(&row, number, bytes: bytes)
                return bytes.count
            default: break
            }
        }
        guard let plain = try values.plain(value, column), plain != .null || column.type != .mixed else { return 0 }
        if column.collection == .set {
            guard case .set(let elements) = plain, !elements.isEmpty else { return 0 }
            transaction.fill(&row, column: number, value: .set(Self.members(elements)))
        } else if plain == .null {
            transaction.fillNull(row, number)
        } else {
            transaction.fill(&row, column: number, value: plain)
        }
        return Self.byteCount(plain)
    }

    /// About how many bytes a value takes.
    private static func byteCount(_ value: Value) -> Int {
        switch value {
        case .string(let text): text.utf8.count
        case .data(let bytes): bytes.count
        case .list(let elements), .set(let elements): elements.reduce(8) { $0 + byteCount($1) }
        case .map(let entries): entries.reduce(8) { $0 + $1.key.utf8.count + byteCount($1.value) }
        default: 16
        }
    }

    /// The elements of a set in the store's order, each once. Realm's order is another one, and differs between
    /// formats.
    private static func members(_ elements: [Value]) -> [Value] {
        var members: [Value] = []
        for element in elements.sorted(by: Value.precedes)
        where members.last.map({ Value.order($0, element) != 0 }) ?? true {
            members.append(element)
        }
        return members
    }

    // MARK: Links

    private func setLinks(_ type: RealmImportClass) throws {
        try file.forEachBatch(of: type.source) { batch in
            for index in 0..<batch.count {
                guard let key = keys[type.table.index].key(of: batch.key(index)) else { continue }
                for number in type.linking {
                    let column = type.columns[number]
                    do {
                        try setLink(batch.value(number, index), column: number, column, of: key, in: type.table)
                    } catch let error as RealmFileError {
                        throw error.within(className: type.source.name, propertyName: column.name, path: file.path)
                    }
                }
            }
            try count(batch.count)
        }
    }

    private func setLink(
        _ value: RealmFileValue, column number: Int, _ column: ColumnSchema, of key: Int64, in table: TableID
    ) throws {
        switch value {
        case .null: return
        case .collection(let collection) where collection.isEmpty: return
        case .link, .collection: break
        default: return
        }
        var hasLink = column.type == .link
        var reading = values
        let linked = try reading.linked(value, column) { source, fileKey in
            hasLink = true
            return target(source, fileKey)
        }
        // Everything else was counted when the object was inserted.
        values.missingLinkCount = reading.missingLinkCount
        switch linked {
        case .null: return
        // Mixed values without links are there already.
        case _ where !hasLink: return
        case .set(let elements):
            transaction.edit(table, column: number, key: key) { set in
                for element in elements { set.insertMember(element) }
            }
        default: transaction.set(table, column: number, key: key, to: linked)
        }
    }

    /// The object that a link leads to. Nil if it does not exist, or is embedded in another object.
    private func target(_ source: UInt32, _ fileKey: Int64) -> (table: TableID, key: Int64)? {
        guard let table = tables[source], let key = keys[table.index].key(of: fileKey),
            transaction.table(table).find(key) != nil
        else { return nil }
        guard schema.schema[table].isEmbedded else { return (table, key) }
        guard owned[table, default: []].insert(key).inserted else {
            report.secondParentCount += 1
            return nil
        }
        return (table, key)
    }

    /// Embedded objects to which nothing links, and what is embedded in them.
    private func removeOrphans() throws {
        for type in schema.classes where schema.schema[type.table].isEmbedded {
            var orphans: [Int64] = []
            transaction.forEachWithoutOneParent(type.table) { key, _ in orphans.append(key) }
            for key in orphans where transaction.table(type.table).find(key) != nil {
                transaction.delete(type.table, key)
                report.orphanCount += 1
                try count(1)
            }
        }
    }
}
