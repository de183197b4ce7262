/// A map from names to values: a sorted array with binary search.
///
/// Opening a store makes such maps, so this is no `Dictionary`, whose first use is slow: see `LinearMap`. A class or
/// schema may have too many names for the linear search of that type.
package struct NameMap<Value> {
    @usableFromInline package let entries: [(name: String, value: Value)]
    /// The names of the entries that were left out because an earlier entry has the same name.
    package let repeated: [String]

    /// If several entries have the same name, the map has the first of them.
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
    /// The numbers of the tables that are not removed, by name. Use this map to look up many names.
    package var numbersByName: NameMap<TableID> {
        NameMap(tables.enumerated().filter { !$1.isRemoved }.map { ($1.name, TableID($0)) })
    }
}

extension TableSchema {
    /// The numbers of the columns that are not removed, by name. Use this map to look up many names.
    package var numbersByName: NameMap<Int> {
        NameMap(columns.enumerated().filter { !$1.isRemoved }.map { ($1.name, $0) })
    }
}
