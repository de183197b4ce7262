extension IntegerIndexTree {
    /// Removes one occurrence of the pair. Returns false if there is none.
    static func remove(
        _ key: UInt64, value: Int64, at root: UnsafeMutablePointer<UInt64>, writer: NodeWriter
    ) -> Bool {
        guard root.pointee != 0 else { return false }
        // Searches first, so that nothing is copied for a pair that isn't there.
        var node = NodeRef(root.pointee).node
        while node.width != 0 {
            let inner = IntegerIndexInner(node)
            node = inner.child(inner.lowerChild(key, value))
        }
        let leaf = IntegerIndexLeaf(node)
        let index = leaf.lowerBound(key, value)
        var position = -1
        if index == leaf.count {
            // The pair may be the first one of the next leaf, because a separator may be equal to it. The search by
            // position finds it there.
            position = rank(key, value, in: NodeRef(root.pointee))
            guard let entry = entry(at: position, in: NodeRef(root.pointee)), entry == (key, value) else {
                return false
            }
        } else {
            guard leaf.keys[index] == key, leaf.values[index] == value else { return false }
        }
        remove(key, value: value, position: position, slot: root, writer: writer)
        trimRoot(root, writer)
        return true
    }

    /// Removes the pair at `position`. If `position` is negative, removes the pair that `lowerChild` leads to.
    private static func remove(
        _ key: UInt64, value: Int64, position: Int, slot: UnsafeMutablePointer<UInt64>, writer: NodeWriter
    ) {
        let node = own(slot, writer)
        if node.width == 0 {
            let leaf = IntegerIndexLeaf(node)
            leaf.remove(at: position >= 0 ? position : leaf.lowerBound(key, value))
            return
        }
        let inner = IntegerIndexInner(node)
        var position = position
        let index = position >= 0 ? inner.child(at: &position) : inner.lowerChild(key, value)
        inner.counts[index] &-= 1
        remove(key, value: value, position: position, slot: inner.refs + index, writer: writer)
        if inner.child(index).count < minimum { rebalance(inner, index: index, writer: writer) }
    }

    /// Shrinks the root. A root with one child is replaced by the child, an empty root is removed, and a leaf with few
    /// pairs becomes a smaller one.
    private static func trimRoot(_ root: UnsafeMutablePointer<UInt64>, _ writer: NodeWriter) {
        var node = NodeRef(root.pointee).node
        while node.width != 0, node.count == 1 {
            let child = IntegerIndexInner(node).refs[0]
            writer.retire(node)
            root.pointee = child
            node = NodeRef(child).node
        }
        if node.count == 0 {
            writer.retire(node)
            root.pointee = 0
        } else if node.width == 0, node.capacity > NodeLayout.IntegerIndexLeaf.capacities.least,
            node.count <= node.capacity / 8
        {
            _ = resize(node, capacity: node.capacity / NodeLayout.RootSizes.growth, at: root, writer)
        }
    }

    /// Removes an empty child. Merges an underfull child with a neighbour, or shares the entries of both evenly.
    @inline(never)
    private static func rebalance(_ parent: IntegerIndexInner, index: Int, writer: NodeWriter) {
        if parent.child(index).count == 0 {
            writer.retire(parent.child(index))
            parent.removeChild(at: index)
            return
        }
        guard parent.count > 1 else { return }
        let leftIndex = index > 0 ? index - 1 : 0
        let left = own(parent.refs + leftIndex, writer)
        let total = left.count + parent.child(leftIndex + 1).count
        if total <= mergeLimit {
            merge(parent, leftIndex: leftIndex, into: left, writer: writer)
        } else {
            redistribute(
                parent, leftIndex: leftIndex, left: left, right: own(parent.refs + leftIndex + 1, writer),
                leftCount: total / 2)
        }
    }

    private static func merge(_ parent: IntegerIndexInner, leftIndex: Int, into left: Node, writer: NodeWriter) {
        let right = parent.child(leftIndex + 1)
        if left.width == 0 {
            IntegerIndexLeaf(left).append(from: IntegerIndexLeaf(right), at: 0, count: right.count)
        } else {
            let start = left.count
            IntegerIndexInner(left).append(from: IntegerIndexInner(right), at: 0, count: right.count)
            // The right node's own separator 0 is only a hint. The separator between the two nodes is in the parent.
            IntegerIndexInner(left).keys[start] = parent.keys[leftIndex + 1]
            IntegerIndexInner(left).values[start] = parent.values[leftIndex + 1]
        }
        parent.counts[leftIndex] += parent.counts[leftIndex + 1]
        parent.removeChild(at: leftIndex + 1)
        writer.retire(right)
    }

    private static func redistribute(
        _ parent: IntegerIndexInner, leftIndex: Int, left: Node, right: Node, leftCount: Int
    ) {
        let moved: Int
        if left.width == 0 {
            let (a, b) = (IntegerIndexLeaf(left), IntegerIndexLeaf(right))
            if a.count < leftCount {
                moved = leftCount - a.count
                a.append(from: b, at: 0, count: moved)
                b.removeFirst(moved)
                parent.counts[leftIndex] += Int64(moved)
                parent.counts[leftIndex + 1] -= Int64(moved)
            } else {
                moved = a.count - leftCount
                (b.keys + moved).update(from: b.keys, count: b.count)
                (b.values + moved).update(from: b.values, count: b.count)
                b.keys.update(from: a.keys + leftCount, count: moved)
                b.values.update(from: a.values + leftCount, count: moved)
                b.node.count += moved
                a.node.count = leftCount
                parent.counts[leftIndex] -= Int64(moved)
                parent.counts[leftIndex + 1] += Int64(moved)
            }
            let separator = separator(a, b)
            parent.keys[leftIndex + 1] = separator.key
            parent.values[leftIndex + 1] = separator.value
            return
        }
        let (a, b) = (IntegerIndexInner(left), IntegerIndexInner(right))
        b.keys[0] = parent.keys[leftIndex + 1]
        b.values[0] = parent.values[leftIndex + 1]
        if a.count < leftCount {
            moved = leftCount - a.count
            a.append(from: b, at: 0, count: moved)
            b.removeFirst(moved)
        } else {
            moved = a.count - leftCount
            (b.keys + moved).update(from: b.keys, count: b.count)
            (b.values + moved).update(from: b.values, count: b.count)
            (b.refs + moved).update(from: b.refs, count: b.count)
            (b.counts + moved).update(from: b.counts, count: b.count)
            b.keys.update(from: a.keys + leftCount, count: moved)
            b.values.update(from: a.values + leftCount, count: moved)
            b.refs.update(from: a.refs + leftCount, count: moved)
            b.counts.update(from: a.counts + leftCount, count: moved)
            b.node.count += moved
            a.node.count = leftCount
        }
        parent.keys[leftIndex + 1] = b.keys[0]
        parent.values[leftIndex + 1] = b.values[0]
        parent.counts[leftIndex] = Int64(a.total)
        parent.counts[leftIndex + 1] = Int64(b.total)
    }

    /// Retires every node of the tree, or as many as it reaches before it meets damage. O(nodes).
    static func retireAll(_ root: NodeRef, _ writer: NodeWriter) {
        guard !root.isNone else { return }
        let node = root.node
        if node.width != 0 {
            let inner = IntegerIndexInner(node)
            for index in 0..<node.count where !DamageRecord.isSet { retireAll(NodeRef(inner.refs[index]), writer) }
        }
        writer.retire(node)
    }

    /// Calls `body` with every node, parents first. Stops once damage has been met.
    static func forEachNode(_ root: NodeRef, _ body: (Node) -> Void) {
        guard !root.isNone else { return }
        let node = root.node
        body(node)
        if node.width != 0 {
            let inner = IntegerIndexInner(node)
            for index in 0..<node.count where !DamageRecord.isSet { forEachNode(NodeRef(inner.refs[index]), body) }
        }
    }
}
