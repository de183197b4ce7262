extension RowTree {
    /// Finds what differs between two versions of a table. It keeps its memory from one use to the next.
    struct Differ {
        fileprivate var olds: [Leaf] = []
        fileprivate var news: [Leaf] = []
        private var a = Cursor()
        private var b = Cursor()

        /// Whether two nodes of one table are the same: by their address, or, where one of them lies in a checkpoint, by birth and first key, which no other node of the table has.
        @inline(__always)
        private static func isSame(_ x: Node, _ y: Node) -> Bool {
            x == y || x.stamp == y.stamp && (x.isOnDisk || y.isOnDisk) && x.level == y.level && x.firstKey == y.firstKey
        }

        /// Sets `olds` and `news` to the leaves in which two versions differ, each side in key order. What both share is passed over by subtrees, so the cost is the
        /// number of nodes changed, not of rows.
        ///
        fileprivate mutating func findLeaves(from old: UInt64, to new: UInt64) {
            olds.removeAll(keepingCapacity: true)
            news.removeAll(keepingCapacity: true)
            a.begin(old)
            b.begin(new)
            while true {
                switch (a.node, b.node) {
                case (nil, nil): return
                case (let x?, nil):
                    if x.isLeaf { olds.append(Leaf(x)) }
                    a.step()
                case (nil, let y?):
                    if y.isLeaf { news.append(Leaf(y)) }
                    b.step()
                case (let x?, let y?):
                    if Differ.isSame(x, y) {
                        Cursor.skipShared(&a, &b)
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
    }

    /// A walk over a tree in key order that may pass over subtrees.
    private struct Cursor {
        private var path: [(node: RowNode, child: Int)] = []
        private(set) var node: Node?

        mutating func begin(_ root: UInt64) {
            path.removeAll(keepingCapacity: true)
            node = root == 0 ? nil : NodeRef(root).node
        }

        /// Opens an inner node, or passes a leaf.
        mutating func step() {
            guard let current = node, !current.isLeaf else { return skip() }
            path.append((RowNode(current), 0))
            node = NodeRef(RowNode(current).refs[0]).node
        }

        /// Passes the current subtree, which two walks share, and the siblings behind it that they share too.
        static func skipShared(_ a: inout Cursor, _ b: inout Cursor) {
            if let x = a.path.last, let y = b.path.last {
                let most = min(x.node.count - x.child, y.node.count - y.child)
                let (xs, ys) = (x.node.refs + x.child, y.node.refs + y.child)
                var shared = 1
                while shared < most, xs[shared] == ys[shared] { shared &+= 1 }
                a.path[a.path.count - 1].child += shared - 1
                b.path[b.path.count - 1].child += shared - 1
            }
            a.skip()
            b.skip()
        }

        /// Passes the current subtree.
        mutating func skip() {
            node = nil
            while let (inner, child) = path.last {
                if child + 1 < inner.count {
                    path[path.count - 1].child = child + 1
                    node = NodeRef(inner.refs[child + 1]).node
                    return
                }
                path.removeLast()
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
        var differ = Differ()
        return delta(from: old, to: new, &differ)
    }

    static func delta(from old: UInt64, to new: UInt64, _ differ: inout Differ) -> Delta {
        differ.findLeaves(from: old, to: new)
        var delta = Delta()
        var (i, r) = (0, 0)
        var (j, s) = (0, 0)
        while i < differ.olds.count || j < differ.news.count {
            guard i == differ.olds.count || r < differ.olds[i].count else {
                (i, r) = (i + 1, 0)
                continue
            }
            guard j == differ.news.count || s < differ.news[j].count else {
                (j, s) = (j + 1, 0)
                continue
            }
            guard j < differ.news.count else {
                delta.deleted.append((differ.olds[i], r..<differ.olds[i].count))
                r = differ.olds[i].count
                continue
            }
            guard i < differ.olds.count else {
                delta.inserted.append((differ.news[j], s..<differ.news[j].count))
                s = differ.news[j].count
                continue
            }
            let (a, b) = (differ.olds[i], differ.news[j])
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
