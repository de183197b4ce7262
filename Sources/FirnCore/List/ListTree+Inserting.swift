extension ListTree {
    /// Inserts an element; `root` is never 0.
    func insert(_ element: EncodedElement, at index: Int, root: UnsafeMutablePointer<UInt64>) {
        let sibling = insert(element, at: index, slot: root)
        if !sibling.isNone { grow(root, sibling) }
    }

    private func grow(_ root: UnsafeMutablePointer<UInt64>, _ sibling: NodeRef) {
        let old = NodeRef(root.pointee).node
        let inner = makeInner(level: old.kind == .listInner ? old.level + 1 : 1)
        inner.total = 0
        insertChild(NodeRef(old), at: 0, inner)
        insertChild(sibling, at: 1, inner)
        root.pointee = NodeRef(inner.node).word
    }

    /// Inserts below `slot`; gives back the node that must follow the one at `slot`, where that split.
    private func insert(_ element: EncodedElement, at index: Int, slot: UnsafeMutablePointer<UInt64>) -> NodeRef {
        guard NodeRef(slot.pointee).node.kind == .listInner else { return insertInLeaf(element, at: index, slot) }
        let inner = Inner(writer.own(slot))
        let place = inner.find(index)
        let sibling = insert(element, at: place.index, slot: inner.refs + place.child)
        inner.total += 1
        if sibling.isNone {
            inner.counts[place.child] &+= 1
            return .none
        }
        // What the sibling holds comes back with it.
        inner.counts[place.child] = UInt64(Self.count(NodeRef(inner.refs[place.child]).node))
        inner.total -= Self.count(sibling.node)
        if inner.node.count < Self.fanout {
            insertChild(sibling, at: place.child + 1, inner)
            return .none
        }
        return split(inner, inserting: sibling, at: place.child + 1)
    }

    private func insertInLeaf(_ element: EncodedElement, at index: Int, _ slot: UnsafeMutablePointer<UInt64>) -> NodeRef
    {
        let old = Leaf(NodeRef(slot.pointee).node, layout)
        let wanted = old.length + old.block.cost(element)
        if wanted <= Self.leafByteCount && old.node.count < Self.leafElementCount {
            let leaf = ownLeaf(slot, length: wanted)
            leaf.length = leaf.block.insert(element, at: index, length: leaf.length)
            return .none
        }
        if index == old.node.count {
            // Only the very end of the list is behind a leaf's last element: leave a full leaf and go on in a new one.
            let leaf = makeEmptyLeaf(room: Self.leafByteCount)
            leaf.length = leaf.block.insert(element, at: 0, length: leaf.length)
            return NodeRef(leaf.node)
        }
        let leaf = ownLeaf(slot, length: wanted)
        let length = leaf.block.insert(element, at: index, length: leaf.length)
        let cut = leaf.block.splitIndex(length: length)
        let right = makeEmptyLeaf(room: Self.leafByteCount)
        let lengths = leaf.block.split(at: cut, length: length, to: right.block)
        leaf.length = lengths.left
        right.length = lengths.right
        assert(lengths.left <= Self.leafByteCount && lengths.right <= Self.leafByteCount)
        return NodeRef(right.node)
    }

    private func split(_ inner: Inner, inserting sibling: NodeRef, at place: Int) -> NodeRef {
        let right = makeInner(level: inner.node.level)
        right.total = 0
        if place == Self.fanout {
            insertChild(sibling, at: 0, right)
            return NodeRef(right.node)
        }
        let half = Self.fanout / 2
        (right.refs).update(from: inner.refs + half, count: Self.fanout - half)
        (right.counts).update(from: inner.counts + half, count: Self.fanout - half)
        right.node.count = Self.fanout - half
        for child in 0..<right.node.count { right.total += Int(right.counts[child]) }
        inner.node.count = half
        inner.total -= right.total
        if place <= half {
            insertChild(sibling, at: place, inner)
        } else {
            insertChild(sibling, at: place - half, right)
        }
        return NodeRef(right.node)
    }

    /// Enters a child and what it holds.
    private func insertChild(_ child: NodeRef, at place: Int, _ inner: Inner) {
        let count = inner.node.count
        assert(count < Self.fanout)
        (inner.refs + place + 1).update(from: inner.refs + place, count: count - place)
        (inner.counts + place + 1).update(from: inner.counts + place, count: count - place)
        let held = Self.count(child.node)
        inner.refs[place] = child.word
        inner.counts[place] = UInt64(held)
        inner.node.count = count + 1
        inner.total += held
    }

    /// Puts `element` in the place of another. The other's blobs are the caller's to retire. True where that was done without changing the tree's
    /// shape; false where the leaf would overflow, and nothing is changed then.
    func replace(_ element: EncodedElement, at index: Int, root: UnsafeMutablePointer<UInt64>) -> Bool {
        let place = Self.locate(index, in: NodeRef(root.pointee), layout)
        let wanted = place.leaf.length + element.bytes.count - place.leaf.block.encoded(place.index).bytes.count
        guard wanted <= Self.leafByteCount else { return false }
        var slot = root
        var rest = index
        while NodeRef(slot.pointee).node.kind == .listInner {
            let inner = Inner(writer.own(slot))
            let found = inner.find(rest)
            rest = found.index
            slot = inner.refs + found.child
        }
        let leaf = ownLeaf(slot, length: wanted)
        leaf.length = leaf.block.replace(element, at: rest, length: leaf.length)
        return true
    }
}
