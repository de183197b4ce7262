extension TableNode {
    /// The lowest key of the objects with an integer in an indexed column that is not nullable; nil if there is none.
    @inline(__always)
    func firstKey(_ column: Int, equalTo value: Int64) -> Int64? {
        IntegerIndexTree.firstValue(of: UInt64(bitPattern: value) ^ (1 << 63), in: NodeRef(index(column).pointee))
    }
}

extension IntegerIndexTree {
    /// The lowest value of `key`; nil if the tree has no such key. Lookups of primary keys use this function, so its
    /// usual path makes no call, no loop over values and no write.
    static func firstValue(of key: UInt64, in root: NodeRef) -> Int64? {
        guard !root.isNone else { return nil }
        var node = root.node
        while node.width != 0 {
            let inner = IntegerIndexInner(node)
            let index = inner.child(of: key)
            if inner.keys[index] == key, index > 0, inner.values[index] != .min {
                // The key's pairs reach across a separator.
                return firstValueBySearch(of: key, in: root)
            }
            node = inner.child(index)
        }
        let count = node.count
        if node.form == IntegerIndexLeaf.progressionForm {
            let row = IntegerIndexProgression(node)
            let step = row.keyStep
            guard step != 0 else { return key == row.key(0) ? row.value(0) : nil }
            let (index, remainder) = (key &- row.key(0)).quotientAndRemainder(dividingBy: step)
            return remainder == 0 && index < UInt64(count) ? row.value(Int(index)) : nil
        }
        let leaf = IntegerIndexLeaf(node)
        let keys = leaf.keys
        let guess = key &- keys[0]
        if guess < UInt64(truncatingIfNeeded: count) {
            let index = Int(truncatingIfNeeded: guess)
            if keys[index] == key, index == 0 || keys[index &- 1] != key { return leaf.values[index] }
        }
        let index = leaf.lowerBound(key)
        return index < count && keys[index] == key ? leaf.values[index] : nil
    }

    @inline(never)
    private static func firstValueBySearch(of key: UInt64, in root: NodeRef) -> Int64? {
        guard let entry = entry(at: lowerBound(key, in: root), in: root), entry.key == key else { return nil }
        return entry.value
    }

    static func contains(_ key: UInt64, in root: NodeRef) -> Bool { firstValue(of: key, in: root) != nil }

    static func contains(_ key: UInt64, _ value: Int64, in root: NodeRef) -> Bool {
        guard let entry = entry(at: rank(key, value, in: root), in: root) else { return false }
        return entry == (key, value)
    }

    /// Calls `body` with the values of `key` in ascending order, until it returns false.
    static func forEachValue(of key: UInt64, in root: NodeRef, _ body: (Int64) -> Bool) {
        forEachRun(lowerBound(key, in: root)..<upperBound(key, in: root), in: root) { run in
            for index in 0..<run.count where !body(run.value(index)) { return false }
            return true
        }
    }

    /// How many pairs have `key`.
    static func count(of key: UInt64, in root: NodeRef) -> Int {
        upperBound(key, in: root) - lowerBound(key, in: root)
    }

    // MARK: Positions

    /// The number of pairs in the tree.
    static func count(in root: NodeRef) -> Int {
        guard !root.isNone else { return 0 }
        return root.node.width == 0 ? root.node.count : IntegerIndexInner(root.node).total
    }

    /// How many pairs are below (key, value).
    static func rank(_ key: UInt64, _ value: Int64, in root: NodeRef) -> Int {
        guard !root.isNone else { return 0 }
        var node = root.node
        var before = 0
        while node.width != 0 {
            let inner = IntegerIndexInner(node)
            let index = inner.lowerChild(key, value)
            before &+= inner.countBefore(index)
            node = inner.child(index)
        }
        return before &+ IntegerIndexLeaf(node).lowerBound(key, value)
    }

    /// How many pairs have a key below `key`.
    static func lowerBound(_ key: UInt64, in root: NodeRef) -> Int { rank(key, .min + 1, in: root) }

    /// How many pairs have a key not above `key`.
    static func upperBound(_ key: UInt64, in root: NodeRef) -> Int {
        guard !root.isNone else { return 0 }
        var node = root.node
        var before = 0
        while node.width != 0 {
            let inner = IntegerIndexInner(node)
            let index = inner.upperChild(key, .max)
            before &+= inner.countBefore(index)
            node = inner.child(index)
        }
        return before &+ IntegerIndexLeaf(node).upperBound(key, .max)
    }

    /// The pair at a position; nil if the position is behind the last pair.
    static func entry(at position: Int, in root: NodeRef) -> (key: UInt64, value: Int64)? {
        guard let run = run(from: position, in: root) else { return nil }
        return (run.key(0), run.value(0))
    }
}
