import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore
@testable import FirnLog

/// Nodes that die while a checkpoint is written are known to be dead in its file.
@Suite(.timeLimit(.minutes(20))) struct WrittenNodesTests {
    @Test(arguments: 1...8) func unreachedBytesAreReturnedAsRunsOfWholeNodes(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let start = 64 << 10
        var end = start + CheckpointFileWriter.headerByteCount
        var nodes: [(range: Range<Int>, isReached: Bool)] = []
        var starts = BitSet(count: 0)
        for _ in 0..<1 + random.below(200) {
            let next = end + OnDiskNode.unit * (1 + random.below(40))
            starts.insert((end - start) / OnDiskNode.unit)
            nodes.append((end..<next, true))
            end = next
        }
        let file = Checkpoint.File(id: 3, start: start, byteCount: (end - start + 63) & ~63)
        var written = WrittenNodes(file, starts: starts, end: end)
        for index in nodes.indices where random.below(3) > 0 {
            written.leave(nodes[index].range.lowerBound)
            nodes[index].isReached = random.below(3) == 0
            if nodes[index].isReached { written.reach(nodes[index].range.lowerBound) }
        }
        let wanted = nodes.filter { !$0.isReached }.flatMap { Array($0.range) } + Array(end..<file.range.upperBound)
        let found = written.unreachedRanges
        #expect(found.flatMap { Array($0) } == wanted)
        #expect(zip(found, found.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
    }

    /// After each of many compactions, during which anything is changed, a walk finds no node in the files that is
    /// neither alive nor known to be dead, and as many bytes of garbage as were counted.
    @Test(arguments: 1...6) func aWalkFindsOnlyNodesThatAreAliveOrKnownToBeDead(seed: UInt64) throws {
        let folder = TemporaryFolder()
        var options = People.options(folder.path + "/store")
        let work = Guarded<(@Sendable () -> Void)?>(.unranked, nil)
        options.duringCompaction = { work.withLock { $0 }?() }
        let people = Guarded(.unranked, try People(options, PosixStorage.shared, count: 3000))
        let store = people.withLock { $0.store }
        let random = Guarded(.unranked, SeededRandom(seed: seed))
        @Sendable func change(most: Int) {
            do {
                let (round, some) = random.withLock { random in
                    let count = random.below(most)
                    return (random.below(1000), (0..<count).map { _ in random.below(3000) })
                }
                try people.withLock { try $0.change(some, to: round) }
            } catch { Issue.record("\(error)") }
        }
        var held: [Pin] = []
        for round in 0..<12 {
            change(most: round % 4 == 0 ? 6000 : 300)
            if random.withLock({ $0.below(2) }) == 0 { held.append(store.pin()) }
            if held.count > 2 { held.removeFirst() }
            work.withLock { $0 = { for _ in 0..<3 { change(most: round % 3 == 0 ? 3000 : 100) } } }
            let share = [0.05, 0.3, 10][random.withLock { $0.below(3) }]
            try store.compact(garbageShare: round == 7 ? -1 : share, rewritesAll: round == 7)
            work.withLock { $0 = nil }
            let pin = store.pin()
            let mapping = try #require(pin.mapping)
            let walk = try CleaningPlan(
                pin.snapshot, in: mapping, besides: mapping.withDead { $0.holes }, clearing: { _ in 0 }, fileCount: nil,
                by: store.compaction.thread)
            #expect(walk.unknown.isEmpty, "seed \(seed), round \(round)")
            #expect(
                walk.deadByteCount == store.context.checkpointGarbage.load(ordering: .relaxed),
                "seed \(seed), round \(round)")
            #expect(people.withLock { $0.fault(pin.snapshot) } == nil)
            if round % 4 == 3 { store._checkInvariants() }
        }
        #expect(try store.hasHoles())
        people.withLock { #expect($0.fault(store.pin().snapshot) == nil) }
    }
}
