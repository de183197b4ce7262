extension RowTree {
    /// Finds the leaves in which two versions of a table differ. It keeps its memory from one use to the next.
    struct Differ {
        fileprivate var oldLeaves: [Leaf] = []
        fileprivate var newLeaves: [Leaf] = []
        private var a = Cursor()
        private var b = Cursor()

        /// Whether two nodes of one table are the same. Nodes with equal addresses are the same. If one of them is in a
        /// checkpoint, equal birth stamps, levels and first keys also suffice. No other node of the table has all
        /// three.
        @inline(__always)
        private static func isSame(_ x: Node, _ y: Node) -> Bool {
            x == y || x.stamp == y.stamp && (x.isOnDisk || y.isOnDisk) && x.level == y.level && x.firstKey == y.firstKey
        }

        /// Sets `oldLeaves` and `newLeaves` to the leaves in which two versions differ, each list in key order.
        /// Subtrees that both versions share are skipped, so the cost is the number of nodes changed, not of rows.
        fileprivate mutating func findLeaves(from old: UInt64, to new: UInt64) {
            oldLeaves.removeAll(keepingCapacity: true)
            newLeaves.removeAll(keepingCapacity: true)
            a.begin(old)
            b.begin(new)
            while true {
                switch (a.node, b.node) {
                case (nil, nil): return
                case (let x?, nil):
                    if x.isLeaf { oldLeaves.append(Leaf(x)) }
                    a.step()
                case (nil, let y?):
                    if y.isLeaf { newLeaves.append(Leaf(y)) }
                    b.step()
                case (let x?, let y?):
                    if Differ.isSame(x, y) {
                        Cursor.skipShared(&a, &b)
                    } else if x.level > y.level {
                        a.step()
                    } else if y.level > x.level {
                        b.step()
                    } else if !x.isLeaf {
                        // The inner node that begins at a lower key is entered first. Its children are then compared
                        // with the other node.
                        if x.lowestKey <= y.lowestKey { a.step() } else { b.step() }
                    } else if x.lowestKey <= y.lowestKey {
                        oldLeaves.append(Leaf(x))
                        a.skip()
                    } else {
                        newLeaves.append(Leaf(y))
                        b.skip()
                    }
                }
            }
        }
    }

    /// A walk over a tree in key order that can skip subtrees.
    private struct Cursor {
        private var path: [(node: RowNode, child: Int)] = []
        private(set) var node: Node?

        mutating func begin(_ root: UInt64) {
            path.removeAll(keepingCapacity: true)
            node = root == 0 ? nil : NodeRef(root).node
        }

        /// Enters an inner node, or skips a leaf.
        mutating func step() {
            guard let current = node, !current.isLeaf else { return skip() }
            path.append((RowNode(current), 0))
            node = NodeRef(RowNode(current).refs[0]).node
        }

        /// Skips the current subtree, which both walks share, and the shared siblings directly after it.
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

        /// Skips the current subtree.
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

    /// Rows that two versions both have, in leaves that differ. `count` rows from `oldStart` on in the old leaf are the
    /// rows from `newStart` on in the new leaf.
    struct Kept {
        let old: Leaf
        let new: Leaf
        let oldStart: Int
        let newStart: Int
        var count: Int
    }

    /// The changes of a table's rows between two versions, as runs in key order.
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
        while i < differ.oldLeaves.count || j < differ.newLeaves.count {
            guard i == differ.oldLeaves.count || r < differ.oldLeaves[i].count else {
                (i, r) = (i + 1, 0)
                continue
            }
            guard j == differ.newLeaves.count || s < differ.newLeaves[j].count else {
                (j, s) = (j + 1, 0)
                continue
            }
            guard j < differ.newLeaves.count else {
                delta.deleted.append((differ.oldLeaves[i], r..<differ.oldLeaves[i].count))
                r = differ.oldLeaves[i].count
                continue
            }
            guard i < differ.oldLeaves.count else {
                delta.inserted.append((differ.newLeaves[j], s..<differ.newLeaves[j].count))
                s = differ.newLeaves[j].count
                continue
            }
            let (a, b) = (differ.oldLeaves[i], differ.newLeaves[j])
            let (oldKey, newKey) = (a.key(r), b.key(s))
            if oldKey == newKey {
                let run = commonRun(a, r: r, b: b, s: s)
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

    /// The number of consecutive rows with equal keys in two leaves, beginning with two rows that have the same key.
    private static func commonRun(_ a: Leaf, r: Int, b: Leaf, s: Int) -> Int {
        let most = min(a.count - r, b.count - s)
        guard a.keys != nil || b.keys != nil else { return most }
        var run = 1
        while run < most, a.key(r + run) == b.key(s + run) { run += 1 }
        return run
    }
}
