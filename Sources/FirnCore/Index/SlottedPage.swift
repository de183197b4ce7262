/// A node of a `BytesIndexTree`, leaf or inner: entries with keys of varying length.
///
/// ```
///  0             32        36    40
/// ┌─────────────┬─────────┬─────┬───────────────────┬──────────────┬───────────────────────────┐
/// │ node header │ garbage │ 0   │ slots u64[count]  │ free         │ entries, in any order     │
/// └─────────────┴─────────┴─────┴───────────────────┴──────────────┴───────────────────────────┘
///                 u32                                               ↑ `capacity` holds this offset
///   slot    ┌──────────────┬──────────────┬─────────────┐
///           │ head (high)  │ offset (u16) │ bytes (u16) │   offset of the entry, bytes of its key
///           └──────────────┴──────────────┴─────────────┘
///   entry   leaf    value i64 │ key words
///           inner   separator value i64 │ ref u64 │ count i64 │ separator key words
/// ```
///
/// * Slots are in the ascending order of their entries, (key, value).
/// * All keys of a page begin with the same `form` bytes. A **head** is the four bytes after them. A search compares
///   heads, which lie close together, and reads a key only if the heads are equal.
/// * Removed entries leave `garbage` behind, until free space is short and the page is rewritten.
/// * An inner page's first separator is never read, because everything below the second belongs to the first child.
///   The common prefix does not include it.
/// * Entries begin at multiples of 8. `width` is the level above the leaves, 0 in a leaf.
struct SlottedPage {
    let node: Node

    @inline(__always) init(_ node: Node) { self.node = node }

    /// The length of every page except a small tree's only leaf.
    static var fullByteCount: Int { @inline(__always) get { NodeLayout.BytesIndex.pageByteCounts.full } }

    var count: Int { @inline(__always) get { node.count } }
    var isLeaf: Bool { @inline(__always) get { node.width == 0 } }
    var slots: UnsafeMutablePointer<UInt64> { @inline(__always) get { node.pointer(NodeLayout.BytesIndex.slots) } }
    /// The index of the first entry whose key is read: 1 in an inner page, else 0.
    var first: Int { @inline(__always) get { node.width == 0 ? 0 : 1 } }
    /// The number of words before an entry's key.
    var fixedWords: Int { @inline(__always) get { NodeLayout.BytesIndex.keyWord(isLeaf: node.width == 0) } }
    var prefix: Int { @inline(__always) get { Int(node.form) } }
    var heapStart: Int { @inline(__always) get { node.capacity } }
    var garbage: Int {
        @inline(__always) get { Int(node.load(NodeLayout.BytesIndex.garbage, as: UInt32.self)) }
        @inline(__always) nonmutating set {
            node.store(UInt32(truncatingIfNeeded: newValue), NodeLayout.BytesIndex.garbage)
        }
    }

    static func make(level: Int, byteCount: Int = fullByteCount, _ writer: NodeWriter) -> SlottedPage {
        let node = writer.make(
            level == 0 ? .bytesIndexLeaf : .bytesIndexInner, width: level, capacity: byteCount, byteCount: byteCount)
        node.clear(NodeLayout.headerByteCount..<NodeLayout.BytesIndex.slots)
        return SlottedPage(node)
    }

    // MARK: Entries

    @inline(__always)
    func entryOffset(_ index: Int) -> Int { NodeLayout.BytesIndex.entry(slots[index]) }

    @inline(__always)
    func entry(_ index: Int) -> UnsafeMutablePointer<UInt64> { node.pointer(entryOffset(index)) }

    @inline(__always)
    func key(_ index: Int) -> IndexKey {
        IndexKey(
            words: UnsafePointer(entry(index) + fixedWords), byteCount: NodeLayout.BytesIndex.keyByteCount(slots[index])
        )
    }

    @inline(__always)
    func value(_ index: Int) -> Int64 { Int64(bitPattern: entry(index)[NodeLayout.BytesIndex.valueWord]) }

    /// The address of an inner page's reference to a child.
    @inline(__always)
    func refSlot(_ index: Int) -> UnsafeMutablePointer<UInt64> { entry(index) + NodeLayout.BytesIndex.refWord }

    @inline(__always)
    func child(_ index: Int) -> Node { NodeRef(refSlot(index).pointee).node }

    /// The number of entries in the child's subtree.
    @inline(__always)
    func childCount(_ index: Int) -> Int {
        Int(truncatingIfNeeded: Int64(bitPattern: entry(index)[NodeLayout.BytesIndex.countWord]))
    }

    @inline(__always)
    func addToChildCount(_ index: Int, _ difference: Int) {
        let entry = entry(index)
        let word = NodeLayout.BytesIndex.countWord
        entry[word] = UInt64(bitPattern: Int64(bitPattern: entry[word]) &+ Int64(difference))
    }

    @inline(__always)
    func countBefore(_ index: Int) -> Int {
        var sum = 0
        for child in 0..<index { sum &+= childCount(child) }
        return sum
    }

    var total: Int { isLeaf ? count : countBefore(count) }

    @inline(__always)
    func child(at position: inout Int) -> Int {
        let last = node.count &- 1
        var index = 0
        while index < last {
            let next = position &- childCount(index)
            if next < 0 { break }
            position = next
            index &+= 1
        }
        return index
    }

    // MARK: Searching

    /// How many entries are below (key, value). In an inner page the first entry always counts as below.
    @inline(__always)
    func lowerBound(_ key: IndexKey, _ value: Int64) -> Int {
        let count = node.count
        let first = first
        guard count > first else { return first }
        let prefix = prefix
        if prefix > 0 {
            let difference = comparePrefix(key, prefix)
            if difference != 0 { return difference < 0 ? first : count }
        }
        let slots = slots
        let head = UInt64(key.head(prefix))
        var low =
            first
            &+ SlottedPage.below(
                NodeLayout.BytesIndex.leastSlot(head: head), slots: slots + first, count: count &- first)
        guard low < count, NodeLayout.BytesIndex.head(slots[low]) == head else { return low }
        // Several keys have the same head.
        var high =
            head == 0xFFFF_FFFF
            ? count
            : low
                &+ SlottedPage.below(
                    NodeLayout.BytesIndex.leastSlot(head: head &+ 1), slots: slots + low, count: count &- low)
        let equalWords = min(prefix &>> 3, key.wordCount)
        while low < high {
            let middle = (low &+ high) &>> 1
            let order = self.key(middle).compare(key, from: equalWords)
            if order < 0 || order == 0 && self.value(middle) < value { low = middle &+ 1 } else { high = middle }
        }
        return low
    }

    /// The value of the first entry with the key, if the leaf has one. Nil says nothing about the neighbouring
    /// leaves.
    ///
    /// A key that is in the leaf begins with the common prefix, so the prefix is not compared: that would cost two
    /// more cache misses.
    @inline(__always)
    func firstValue(of key: IndexKey) -> Int64? {
        let count = node.count
        let slots = slots
        let head = UInt64(key.head(prefix))
        var low = SlottedPage.below(NodeLayout.BytesIndex.leastSlot(head: head), slots: slots, count: count)
        guard low < count, NodeLayout.BytesIndex.head(slots[low]) == head else { return nil }
        var order = self.key(low).compare(key)
        if order < 0 {
            // Several keys may have this head, so the key is searched for among them.
            low = lowerBound(key, .min &+ 1)
            guard low < count else { return nil }
            order = self.key(low).compare(key)
        }
        return order == 0 ? value(low) : nil
    }

    /// How many entries are not above (key, value). `value` is below `Int64.max`.
    @inline(__always)
    func upperBound(_ key: IndexKey, _ value: Int64) -> Int { lowerBound(key, value &+ 1) }

    /// The last child whose separator is not above (key, value).
    @inline(__always)
    func upperChild(_ key: IndexKey, _ value: Int64) -> Int { upperBound(key, value) &- 1 }

    /// The last child whose separator is below (key, value).
    @inline(__always)
    func lowerChild(_ key: IndexKey, _ value: Int64) -> Int { lowerBound(key, value) &- 1 }

    /// Compares the key's first bytes with the prefix that all of the page's keys have in common.
    @inline(__always)
    private func comparePrefix(_ key: IndexKey, _ prefix: Int) -> Int {
        let words = entry(first) + fixedWords
        let full = prefix &>> 3
        let known = key.wordCount
        var index = 0
        while index < full {
            let (a, b) = (index < known ? key.words[index] : 0, words[index])
            if a != b { return a < b ? -1 : 1 }
            index &+= 1
        }
        let rest = prefix & 7
        if rest != 0 {
            let shift = UInt64(truncatingIfNeeded: 64 &- rest &* 8)
            let (a, b) = ((full < known ? key.words[full] : 0) &>> shift, words[full] &>> shift)
            if a != b { return a < b ? -1 : 1 }
        }
        return 0
    }

    @inline(__always)
    private static func below(_ bound: UInt64, slots: UnsafeMutablePointer<UInt64>, count: Int) -> Int {
        guard count > 0 else { return 0 }
        var base = slots
        var rest = count
        while rest > 1 {
            let half = rest &>> 1
            base = base[half &- 1] < bound ? base + half : base
            rest &-= half
        }
        return (base - slots) &+ (base.pointee < bound ? 1 : 0)
    }
}
