extension BytesIndexTree {
    /// The lowest value of `key`; nil if the tree has no such key.
    static func firstValue(of key: IndexKey, in root: NodeRef) -> Int64? {
        guard !root.isNone else { return nil }
        var page = SlottedPage(root.node)
        while !page.isLeaf { page = SlottedPage(page.child(page.lowerChild(key, .min + 1))) }
        if let value = page.firstValue(of: key) { return value }
        return page.lowerBound(key, .min + 1) == page.count ? firstValueBySearch(of: key, in: root) : nil
    }

    /// Finds the first value if the first pair that is not below the key lies in the next leaf.
    @inline(never)
    private static func firstValueBySearch(of key: IndexKey, in root: NodeRef) -> Int64? {
        guard let run = run(from: lowerBound(key, in: root), in: root), run.key(0).compare(key) == 0 else { return nil }
        return run.value(0)
    }

    static func contains(_ key: IndexKey, in root: NodeRef) -> Bool { firstValue(of: key, in: root) != nil }

    static func contains(_ key: IndexKey, _ value: Int64, in root: NodeRef) -> Bool {
        guard let run = run(from: rank(key, value, in: root), in: root) else { return false }
        return run.value(0) == value && run.key(0).compare(key) == 0
    }

    /// Calls `body` with the values of `key` in ascending order, until it returns false.
    static func forEachValue(of key: IndexKey, in root: NodeRef, _ body: (Int64) -> Bool) {
        forEachRun(lowerBound(key, in: root)..<upperBound(key, in: root), in: root) { run in
            for index in 0..<run.count where !body(run.value(index)) { return false }
            return true
        }
    }

    // MARK: Positions

    /// The number of pairs in the tree.
    static func count(in root: NodeRef) -> Int { root.isNone ? 0 : SlottedPage(root.node).total }

    /// How many pairs are below (key, value).
    static func rank(_ key: IndexKey, _ value: Int64, in root: NodeRef) -> Int {
        guard !root.isNone else { return 0 }
        var page = SlottedPage(root.node)
        var before = 0
        while !page.isLeaf {
            let index = page.lowerChild(key, value)
            before &+= page.countBefore(index)
            page = SlottedPage(page.child(index))
        }
        return before &+ page.lowerBound(key, value)
    }

    /// How many pairs have a key below `key`.
    static func lowerBound(_ key: IndexKey, in root: NodeRef) -> Int { rank(key, .min + 1, in: root) }

    /// How many pairs have a key not above `key`.
    static func upperBound(_ key: IndexKey, in root: NodeRef) -> Int { rank(key, .max, in: root) }
}
