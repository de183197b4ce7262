extension ListTree {
    /// Checks the invariants of a tree: counts, levels, fill, lengths, and that no node is older than the nodes below
    /// it. Stops the program with a message if an invariant is violated.
    ///
    /// O(n); for tests and debugging.
    static func checkInvariants(_ root: NodeRef, _ layout: ElementLayout) {
        _ = check(root.node, layout, level: nil, isRoot: true)
    }

    private static func check(_ node: Node, _ layout: ElementLayout, level: Int?, isRoot: Bool) -> Int {
        guard node.kind == .listInner else {
            precondition(node.kind == .listLeaf, "Firn: a list node of kind \(node.kind)")
            precondition(level == nil || level == 0, "Firn: a leaf at level \(level ?? 0)")
            let leaf = Leaf(node, layout)
            precondition(
                node.load(NodeLayout.ListLeaf.refCount, as: UInt32.self) == 0
                    && node.load(NodeLayout.ListLeaf.padding, as: UInt16.self) == 0, "Firn: padding is not zero")
            precondition(
                node.count == leaf.block.count, "Firn: a leaf counts \(node.count), its block \(leaf.block.count)")
            precondition(
                leaf.length == leaf.block.byteCount,
                "Firn: a block's length is \(leaf.block.byteCount), not \(leaf.length)")
            precondition(leaf.length <= min(leafByteCount, leaf.blockCapacity), "Firn: a leaf of \(leaf.length) bytes")
            precondition(node.count > 0 && node.count <= leafElementCount, "Firn: a leaf of \(node.count) elements")
            leaf.block.forEachBlob(0..<node.count) {
                precondition(
                    $0.kind == .blob && $0.stamp <= node.stamp, "Firn: a blob is younger than its leaf, or not a blob")
            }
            return node.count
        }
        let inner = Inner(node)
        precondition(level == nil || level == node.level, "Firn: an inner node of level \(node.level) at \(level ?? 0)")
        precondition(
            node.level > 0 && node.count >= (isRoot ? 2 : 1) && node.count <= fanout,
            "Firn: an inner node has \(node.count) children")
        for child in 0..<node.count {
            let below = NodeRef(inner.refs[child]).node
            precondition(below.stamp <= node.stamp, "Firn: a child is younger than its parent")
            let count = check(below, layout, level: node.level - 1, isRoot: false)
            precondition(count == inner.count(child), "Firn: a child holds \(count), counted as \(inner.count(child))")
        }
        return inner.total
    }
}
