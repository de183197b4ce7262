/// The keys of the objects that a query found, in order.
///
/// They are in **chunks** of at most 512 keys, so that inserting or removing a key costs O(log n). Each key needs 8 to
/// 16 bytes at first, and up to 64 after many were inserted and removed. Finding a key by its position costs O(log n),
/// and iterating over all keys O(n). Before the first change, which costs O(n), there is one chunk of any length. A
/// copy shares all chunks that have not changed in either since.
package struct OrderedKeys: RandomAccessCollection, Sendable {
    private static let chunkLimit = 512
    private static let chunkFill = 384

    private var chunks: [[Int64]]
    /// A Fenwick tree of the chunks' lengths (P. Fenwick, 1994): entry i has the sum of a range that ends with chunk i.
    /// Empty before the first change, while there is one chunk.
    private var sums: [Int] = []
    package private(set) var count: Int

    package init(_ keys: [Int64] = []) {
        chunks = [keys]
        count = keys.count
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { count }

    package subscript(position: Int) -> Int64 {
        @inline(__always)
        get {
            if sums.isEmpty { return chunks[0][position] }
            let (chunk, offset) = find(position)
            return chunks[chunk][offset]
        }
    }

    /// The keys as one array. O(1) before the first change.
    package var array: [Int64] { sums.isEmpty ? chunks[0] : Array(self) }

    // MARK: Changing

    package mutating func insert(_ key: Int64, at position: Int) {
        divide()
        let (chunk, offset) = position == count ? (chunks.count - 1, chunks[chunks.count - 1].count) : find(position)
        chunks[chunk].insert(key, at: offset)
        count += 1
        if chunks[chunk].count > Self.chunkLimit {
            let middle = chunks[chunk].count / 2
            let upper = Array(chunks[chunk][middle...])
            chunks[chunk].removeLast(upper.count)
            chunks.insert(upper, at: chunk + 1)
            sum()
        } else {
            add(1, to: chunk)
        }
    }

    package mutating func remove(at position: Int) {
        divide()
        let (chunk, offset) = find(position)
        chunks[chunk].remove(at: offset)
        count -= 1
        let isSmall = chunks[chunk].count < Self.chunkFill / 4 && chunks.count > 1
        guard isSmall else { return add(-1, to: chunk) }
        // A small chunk is merged with its smaller neighbour, unless the merged chunk would soon be divided again. None
        // of several chunks is ever empty, because a search reads the last key of each.
        let sizes = [chunk - 1, chunk + 1].filter { chunks.indices.contains($0) }
        let neighbour = sizes.min { chunks[$0].count < chunks[$1].count } ?? chunk
        if chunks[chunk].isEmpty {
            chunks.remove(at: chunk)
            sum()
        } else if chunks[chunk].count + chunks[neighbour].count <= Self.chunkFill {
            let first = Swift.min(chunk, neighbour)
            chunks[first].append(contentsOf: chunks[first + 1])
            chunks.remove(at: first + 1)
            sum()
        } else {
            add(-1, to: chunk)
        }
    }

    /// Divides the keys into chunks, before the first change.
    private mutating func divide() {
        guard sums.isEmpty else { return }
        let all = chunks[0]
        chunks = stride(from: 0, to: Swift.max(all.count, 1), by: Self.chunkFill).map {
            Array(all[$0..<Swift.min($0 + Self.chunkFill, all.count)])
        }
        sum()
    }

    // MARK: Sums

    private mutating func sum() {
        sums = chunks.map(\.count)
        for index in sums.indices {
            let parent = index | (index + 1)
            if parent < sums.count { sums[parent] += sums[index] }
        }
    }

    private mutating func add(_ change: Int, to chunk: Int) {
        var index = chunk
        while index < sums.count {
            sums[index] += change
            index |= index + 1
        }
    }

    /// The chunk of a position, and the offset in that chunk.
    private func find(_ position: Int) -> (chunk: Int, offset: Int) {
        precondition(position >= 0 && position < count, "Firn: there is no key \(position) of \(count)")
        var (chunk, rest) = (0, position)
        var step = 1
        while step * 2 <= sums.count { step *= 2 }
        while step > 0 {
            let next = chunk + step
            if next <= sums.count, sums[next - 1] <= rest {
                chunk = next
                rest -= sums[next - 1]
            }
            step /= 2
        }
        return (chunk, rest)
    }

    /// The first position whose key does not precede the searched one. `precedes` must be true for all keys before that
    /// position and false for all others. O(log n) calls.
    package func firstIndex(notPreceding precedes: (Int64) -> Bool) -> Int {
        var (low, high) = (0, chunks.count)
        // Find the first chunk whose last key does not precede.
        while low < high {
            let middle = (low + high) / 2
            if let last = chunks[middle].last, !precedes(last) { high = middle } else { low = middle + 1 }
        }
        guard low < chunks.count else { return count }
        let before = sums.isEmpty ? 0 : countBefore(low)
        let chunk = chunks[low]
        (low, high) = (0, chunk.count)
        while low < high {
            let middle = (low + high) / 2
            if precedes(chunk[middle]) { low = middle + 1 } else { high = middle }
        }
        return before + low
    }

    /// The first position of a key. Nil if the key is not there. O(n).
    package func position(of key: Int64) -> Int? {
        var before = 0
        for chunk in chunks {
            if let offset = chunk.firstIndex(of: key) { return before + offset }
            before += chunk.count
        }
        return nil
    }

    private func countBefore(_ chunk: Int) -> Int {
        var (index, result) = (chunk - 1, 0)
        while index >= 0 {
            result += sums[index]
            index = (index & (index + 1)) - 1
        }
        return result
    }

    // MARK: Iterating

    package struct Iterator: IteratorProtocol {
        private let chunks: [[Int64]]
        private var chunk: [Int64]
        private var number = 0
        private var offset = 0

        fileprivate init(_ chunks: [[Int64]]) {
            self.chunks = chunks
            chunk = chunks[0]
        }

        @inline(__always)
        package mutating func next() -> Int64? {
            if offset == chunk.count, !advance() { return nil }
            offset += 1
            return chunk[offset - 1]
        }

        @inline(never)
        private mutating func advance() -> Bool {
            while number + 1 < chunks.count {
                number += 1
                if !chunks[number].isEmpty {
                    (chunk, offset) = (chunks[number], 0)
                    return true
                }
            }
            return false
        }
    }

    package func makeIterator() -> Iterator { Iterator(chunks) }
}
