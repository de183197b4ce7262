extension BytesIndexTree {
    /// Removes one occurrence of the pair. Returns false if there is none.
    static func remove(
        _ key: IndexKey, value: Int64, at root: UnsafeMutablePointer<UInt64>, writer: NodeWriter
    ) -> Bool {
        guard root.pointee != 0 else { return false }
        // Searches first, so that nothing is copied for a pair that isn't there.
        var page = SlottedPage(NodeRef(root.pointee).node)
        while !page.isLeaf { page = SlottedPage(page.child(page.lowerChild(key, value))) }
        let index = page.lowerBound(key, value)
        var position = -1
        if index == page.count {
            // The pair may be the first one of the next leaf, because a separator may be equal to it. The search by
            // position finds it there.
            position = rank(key, value, in: NodeRef(root.pointee))
            guard let run = run(from: position, in: NodeRef(root.pointee)), run.value(0) == value,
                run.key(0).compare(key) == 0
            else { return false }
        } else {
            guard page.value(index) == value, page.key(index).compare(key) == 0 else { return false }
        }
        remove(key, value: value, position: position, slot: root, writer: writer)
        trimRoot(root, writer)
        return true
    }

    /// Removes the pair at `position`. If `position` is negative, removes the pair that `lowerChild` leads to.
    private static func remove(
        _ key: IndexKey, value: Int64, position: Int, slot: UnsafeMutablePointer<UInt64>, writer: NodeWriter
    ) {
        let page = SlottedPage(writer.own(slot))
        if page.isLeaf {
            page.remove(at: position >= 0 ? position : page.lowerBound(key, value))
            return
        }
        var position = position
        let index = position >= 0 ? page.child(at: &position) : page.lowerChild(key, value)
        page.addToChildCount(index, -1)
        remove(key, value: value, position: position, slot: page.refSlot(index), writer: writer)
        let child = SlottedPage(page.child(index))
        if child.count == 0 {
            writer.retire(child.node)
            page.remove(at: index)
        } else if child.used < SlottedPage.entryByteCapacity / 2 {
            if !merge(page, leftIndex: index - 1, writer: writer) { _ = merge(page, leftIndex: index, writer: writer) }
        }
    }

    /// Merges two neighbours into one page, if that leaves some space free.
    private static func merge(_ parent: SlottedPage, leftIndex: Int, writer: NodeWriter) -> Bool {
        guard leftIndex >= 0, leftIndex + 1 < parent.count else { return false }
        let right = SlottedPage(parent.child(leftIndex + 1))
        // The eighth that stays free also has space for the separator between two inner pages, which is in the parent.
        // The right page's own first separator may be shorter, and is not read.
        guard SlottedPage(parent.child(leftIndex)).used + right.used <= SlottedPage.entryByteCapacity / 8 * 7 else {
            return false
        }
        let left = SlottedPage(writer.own(parent.refSlot(leftIndex)))
        if right.isLeaf {
            left.append(from: right, 0..<right.count)
        } else {
            let (separator, value) = (parent.key(leftIndex + 1), parent.value(leftIndex + 1))
            left.insert(
                separator, value, ref: right.refSlot(0).pointee, count: right.childCount(0), at: left.count)
            left.append(from: right, 1..<right.count)
        }
        parent.addToChildCount(leftIndex, parent.childCount(leftIndex + 1))
        parent.remove(at: leftIndex + 1)
        writer.retire(right.node)
        return true
    }

    /// Shrinks the root. A root with one child is replaced by the child, an empty root is removed, and a leaf with few
    /// pairs becomes a smaller one.
    private static func trimRoot(_ root: UnsafeMutablePointer<UInt64>, _ writer: NodeWriter) {
        var page = SlottedPage(NodeRef(root.pointee).node)
        while !page.isLeaf, page.count == 1 {
            let child = page.refSlot(0).pointee
            writer.retire(page.node)
            root.pointee = child
            page = SlottedPage(NodeRef(child).node)
        }
        if page.count == 0 {
            writer.retire(page.node)
            root.pointee = 0
        } else if page.isLeaf, page.node.byteCount > NodeLayout.BytesIndex.pageByteCounts.least,
            page.used < page.node.byteCount / 8
        {
            _ = resize(page, byteCount: page.node.byteCount / NodeLayout.RootSizes.growth, at: root, writer)
        }
    }

    /// Retires every node of the tree, or as many as it reaches before it meets damage. O(nodes).
    static func retireAll(_ root: NodeRef, _ writer: NodeWriter) {
        guard !root.isNone else { return }
        let page = SlottedPage(root.node)
        if !page.isLeaf {
            for index in 0..<page.count where !DamageRecord.isSet {
                retireAll(NodeRef(page.refSlot(index).pointee), writer)
            }
        }
        writer.retire(page.node)
    }

    /// Calls `body` with every node, parents first. Stops once damage has been met.
    static func forEachNode(_ root: NodeRef, _ body: (Node) -> Void) {
        guard !root.isNone else { return }
        let page = SlottedPage(root.node)
        body(page.node)
        if !page.isLeaf {
            for index in 0..<page.count where !DamageRecord.isSet {
                forEachNode(NodeRef(page.refSlot(index).pointee), body)
            }
        }
    }
}
