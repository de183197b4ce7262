/// Values by their names: a sorted list, in which a lookup searches by halves.
///
/// Opening a store makes such maps, so this is no `Dictionary`: see `LinearMap`. A class or schema may have too many
/// names for that type.
struct NameMap<Value> {
    private let entries: [(name: String, value: Value)]

    /// Of entries with equal names, the map has one.
    init(_ entries: [(name: String, value: Value)]) {
        self.entries = entries.sorted { $0.name < $1.name }
    }

    /// The value of a name; nil if there is none. O(log entries).
    subscript(name: String) -> Value? {
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
