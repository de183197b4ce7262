import FirnCore

/// Rows of a table in some order, stored by location, so that sorting reads columns without looking up keys.
///
/// It is valid as long as the version is held.
struct RowSet {
    private(set) var leaves: [Leaf] = []
    /// For each row, the leaf's index in `leaves`, shifted by 8, plus the row in that leaf.
    private(set) var locations: [UInt64] = []
    /// Whether the rows are in the order of the table, so that all rows of a leaf are adjacent.
    private(set) var isInOrder = true

    var count: Int { locations.count }

    mutating func reserve(_ count: Int) {
        locations.reserveCapacity(count)
        leaves.reserveCapacity(count / 200 + 1)
    }

    /// Adds rows of the next leaf.
    mutating func append(_ leaf: Leaf, _ rows: RowMask) {
        let base = UInt64(leaves.count) << 8
        leaves.append(leaf)
        rows.forEach { locations.append(base | UInt64($0)) }
    }

    /// Adds a row of any leaf.
    mutating func append(_ leaf: Leaf, _ row: Int) {
        isInOrder = false
        if leaves.last?.node != leaf.node { leaves.append(leaf) }
        locations.append(UInt64(leaves.count - 1) << 8 | UInt64(row))
    }

    @inline(__always)
    subscript(index: Int) -> (leaf: Leaf, row: Int) {
        let location = locations[index]
        return (leaves[Int(location >> 8)], Int(location & 255))
    }

    /// The objects' keys, in the order of the set.
    var keys: [Int64] {
        // This way of creating an array writes the count even into the empty array that all threads share, which
        // sanitizers report.
        guard count > 0 else { return [] }
        return [Int64](unsafeUninitializedCapacity: count) { buffer, filled in
            var index = 0
            forEachRun { leaf, run in
                if let keys = leaf.explicitKeys {
                    for location in locations[run] {
                        buffer[index] = keys[Int(location & 255)]
                        index &+= 1
                    }
                } else {
                    let first = leaf.key(0)
                    for location in locations[run] {
                        buffer[index] = first &+ Int64(location & 255)
                        index &+= 1
                    }
                }
            }
            filled = index
        }
    }

    /// Calls `body` with each run of adjacent elements from one leaf.
    @inline(__always)
    func forEachRun(_ body: (Leaf, Range<Int>) -> Void) {
        var start = 0
        while start < locations.count {
            let leaf = locations[start] >> 8
            var end = start + 1
            while end < locations.count, locations[end] >> 8 == leaf { end += 1 }
            body(leaves[Int(leaf)], start..<end)
            start = end
        }
    }
}
