/// Values by their names: a sorted list, in which a lookup searches by halves.
///
/// Opening a store makes such maps, so this is no `Dictionary`: see `LinearMap`. A class or schema may have too many
/// names for that type, and for a search from the first name on.
package struct NameMap<Value> {
    @usableFromInline package let entries: [(name: String, value: Value)]
    /// The names that others of the entries had before, once for each such entry.
    package let repeated: [String]

    /// Of entries with equal names, the map has the first.
    @inlinable package init(_ entries: [(name: String, value: Value)]) {
        var (kept, repeated): ([(name: String, value: Value)], [String]) = ([], [])
        // The sort is stable.
        for entry in entries.sorted(by: { $0.name < $1.name }) {
            if kept.last?.name == entry.name { repeated.append(entry.name) } else { kept.append(entry) }
        }
        self.entries = kept
        self.repeated = repeated
    }

    /// The value of a name; nil if there is none. O(log entries).
    @inlinable package subscript(name: String) -> Value? {
        var range = 0..<entries.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            let entry = entries[middle]
            if entry.name == name { return entry.value }
            range = entry.name < name ? (middle + 1)..<range.upperBound : range.lowerBound..<middle
        }
        return nil
    }
}

extension NameMap: Sendable where Value: Sendable {}

extension StoreSchema {
    /// The numbers of the tables that are not removed, by their names. For code that looks up many names.
    package var numbersByName: NameMap<TableID> {
        NameMap(tables.enumerated().filter { !$1.isRemoved }.map { ($1.name, TableID($0)) })
    }
}

extension TableSchema {
    /// The numbers of the columns that are not removed, by their names. For code that looks up many names.
    package var numbersByName: NameMap<Int> {
        NameMap(columns.enumerated().filter { !$1.isRemoved }.map { ($1.name, $0) })
    }
}
