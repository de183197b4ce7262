extension ListTree {
    /// Inserts an element. `root` must not be 0.
    func insert(_ element: EncodedElement, at index: Int, root: UnsafeMutablePointer<UInt64>) {
        let sibling = insert(element, at: index, slot: root)
        if !sibling.isNone { grow(root, sibling) }
    }

    private func grow(_ root: UnsafeMutablePointer<UInt64>, _ sibling: NodeRef) {
        let old = NodeRef(root.pointee).node
        let inner = makeInner(level: Self.isInner(old) ? old.level + 1 : 1)
        insertChild(NodeRef(old), at: 0, inner)
        insertChild(sibling, at: 1, inner)
        root.pointee = NodeRef(inner.node).word
    }

    /// Inserts below `slot`. If the node at `slot` was split, returns the node that must follow it.
    private func insert(_ element: EncodedElement, at index: Int, slot: UnsafeMutablePointer<UInt64>) -> NodeRef {
        guard Self.isInner(NodeRef(slot.pointee).node) else { return insertInLeaf(element, at: index, slot) }
        let inner = Inner(writer.own(slot))
        let position = inner.find(index)
        let sibling = insert(element, at: position.index, slot: inner.refs + position.child)
        // The elements of the sibling no longer count for this child.
        inner.shiftEnds(from: position.child, by: sibling.isNone ? 1 : 1 - Self.count(sibling.node))
        if sibling.isNone { return .none }
        if inner.node.count < Self.fanout {
            insertChild(sibling, at: position.child + 1, inner)
            return .none
        }
        return split(inner, inserting: sibling, at: position.child + 1)
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
            // An index behind a leaf's last element occurs only at the end of the list. The leaf stays full, and a new
            // leaf follows it.
            let leaf = makeEmptyLeaf(blockCapacity: Self.leafByteCount)
            leaf.length = leaf.block.insert(element, at: 0, length: leaf.length)
            return NodeRef(leaf.node)
        }
        let leaf = ownLeaf(slot, length: wanted)
        let length = leaf.block.insert(element, at: index, length: leaf.length)
        let cut = leaf.block.splitIndex(length: length)
        let right = makeEmptyLeaf(blockCapacity: Self.leafByteCount)
        let lengths = leaf.block.split(at: cut, length: length, to: right.block)
        leaf.length = lengths.left
        right.length = lengths.right
        assert(lengths.left <= Self.leafByteCount && lengths.right <= Self.leafByteCount)
        return NodeRef(right.node)
    }

    private func split(_ inner: Inner, inserting sibling: NodeRef, at index: Int) -> NodeRef {
        let right = makeInner(level: inner.node.level)
        if index == Self.fanout {
            insertChild(sibling, at: 0, right)
            return NodeRef(right.node)
        }
        let half = Self.fanout / 2
        right.refs.update(from: inner.refs + half, count: Self.fanout - half)
        let before = inner.start(half)
        for child in half..<Self.fanout { right.ends[child - half] = inner.ends[child] - UInt32(before) }
        right.node.count = Self.fanout - half
        inner.node.count = half
        if index <= half {
            insertChild(sibling, at: index, inner)
        } else {
            insertChild(sibling, at: index - half, right)
        }
        return NodeRef(right.node)
    }

    /// Inserts a child and its count.
    private func insertChild(_ child: NodeRef, at index: Int, _ inner: Inner) {
        let count = inner.node.count
        assert(count < Self.fanout)
        (inner.refs + index + 1).update(from: inner.refs + index, count: count - index)
        (inner.ends + index + 1).update(from: inner.ends + index, count: count - index)
        inner.refs[index] = child.word
        inner.ends[index] = UInt32(inner.start(index))
        inner.node.count = count + 1
        inner.shiftEnds(from: index, by: Self.count(child.node))
    }

    /// Replaces an element with `element`. The caller retires the old element's blobs.
    ///
    /// Returns true if that was possible without changing the tree's shape. Returns false and changes nothing if the
    /// leaf would overflow.
    func replace(_ element: EncodedElement, at index: Int, root: UnsafeMutablePointer<UInt64>) -> Bool {
        let position = Self.locate(index, in: NodeRef(root.pointee), layout)
        let wanted =
            position.leaf.length + element.bytes.count - position.leaf.block.encoded(position.index).bytes.count
        guard wanted <= Self.leafByteCount else { return false }
        var slot = root
        var rest = index
        while Self.isInner(NodeRef(slot.pointee).node) {
            let inner = Inner(writer.own(slot))
            let found = inner.find(rest)
            rest = found.index
            slot = inner.refs + found.child
        }
        let leaf = ownLeaf(slot, length: wanted)
        leaf.length = leaf.block.replace(element, at: rest, length: leaf.length)
        return true
    }

    /// Appends as many of the fixed elements as fit in the last leaf, and returns their number.
    func fillLast(with elements: UnsafeRawBufferPointer, root slot: UnsafeMutablePointer<UInt64>) -> Int {
        assert(layout.form == .fixed)
        guard Self.isInner(NodeRef(slot.pointee).node) else {
            let old = Leaf(NodeRef(slot.pointee).node, layout)
            let taken = min(
                elements.count / layout.width, (Self.leafByteCount - old.length) / layout.width,
                Self.leafElementCount - old.node.count)
            guard taken > 0 else { return 0 }
            let leaf = ownLeaf(slot, length: old.length + taken * layout.width)
            let block = leaf.block
            (block.base + leaf.length).copyMemory(
                from: elements.baseAddress.unsafelyUnwrapped, byteCount: taken * layout.width)
            block.count += taken
            leaf.length += taken * layout.width
            return taken
        }
        let inner = Inner(writer.own(slot))
        let last = inner.node.count - 1
        let taken = fillLast(with: elements, root: inner.refs + last)
        inner.shiftEnds(from: last, by: taken)
        return taken
    }
}
