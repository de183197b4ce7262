extension BytesIndexTree {
    /// Adds the pair.
    static func insert(_ key: IndexKey, value: Int64, at root: UnsafeMutablePointer<UInt64>, writer: NodeWriter) {
        precondition(value > .min && value < .max, "Firn: an index can't hold the values Int64.min and Int64.max")
        assert(key.byteCount <= IndexKey.maximumByteCount, "Firn: an index key of \(key.byteCount) bytes")
        if root.pointee == 0 {
            let leaf = SlottedPage.make(level: 0, byteCount: NodeLayout.BytesIndex.pageByteCounts.least, writer)
            leaf.insert(key, value, at: 0)
            root.pointee = NodeRef(leaf.node).word
            return
        }
        // The insert can't fail, so the counts are raised on the way down.
        var slot = root
        var page = SlottedPage(writer.own(slot))
        while !page.isLeaf {
            let index = page.upperChild(key, value)
            page.addToChildCount(index, 1)
            slot = page.refSlot(index)
            page = SlottedPage(writer.own(slot))
        }
        if !page.hasSpace(wordCount: key.wordCount) {
            guard page.node.byteCount < SlottedPage.fullByteCount else {
                insertSplitting(key, value: value, at: root, writer: writer)
                return
            }
            page = resize(page, byteCount: page.node.byteCount * NodeLayout.RootSizes.growth, at: slot, writer)
        }
        page.insert(key, value, at: page.upperBound(key, value))
    }

    /// Moves a root leaf's entries into a leaf of another size.
    static func resize(
        _ page: SlottedPage, byteCount: Int, at slot: UnsafeMutablePointer<UInt64>, _ writer: NodeWriter
    ) -> SlottedPage {
        let resized = SlottedPage.make(level: 0, byteCount: byteCount, writer)
        resized.append(from: page, 0..<page.count)
        slot.pointee = NodeRef(resized.node).word
        writer.retire(page.node)
        return resized
    }

    /// Inserts when the leaf is full. The pages on the path are already owned and already count the new pair.
    @inline(never)
    private static func insertSplitting(
        _ key: IndexKey, value: Int64, at root: UnsafeMutablePointer<UInt64>, writer: NodeWriter
    ) {
        let split = split(root, key: key, value: value, isRightEdge: true, writer: writer)
        guard split.ref != 0 else { return }
        let left = SlottedPage(NodeRef(root.pointee).node)
        let parent = SlottedPage.make(level: left.node.width + 1, writer)
        parent.insert(left.key(0), .min, ref: root.pointee, count: left.total, at: 0)
        add(split, to: parent, at: 1)
        root.pointee = NodeRef(parent.node).word
    }

    /// Adds a split-off page to its parent, which has space for it.
    static func add(_ split: Split, to parent: SlottedPage, at index: Int) {
        withSeparator(split) { parent.insert($0, split.value, ref: split.ref, count: split.count, at: index) }
    }

    /// Passes the separator of a split-off page to `body`, which must not keep it.
    @inline(__always)
    static func withSeparator<Result>(_ split: Split, _ body: (IndexKey) -> Result) -> Result {
        let key = SlottedPage(NodeRef(split.ref).node).key(0)
        return withUnsafeTemporaryAllocation(of: UInt64.self, capacity: IndexKey.maximumWordCount) { buffer in
            let words = buffer.baseAddress.unsafelyUnwrapped
            let wordCount = (split.keyByteCount + 7) / 8
            words.update(from: key.words, count: wordCount)
            // Behind its end a key is filled up with zeros.
            let tail = split.keyByteCount & 7
            if tail != 0 { words[wordCount - 1] &= ~0 << UInt64(64 - tail * 8) }
            return body(IndexKey(words: words, byteCount: split.keyByteCount))
        }
    }

    private static func split(
        _ slot: UnsafeMutablePointer<UInt64>, key: IndexKey, value: Int64, isRightEdge: Bool, writer: NodeWriter
    ) -> Split {
        let page = SlottedPage(writer.own(slot))
        if page.isLeaf { return splitLeaf(page, key: key, value: value, isRightEdge: isRightEdge, writer: writer) }
        let index = page.upperChild(key, value)
        let isLast = index == page.count - 1
        let below = split(
            page.refSlot(index), key: key, value: value, isRightEdge: isRightEdge && isLast, writer: writer)
        guard below.ref != 0 else { return .none }
        page.addToChildCount(index, -below.count)
        if page.hasSpace(wordCount: (below.keyByteCount + 7) / 8) {
            add(below, to: page, at: index + 1)
            return .none
        }
        let right = SlottedPage.make(level: page.node.width, writer)
        if isRightEdge && isLast {
            add(below, to: right, at: 0)
        } else {
            let middle = page.middle
            right.append(from: page, middle..<page.count)
            page.truncate(to: middle)
            if index < middle {
                add(below, to: page, at: index + 1)
            } else {
                add(below, to: right, at: index + 1 - middle)
            }
        }
        return Split(
            ref: NodeRef(right.node).word, count: right.total, value: right.value(0),
            keyByteCount: right.key(0).byteCount)
    }

    private static func splitLeaf(
        _ leaf: SlottedPage, key: IndexKey, value: Int64, isRightEdge: Bool, writer: NodeWriter
    ) -> Split {
        let index = leaf.upperBound(key, value)
        let right = SlottedPage.make(level: 0, writer)
        if isRightEdge && index == leaf.count {
            right.insert(key, value, at: 0)
        } else {
            let middle = leaf.middle
            right.append(from: leaf, middle..<leaf.count)
            leaf.truncate(to: middle)
            if index <= middle {
                leaf.insert(key, value, at: index)
            } else {
                right.insert(key, value, at: index - middle)
            }
        }
        return between(leaf, right)
    }

    /// The parent's entry for the right one of two neighbouring leaves.
    static func between(_ left: SlottedPage, _ right: SlottedPage) -> Split {
        let last = left.key(left.count - 1)
        let first = right.key(0)
        let isSame = last.compare(first) == 0
        return Split(
            ref: NodeRef(right.node).word, count: right.count, value: isSame ? right.value(0) : .min,
            keyByteCount: isSame ? first.byteCount : last.commonPrefix(first) + 1)
    }
}
