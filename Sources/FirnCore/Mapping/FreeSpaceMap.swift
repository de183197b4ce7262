import FirnStorage

/// Records which ranges of a mapping hold nodes that the newest version no longer reaches.
///
/// Such a node is **waiting** as long as an older version may reach it, and **free** once none does. Runs of dead nodes
/// that contain whole blocks of the file system become **holes**: a checkpoint that does not reach them lists them.
/// Once the store begins from that checkpoint, the free blocks in its holes are punched. The other blocks are punched
/// as soon as they become free. A check of the file does not read holes.
///
/// Ranges are ranges of offsets in the mapping, and consist of complete nodes.
struct FreeSpaceMap {
    /// The unit of holes in bytes, a power of two.
    let blockByteCount: Int

    /// A dead node. `after` is the stamp of the last version that reached it.
    struct Waiting {
        var range: Range<Int>
        var after: UInt64
    }

    private(set) var waiting: [Waiting] = []
    /// Dictionaries of texts to which a dead chunk refers, by their offsets. Several chunks share a dictionary, so only
    /// a walk through the live chunks shows whether it is dead as well (`CleaningPlan`). `after` is the stamp of the
    /// last version that reached any of its dead chunks.
    private(set) var suspects: [Int: Waiting] = [:]
    /// The free ranges. They are disjoint and in ascending order, as are `holes`.
    private(set) var free: [Range<Int>]
    /// The part of `free` whose nodes died in this process, and not in the holes that the checkpoint listed at first.
    private var reclaimed: [Range<Int>] = []
    /// The holes in the list of the checkpoint that the store begins from.
    var holes: [Range<Int>]
    /// Runs of blocks that have been punched.
    private(set) var punched: Set<Range<Int>> = []

    /// - Parameter holes: the holes that the checkpoint lists. It does not matter which of them were punched before:
    ///   a hole can be punched twice.
    /// - Parameter blockByteCount: the unit of holes.
    init(holes: [Range<Int>] = [], blockByteCount: Int = FileRange.blockByteCount) {
        self.blockByteCount = blockByteCount
        free = holes
        self.holes = holes
    }

    /// Returns the whole blocks in a range; an empty range if there is none.
    static func blocks(_ range: Range<Int>, of blockByteCount: Int) -> Range<Int> {
        let start = (range.lowerBound + blockByteCount - 1) & ~(blockByteCount - 1)
        return start..<max(start, range.upperBound & ~(blockByteCount - 1))
    }

    /// Returns the part of a hole whose bytes the file system gets back. What it keeps counts as garbage, so that the
    /// parts of files with many small holes are cleared, too.
    ///
    /// A block of an encrypted store takes more bytes in the file than in the mapping (`CheckpointBlocks`). So a hole
    /// begins and ends within blocks of the file system. What stays allocated of them is one block in all.
    static func returned(_ hole: Range<Int>, of blockByteCount: Int) -> Range<Int> {
        let blocks = blocks(hole, of: blockByteCount)
        let kept = blockByteCount == FileRange.blockByteCount ? 0 : FileRange.blockByteCount
        return blocks.lowerBound..<max(blocks.lowerBound, blocks.upperBound - kept)
    }

    /// Returns the number of bytes that the file system gets back for holes.
    static func returnedByteCount(of holes: [Range<Int>], blockByteCount: Int) -> Int {
        holes.reduce(0) { $0 + returned($1, of: blockByteCount).count }
    }

    /// Returns the number of bytes of the waiting nodes inside some holes, and outside of them.
    func waitingByteCount(besides holes: [Range<Int>]) -> (inHoles: Int, outside: Int) {
        var result = (inHoles: 0, outside: 0)
        var next = 0
        for range in waiting.map(\.range).sorted(by: { $0.lowerBound < $1.lowerBound }) {
            while next < holes.count, holes[next].upperBound <= range.lowerBound { next += 1 }
            if next < holes.count, holes[next].lowerBound <= range.lowerBound {
                result.inHoles += range.count
            } else {
                result.outside += range.count
            }
        }
        return result
    }

    mutating func add(_ range: Range<Int>, after stamp: UInt64) {
        waiting.append(Waiting(range: range, after: stamp))
    }

    /// Records that a dead chunk refers to the dictionary in a range.
    mutating func suspect(_ range: Range<Int>, after stamp: UInt64) {
        let known = suspects[range.lowerBound]?.after ?? 0
        suspects[range.lowerBound] = Waiting(range: range, after: max(stamp, known))
    }

    /// Returns the number of bytes of the suspected dictionaries that a version with this stamp may no longer reach.
    func suspectedByteCount(before stamp: UInt64) -> Int {
        suspects.values.reduce(0) { $0 + ($1.after < stamp ? $1.range.count : 0) }
    }

    /// Drops the suspects whose dead chunks died before this stamp. A walk of a version with the stamp has found which
    /// of them are dead.
    mutating func dropSuspects(before stamp: UInt64) { suspects = suspects.filter { $0.value.after >= stamp } }

    /// Frees the waiting nodes for which `isReached` returns false. O(n log n) for n waiting and free ranges.
    ///
    /// - Returns: the ranges of these nodes, in ascending order. Adjacent nodes are in one range.
    @discardableResult
    mutating func reclaim(_ isReached: (Waiting) -> Bool) -> [Range<Int>] {
        var left: [Waiting] = []
        var freed: [Range<Int>] = []
        for node in waiting {
            if isReached(node) { left.append(node) } else { freed.append(node.range) }
        }
        guard !freed.isEmpty else { return [] }
        waiting = left
        freed = FreeSpaceMap.joined([], freed)
        free = FreeSpaceMap.joined(free, freed)
        reclaimed = FreeSpaceMap.joined(reclaimed, freed)
        return freed
    }

    /// Returns the free blocks of a size that overlap one of the ranges, which were reclaimed and are in ascending
    /// order. All nodes in such a block died in this process. So a hole that a forged file lists frees no other node's
    /// memory.
    func freeBlocks(_ byteCount: Int, overlapping ranges: [Range<Int>]) -> [Range<Int>] {
        var blocks: [Range<Int>] = []
        var next = 0
        for range in ranges {
            while reclaimed[next].upperBound < range.upperBound { next += 1 }
            let start = range.lowerBound / byteCount * byteCount
            let end = (range.upperBound + byteCount - 1) / byteCount * byteCount
            let run = FreeSpaceMap.blocks(reclaimed[next].clamped(to: start..<end), of: byteCount)
            // A block may overlap two ranges.
            let lower = max(run.lowerBound, blocks.last?.upperBound ?? 0)
            if lower < run.upperBound { blocks.append(lower..<run.upperBound) }
        }
        return blocks
    }

    /// Returns the holes that a checkpoint with a stamp may list. They lie in runs of dead nodes that no version from
    /// the stamp on reaches. A run with whole blocks becomes a hole if `mayBeHole` allows it; otherwise the holes in it
    /// remain.
    func findHoles(before stamp: UInt64, where mayBeHole: (Range<Int>) -> Bool) -> [Range<Int>] {
        var found: [Range<Int>] = []
        var next = 0
        for range in FreeSpaceMap.joined(free, waiting.filter { $0.after < stamp }.map(\.range)) {
            var within: [Range<Int>] = []
            while next < holes.count, holes[next].lowerBound < range.upperBound {
                within.append(holes[next])
                next += 1
            }
            if FreeSpaceMap.blocks(range, of: blockByteCount).isEmpty { continue }
            if mayBeHole(range) { found.append(range) } else { found += within }
        }
        return found
    }

    /// The blocks to punch: free blocks in holes that have not been punched.
    var blocksToPunch: [Range<Int>] {
        var blocks: [Range<Int>] = []
        var next = 0
        for range in free {
            while next < holes.count, holes[next].upperBound <= range.lowerBound { next += 1 }
            var index = next
            while index < holes.count, holes[index].lowerBound < range.upperBound {
                let run = FreeSpaceMap.blocks(range.clamped(to: holes[index]), of: blockByteCount)
                if !run.isEmpty, !punched.contains(run) { blocks.append(run) }
                index += 1
            }
        }
        return blocks
    }

    /// Records that blocks were punched. They replace the recorded runs that are part of them. `blocks` is a value of
    /// `blocksToPunch`: disjoint and in ascending order.
    mutating func notePunched(_ blocks: [Range<Int>]) {
        guard !blocks.isEmpty else { return }
        var next = 0
        for run in punched.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            while next < blocks.count, blocks[next].upperBound < run.upperBound { next += 1 }
            if next < blocks.count, blocks[next].lowerBound <= run.lowerBound { punched.remove(run) }
        }
        punched.formUnion(blocks)
    }

    /// Forgets a range, whose file is no longer part of the mapping. All of its nodes are free, so none of them is
    /// waiting.
    mutating func forget(_ range: Range<Int>) {
        free.removeAll { range.contains($0.lowerBound) }
        reclaimed.removeAll { range.contains($0.lowerBound) }
        suspects = suspects.filter { !range.contains($0.key) }
        holes.removeAll { range.contains($0.lowerBound) }
        punched = punched.filter { !range.contains($0.lowerBound) }
    }

    /// Whether some of a range is free. O(log n) for n free ranges.
    func isSomeFree(_ range: Range<Int>) -> Bool {
        var (low, high) = (0, free.count)
        while low < high {
            let middle = (low + high) / 2
            if free[middle].upperBound <= range.lowerBound { low = middle + 1 } else { high = middle }
        }
        return low < free.count && free[low].lowerBound < range.upperBound
    }

    /// Whether all of a range is free.
    func isFree(_ range: Range<Int>) -> Bool {
        free.contains { $0.lowerBound <= range.lowerBound && $0.upperBound >= range.upperBound }
    }

    /// Returns the union of two sets of ranges: `first` is in ascending order, `second` in any order.
    private static func joined(_ first: [Range<Int>], _ second: [Range<Int>]) -> [Range<Int>] {
        if second.isEmpty { return first }
        var result: [Range<Int>] = []
        for range in (first + second).sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = result.last, last.upperBound >= range.lowerBound {
                result[result.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                result.append(range)
            }
        }
        return result
    }
}
