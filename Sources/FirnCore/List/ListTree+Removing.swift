extension ListTree {
    /// Takes an element out. Its blobs are the caller's to retire. A tree that held one element keeps an empty leaf, which the caller retires.
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
        let place = inner.find(index)
        removeBelow(inner.refs + place.child, place.index)
        inner.shiftEnds(from: place.child, by: -1)
        let child = NodeRef(inner.refs[place.child]).node
        if inner.count(place.child) == 0 && inner.node.count > 1 {
            // An inner node may have shrunk to a chain of only children above an empty leaf.
            retireAll(NodeRef(child))
            removeChild(place.child, inner)
        } else if isUnderfull(child) {
            if place.child + 1 < inner.node.count && join(place.child, inner) { return }
            if place.child > 0 { _ = join(place.child - 1, inner) }
        }
    }

    private func isUnderfull(_ node: Node) -> Bool {
        Self.isInner(node) ? node.count < Self.fanout / 4 : Leaf(node, layout).isUnderfull
    }

    /// Strikes a child that holds nothing (any more).
    private func removeChild(_ place: Int, _ inner: Inner) {
        let behind = inner.node.count - place - 1
        (inner.refs + place).update(from: inner.refs + place + 1, count: behind)
        (inner.ends + place).update(from: inner.ends + place + 1, count: behind)
        inner.node.count -= 1
    }

    /// Puts the child behind `place` into that at `place` where the two leave a quarter of a node free; false where they don't.
    private func join(_ place: Int, _ inner: Inner) -> Bool {
        let left = NodeRef(inner.refs[place]).node
        let right = NodeRef(inner.refs[place + 1]).node
        if Self.isInner(left) {
            guard left.count + right.count <= Self.fanout * 3 / 4 else { return false }
            let target = Inner(writer.own(inner.refs + place))
            let source = Inner(right)
            (target.refs + target.node.count).update(from: source.refs, count: right.count)
            let before = UInt32(target.total)
            for child in 0..<right.count { target.ends[target.node.count + child] = before + source.ends[child] }
            target.node.count += right.count
        } else {
            let source = Leaf(right, layout)
            let length = left.capacity + source.length - ElementBlock.headerByteCount
            guard length <= Self.leafByteCount * 3 / 4, left.count + right.count <= Self.leafElementCount * 3 / 4 else {
                return false
            }
            let target = ownLeaf(inner.refs + place, length: length)
            target.length = target.block.append(source.block, length: target.length, otherLength: source.length)
        }
        inner.ends[place] = inner.ends[place + 1]
        writer.retire(right)
        removeChild(place + 1, inner)
        return true
    }
}
