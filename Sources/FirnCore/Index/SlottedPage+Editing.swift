extension SlottedPage {
    /// The number of bytes that an entry with a key of `wordCount` words takes, including its slot.
    @inline(__always)
    func byteCount(wordCount: Int) -> Int { (fixedWords &+ wordCount &+ 1) &* 8 }

    private var free: Int { @inline(__always) get { heapStart &- SlottedPage.slotsOffset &- count &* 8 } }

    /// The number of bytes that the entries and their slots take.
    var used: Int { node.byteCount - SlottedPage.slotsOffset - free - garbage }

    /// The number of bytes for entries in a full page.
    static let entryByteCapacity = fullByteCount - slotsOffset

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
        let offset = heapStart &- size &+ 8
        node.capacity = offset
        let entry = node.pointer(offset, to: UInt64.self)
        entry[0] = UInt64(bitPattern: value)
        if !isLeaf {
            entry[1] = ref
            entry[2] = UInt64(childCount)
        }
        (entry + fixedWords).update(from: key.words, count: key.wordCount)
        let slots = slots
        if index < count { (slots + index + 1).update(from: slots + index, count: count &- index) }
        slots[index] = UInt64(key.head(prefix)) &<< 32 | UInt64(offset) &<< 16 | UInt64(key.byteCount)
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
        let slots = slots
        var offset = node.byteCount
        for index in 0..<count {
            let key = key(index)
            offset &-= (key.wordCount &+ 1) &* 8
            let entry = node.pointer(offset, to: UInt64.self)
            entry[0] = arena[Int(entryOffsets[index])]
            for word in 0..<key.wordCount { entry[word &+ 1] = key.words[word] }
            slots[index] = UInt64(key.head(prefix)) &<< 32 | UInt64(offset) &<< 16 | UInt64(key.byteCount)
        }
        node.form = UInt8(truncatingIfNeeded: prefix)
        node.capacity = offset
        node.count = count
        assert(SlottedPage.slotsOffset + count * 8 <= offset)
    }

    func remove(at index: Int) {
        garbage += byteCount(at: index) - 8
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
            let entry = source.entry(index)
            insert(
                source.key(index), Int64(bitPattern: entry[0]), ref: isLeaf ? 0 : entry[1],
                count: isLeaf ? 0 : source.childCount(index), at: count)
        }
    }

    /// Drops the entries from `index` on and compacts the rest.
    func truncate(to index: Int) {
        node.count = index
        if index == 0 { removeAll() } else { compact() }
    }

    /// Rewrites the entries without garbage, with as long a common prefix as they have.
    func compact() {
        let count = count
        let slots = slots
        let fixed = fixedWords
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: node.byteCount / 8) { copy in
            let words = copy.baseAddress.unsafelyUnwrapped
            var offset = node.byteCount
            for index in 0..<count {
                let length = fixed + key(index).wordCount
                offset -= length * 8
                (words + offset / 8).update(from: entry(index), count: length)
                slots[index] = UInt64(offset) << 16 | slots[index] & 0xFFFF
            }
            node.pointer(offset, to: UInt64.self).update(from: words + offset / 8, count: (node.byteCount - offset) / 8)
            node.capacity = offset
        }
        garbage = 0
        if count > first { setPrefix(key(first).commonPrefix(key(count - 1))) }
    }

    private func setPrefix(_ prefix: Int) {
        node.form = UInt8(truncatingIfNeeded: prefix)
        let slots = slots
        for index in first..<count {
            slots[index] = slots[index] & 0xFFFF_FFFF | UInt64(key(index).head(prefix)) << 32
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
