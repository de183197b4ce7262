import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// The version table counts exactly what is held, whatever comes and goes.
@Suite(.timeLimit(.minutes(20))) struct VersionCountingTests {
    @Test func versionsBetweenTwoHeldOnesAreFreedAtOnce() throws {
        let store = try CountedThings.open()
        var pins: [Pin] = []
        for round in 0..<4 {
            pins.append(store.pin())
            for turn in 0..<20 {
                try store.change(Int64(turn % 3), to: Int64(round * 100 + turn))
                #expect(store.heap.nodeCount == store.reachedNodeCount(pins), "round \(round), turn \(turn)")
            }
            #expect(store.activeVersions.map(\.number) == pins.map(\.version) + [store.publishedVersion])
        }
        // Also if a version in the middle goes: exactly the nodes that it shares with neither neighbour are freed.
        pins.remove(at: 1)
        #expect(store.heap.nodeCount == store.reachedNodeCount(pins))
        pins = []
        #expect(store.heap.nodeCount == store.reachedNodeCount([]))
        store._checkInvariants()
    }

    @Test func aThousandHeldVersionsReadTheirOwnDataAndFreeExactlyTheirNodesInAnyOrder() throws {
        for seed: UInt64 in [1, 2] {
            var random = SeededRandom(seed: seed)
            let store = try CountedThings.open()
            /// The content of a version, and its nodes.
            struct Held {
                let pin: Pin
                let counts: [Int64]
                let bytes: [UInt8]
                var nodes: Set<UInt64> = []
            }
            var counts = [Int64](repeating: 0, count: CountedThings.count)
            var bytes = [UInt8](repeating: 7, count: CountedThings.count)
            var held: [Held] = []
            /// The nodes of the held versions and of the newest.
            var users = NodeUsers()
            for version in 0..<1000 {
                let pin = store.pin()
                held.append(Held(pin: pin, counts: counts, bytes: bytes))
                let transaction = try store.beginWrite()
                for _ in 0...random.below(3) {
                    let key = random.below(CountedThings.count)
                    counts[key] = Int64(version)
                    transaction.set(CountedThings.table, column: 1, key: Int64(key), to: .int(counts[key]))
                    if random.below(4) == 0 {
                        bytes[key] = UInt8(truncatingIfNeeded: random.next())
                        let length = random.below(8) == 0 ? 2000 : 600
                        transaction.set(
                            CountedThings.table, column: 2, key: Int64(key),
                            to: .data(Array(repeating: bytes[key], count: length)))
                    }
                }
                try transaction.commit()
            }
            #expect(store.activeVersions.count == 1001)
            _ = users.add(store.versions.tip.snapshot)
            for index in held.indices { held[index].nodes = users.add(held[index].pin.snapshot) }
            #expect(store.heap.nodeCount == users.count)
            while !held.isEmpty {
                let index = random.below(held.count)
                let table = held[index].pin.snapshot.table(CountedThings.table)
                for key in 0..<CountedThings.count {
                    guard table.value(1, of: Int64(key)) == .int(held[index].counts[key]),
                        case .data(let data)? = table.value(2, of: Int64(key)), data.first == held[index].bytes[key]
                    else {
                        Issue.record("seed \(seed): thing \(key) of version \(held[index].pin.version)")
                        return
                    }
                }
                users.remove(held[index].nodes)
                held.remove(at: index)
                guard store.heap.nodeCount == users.count, store.activeVersions.count == held.count + 1 else {
                    Issue.record(
                        "seed \(seed), \(held.count) left: \(store.heap.nodeCount) nodes are alive, \(users.count) reached"
                    )
                    return
                }
                if held.count % 200 == 100 { store.versions.checkCounts() }
            }
            store._checkInvariants()
        }
    }

    /// After a compaction the table has one version twice: with the tree before it, which holders read, and with the
    /// one after.
    @Test func twoTreesOfOneVersionCountAsOneVersion() throws {
        let store = try CountedThings.open(versions: 1, on: MemoryStorage())
        let old = store.pin()
        try store.compact()
        var new: Pin? = store.pin(at: CallSite("new", 7))
        #expect(new?.version == old.version && new?.stamp != old.stamp)
        let active = store.activeVersions
        #expect(active.map(\.number) == [1] && active[0].holders == 2)
        #expect(active[0].pinnedAt.first?.hasPrefix("FirnCoreTests/VersionCountingTests.swift:") == true)
        #expect(active[0].pinnedAt.last == "new:7")
        store._checkInvariants()
        // It is the newest version, so it counts once, whichever of its trees is held.
        try store.change()
        #expect(store.activeVersions.map(\.number) == [1, 2])
        #expect(store.refusal()?.description.contains("2 versions are active") == true)
        new = nil
        #expect(store.refusal() != nil)
        store._checkInvariants()
        withExtendedLifetime((old, new)) {}
        try store.close()
    }

    /// Releasing a version frees what both of its trees retain together.
    @Test func twoTreesOfOneVersionRetainTogether() throws {
        let store = try CountedThings.open(on: MemoryStorage())
        var pins = [store.pin()]
        try store.compact()
        #expect(store.activeVersions[0].retainedByteCount > 36_000)
        pins.append(store.pin())
        try store.rewriting(5).commit()
        store._checkInvariants()
        let retained = store.activeVersions[0].retainedByteCount
        let before = store.heap.byteCount
        pins = []
        #expect(retained > 36_000 && store.heap.byteCount == before - retained)
        try store.close()
    }

    /// A version that only the store itself pins for its work, as a compaction does, does not count as held.
    @Test func theStoresOwnPinsHoldMemoryAndCountAgainstNoLimit() throws {
        let store = try CountedThings.open(versions: 1, bytes: 0)
        var own: Pin? = store.versions.pinForStore(.published)
        try store.rewriting(1).commit()
        try store.change()
        #expect(store.activeVersions.map(\.number) == [3] && store.activeVersions[0].holders == 0)
        #expect(store.heap.nodeCount == store.reachedNodeCount([own!]))
        store._checkInvariants()
        // Other pins on the same version count as usual.
        var other: Pin? = own?.again()
        #expect(store.activeVersions.map(\.number) == [1, 3] && store.activeVersions[0].holders == 1)
        #expect(store.refusal() != nil)
        other = nil
        try store.change()
        other = own?.again()
        own = nil
        #expect(store.refusal() != nil)
        store._checkInvariants()
        other = nil
        #expect(store.heap.nodeCount == store.reachedNodeCount([]))
        withExtendedLifetime((own, other)) {}
    }
}
