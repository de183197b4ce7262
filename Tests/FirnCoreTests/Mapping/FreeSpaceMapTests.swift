import FirnTestSupport
import Testing

@testable import FirnCore
@testable import FirnLog

/// Bit sets and the free space map agree with sets of integers.
@Suite(.timeLimit(.minutes(20))) struct FreeSpaceMapTests {
    @Test(arguments: 1...8) func aBitSetAgreesWithASetOfIntegers(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let count = 1 + random.below(1000)
        var bits = BitSet(count: count)
        var members: Set<Int> = []
        for _ in 0..<random.below(12) {
            let start = random.below(count)
            let range = start..<start + random.below(count - start + 1)
            bits.insert(range)
            members.formUnion(range)
            let one = random.below(count)
            bits.remove(one)
            members.remove(one)
            let end = random.below(count)
            bits.remove(end - end / 4..<end)
            members.subtract(end - end / 4..<end)
            let next = random.below(count)
            #expect(bits.next(after: next) == members.filter { $0 > next }.min())
        }
        for member in 0..<count { #expect(bits.contains(member) == members.contains(member)) }
        for _ in 0..<20 {
            let start = random.below(count)
            let range = start..<start + random.below(count - start + 1)
            #expect(bits.count(in: range) == range.count(where: members.contains))
            var gaps: [Int] = []
            var end = -1
            bits.forEachGap(in: range) { gap in
                #expect(gap.lowerBound > end && !gap.isEmpty)
                end = gap.upperBound
                gaps += gap
            }
            #expect(gaps == range.filter { !members.contains($0) })
        }
    }

    /// Nodes of random lengths die after random versions, which are released in any order. Holes are punched as soon
    /// as no version reaches their blocks and not before, and what a checkpoint lists as holes is what its version
    /// does not reach.
    @Test(arguments: 1...12) func blocksAreReclaimedWhenNoVersionReachesThem(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var nodes: [(range: Range<Int>, after: UInt64?)] = []
        var end = 64
        for _ in 0..<300 {
            let length = 32 * (1 + random.below(random.below(4) == 0 ? 600 : 40))
            nodes.append((end..<end + length, nil))
            end += length
        }
        var dead = FreeSpaceMap()
        var active: [UInt64] = [1]
        var punched: Set<Int> = []
        var stamp: UInt64 = 1
        for _ in 0..<60 {
            // A version that replaces some nodes.
            for _ in 0..<random.below(12) {
                let index = random.below(nodes.count)
                guard nodes[index].after == nil else { continue }
                nodes[index].after = stamp
                dead.add(nodes[index].range, after: stamp)
            }
            stamp += 1 + UInt64(random.below(3))
            active.append(stamp)
            while active.count > 1, random.below(3) > 0 { active.remove(at: random.below(active.count - 1)) }
            let before = dead.free
            let freed = dead.reclaim { node in active.contains { $0 <= node.after } }
            Self.check(freed, before: before, after: dead)
            guard random.below(3) == 0 else { continue }
            let forbidden = random.below(4) == 0 ? end / 2..<end : 0..<0
            let found = dead.findHoles(before: stamp) { !forbidden.contains($0.lowerBound) }
            // A compaction that fails changes nothing.
            if random.below(3) == 0 { continue }
            dead.holes = found
            func isDead(_ offset: Int) -> Bool { nodes.contains { $0.range.contains(offset) && $0.after != nil } }
            let ends = Set(nodes.flatMap { [$0.range.lowerBound, $0.range.upperBound] })
            for hole in dead.holes {
                #expect(ends.contains(hole.lowerBound) && ends.contains(hole.upperBound))
                #expect(stride(from: hole.lowerBound, to: hole.upperBound, by: 32).allSatisfy(isDead))
            }
            let blocks = dead.blocksToPunch
            for block in blocks {
                let overlapping = nodes.filter { $0.range.overlaps(block) }
                #expect(overlapping.allSatisfy { node in active.allSatisfy { $0 > node.after ?? .max } })
                punched.formUnion(stride(from: block.lowerBound, to: block.upperBound, by: 4096))
            }
            dead.notePunched(blocks)
            #expect(dead.blocksToPunch.isEmpty)
            // Every block that can be punched has been.
            for block in stride(from: 0, to: end, by: 4096)
            where dead.holes.contains(where: { $0.contains(block) && $0.contains(block + 4095) }) {
                let overlapping = nodes.filter { $0.range.overlaps(block..<block + 4096) }
                let isFree = overlapping.allSatisfy { node in active.allSatisfy { $0 > node.after ?? .max } }
                #expect(punched.contains(block) == isFree)
            }
        }
        #expect(punched.count > 3)
    }

    /// What was freed, and the blocks that are free because of it: each of them once.
    private static func check(_ freed: [Range<Int>], before: [Range<Int>], after dead: FreeSpaceMap) {
        var (old, new, difference) = (BitSet(count: 0), BitSet(count: 0), BitSet(count: 0))
        for range in before { old.insert(OnDiskNode.units(range)) }
        for range in dead.free { new.insert(OnDiskNode.units(range)) }
        for range in freed { difference.insert(OnDiskNode.units(range)) }
        let unitCount = (dead.free.last?.upperBound ?? 0) / OnDiskNode.unit
        #expect(old.count(in: 0..<unitCount) + difference.count(in: 0..<unitCount) == new.count(in: 0..<unitCount))
        let block = 1024 / OnDiskNode.unit
        let blocks = stride(from: 0, to: unitCount, by: block).filter { start in
            new.count(in: start..<start + block) == block && old.count(in: start..<start + block) < block
        }
        let found = dead.freeBlocks(1024, overlapping: freed)
        #expect(
            found.flatMap { stride(from: $0.lowerBound, to: $0.upperBound, by: 1024) }
                == blocks.map { $0 * OnDiskNode.unit })
    }

    /// Punched ranges are remembered as the longer runs that they have become part of.
    /// The compactor decides by what it believes to get back. In an encrypted file that is at most a block of the file
    /// system less than what it gets.
    @Test func whatAHoleGivesBackIsWhatTheFileSystemGets() {
        for first in 0..<300 {
            for count in 1...8 {
                let block = CheckpointBlocks.textByteCount
                let hole = first * block..<(first + count) * block
                let returned = FreeSpaceMap.returned(hole, of: block).count
                #expect(0...4096 ~= CheckpointBlocks.hole(hole).count - returned)
                #expect(FreeSpaceMap.returned(hole, of: 4096) == hole)
            }
        }
        #expect(FreeSpaceMap.returned(100..<16_000, of: CheckpointBlocks.textByteCount).isEmpty)
    }

    @Test func aLongerPunchedRangeReplacesTheRangesWithinIt() {
        var dead = FreeSpaceMap(holes: [0..<64 << 10])
        dead.notePunched([8192..<12288, 20480..<24576, 40960..<45056])
        #expect(dead.punched.count == 3)
        dead.notePunched([8192..<28672])
        #expect(dead.punched == [8192..<28672, 40960..<45056])
        dead.notePunched([4096..<61440])
        #expect(dead.punched == [4096..<61440])
        dead.notePunched([])
        #expect(dead.punched == [4096..<61440])
    }

    /// A commit beside the compaction has replaced the node, but the checkpoint's own version still reaches it.
    @Test func nodesThatTheCheckpointsVersionReachesAreNotPunched() {
        var dead = FreeSpaceMap()
        dead.add(0..<8192, after: 4)
        dead.add(8192..<16384, after: 5)
        #expect(dead.findHoles(before: 5) { _ in true } == [0..<8192])
        #expect(dead.findHoles(before: 6) { _ in true } == [0..<16384])
    }
}
