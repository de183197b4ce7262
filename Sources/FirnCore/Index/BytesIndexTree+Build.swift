/// Builds a `BytesIndexTree` from pairs in any order: collects the keys in one block of memory, sorts them, and
/// writes full pages.
///
/// About 150 ns a pair for a million strings. The memory is freed when `finish` returns, or when the builder goes out
/// of scope.
struct BytesIndexTreeBuilder: ~Copyable {
    /// For each pair: its value, its key's byte count, its key's words.
    private var arena: UnsafeMutablePointer<UInt64>
    private var capacity: Int
    private var used = 0
    private var entryOffsets: [Int64] = []
    /// The number of bytes that all keys have in common at their beginning.
    private var commonPrefix = Int.max

    /// Reserves memory for about `expectedCount` pairs.
    init(expectedCount: Int = 0) {
        capacity = max(64, expectedCount * 5)
        arena = .allocate(capacity: capacity)
        entryOffsets.reserveCapacity(expectedCount)
    }

    deinit { arena.deallocate() }

    mutating func append(_ key: IndexKey, _ value: Int64) {
        precondition(value > .min && value < .max, "Firn: an index can't hold the values Int64.min and Int64.max")
        let wordCount = key.wordCount
        if used + wordCount + 2 > capacity { grow() }
        let entry = arena + used
        entry[0] = UInt64(bitPattern: value)
        entry[1] = UInt64(key.byteCount)
        (entry + 2).update(from: key.words, count: wordCount)
        if entryOffsets.isEmpty {
            commonPrefix = key.byteCount
        } else if commonPrefix > 0 {
            commonPrefix = min(commonPrefix, key.commonPrefix(self.key(0)))
        }
        entryOffsets.append(Int64(used))
        used += wordCount + 2
    }

    private mutating func grow() {
        let larger = UnsafeMutablePointer<UInt64>.allocate(capacity: capacity * 2)
        larger.update(from: arena, count: used)
        arena.deallocate()
        arena = larger
        capacity *= 2
    }

    private func key(_ entryOffset: Int64) -> IndexKey {
        let entry = arena + Int(entryOffset)
        return IndexKey(words: UnsafePointer(entry + 2), byteCount: Int(entry[1]))
    }

    private func value(_ entryOffset: Int64) -> Int64 { Int64(bitPattern: arena[Int(entryOffset)]) }

    /// Builds the tree of all pairs.
    consuming func finish(_ writer: NodeWriter) -> NodeRef {
        let count = entryOffsets.count
        guard count > 0 else { return .none }
        var entryOffsets = entryOffsets
        self.entryOffsets = []
        let heads = UnsafeMutablePointer<UInt64>.allocate(capacity: count * 3)
        defer { heads.deallocate() }
        let other = UnsafeMutablePointer<Int64>(OpaquePointer(heads + count * 2))
        entryOffsets.withUnsafeMutableBufferPointer {
            sort(
                $0.baseAddress.unsafelyUnwrapped, count: count, offset: commonPrefix, heads: heads,
                otherHeads: heads + count, otherEntryOffsets: other)
        }
        return write(entryOffsets, writer)
    }

    /// Orders the entries by key from byte `offset` on, and then by value. Up to `offset` all keys are the same.
    ///
    /// Many entries are sorted by radix in steps of eight bytes, and few entries by comparison.
    private func sort(
        _ entryOffsets: UnsafeMutablePointer<Int64>, count: Int, offset: Int, heads: UnsafeMutablePointer<UInt64>,
        otherHeads: UnsafeMutablePointer<UInt64>, otherEntryOffsets: UnsafeMutablePointer<Int64>
    ) {
        if count <= 256 || offset >= IndexKey.maximumByteCount {
            var group = UnsafeMutableBufferPointer(start: entryOffsets, count: count)
            group.sort { isBelow($0, $1, equalWords: offset / 8) }
            return
        }
        for index in 0..<count { heads[index] = key(entryOffsets[index]).eightBytes(offset) }
        if RadixSort.sort(
            heads, values: entryOffsets, otherKeys: otherHeads, otherValues: otherEntryOffsets, count: count)
        {
            heads.update(from: otherHeads, count: count)
            entryOffsets.update(from: otherEntryOffsets, count: count)
        }
        var start = 0
        while start < count {
            var end = start + 1
            while end < count, heads[end] == heads[start] { end += 1 }
            if end - start > 1 {
                sort(
                    entryOffsets + start, count: end - start, offset: offset + 8, heads: heads + start,
                    otherHeads: otherHeads + start,
                    otherEntryOffsets: otherEntryOffsets + start)
            }
            start = end
        }
    }

    private func isBelow(_ a: Int64, _ b: Int64, equalWords: Int) -> Bool {
        let (x, y) = (key(a), key(b))
        let order = x.compare(y, from: min(equalWords, x.wordCount, y.wordCount))
        return order < 0 || order == 0 && value(a) < value(b)
    }

    private func write(_ entryOffsets: [Int64], _ writer: NodeWriter) -> NodeRef {
        var level: [BytesIndexTree.Split] = []
        var previous: SlottedPage?
        var start = 0
        entryOffsets.withUnsafeBufferPointer { entryOffsets in
            let base = entryOffsets.baseAddress.unsafelyUnwrapped
            while start < entryOffsets.count {
                // Adding up the lengths also brings the entries into the cache, many at a time: they lie in any order
                // in memory.
                var end = start
                var size = 0
                while end < entryOffsets.count {
                    size &+= NodeLayout.BytesIndex.wordByteCount
                    size &+= NodeLayout.BytesIndex.entryByteCount(
                        keyWordCount: key(base[end]).wordCount, isLeaf: true)
                    if size > SlottedPage.entryByteCapacity { break }
                    end &+= 1
                }
                let leaf = SlottedPage.make(level: 0, writer)
                leaf.fill(arena, base + start, count: end - start)
                var split = BytesIndexTree.Split(
                    ref: NodeRef(leaf.node).word, count: leaf.count, value: .min, keyByteCount: leaf.key(0).byteCount)
                if let previous { split = BytesIndexTree.between(previous, leaf) }
                level.append(split)
                previous = leaf
                start = end
            }
        }
        if level.count == 1 {
            var root = level[0].ref
            let leaf = SlottedPage(NodeRef(root).node)
            let small = leaf.used + NodeLayout.BytesIndex.slots
            let byteCount = NodeLayout.BytesIndex.pageByteCounts.size(for: small)
            if byteCount < leaf.node.byteCount {
                _ = BytesIndexTree.resize(leaf, byteCount: byteCount, at: &root, writer)
            }
            return NodeRef(root)
        }
        var height = 1
        while level.count > 1 {
            var above: [BytesIndexTree.Split] = []
            var page = SlottedPage.make(level: height, writer)
            func closeInner(_ page: SlottedPage) {
                page.compact()
                above.append(
                    BytesIndexTree.Split(
                        ref: NodeRef(page.node).word, count: page.total, value: page.value(0),
                        keyByteCount: page.key(0).byteCount))
            }
            for child in level {
                if !page.hasSpace(wordCount: (child.keyByteCount + 7) / 8) {
                    closeInner(page)
                    page = SlottedPage.make(level: height, writer)
                }
                BytesIndexTree.add(child, to: page, at: page.count)
            }
            closeInner(page)
            level = above
            height += 1
        }
        return NodeRef(level[0].ref)
    }
}
