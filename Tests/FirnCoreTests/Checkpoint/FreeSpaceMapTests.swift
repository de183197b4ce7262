import FirnTestSupport
import Testing

@testable import FirnCore

/// Sets of places agree with sets of integers.
@Suite(.timeLimit(.minutes(20))) struct FreeSpaceMapTests {
    @Test(arguments: 1...8) func aBitSetIsASetOfIntegers(seed: UInt64) {
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

    /// Nodes of random lengths die after random versions, which are let go in any order: blocks are given back when nobody reaches them and not before, and what is listed is what the version it is listed for does not reach.
    @Test(arguments: 1...12) func blocksAreGivenBackWhenNobodyReachesThem(seed: UInt64) {
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
        var given: Set<Int> = []
        var stamp: UInt64 = 1
        for _ in 0..<60 {
            // A version, which replaces some nodes.
            for _ in 0..<random.below(12) {
                let place = random.below(nodes.count)
                guard nodes[place].after == nil else { continue }
                nodes[place].after = stamp
                dead.add(nodes[place].range, after: stamp)
            }
            stamp += 1 + UInt64(random.below(3))
            active.append(stamp)
            while active.count > 1, random.below(3) > 0 { active.remove(at: random.below(active.count - 1)) }
            dead.settle { node in active.contains { $0 <= node.after } }
            guard random.below(3) == 0 else { continue }
            let forbidden = random.below(4) == 0 ? end / 2..<end : 0..<0
            let dug = dead.dug(before: stamp) { !forbidden.contains($0.lowerBound) }
            // One that comes to nothing changes nothing.
            if random.below(3) == 0 { continue }
            dead.holes = dug
            func isDead(_ place: Int) -> Bool { nodes.contains { $0.range.contains(place) && $0.after != nil } }
            let ends = Set(nodes.flatMap { [$0.range.lowerBound, $0.range.upperBound] })
            for hole in dead.holes {
                #expect(ends.contains(hole.lowerBound) && ends.contains(hole.upperBound))
                #expect(stride(from: hole.lowerBound, to: hole.upperBound, by: 32).allSatisfy(isDead))
            }
            let blocks = dead.blocksToGive
            for block in blocks {
                let touched = nodes.filter { $0.range.overlaps(block) }
                #expect(touched.allSatisfy { node in active.allSatisfy { $0 > node.after ?? .max } })
                given.formUnion(stride(from: block.lowerBound, to: block.upperBound, by: 4096))
            }
            dead.give(blocks)
            #expect(dead.blocksToGive.isEmpty)
            // All that can be given has been.
            for block in stride(from: 0, to: end, by: 4096)
            where dead.holes.contains(where: { $0.contains(block) && $0.contains(block + 4095) }) {
                let touched = nodes.filter { $0.range.overlaps(block..<block + 4096) }
                let isFree = touched.allSatisfy { node in active.allSatisfy { $0 > node.after ?? .max } }
                #expect(given.contains(block) == isFree)
            }
        }
        #expect(given.count > 3)
    }

    /// What was given back is remembered as the runs that it is part of now.
    @Test func aRunThatGrowsTakesThoseWithinItsPlace() {
        var dead = FreeSpaceMap(holes: [0..<64 << 10])
        dead.give([8192..<12288, 20480..<24576, 40960..<45056])
        #expect(dead.given.count == 3)
        dead.give([8192..<28672])
        #expect(dead.given == [8192..<28672, 40960..<45056])
        dead.give([4096..<61440])
        #expect(dead.given == [4096..<61440])
        dead.give([])
        #expect(dead.given == [4096..<61440])
    }

    /// A commit beside the compaction has replaced it: the checkpoint's own version still reaches it.
    @Test func whatTheCheckpointsVersionReachesIsNoHole() {
        var dead = FreeSpaceMap()
        dead.add(0..<8192, after: 4)
        dead.add(8192..<16384, after: 5)
        #expect(dead.dug(before: 5) { _ in true } == [0..<8192])
        #expect(dead.dug(before: 6) { _ in true } == [0..<16384])
    }
}
