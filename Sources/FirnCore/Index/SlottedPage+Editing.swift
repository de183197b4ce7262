extension SlottedPage {
    /// The number of bytes that an entry with a key of `wordCount` words takes.
    @inline(__always)
    func entryByteCount(wordCount: Int) -> Int {
        NodeLayout.BytesIndex.entryByteCount(keyWordCount: wordCount, isLeaf: isLeaf)
    }

    /// The number of bytes that an entry with a key of `wordCount` words takes, including its slot.
    @inline(__always)
    func byteCount(wordCount: Int) -> Int {
        entryByteCount(wordCount: wordCount) &+ NodeLayout.BytesIndex.wordByteCount
    }

    private var free: Int { @inline(__always) get { heapStart &- NodeLayout.BytesIndex.slot(count) } }

    /// The number of bytes that the entries and their slots take.
    var used: Int { node.byteCount - NodeLayout.BytesIndex.slots - free - garbage }

    /// The number of bytes for entries in a full page.
    static let entryByteCapacity = fullByteCount - NodeLayout.BytesIndex.slots

    func hasSpace(wordCount: Int) -> Bool { free &+ garbage >= byteCount(wordCount: wordCount) }

    /// The number of bytes that the entry at `index` takes, including its slot.
    func byteCount(at index: Int) -> Int { byteCount(wordCount: key(index).wordCount) }

    /// Adds an entry. The page must have space for it. `ref` and `count` are for inner pages.
    func insert(_ key: IndexKey, _ value: Int64, ref: UInt64 = 0, count childCount: Int = 0, at index: Int) {
        let size = byteCount(wordCount: key.wordCount)
        if free < size { compact() }
        assert(free >= size, "Firn: an index page has no space for an entry")
        let count = count
        let first = first
        assert(index >= first || count == 0, "Firn: nothing comes before an index page's first child")
        if count <= first {
            node.form = UInt8(truncatingIfNeeded: key.byteCount)
        } else if index == first || index == count {
            // A key between two others has the same prefix as they have.
            let common = min(prefix, key.commonPrefix(self.key(first)))
            if common < prefix { setPrefix(common) }
        }
        let offset = heapStart &- size &+ NodeLayout.BytesIndex.wordByteCount
        node.capacity = offset
        let entry = node.pointer(offset, to: UInt64.self)
        entry[NodeLayout.BytesIndex.valueWord] = UInt64(bitPattern: value)
        if !isLeaf {
            entry[NodeLayout.BytesIndex.refWord] = ref
            entry[NodeLayout.BytesIndex.countWord] = UInt64(childCount)
        }
        (entry + fixedWords).update(from: key.words, count: key.wordCount)
        let slots = slots
        if index < count { (slots + index + 1).update(from: slots + index, count: count &- index) }
        slots[index] = NodeLayout.BytesIndex.slot(
            head: key.head(prefix), offset: offset, keyByteCount: key.byteCount)
        node.count = count &+ 1
    }

    /// Fills an empty leaf with pairs from a builder's memory. Each pair there is its value, its key's byte count and
    /// its key's words.
    func fill(_ arena: UnsafePointer<UInt64>, _ entryOffsets: UnsafePointer<Int64>, count: Int) {
        assert(isLeaf && self.count == 0 && count > 0)
        func key(_ index: Int) -> IndexKey {
            let entry = arena + Int(entryOffsets[index])
            return IndexKey(words: entry + 2, byteCount: Int(truncatingIfNeeded: entry[1]))
        }
        let prefix = key(0).commonPrefix(key(count - 1))
        let keyWord = NodeLayout.BytesIndex.keyWord(isLeaf: true)
        let slots = slots
        var offset = node.byteCount
        for index in 0..<count {
            let key = key(index)
            offset &-= NodeLayout.BytesIndex.entryByteCount(keyWordCount: key.wordCount, isLeaf: true)
            let entry = node.pointer(offset, to: UInt64.self)
            entry[NodeLayout.BytesIndex.valueWord] = arena[Int(entryOffsets[index])]
            for word in 0..<key.wordCount { entry[keyWord &+ word] = key.words[word] }
            slots[index] = NodeLayout.BytesIndex.slot(
                head: key.head(prefix), offset: offset, keyByteCount: key.byteCount)
        }
        node.form = UInt8(truncatingIfNeeded: prefix)
        node.capacity = offset
        node.count = count
        assert(NodeLayout.BytesIndex.slot(count) <= offset)
    }

    func remove(at index: Int) {
        garbage += entryByteCount(wordCount: key(index).wordCount)
        (slots + index).update(from: slots + index + 1, count: count - index - 1)
        node.count -= 1
        if count == 0 { removeAll() }
    }

    func removeAll() {
        node.count = 0
        node.capacity = node.byteCount
        node.form = 0
        garbage = 0
    }

    /// Appends entries of another page of the same level to this page, which must have space for them.
    func append(from source: SlottedPage, _ indices: Range<Int>) {
        for index in indices {
            insert(
                source.key(index), source.value(index), ref: isLeaf ? 0 : source.refSlot(index).pointee,
                count: isLeaf ? 0 : source.childCount(index), at: count)
        }
    }

    /// Drops the entries from `index` on and compacts the rest.
    func truncate(to index: Int) {
        node.count = index
        if index == 0 { removeAll() } else { compact() }
    }

    /// Rewrites the entries without garbage, and with the longest common prefix of their keys.
    func compact() {
        let count = count
        let slots = slots
        let fixed = fixedWords
        let wordByteCount = NodeLayout.BytesIndex.wordByteCount
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: node.byteCount / wordByteCount) { copy in
            let words = copy.baseAddress.unsafelyUnwrapped
            var start = copy.count
            for index in 0..<count {
                let length = fixed + key(index).wordCount
                start -= length
                (words + start).update(from: entry(index), count: length)
                slots[index] = NodeLayout.BytesIndex.slot(
                    head: 0, offset: start * wordByteCount, keyByteCount: key(index).byteCount)
            }
            let offset = start * wordByteCount
            node.pointer(offset, to: UInt64.self).update(from: words + start, count: copy.count - start)
            node.capacity = offset
        }
        garbage = 0
        if count > first { setPrefix(key(first).commonPrefix(key(count - 1))) }
    }

    private func setPrefix(_ prefix: Int) {
        node.form = UInt8(truncatingIfNeeded: prefix)
        let slots = slots
        for index in first..<count {
            let key = key(index)
            slots[index] = NodeLayout.BytesIndex.slot(
                head: key.head(prefix), offset: entryOffset(index), keyByteCount: key.byteCount)
        }
    }

    /// The first index at which a split leaves at least half of the bytes on the left, between 1 and count - 1.
    var middle: Int {
        let half = used / 2
        var sum = 0
        for index in 0..<(count - 1) {
            sum += byteCount(at: index)
            if sum >= half { return index + 1 }
        }
        return count - 1
    }
}
