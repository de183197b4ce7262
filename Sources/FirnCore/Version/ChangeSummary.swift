/// The objects that a version inserted, deleted and assigned, whatever the values: what observers need to know.
///
/// Summaries of successive versions compose: an object that was inserted and then deleted does not appear; a column
/// that was assigned twice is assigned.
package struct ChangeSummary: Sendable {
    package var tables: [TableID: TableSummary] = [:]

    package init() {}

    package var isEmpty: Bool { tables.isEmpty }

    /// Adds the summary of the next version to this one.
    package mutating func append(_ next: ChangeSummary) {
        for (id, summary) in next.tables {
            if tables[id] == nil { tables[id] = summary } else { tables[id]!.append(summary) }
        }
    }
}

/// The change summary of one table.
package struct TableSummary: Sendable {
    /// Objects that exist now and did not exist before.
    package var inserted: Set<Int64> = []
    /// Objects that existed before and do not exist now.
    package var deleted: Set<Int64> = []
    /// The columns that were assigned, for each object that exists both before and now.
    package var modified: [Int64: ColumnSet] = [:]
    /// The edit scripts of lists whose objects exist both before and now.
    package var scripts: [ListID: ListScript] = [:]

    package init() {}

    /// Identifies one object's list.
    package struct ListID: Hashable, Sendable {
        package var key: Int64
        package var column: Int

        package init(key: Int64, column: Int) {
            self.key = key
            self.column = column
        }
    }

    mutating func append(_ next: TableSummary) {
        for key in next.inserted { inserted.insert(key) }
        for key in next.deleted { delete(key) }
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

extension TableSummary {
    /// Adds the deletion of an object in a later version.
    mutating func delete(_ key: Int64) {
        if inserted.remove(key) == nil { deleted.insert(key) }
        modified[key] = nil
    }

    /// Adds the assignment of a column in a later version.
    mutating func assign(_ column: Int, of key: Int64) {
        if !inserted.contains(key) { modified[key, default: ColumnSet()].insert(column) }
    }
}

/// A set of column numbers.
package struct ColumnSet: Sendable, Hashable {
    /// Columns 0 to 63.
    private var low: UInt64 = 0
    private var high: Set<Int> = []

    package init() {}

    init(_ columns: [Int]) {
        for column in columns { insert(column) }
    }

    package var isEmpty: Bool { low == 0 && high.isEmpty }

    @inline(__always)
    package mutating func insert(_ column: Int) {
        if column < 64 { low |= 1 << UInt64(column) } else { high.insert(column) }
    }

    package func contains(_ column: Int) -> Bool {
        column < 64 ? low >> UInt64(column) & 1 == 1 : high.contains(column)
    }

    package mutating func formUnion(_ other: ColumnSet) {
        low |= other.low
        high.formUnion(other.high)
    }

    /// The members, in ascending order.
    package var columns: [Int] {
        (0..<64).filter { low >> UInt64($0) & 1 == 1 } + high.sorted()
    }
}
