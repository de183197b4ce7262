import CFirn
import FirnCore

/// Sorts a row set by several keys. The sort is stable.
///
/// Radix passes over the first key's words sort the rows. Then each run of equal words is sorted by that key's words at
/// the next depth, or by the next key. Values are read column by column. Whole values are compared only if words can't
/// decide the order.
struct Sorter {
    private let rows: RowSet
    private let keys: [SortKey]
    private let context: QueryContext

    /// The sorted order, as indices in `rows`.
    static func order(_ rows: RowSet, keys: [SortKey], in context: QueryContext) -> [UInt32] {
        precondition(rows.count <= Int(UInt32.max), "Firn: more rows to sort than a UInt32 counts")
        // An empty array must not be made in the way below: see `RowSet.keys`.
        guard rows.count > 0 else { return [] }
        var order = [UInt32](unsafeUninitializedCapacity: rows.count) { buffer, count in
            for index in 0..<rows.count { buffer[index] = UInt32(truncatingIfNeeded: index) }
            count = rows.count
        }
        guard rows.count > 1, !keys.isEmpty else { return order }
        let sorter = Sorter(rows: rows, keys: keys, context: context)
        let words = UnsafeMutablePointer<UInt64>.allocate(capacity: rows.count * 2)
        let numbers = UnsafeMutablePointer<UInt32>.allocate(capacity: rows.count)
        defer {
            words.deallocate()
            numbers.deallocate()
        }
        order.withUnsafeMutableBufferPointer { order in
            sorter.sort(
                order, keyIndex: 0, depth: 0,
                scratch: Scratch(words: words, otherWords: words + rows.count, otherNumbers: numbers))
        }
        return order
    }

    /// Memory for the words of a range and for the radix passes. A subrange uses the corresponding part of the memory.
    private struct Scratch {
        let words: UnsafeMutablePointer<UInt64>
        let otherWords: UnsafeMutablePointer<UInt64>
        let otherNumbers: UnsafeMutablePointer<UInt32>

        func part(_ offset: Int) -> Scratch {
            Scratch(words: words + offset, otherWords: otherWords + offset, otherNumbers: otherNumbers + offset)
        }
    }

    private func sort(_ order: UnsafeMutableBufferPointer<UInt32>, keyIndex: Int, depth: Int, scratch: Scratch) {
        guard order.count > 1, keyIndex < keys.count else { return }
        if order.count <= 16 { return insertionSort(order, keyIndex) }
        let key = keys[keyIndex]
        if depth > SortKey.maximumDepth || depth > 0 && (key.path.type == .decimal || key.path.type == .mixed) {
            return sortByValues(order, keyIndex: keyIndex, scratch: scratch)
        }
        fill(order, key: key, depth: depth, words: scratch.words)
        if !key.isAscending { for index in 0..<order.count { scratch.words[index] = ~scratch.words[index] } }
        guard let numbers = order.baseAddress else { return }
        firn_sort_pairs(scratch.words, numbers, scratch.otherWords, scratch.otherNumbers, Int64(order.count))
        var start = 0
        while start < order.count {
            let word = scratch.words[start]
            var end = start + 1
            while end < order.count, scratch.words[end] == word { end += 1 }
            if end - start > 1 {
                let run = UnsafeMutableBufferPointer(rebasing: order[start..<end])
                // The words of this run are no longer needed, so sorting the run may use their memory.
                if key.isOpen(key.isAscending ? word : ~word, depth: depth) {
                    sort(run, keyIndex: keyIndex, depth: depth + 1, scratch: scratch.part(start))
                } else {
                    sort(run, keyIndex: keyIndex + 1, depth: 0, scratch: scratch.part(start))
                }
            }
            start = end
        }
    }

    private func fill(
        _ order: UnsafeMutableBufferPointer<UInt32>, key: SortKey, depth: Int, words: UnsafeMutablePointer<UInt64>
    ) {
        // While the order is still the one of the rows, the words can be computed leaf by leaf.
        if depth == 0, rows.isInOrder, order.count == rows.count, order.first == 0, key.path.steps.isEmpty,
            isUnchanged(order)
        {
            rows.forEachRun { leaf, run in
                if run.count == leaf.count, key.fillWords(leaf, words + run.lowerBound) { return }
                for index in run { words[index] = key.word(leaf, row: rows[index].row, depth: 0, in: context) }
            }
            return
        }
        for index in 0..<order.count {
            let location = rows[Int(order[index])]
            words[index] = key.word(location.leaf, row: location.row, depth: depth, in: context)
        }
    }

    private func isUnchanged(_ order: UnsafeMutableBufferPointer<UInt32>) -> Bool {
        for index in 0..<order.count where order[index] != UInt32(truncatingIfNeeded: index) { return false }
        return true
    }

    /// Compares by all keys from `keyIndex` on.
    private func compare(_ a: UInt32, _ b: UInt32, keyIndex: Int) -> Int {
        let (x, y) = (rows[Int(a)], rows[Int(b)])
        for key in keys[keyIndex...] {
            let order = key.order(x, y, in: context)
            if order != 0 { return order }
        }
        return 0
    }

    private func insertionSort(_ order: UnsafeMutableBufferPointer<UInt32>, _ keyIndex: Int) {
        for index in 1..<order.count {
            let moved = order[index]
            var position = index
            while position > 0, compare(order[position - 1], moved, keyIndex: keyIndex) > 0 {
                order[position] = order[position - 1]
                position -= 1
            }
            order[position] = moved
        }
    }

    /// Sorts by the whole values of all keys from `keyIndex` on. Equal rows keep their order.
    private func sortByValues(_ order: UnsafeMutableBufferPointer<UInt32>, keyIndex: Int, scratch: Scratch) {
        // Bottom-up merging is stable and needs no more memory than is available.
        var width = 16
        var start = 0
        while start < order.count {
            insertionSort(
                UnsafeMutableBufferPointer(rebasing: order[start..<min(start + width, order.count)]), keyIndex)
            start += width
        }
        while width < order.count {
            var start = 0
            while start + width < order.count {
                merge(
                    order, start: start, middle: start + width, end: min(start + 2 * width, order.count),
                    keyIndex: keyIndex, buffer: scratch.otherNumbers)
                start += 2 * width
            }
            width *= 2
        }
    }

    private func merge(
        _ order: UnsafeMutableBufferPointer<UInt32>, start: Int, middle: Int, end: Int, keyIndex: Int,
        buffer: UnsafeMutablePointer<UInt32>
    ) {
        for index in start..<middle { buffer[index] = order[index] }
        var (left, right, position) = (start, middle, start)
        while left < middle {
            if right < end, compare(order[right], buffer[left], keyIndex: keyIndex) < 0 {
                order[position] = order[right]
                right += 1
            } else {
                order[position] = buffer[left]
                left += 1
            }
            position += 1
        }
    }
}

/// Keeps the first `limit` of the added rows in the order of some keys. Of equal rows, it keeps the ones that were
/// added first.
///
/// It is a heap with the last of the kept rows on top, so nearly every added row costs one comparison of words.
struct TopRows {
    private struct Entry {
        let word: UInt64
        let index: UInt32
    }

    private let limit: Int
    private let keys: [SortKey]
    private let context: QueryContext
    private var rows = RowSet()
    private var heap: [Entry] = []

    init(limit: Int, keys: [SortKey], in context: QueryContext) {
        self.limit = limit
        self.keys = keys
        self.context = context
    }

    mutating func add(_ leaf: Leaf, _ selected: RowMask) {
        guard limit > 0 else { return }
        let key = keys[0]
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: Limits.rowsPerLeaf) { words in
            let isFilled = selected.count == leaf.count && key.fillWords(leaf, words.baseAddress.unsafelyUnwrapped)
            selected.forEach { row in
                let word = isFilled ? words[row] : key.word(leaf, row: row, depth: 0, in: context)
                offer(key.isAscending ? word : ~word, leaf: leaf, row: row)
            }
        }
    }

    @inline(__always)
    private mutating func offer(_ word: UInt64, leaf: Leaf, row: Int) {
        if heap.count == limit {
            let top = heap[0]
            if word > top.word { return }
            if word == top.word, !isBefore((leaf, row), rows[Int(top.index)]) { return }
        }
        insert(word, leaf: leaf, row: row)
    }

    @inline(never)
    private mutating func insert(_ word: UInt64, leaf: Leaf, row: Int) {
        rows.append(leaf, row)
        let entry = Entry(word: word, index: UInt32(rows.count - 1))
        if heap.count < limit {
            heap.append(entry)
            siftUp(heap.count - 1)
        } else {
            heap[0] = entry
            siftDown(0)
        }
    }

    private func isBefore(_ a: (leaf: Leaf, row: Int), _ b: (leaf: Leaf, row: Int)) -> Bool {
        for key in keys {
            let order = key.order(a, b, in: context)
            if order != 0 { return order < 0 }
        }
        return false
    }

    /// Whether `a` sorts behind `b`. Of equal rows, the one that was added later sorts behind the other.
    private func isBehind(_ a: Entry, _ b: Entry) -> Bool {
        if a.word != b.word { return a.word > b.word }
        let (x, y) = (rows[Int(a.index)], rows[Int(b.index)])
        if isBefore(x, y) { return false }
        return isBefore(y, x) || a.index > b.index
    }

    private mutating func siftUp(_ start: Int) {
        var position = start
        while position > 0 {
            let parent = (position - 1) / 2
            guard isBehind(heap[position], heap[parent]) else { return }
            heap.swapAt(position, parent)
            position = parent
        }
    }

    private mutating func siftDown(_ start: Int) {
        var position = start
        while true {
            var last = position
            for child in [2 * position + 1, 2 * position + 2]
            where child < heap.count && isBehind(heap[child], heap[last]) {
                last = child
            }
            if last == position { return }
            heap.swapAt(position, last)
            position = last
        }
    }

    /// The keys of the kept rows, in order.
    consuming func finish() -> [Int64] {
        let sorted = heap.sorted { isBehind($1, $0) }
        return sorted.map {
            let location = rows[Int($0.index)]
            return location.leaf.key(location.row)
        }
    }
}
