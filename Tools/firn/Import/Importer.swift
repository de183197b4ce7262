import FirnBytes
import FirnCore

/// Puts objects that were read into a store. It looks up what they link to, inserts new objects, and changes objects
/// whose primary key exists already.
///
/// A link may lead to an object that comes later. It is set when all objects are there; until then it takes about 80
/// bytes of memory.
///
/// Only the import's thread uses it.
final class Importer {
    typealias Parsed = ImportValues.Parsed

    let schema: StoreSchema
    @exclusivity(unchecked) private(set) var transaction: WriteTransaction
    private(set) var inserted = 0
    var changed = 0

    /// A property that waits for the objects that it links to.
    struct Deferred {
        let place: Place
        let value: Parsed
        let line: Int
    }

    /// A property of an object.
    struct Place: Hashable {
        let table: TableID
        let column: Int
        let key: Int64
    }

    var deferred: [Deferred] = []
    /// The objects with waiting properties, by table.
    var waiting: [TableID: KeySet] = [:]
    /// Properties that were given again after they had begun to wait. A property's entries in `deferred` before this
    /// index are stale.
    var superseded: [Place: Int] = [:]
    /// Objects of the store that only waiting properties may still change. They are not counted as changed yet.
    var uncounted: [TableID: KeySet] = [:]
    /// The keys of objects whose number in the import is another one, by table and number.
    private(set) var renumbered: [TableID: [Int64: Int64]] = [:]
    /// The keys, by table, of objects that do not have that number in the import. They are objects of the import, and
    /// objects that others have added meanwhile. A link to such a number does not lead to them.
    private(set) var unnumbered: [TableID: KeySet] = [:]
    /// The first key that no object had before the import, by table.
    let firstKeys: [Int64]
    /// Whether all objects of the import are there.
    var isComplete = false

    /// Numbers of objects are kept up to here. Higher ones would leave the class without numbers for new objects.
    private static let numberMax: Int64 = 1 << 48

    init(_ schema: StoreSchema, _ transaction: WriteTransaction) {
        self.schema = schema
        self.transaction = transaction
        firstKeys = schema.tables.indices.map { transaction.table(TableID($0)).nextKey }
    }

    /// The next keys of new objects as of the last commit, by table.
    private var nextKeys: [Int64] = []

    /// Must be called before the transaction is committed.
    func willCommit() {
        nextKeys = schema.tables.indices.map { transaction.table(TableID($0)).nextKey }
    }

    /// Goes on in another transaction.
    func go(on transaction: WriteTransaction) {
        self.transaction = transaction
        // Objects that others have added meanwhile do not have the import's numbers.
        for (index, key) in nextKeys.enumerated() where !schema.tables[index].isEmbedded {
            for other in key..<transaction.table(TableID(index)).nextKey {
                unnumbered[TableID(index), default: KeySet()].insert(other)
            }
        }
    }

    // MARK: Objects

    /// Adds an object, or changes the one that has its primary key.
    ///
    /// - Parameters:
    ///   - number: the object's number in the import, if the import numbers it.
    ///   - values: by the column's number; nil for a property that is not given.
    func add(_ table: TableID, number: Int64?, _ values: inout [Parsed?], line: Int) throws {
        if let primaryKey = schema[table].primaryKey {
            guard case .value(let value)? = values[primaryKey] else {
                throw InputFault(
                    "the object lacks its primary key, \(DisplayText.line(schema[table].columns[primaryKey].name))",
                    at: 0)
            }
            if let key = transaction.table(table).firstKey(primaryKey: value) {
                values[primaryKey] = nil
                if let number { try note(key, of: number, table) }
                let before = deferred.count
                if try change(table, key: key, values: values, line: line) {
                    changed += 1
                } else if deferred.count > before {
                    uncounted[table, default: KeySet()].insert(key)
                }
                return
            }
        }
        if let number, number >= firstKeys[table.index], transaction.table(table).find(number) != nil,
            !(unnumbered[table]?.contains(number) ?? false)
        {
            throw sameNumber(table, number)
        }
        _ = try insert(table, number: number, values, line: line)
        inserted += 1
    }

    /// Records the key of an object, before anything may link to the object.
    private func note(_ key: Int64, of number: Int64?, _ table: TableID) throws(InputFault) {
        // Links to an object with a primary key name it by a number only if the import numbers it.
        guard number != nil || schema[table].primaryKey == nil, !schema[table].isEmbedded, number != key else { return }
        unnumbered[table, default: KeySet()].insert(key)
        guard let number else { return }
        guard renumbered[table, default: [:]].updateValue(key, forKey: number) == nil else {
            throw sameNumber(table, number)
        }
    }

    private func sameNumber(_ table: TableID, _ number: Int64) -> InputFault {
        InputFault("two objects of class \(DisplayText.line(schema[table].name)) have the number \(number)", at: 0)
    }

    private func isPlain(_ column: ColumnSchema) -> Bool {
        column.type != .link && column.type != .mixed && column.collection != .set
    }

    func insert(_ table: TableID, number: Int64?, _ values: [Parsed?], line: Int) throws -> Int64 {
        // The object keeps its number if that is free, so that exports of a copy are the same.
        let nextKey = transaction.table(table).nextKey
        var row =
            if let number, number > nextKey, number < Self.numberMax {
                try transaction.beginRow(table, key: number)
            } else {
                transaction.beginRow(table)
            }
        let columns = schema[table].columns
        var later = false
        for (column, parsed) in values.enumerated() {
            guard let parsed else { continue }
            guard isPlain(columns[column]) else {
                later = true
                continue
            }
            switch parsed {
            case .value(.null): break
            case .value(let value): transaction.fill(&row, column: column, value: value)
            default: if let value = try resolved(parsed, line) { transaction.fill(&row, column: column, value: value) }
            }
        }
        try transaction.endRow(row)
        try note(row.key, of: number, table)
        guard later else { return row.key }
        for (column, parsed) in values.enumerated() where !isPlain(columns[column]) {
            if let parsed { _ = try set(table, column: column, key: row.key, to: parsed, line: line, isNew: true) }
        }
        return row.key
    }

    /// Sets the given properties of an object. Returns whether any of them was different.
    private func change(_ table: TableID, key: Int64, values: [Parsed?], line: Int) throws -> Bool {
        var isChanged = false
        for (column, parsed) in values.enumerated() {
            guard let parsed else { continue }
            if try set(table, column: column, key: key, to: parsed, line: line, isNew: false) { isChanged = true }
        }
        return isChanged
    }

    /// Sets a property, unless it has the value already. Returns whether it has changed: false if it has to wait.
    func set(
        _ table: TableID, column: Int, key: Int64, to parsed: Parsed, line: Int, isNew: Bool
    ) throws -> Bool {
        if isNew, case .value(.null) = parsed { return false }
        let place = Place(table: table, column: column, key: key)
        if !isNew, waiting[table]?.contains(key) ?? false { superseded[place] = deferred.count }
        if !isNew, hasEmbedded(parsed), try isSame(table, column: column, key: key, parsed: parsed) { return false }
        guard let value = try resolved(parsed, line) else {
            deferred.append(Deferred(place: place, value: parsed, line: line))
            waiting[table, default: KeySet()].insert(key)
            return false
        }
        let old = isNew ? nil : transaction.table(table).value(column, of: key)
        if case .set(let elements) = value, schema[table].columns[column].collection == .set {
            if case .set(let known)? = old, Set(known) == Set(elements) { return false }
            transaction.edit(table, column: column, key: key) { set in
                set.removeAll()
                for element in elements { set.insertMember(element) }
            }
            return true
        }
        if let old, ExactValue(old) == ExactValue(value) { return false }
        transaction.set(table, column: column, key: key, to: value)
        return true
    }

    // MARK: Embedded objects

    private func hasEmbedded(_ parsed: Parsed) -> Bool {
        switch parsed {
        case .embedded: true
        case .list(let elements): elements.contains(where: hasEmbedded)
        case .map(let entries): entries.contains { hasEmbedded($0.value) }
        default: false
        }
    }

    /// Whether the embedded objects of a property are as they were read, so that they need not be made again.
    private func isSame(_ table: TableID, column: Int, key: Int64, parsed: Parsed) throws -> Bool {
        guard let value = transaction.table(table).value(column, of: key) else { return false }
        return try isSame(value, parsed: parsed, target: schema[table].columns[column].target)
    }

    private func isSame(_ value: Value, parsed: Parsed, target: TableID?) throws -> Bool {
        switch (value, parsed) {
        case (.link(let key), .embedded(let table, let values)):
            guard table == target, let (leaf, row) = transaction.table(table).find(key) else { return false }
            for (number, column) in schema[table].columns.enumerated() where !column.isRemoved {
                let old = transaction.table(table).value(number, leaf: leaf, row: row)
                guard let new = values[number], try isSame(old, parsed: new, target: column.target) else {
                    return false
                }
            }
            return true
        case (.list(let old), .list(let new)), (.set(let old), .set(let new)):
            guard old.count == new.count else { return false }
            for (old, new) in zip(old, new) where try !isSame(old, parsed: new, target: target) { return false }
            return true
        case (.map(let old), .map(let new)):
            guard old.count == new.count else { return false }
            for (old, new) in zip(old, new) {
                guard old.key.utf8.elementsEqual(new.key.utf8), try isSame(old.value, parsed: new.value, target: target)
                else {
                    return false
                }
            }
            return true
        case (_, .embedded): return false
        default: return try resolved(parsed, 0).map(ExactValue.init) == ExactValue(value)
        }
    }
}
