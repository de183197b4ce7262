extension ListTree {
    /// Removes an element. The caller retires its blobs. A tree that held one element keeps an empty leaf, which the
    /// caller retires.
    func remove(at index: Int, root: UnsafeMutablePointer<UInt64>) {
        removeBelow(root, index)
        while true {
            let node = NodeRef(root.pointee).node
            guard Self.isInner(node), node.count == 1 else { return }
            root.pointee = Inner(node).refs[0]
            writer.retire(node)
        }
    }

    private func removeBelow(_ slot: UnsafeMutablePointer<UInt64>, _ index: Int) {
        guard Self.isInner(NodeRef(slot.pointee).node) else {
            let leaf = ownLeaf(slot, length: 0)
            leaf.length = leaf.block.remove(at: index, length: leaf.length)
            return
        }
        let inner = Inner(writer.own(slot))
        let position = inner.find(index)
        removeBelow(inner.refs + position.child, position.index)
        inner.shiftEnds(from: position.child, by: -1)
        let child = NodeRef(inner.refs[position.child]).node
        if inner.count(position.child) == 0 && inner.node.count > 1 {
            // An inner node may have shrunk to a chain of single children above an empty leaf.
            retireAll(NodeRef(child))
            removeChild(position.child, inner)
        } else if isUnderfull(child) {
            if position.child + 1 < inner.node.count && merge(position.child, inner) { return }
            if position.child > 0 { _ = merge(position.child - 1, inner) }
        }
    }

    private func isUnderfull(_ node: Node) -> Bool {
        Self.isInner(node) ? node.count < Self.fanout / 4 : Leaf(node, layout).isUnderfull
    }

    /// Removes a child that is empty, or whose content has been moved.
    private func removeChild(_ index: Int, _ inner: Inner) {
        let behind = inner.node.count - index - 1
        (inner.refs + index).update(from: inner.refs + index + 1, count: behind)
        (inner.ends + index).update(from: inner.ends + index + 1, count: behind)
        inner.node.count -= 1
    }

    /// Merges the child after `index` into the child at `index`, if the result leaves a quarter of a node free.
    /// Otherwise returns false.
    private func merge(_ index: Int, _ inner: Inner) -> Bool {
        let left = NodeRef(inner.refs[index]).node
        let right = NodeRef(inner.refs[index + 1]).node
        if Self.isInner(left) {
            guard left.count + right.count <= Self.fanout * 3 / 4 else { return false }
            let target = Inner(writer.own(inner.refs + index))
            let source = Inner(right)
            (target.refs + target.node.count).update(from: source.refs, count: right.count)
            let before = UInt32(target.total)
            for child in 0..<right.count { target.ends[target.node.count + child] = before + source.ends[child] }
            target.node.count += right.count
        } else {
            let source = Leaf(right, layout)
            let length = left.capacity + source.length - NodeLayout.ElementBlock.headerByteCount
            guard length <= Self.leafByteCount * 3 / 4, left.count + right.count <= Self.leafElementCount * 3 / 4 else {
                return false
            }
            let target = ownLeaf(inner.refs + index, length: length)
            target.length = target.block.append(source.block, length: target.length, otherLength: source.length)
        }
        inner.ends[index] = inner.ends[index + 1]
        writer.retire(right)
        removeChild(index + 1, inner)
        return true
    }
}
