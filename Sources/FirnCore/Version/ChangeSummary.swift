/// What a version changed, as observers need it: which objects came, went and were assigned to, whatever the values.
///
/// Notes of successive versions compose: an object that came and went was never there; a column assigned twice is assigned.
public struct ChangeSummary: Sendable {
    public var tables: [TableID: TableSummary] = [:]

    public init() {}

    public var isEmpty: Bool { tables.isEmpty }

    /// These notes followed by those of the next version.
    public mutating func append(_ next: ChangeSummary) {
        for (id, notes) in next.tables {
            if tables[id] == nil { tables[id] = notes } else { tables[id]!.append(notes) }
        }
    }
}

/// The notes of one table.
public struct TableSummary: Sendable {
    /// Objects that are there now and were not before.
    public var inserted: Set<Int64> = []
    /// Objects that were there before and are not now.
    public var deleted: Set<Int64> = []
    /// The columns assigned to, of objects that are there before and now.
    public var modified: [Int64: ColumnSet] = [:]
    /// What was done to lists of objects that are there before and now.
    public var scripts: [ListID: ListScript] = [:]

    public init() {}

    /// One object's list.
    public struct ListID: Hashable, Sendable {
        public var key: Int64
        public var column: Int

        public init(key: Int64, column: Int) {
            self.key = key
            self.column = column
        }
    }

    mutating func append(_ next: TableSummary) {
        for key in next.inserted { inserted.insert(key) }
        for key in next.deleted {
            if inserted.remove(key) == nil { deleted.insert(key) }
            modified[key] = nil
        }
        for (key, columns) in next.modified where !inserted.contains(key) {
            modified[key, default: ColumnSet()].formUnion(columns)
        }
        for (list, script) in next.scripts where !inserted.contains(list.key) {
            if scripts[list] == nil { scripts[list] = script } else { scripts[list]!.append(contentsOf: script) }
        }
        if !next.deleted.isEmpty, !scripts.isEmpty {
            scripts = scripts.filter { !next.deleted.contains($0.key.key) }
        }
    }
}

/// A set of column numbers.
public struct ColumnSet: Sendable, Hashable {
    /// Columns 0 to 63.
    private var low: UInt64 = 0
    private var high: Set<Int> = []

    public init() {}

    public var isEmpty: Bool { low == 0 && high.isEmpty }

    @inline(__always)
    public mutating func insert(_ column: Int) {
        if column < 64 { low |= 1 << UInt64(column) } else { high.insert(column) }
    }

    public func contains(_ column: Int) -> Bool {
        column < 64 ? low >> UInt64(column) & 1 == 1 : high.contains(column)
    }

    public mutating func formUnion(_ other: ColumnSet) {
        low |= other.low
        high.formUnion(other.high)
    }

    /// Ascending.
    public var columns: [Int] {
        (0..<64).filter { low >> UInt64($0) & 1 == 1 } + high.sorted()
    }
}
