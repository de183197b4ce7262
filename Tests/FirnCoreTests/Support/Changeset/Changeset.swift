@testable import FirnCore

/// The changes of one version, or of several together, as plain values: what tests encode, and compare with what was
/// decoded. The library reads the encoded form block by block instead (`ChangesetReader`).
struct Changeset: Sendable, Hashable {
    /// The version that the changeset leads to.
    var version: UInt64
    /// The time of that version's commit, in nanoseconds since 1970.
    var time: Int64
    /// The schema from this version on, if it changed.
    var schema: StoreSchema?
    /// Tables with changes. None of them is empty.
    var tables: [TableID: TableChanges]

    init(
        version: UInt64 = 0, time: Int64 = 0, schema: StoreSchema? = nil, tables: [TableID: TableChanges] = [:]
    ) {
        self.version = version
        self.time = time
        self.schema = schema
        self.tables = tables
    }

    var isEmpty: Bool { schema == nil && tables.isEmpty }
}

/// The changes in one table.
struct TableChanges: Sendable, Hashable {
    /// New rows, each with the values of its columns by column number.
    var inserted: [Int64: [Int: Value]]
    /// Deleted rows, with their old values.
    var deleted: [Int64: [Int: Value]]
    /// Cells that were assigned, by column and key. Their rows are neither inserted nor deleted in this changeset.
    var updated: [Int: [Int64: CellChange]]
    /// Edits of collections, by column and key. Their rows are neither inserted nor deleted, and their cells are not
    /// in `updated`.
    var scripts: [Int: [Int64: ListScript]]
    /// The table's next key, if it is known.
    var nextKey: Int64?

    init(
        inserted: [Int64: [Int: Value]] = [:], deleted: [Int64: [Int: Value]] = [:],
        updated: [Int: [Int64: CellChange]] = [:], scripts: [Int: [Int64: ListScript]] = [:], nextKey: Int64? = nil
    ) {
        self.inserted = inserted
        self.deleted = deleted
        self.updated = updated
        self.scripts = scripts
        self.nextKey = nextKey
    }

    var isEmpty: Bool {
        inserted.isEmpty && deleted.isEmpty && updated.isEmpty && scripts.isEmpty && nextKey == nil
    }
}

/// The new and the old value of one cell.
struct CellChange: Sendable, Hashable {
    var new: Value
    var old: Value
    /// Whether the assigned value is equal to the old one.
    var isUnchanged: Bool

    init(new: Value, old: Value, isUnchanged: Bool = false) {
        self.new = new
        self.old = old
        self.isUnchanged = isUnchanged
    }
}

extension Changeset {
    /// The changeset that leads back from this version to the one before it.
    ///
    /// If the schema changed, it is not changed back (the changeset does not hold the old one). Keys are never
    /// assigned again.
    func inverted() -> Changeset {
        var result = self
        for (id, changes) in tables {
            result.tables[id] = TableChanges(
                inserted: changes.deleted, deleted: changes.inserted,
                updated: changes.updated.mapValues { cells in
                    cells.mapValues { CellChange(new: $0.old, old: $0.new, isUnchanged: $0.isUnchanged) }
                },
                scripts: changes.scripts.mapValues { $0.mapValues { $0.inverted() } }, nextKey: changes.nextKey)
        }
        return result
    }
}

extension TableChanges {
    mutating func insert(_ key: Int64, _ values: [Int: Value]) { inserted[key] = values }

    mutating func delete(_ key: Int64, _ values: [Int: Value]) {
        if inserted.removeValue(forKey: key) != nil { return }
        var before = values
        for column in Array(updated.keys) {
            if let cell = updated[column]?.removeValue(forKey: key) { before[column] = cell.old }
        }
        for column in Array(scripts.keys) {
            guard let script = scripts[column]?.removeValue(forKey: key), let value = before[column] else { continue }
            if let old = value.applying(script.inverted().edits) { before[column] = old }
        }
        deleted[key] = before
    }

    mutating func update(_ column: Int, key: Int64, cell: CellChange) {
        if inserted[key] != nil {
            inserted[key]?[column] = cell.new
        } else if let first = updated[column]?[key] {
            updated[column]?[key] = CellChange(
                new: cell.new, old: first.old, isUnchanged: first.isUnchanged && cell.isUnchanged)
        } else if let script = scripts[column]?.removeValue(forKey: key) {
            let old = cell.old.applying(script.inverted().edits) ?? cell.old
            updated[column, default: [:]][key] = CellChange(new: cell.new, old: old)
        } else {
            updated[column, default: [:]][key] = cell
        }
    }

    mutating func edit(_ column: Int, key: Int64, edits: [ListEdit]) {
        if let value = inserted[key]?[column] {
            inserted[key]?[column] = value.applying(edits) ?? value
        } else if let cell = updated[column]?[key] {
            updated[column]?[key]?.new = cell.new.applying(edits) ?? cell.new
            updated[column]?[key]?.isUnchanged = cell.isUnchanged && edits.isEmpty
        } else {
            // Edits are kept as they are, so that undoing and redoing restores them.
            let before = scripts[column]?[key]?.edits ?? []
            scripts[column, default: [:]][key] = ListScript(before + edits)
        }
    }

    mutating func dropEmpty() {
        updated = updated.filter { !$0.value.isEmpty }
        scripts = scripts.filter { !$0.value.isEmpty }
    }
}

extension Value {
    /// A collection's elements in the form that scripts use, nil for other values.
    var scriptElements: [Value]? {
        switch self {
        case .list(let elements), .set(let elements): elements
        case .map(let entries): entries.map { .map([$0]) }
        default: nil
        }
    }

    /// The collection after the edits. Nil if the value is not a collection, or if the edits don't fit it.
    func applying(_ edits: [ListEdit]) -> Value? {
        guard var elements = scriptElements, ListScript.apply(edits, to: &elements) else { return nil }
        switch self {
        case .list: return .list(elements)
        case .set: return .set(elements)
        default:
            return .map(
                elements.flatMap { element -> [MapEntry] in
                    if case .map(let entries) = element { return entries }
                    return []
                })
        }
    }

    /// Appends elements to a collection of the same kind. Returns false if the value is not one.
    mutating func append(elements: Value) -> Bool {
        switch (self, elements) {
        case (.list(let a), .list(let b)): self = .list(a + b)
        case (.set(let a), .set(let b)): self = .set(a + b)
        case (.map(let a), .map(let b)): self = .map(a + b)
        default: return false
        }
        return true
    }
}

extension ListScript {
    /// Applies the edits to a collection's elements. If an index is out of range, returns false and leaves `elements`
    /// in an undefined state.
    static func apply(_ edits: [ListEdit], to elements: inout [Value]) -> Bool {
        for edit in edits {
            switch edit {
            case .insert(let index, let value):
                guard index <= elements.count else { return false }
                elements.insert(value, at: index)
            case .remove(let index, _):
                guard index < elements.count else { return false }
                elements.remove(at: index)
            case .set(let index, let value, _):
                guard index < elements.count else { return false }
                elements[index] = value
            case .move(let from, let to):
                guard from < elements.count, to < elements.count else { return false }
                elements.insert(elements.remove(at: from), at: to)
            case .removeAll: elements.removeAll()
            }
        }
        return true
    }

    /// The single edits of operations. `new` and `old` must have as many elements as the operations need.
    static func edits(_ operations: [ChangesetBlock.Operation], new: [Value], old: [Value]) -> [ListEdit] {
        var edits: [ListEdit] = []
        edits.reserveCapacity(max(new.count, old.count))
        var (nextNew, nextOld) = (0, 0)
        for operation in operations {
            switch operation {
            case .insert(let index, let count):
                for step in 0..<count { edits.append(.insert(index + step, new[nextNew + step])) }
                nextNew += count
            case .remove(let index, let count):
                for step in 0..<count { edits.append(.remove(index, old: old[nextOld + step])) }
                nextOld += count
            case .set(let index, let count):
                for step in 0..<count {
                    edits.append(.set(index + step, new: new[nextNew + step], old: old[nextOld + step]))
                }
                nextNew += count
                nextOld += count
            case .move(let from, let to): edits.append(.move(from: from, to: to))
            }
        }
        return edits
    }
}
