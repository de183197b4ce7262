/// A primary key that several objects have.
public struct DuplicateKey: Sendable, Equatable {
    public let value: Value
    /// How many objects have it.
    public let count: Int
}

extension TableView {
    /// The primary keys that more than one object has: how many they are, and the first of them in the order of the index. O(n log n) time for n objects; the memory is
    /// that of the duplicates among values that are too long for the index.
    public func duplicatePrimaryKeys(limit: Int) -> (total: Int, first: [DuplicateKey]) {
        guard let column = layout.primaryKey else { return (0, []) }
        var total = 0
        var first: [DuplicateKey] = []
        func note(_ value: Value, _ count: Int) {
            guard count > 1 else { return }
            total += 1
            if first.count < limit { first.append(DuplicateKey(value: value, count: count)) }
        }
        // Equal values that the index holds whole stand side by side in it.
        var last: (value: Value, count: Int)?
        // The others are found by their value: each object but the first with it.
        var long: [Value: Int] = [:]
        forEachIndexed(column, 0..<count) { key in
            guard let value = value(column, of: key) else { return true }
            if !isIndexExact(column, value) {
                if firstKey(column, equalTo: value) != key { long[value, default: 1] += 1 }
            } else if let group = last, group.value == value {
                last = (value, group.count + 1)
            } else {
                if let group = last { note(group.value, group.count) }
                last = (value, 1)
            }
            return true
        }
        if let group = last { note(group.value, group.count) }
        for (value, count) in long { note(value, count) }
        return (total, first)
    }
}
