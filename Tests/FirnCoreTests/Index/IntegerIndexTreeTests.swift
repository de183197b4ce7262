import Testing

import FirnBytes
import FirnTestSupport

@testable import FirnCore

extension IntegerIndexTree: TestedTree {
    static func values(of key: UInt64, in root: NodeRef) -> [Int64] {
        var values: [Int64] = []
        forEachValue(of: key, in: root) {
            values.append($0)
            return true
        }
        return values
    }

    private static func list(_ run: Run) -> [Entry<UInt64>] {
        (0..<run.count).map { Entry(key: run.key($0), value: run.value($0)) }
    }

    static func entries(_ positions: Range<Int>, in root: NodeRef) -> [Entry<UInt64>] {
        var all: [Entry<UInt64>] = []
        forEachRun(positions, in: root) {
            all += list($0)
            return true
        }
        return all
    }

    static func entriesBackwards(_ positions: Range<Int>, in root: NodeRef) -> [Entry<UInt64>] {
        var all: [Entry<UInt64>] = []
        forEachRunBackwards(positions, in: root) {
            all += list($0).reversed()
            return true
        }
        return all
    }

    static func entriesByRuns(in root: NodeRef) -> [Entry<UInt64>] {
        var forwards: [Entry<UInt64>] = []
        while let run = run(from: forwards.count, in: root) { forwards += list(run) }
        var backwards: [Entry<UInt64>] = []
        while let run = run(upTo: forwards.count - backwards.count, in: root) { backwards += list(run).reversed() }
        #expect(backwards == forwards.reversed())
        return forwards
    }

    static func build(_ entries: [Entry<UInt64>], _ writer: NodeWriter) -> NodeRef {
        var keys = entries.map(\.key)
        var values = entries.map(\.value)
        return build(sorting: &keys, &values, writer)
    }
}

private let plans: [ModelPlan<UInt64>] = [
    ModelPlan(
        name: "random", operations: 60_000, peak: 20_000, key: { _, random in random.next() >> 40 },
        value: { n, _ in Int64(n) }),
    ModelPlan(
        name: "ascending", operations: 40_000, peak: 12_000, key: { n, _ in UInt64(n) + 1 << 63 },
        value: { n, _ in Int64(n) }),
    ModelPlan(
        name: "descending", operations: 30_000, peak: 8_000, key: { n, _ in 1 << 63 - UInt64(n) },
        value: { n, _ in Int64(n) }),
    ModelPlan(
        name: "few keys", operations: 40_000, peak: 8_000, key: { _, random in UInt64(random.below(6)) },
        value: { _, random in Int64(random.below(1000)) - 500 }),
    ModelPlan(
        name: "equal pairs", operations: 20_000, peak: 4_000, key: { _, random in UInt64(random.below(2)) },
        value: { _, random in Int64(random.below(3)) }),
    ModelPlan(
        name: "small", operations: 20_000, peak: 90, key: { _, random in UInt64(random.below(100)) },
        value: { _, random in Int64(random.below(4)) }),
]

@Suite("Integer index trees", .timeLimit(.minutes(20)))
struct IntegerIndexTreeTests {
    @Test("agree with a sorted array at every version, through rollbacks and with pins", arguments: 0..<6)
    func model(_ plan: Int) throws {
        var model = TreeModel<IntegerIndexTree>(plans[plan], seed: 0xF1A2 + UInt64(plan))
        try model.run()
    }

    @Test(
        "trees built in bulk have the same entries as trees built one by one",
        arguments: [0, 1, 4, 5, 16, 17, 64, 65, 4096, 4097, 30_000])
    func bulk(_ count: Int) throws {
        var random = SeededRandom(seed: UInt64(count))
        for modulus: UInt64 in [3, 1000, 1 << 40] {
            let entries = (0..<count).map { _ in
                Entry(key: random.next() % modulus, value: Int64(random.below(100)) - 50)
            }
            let versions = VersionSimulation()
            let writer = versions.begin()
            versions.slot.pointee = IntegerIndexTree.build(entries, writer).word
            try IntegerIndexTree.checkInvariants(versions.root)
            #expect(IntegerIndexTree.entries(0..<count, in: versions.root) == entries.sorted())
            for entry in entries.prefix(200) {
                #expect(IntegerIndexTree.remove(entry.key, value: entry.value, at: versions.slot, writer: writer))
                IntegerIndexTree.insert(entry.key ^ 1, value: entry.value, at: versions.slot, writer: writer)
            }
            try IntegerIndexTree.checkInvariants(versions.root)
            versions.rollback()
        }
    }

    @Test("trees filled in ascending order have full leaves")
    func ascendingIsDense() throws {
        let versions = VersionSimulation()
        let writer = versions.begin()
        for key in 0..<20_000 {
            IntegerIndexTree.insert(UInt64(key), value: Int64(key), at: versions.slot, writer: writer)
        }
        var leaves = 0
        IntegerIndexTree.forEachNode(versions.root) { if $0.width == 0 { leaves += 1 } }
        #expect(leaves == (20_000 + 63) / 64)
        try IntegerIndexTree.checkInvariants(versions.root)
        versions.rollback()
    }

    @Test("trees of a few pairs are small")
    func smallTrees() {
        let versions = VersionSimulation()
        let writer = versions.begin()
        for key in 0..<4 { IntegerIndexTree.insert(UInt64(key), value: 0, at: versions.slot, writer: writer) }
        #expect(versions.root.node.byteCount <= 96)
        for key in 4..<64 { IntegerIndexTree.insert(UInt64(key), value: 0, at: versions.slot, writer: writer) }
        for key in 4..<64 { #expect(IntegerIndexTree.remove(UInt64(key), value: 0, at: versions.slot, writer: writer)) }
        #expect(versions.root.node.byteCount <= 32 + 16 * 16)
        versions.rollback()
    }

    @Test("removing a missing pair copies nothing")
    func missedRemovalCopiesNothing() {
        let versions = VersionSimulation()
        var writer = versions.begin()
        for key in 0..<10_000 { IntegerIndexTree.insert(UInt64(key) * 2, value: 7, at: versions.slot, writer: writer) }
        versions.commit()
        writer = versions.begin()
        #expect(!IntegerIndexTree.remove(4001, value: 7, at: versions.slot, writer: writer))
        #expect(!IntegerIndexTree.remove(4000, value: 8, at: versions.slot, writer: writer))
        #expect(writer.state.pointee.madeCount == 0)
        versions.rollback()
    }

    @Test("one changed pair copies one path")
    func oneChangeCopiesOnePath() {
        let versions = VersionSimulation()
        var writer = versions.begin()
        for key in 0..<10_000 { IntegerIndexTree.insert(UInt64(key), value: 7, at: versions.slot, writer: writer) }
        versions.commit()
        writer = versions.begin()
        #expect(IntegerIndexTree.remove(5000, value: 7, at: versions.slot, writer: writer))
        #expect(writer.state.pointee.madeCount == 3)
        versions.rollback()
    }

    @Test(
        "the invariant check finds a broken tree", arguments: ["order", "count", "separator", "stamp", "fill", "level"])
    func brokenTree(_ damage: String) throws {
        let versions = VersionSimulation()
        let writer = versions.begin()
        for key in 0..<10_000 { IntegerIndexTree.insert(UInt64(key), value: 7, at: versions.slot, writer: writer) }
        try IntegerIndexTree.checkInvariants(versions.root)
        let inner = IntegerIndexInner(IntegerIndexInner(versions.root.node).child(1))
        let leaf = IntegerIndexLeaf(inner.child(3))
        switch damage {
        case "order": leaf.keys[5] = leaf.keys[7]
        case "count": inner.counts[3] += 1
        case "separator": inner.keys[3] += 1
        case "stamp": leaf.node.stamp += 1
        case "fill": leaf.node.count = 3
        default: leaf.node.width = 1
        }
        #expect { try IntegerIndexTree.checkInvariants(versions.root) } throws: { error in
            (error as? Damage)?.text.hasPrefix("integer index tree, node at") ?? false
        }
        if damage == "level" { leaf.node.width = 0 }
        versions.rollback()
    }
}
