extension ListTree {
    /// Inserts an element; `root` is never 0.
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

    /// Inserts below `slot`; gives back the node that must follow the one at `slot`, where that split.
    private func insert(_ element: EncodedElement, at index: Int, slot: UnsafeMutablePointer<UInt64>) -> NodeRef {
        guard Self.isInner(NodeRef(slot.pointee).node) else { return insertInLeaf(element, at: index, slot) }
        let inner = Inner(writer.own(slot))
        let place = inner.find(index)
        let sibling = insert(element, at: place.index, slot: inner.refs + place.child)
        // What the sibling holds comes back with it.
        inner.shiftEnds(from: place.child, by: sibling.isNone ? 1 : 1 - Self.count(sibling.node))
        if sibling.isNone { return .none }
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
        if place == Self.fanout {
            insertChild(sibling, at: 0, right)
            return NodeRef(right.node)
        }
        let half = Self.fanout / 2
        right.refs.update(from: inner.refs + half, count: Self.fanout - half)
        let before = inner.start(half)
        for child in half..<Self.fanout { right.ends[child - half] = inner.ends[child] - UInt32(before) }
        right.node.count = Self.fanout - half
        inner.node.count = half
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
        (inner.ends + place + 1).update(from: inner.ends + place, count: count - place)
        inner.refs[place] = child.word
        inner.ends[place] = UInt32(inner.start(place))
        inner.node.count = count + 1
        inner.shiftEnds(from: place, by: Self.count(child.node))
    }

    /// Puts `element` in the place of another. The other's blobs are the caller's to retire. True where that was done without changing the tree's
    /// shape; false where the leaf would overflow, and nothing is changed then.
    func replace(_ element: EncodedElement, at index: Int, root: UnsafeMutablePointer<UInt64>) -> Bool {
        let place = Self.locate(index, in: NodeRef(root.pointee), layout)
        let wanted = place.leaf.length + element.bytes.count - place.leaf.block.encoded(place.index).bytes.count
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

    /// Appends as many of the fixed elements as the last leaf has room for, and gives back how many.
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
