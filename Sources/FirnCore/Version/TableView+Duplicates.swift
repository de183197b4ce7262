/// A primary key that several objects have.
package struct DuplicateKey: Sendable, Equatable {
    package let value: Value
    /// How many objects have it.
    package let count: Int
}

extension TableView {
    /// Returns the number of primary keys that more than one object has, and the first of them in ascending order. It
    /// takes O(n log n) time for n objects, and memory for the duplicates among values that are too long for the index.
    package func duplicatePrimaryKeys(limit: Int) -> (total: Int, first: [DuplicateKey]) {
        guard let column = layout.primaryKey else { return (0, []) }
        var total = 0
        var first: [DuplicateKey] = []
        func note(_ value: Value, _ count: Int) {
            guard count > 1 else { return }
            total += 1
            if first.count < limit { first.append(DuplicateKey(value: value, count: count)) }
        }
        // Equal values that the index holds completely are neighbours in it.
        var last: (value: Value, count: Int)?
        // The other values are found through the index. Each object with such a value, except the first, adds one to
        // the count, which starts at one.
        var long: [Value: Int] = [:]
        forEachIndexed(column, positions: 0..<count) { key in
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
        total += long.count
        // Long values that begin alike are in the index in the order of their hashes.
        first += long.map { DuplicateKey(value: $0, count: $1) }
        first.sort { Value.precedes($0.value, $1.value) }
        return (total, Array(first.prefix(limit)))
    }
}
