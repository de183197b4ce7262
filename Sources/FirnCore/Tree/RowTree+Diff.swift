extension RowTree {
    /// The leaves in which two versions of a table differ, each side in key order. What both share is passed over by subtrees, so the cost is the
    /// number of nodes changed, not of rows.
    ///
    /// Two nodes are the same where they have one address: the trees compared are of one store and both alive.
    static func changedLeaves(from old: UInt64, to new: UInt64) -> (old: [Leaf], new: [Leaf]) {
        var olds: [Leaf] = []
        var news: [Leaf] = []
        var a = Cursor(root: old)
        var b = Cursor(root: new)
        while true {
            switch (a.node, b.node) {
            case (nil, nil): return (olds, news)
            case (let x?, nil):
                if x.isLeaf { olds.append(Leaf(x)) }
                a.step()
            case (nil, let y?):
                if y.isLeaf { news.append(Leaf(y)) }
                b.step()
            case (let x?, let y?):
                if x == y {
                    a.skip()
                    b.skip()
                } else if x.level > y.level {
                    a.step()
                } else if y.level > x.level {
                    b.step()
                } else if !x.isLeaf {
                    // Of two inner nodes the one that begins earlier is opened first; its children then meet the other's.
                    if x.lowestKey <= y.lowestKey { a.step() } else { b.step() }
                } else if x.lowestKey <= y.lowestKey {
                    olds.append(Leaf(x))
                    a.skip()
                } else {
                    news.append(Leaf(y))
                    b.skip()
                }
            }
        }
    }

    /// A walk over a tree in key order that may pass over subtrees.
    private struct Cursor {
        private var path: [(node: RowNode, child: Int)] = []
        private(set) var node: Node?

        init(root: UInt64) { node = root == 0 ? nil : NodeRef(root).node }

        /// Opens an inner node, or passes a leaf.
        mutating func step() {
            guard let current = node, !current.isLeaf else { return skip() }
            path.append((RowNode(current), 0))
            node = NodeRef(RowNode(current).refs[0]).node
        }

        /// Passes the current subtree.
        mutating func skip() {
            node = nil
            while let (inner, child) = path.popLast() {
                if child + 1 < inner.count {
                    path.append((inner, child + 1))
                    node = NodeRef(inner.refs[child + 1]).node
                    return
                }
            }
        }
    }

    /// What became of rows between two versions: calls `deleted` with the old place, `inserted` with the new, and `kept` with both for a row that is in
    /// both versions and in a leaf that changed. In key order within each kind.
    static func forEachChangedRow(
        from old: UInt64, to new: UInt64,
        deleted: (Leaf, Int) -> Void, inserted: (Leaf, Int) -> Void, kept: (_ old: (Leaf, Int), _ new: (Leaf, Int)) -> Void
    ) {
        let changed = changedLeaves(from: old, to: new)
        var (i, r) = (0, 0)
        var (j, s) = (0, 0)
        while i < changed.old.count || j < changed.new.count {
            if i < changed.old.count, r == changed.old[i].count {
                (i, r) = (i + 1, 0)
                continue
            }
            if j < changed.new.count, s == changed.new[j].count {
                (j, s) = (j + 1, 0)
                continue
            }
            let oldKey = i < changed.old.count ? changed.old[i].key(r) : Int64.max
            let newKey = j < changed.new.count ? changed.new[j].key(s) : Int64.max
            if oldKey == newKey {
                kept((changed.old[i], r), (changed.new[j], s))
                r += 1
                s += 1
            } else if oldKey < newKey {
                deleted(changed.old[i], r)
                r += 1
            } else {
                inserted(changed.new[j], s)
                s += 1
            }
        }
    }
}
