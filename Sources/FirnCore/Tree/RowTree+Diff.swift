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

    /// Rows that two versions both have, in leaves that differ: rows `old.lowerBound...` of the one are rows `new.lowerBound...` of the other.
    struct Kept {
        let old: Leaf
        let new: Leaf
        let oldStart: Int
        let newStart: Int
        var count: Int
    }

    /// What became of a table's rows between two versions, as runs in key order.
    struct Delta {
        var inserted: [(leaf: Leaf, rows: Range<Int>)] = []
        var deleted: [(leaf: Leaf, rows: Range<Int>)] = []
        var kept: [Kept] = []

        var isEmpty: Bool { inserted.isEmpty && deleted.isEmpty && kept.isEmpty }
    }

    static func delta(from old: UInt64, to new: UInt64) -> Delta {
        let changed = changedLeaves(from: old, to: new)
        var delta = Delta()
        var (i, r) = (0, 0)
        var (j, s) = (0, 0)
        while i < changed.old.count || j < changed.new.count {
            guard i == changed.old.count || r < changed.old[i].count else {
                (i, r) = (i + 1, 0)
                continue
            }
            guard j == changed.new.count || s < changed.new[j].count else {
                (j, s) = (j + 1, 0)
                continue
            }
            guard j < changed.new.count else {
                delta.deleted.append((changed.old[i], r..<changed.old[i].count))
                r = changed.old[i].count
                continue
            }
            guard i < changed.old.count else {
                delta.inserted.append((changed.new[j], s..<changed.new[j].count))
                s = changed.new[j].count
                continue
            }
            let (a, b) = (changed.old[i], changed.new[j])
            let (oldKey, newKey) = (a.key(r), b.key(s))
            if oldKey == newKey {
                let run = commonRun(a, r, b, s)
                delta.kept.append(Kept(old: a, new: b, oldStart: r, newStart: s, count: run))
                r += run
                s += run
            } else if oldKey < newKey {
                let end = a.lowerBound(newKey)
                delta.deleted.append((a, r..<end))
                r = end
            } else {
                let end = b.lowerBound(oldKey)
                delta.inserted.append((b, s..<end))
                s = end
            }
        }
        return delta
    }

    /// How many rows from two places with one key on have the same keys.
    private static func commonRun(_ a: Leaf, _ r: Int, _ b: Leaf, _ s: Int) -> Int {
        let most = min(a.count - r, b.count - s)
        guard a.keys != nil || b.keys != nil else { return most }
        var run = 1
        while run < most, a.key(r + run) == b.key(s + run) { run += 1 }
        return run
    }
}
