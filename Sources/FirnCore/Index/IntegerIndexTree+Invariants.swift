import FirnBytes

extension IntegerIndexTree {
    /// Throws if the tree breaks an invariant. O(n).
    ///
    /// Checks:
    /// - kinds and levels
    /// - the order of pairs within and across leaves
    /// - separators and counts
    /// - how full the nodes are
    /// - that no node is younger than its parent
    static func checkInvariants(_ root: NodeRef) throws(Damage) {
        guard !root.isNone else { return }
        let node = root.node
        if node.width != 0 {
            try Damage.check(node.count >= 2, "integer index tree: the root has \(node.count) children")
        } else {
            try Damage.check(node.count >= 1, "integer index tree: the root leaf is empty")
        }
        var previous: (UInt64, Int64)?
        _ = try check(
            node, level: node.width, lower: nil, upper: nil, stamp: node.stamp, isRoot: true, isRightEdge: true,
            &previous)
    }

    private static func check(
        _ node: Node, level: Int, lower: (UInt64, Int64)?, upper: (UInt64, Int64)?, stamp: UInt64, isRoot: Bool,
        isRightEdge: Bool, _ previous: inout (UInt64, Int64)?
    ) throws(Damage) -> Int {
        let location = "integer index tree, node at \(node.address), level \(level):"
        try Damage.check(
            node.stamp <= stamp, "\(location) stamp \(node.stamp) is above its parent's \(stamp)")
        try Damage.check(node.width == level, "\(location) says that its level is \(node.width)")
        try Damage.check(
            node.count <= node.capacity, "\(location) \(node.count) entries, capacity \(node.capacity)")
        try Damage.check(
            isRoot || node.count >= (isRightEdge ? 1 : minimum), "\(location) only \(node.count) entries")
        if level == 0 {
            let leaf = IntegerIndexLeaf(node)
            try Damage.check(node.kind == .integerIndexLeaf, "\(location) kind \(node.kind)")
            try Damage.check(
                node.capacity == fanout || isRoot && NodeLayout.IntegerIndexLeaf.capacities.contains(node.capacity),
                "\(location) capacity \(node.capacity)")
            try Damage.check(
                node.byteCount
                    == (node.form == IntegerIndexLeaf.progressionForm
                        ? NodeLayout.IntegerIndexProgression.byteCount
                        : NodeLayout.IntegerIndexLeaf.byteCount(capacity: node.capacity)),
                "\(location) length \(node.byteCount)")
            for index in 0..<node.count {
                let entry = (leaf.keys[index], leaf.values[index])
                if let previous {
                    try Damage.check(previous <= entry, "\(location) \(entry) comes after \(previous)")
                }
                if let lower {
                    try Damage.check(lower <= entry, "\(location) \(entry) is below separator \(lower)")
                }
                if let upper {
                    try Damage.check(entry <= upper, "\(location) \(entry) is above separator \(upper)")
                }
                previous = entry
            }
            return node.count
        }
        let inner = IntegerIndexInner(node)
        try Damage.check(node.kind == .integerIndexInner, "\(location) kind \(node.kind)")
        try Damage.check(
            node.capacity == fanout && node.byteCount == NodeLayout.IntegerIndexInner.byteCount,
            "\(location) length \(node.byteCount)")
        var total = 0
        for index in 0..<node.count {
            let low = index == 0 ? lower : (inner.keys[index], inner.values[index])
            let high = index + 1 < node.count ? (inner.keys[index + 1], inner.values[index + 1]) : upper
            let count = try check(
                inner.child(index), level: level - 1, lower: low, upper: high, stamp: node.stamp, isRoot: false,
                isRightEdge: isRightEdge && index == node.count - 1, &previous)
            try Damage.check(
                count == Int(inner.counts[index]),
                "\(location) counts \(inner.counts[index]) pairs in child \(index), which has \(count)")
            total += count
        }
        return total
    }
}
