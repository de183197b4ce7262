import FirnStorage

/// Where in a space nodes lie that the newest version no longer reaches.
///
/// A node of a file is **waiting** as long as an older version may reach it, and **free** once none does. Runs of dead nodes that contain whole blocks of the file system become **holes**: a checkpoint that does not reach
/// them lists them, and once it is the one that the store begins from, the system gets those blocks back that are free, and the others as they become so. What lies in a hole is not read to check the file.
///
/// Ranges are places in the space, and consist of whole nodes.
struct FreeSpaceMap {
    private static let blockByteCount = FileRange.blockByteCount

    /// Dead after the version with the stamp `after`, the last that reached it.
    struct Waiting {
        var range: Range<Int>
        var after: UInt64
    }

    private(set) var waiting: [Waiting] = []
    /// Dictionaries of texts that a dead chunk names, by their places: several chunks share one, so that only a walk
    /// tells whether a dictionary is dead as well (`CleaningPlan`). `after` is of the last of its chunks that died.
    private(set) var suspects: [Int: Waiting] = [:]
    /// Ascending and apart from each other, as are `holes`.
    private(set) var free: [Range<Int>]
    /// The runs that the checkpoint lists which the store begins from.
    var holes: [Range<Int>]
    /// Runs of blocks that the system has got back.
    private(set) var given: Set<Range<Int>> = []

    /// - Parameter holes: those that the checkpoint lists. Which of them were given back does not matter: it can be done twice.
    init(holes: [Range<Int>] = []) {
        free = holes
        self.holes = holes
    }

    /// The whole blocks in a range; empty where there is none.
    static func blocks(_ range: Range<Int>) -> Range<Int> {
        let start = (range.lowerBound + blockByteCount - 1) & ~(blockByteCount - 1)
        return start..<max(start, range.upperBound & ~(blockByteCount - 1))
    }

    /// Bytes of the blocks in holes.
    static func blockByteCount(of holes: [Range<Int>]) -> Int { holes.reduce(0) { $0 + blocks($1).count } }

    /// Bytes of the nodes that wait, in some holes and outside of them.
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

    /// A chunk died that names the dictionary in a range.
    mutating func suspect(_ range: Range<Int>, after stamp: UInt64) {
        let known = suspects[range.lowerBound]?.after ?? 0
        suspects[range.lowerBound] = Waiting(range: range, after: max(stamp, known))
    }

    /// Bytes of the dictionaries that a version with a stamp may not reach.
    func suspectedByteCount(before stamp: UInt64) -> Int {
        suspects.values.reduce(0) { $0 + ($1.after < stamp ? $1.range.count : 0) }
    }

    /// A walk of a version with a stamp has told which of its dictionaries are dead.
    mutating func dropSuspects(before stamp: UInt64) { suspects = suspects.filter { $0.value.after >= stamp } }

    /// Frees what `isReached` says no version reaches. O(n log n) in what waits and what is free.
    mutating func settle(_ isReached: (Waiting) -> Bool) {
        var left: [Waiting] = []
        var freed: [Range<Int>] = []
        for node in waiting {
            if isReached(node) { left.append(node) } else { freed.append(node.range) }
        }
        guard !freed.isEmpty else { return }
        waiting = left
        free = FreeSpaceMap.joined(free, freed)
    }

    /// The holes that a checkpoint with a stamp may list: of the dead nodes that versions from it on do not reach, those that `mayBeHole` allows, and what is a hole already.
    func dug(before stamp: UInt64, where mayBeHole: (Range<Int>) -> Bool) -> [Range<Int>] {
        var dug: [Range<Int>] = []
        var next = 0
        for range in FreeSpaceMap.joined(free, waiting.filter { $0.after < stamp }.map(\.range)) {
            var within: [Range<Int>] = []
            while next < holes.count, holes[next].lowerBound < range.upperBound {
                within.append(holes[next])
                next += 1
            }
            if FreeSpaceMap.blocks(range).isEmpty { continue }
            if mayBeHole(range) { dug.append(range) } else { dug += within }
        }
        return dug
    }

    /// The blocks that are to be given back: in holes, and free.
    var blocksToGive: [Range<Int>] {
        var blocks: [Range<Int>] = []
        var next = 0
        for range in free {
            while next < holes.count, holes[next].upperBound <= range.lowerBound { next += 1 }
            var place = next
            while place < holes.count, holes[place].lowerBound < range.upperBound {
                let run = FreeSpaceMap.blocks(range.clamped(to: holes[place]))
                if !run.isEmpty, !given.contains(run) { blocks.append(run) }
                place += 1
            }
        }
        return blocks
    }

    /// The system has got them back. Those that are part of a run now are remembered as that run. `blocks` are as
    /// `blocksToGive` gives them: ascending and apart from each other.
    mutating func give(_ blocks: [Range<Int>]) {
        guard !blocks.isEmpty else { return }
        var next = 0
        for run in given.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            while next < blocks.count, blocks[next].upperBound < run.upperBound { next += 1 }
            if next < blocks.count, blocks[next].lowerBound <= run.lowerBound { given.remove(run) }
        }
        given.formUnion(blocks)
    }

    /// Forgets what lies in a range: its file is part of the space no more.
    mutating func forget(_ range: Range<Int>) {
        free.removeAll { range.contains($0.lowerBound) }
        suspects = suspects.filter { !range.contains($0.key) }
        holes.removeAll { range.contains($0.lowerBound) }
        given = given.filter { !range.contains($0.lowerBound) }
    }

    /// Whether all of a range is free.
    func isFree(_ range: Range<Int>) -> Bool {
        free.contains { $0.lowerBound <= range.lowerBound && $0.upperBound >= range.upperBound }
    }

    /// The union of two sets of ranges: `first` is ascending, `second` in any order.
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
