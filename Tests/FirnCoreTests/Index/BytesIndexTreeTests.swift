import Testing

import FirnBytes
import FirnTestSupport

@testable import FirnCore

/// The bytes of a test's key, as `BytesIndexTree` stores them.
struct ByteString: Comparable, Sendable {
    var bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }
    init(_ string: String) { bytes = Array(string.utf8) }
    init(_ key: IndexKey) { bytes = (0..<key.byteCount).map { key[byte: $0] } }

    static func < (a: ByteString, b: ByteString) -> Bool { a.bytes.lexicographicallyPrecedes(b.bytes) }

    func withKey<Result>(_ body: (IndexKey) -> Result) -> Result {
        IndexKey.withKey({ encoder in for byte in bytes { encoder.append(byte) } }, body)
    }
}

/// Adapts `BytesIndexTree` to keys of type `ByteString`.
enum ByteStringTree: TestedTree {
    static func insert(_ key: ByteString, value: Int64, at root: UnsafeMutablePointer<UInt64>, writer: NodeWriter) {
        key.withKey { BytesIndexTree.insert($0, value: value, at: root, writer: writer) }
    }

    static func remove(
        _ key: ByteString, value: Int64, at root: UnsafeMutablePointer<UInt64>, writer: NodeWriter
    ) -> Bool {
        key.withKey { BytesIndexTree.remove($0, value: value, at: root, writer: writer) }
    }

    static func firstValue(of key: ByteString, in root: NodeRef) -> Int64? {
        key.withKey { BytesIndexTree.firstValue(of: $0, in: root) }
    }

    static func contains(_ key: ByteString, _ value: Int64, in root: NodeRef) -> Bool {
        key.withKey { BytesIndexTree.contains($0, value, in: root) }
    }

    static func values(of key: ByteString, in root: NodeRef) -> [Int64] {
        var values: [Int64] = []
        key.withKey {
            BytesIndexTree.forEachValue(of: $0, in: root) {
                values.append($0)
                return true
            }
        }
        return values
    }

    static func count(in root: NodeRef) -> Int { BytesIndexTree.count(in: root) }

    static func rank(_ key: ByteString, _ value: Int64, in root: NodeRef) -> Int {
        key.withKey { BytesIndexTree.rank($0, value, in: root) }
    }

    static func lowerBound(_ key: ByteString, in root: NodeRef) -> Int {
        key.withKey { BytesIndexTree.lowerBound($0, in: root) }
    }

    static func upperBound(_ key: ByteString, in root: NodeRef) -> Int {
        key.withKey { BytesIndexTree.upperBound($0, in: root) }
    }

    private static func list(_ run: BytesIndexTree.Run) -> [Entry<ByteString>] {
        (0..<run.count).map { Entry(key: ByteString(run.key($0)), value: run.value($0)) }
    }

    static func entries(_ positions: Range<Int>, in root: NodeRef) -> [Entry<ByteString>] {
        var all: [Entry<ByteString>] = []
        BytesIndexTree.forEachRun(positions, in: root) {
            all += list($0)
            return true
        }
        return all
    }

    static func entriesBackwards(_ positions: Range<Int>, in root: NodeRef) -> [Entry<ByteString>] {
        var all: [Entry<ByteString>] = []
        BytesIndexTree.forEachRunBackwards(positions, in: root) {
            all += list($0).reversed()
            return true
        }
        return all
    }

    static func entriesByRuns(in root: NodeRef) -> [Entry<ByteString>] {
        var forwards: [Entry<ByteString>] = []
        while let run = BytesIndexTree.run(from: forwards.count, in: root) { forwards += list(run) }
        var backwards: [Entry<ByteString>] = []
        while let run = BytesIndexTree.run(upTo: forwards.count - backwards.count, in: root) {
            backwards += list(run).reversed()
        }
        #expect(backwards == forwards.reversed())
        return forwards
    }

    static func build(_ entries: [Entry<ByteString>], _ writer: NodeWriter) -> NodeRef {
        var builder = BytesIndexTreeBuilder(expectedCount: 10)
        for entry in entries { entry.key.withKey { builder.append($0, entry.value) } }
        return builder.finish(writer)
    }

    static func retireAll(_ root: NodeRef, _ writer: NodeWriter) { BytesIndexTree.retireAll(root, writer) }
    static func checkInvariants(_ root: NodeRef) throws { try BytesIndexTree.checkInvariants(root) }
    static func forEachNode(_ root: NodeRef, _ body: (Node) -> Void) { BytesIndexTree.forEachNode(root, body) }
}

private func padded(_ number: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(8 - digits.count, 0)) + digits
}

/// Makes keys of every length that share beginnings, zeros and ends.
@Sendable private func nastyKey(_ random: inout SeededRandom) -> ByteString {
    let length = random.below(4) == 0 ? random.below(137) : random.below(12)
    var bytes = (0..<length).map { _ in random.below(3) == 0 ? 0 : UInt8(truncatingIfNeeded: random.below(3) * 127) }
    if random.below(3) == 0 { bytes.replaceSubrange(0..<min(length, 9), with: Array("all alike".utf8.prefix(length))) }
    return ByteString(bytes)
}

private let plans: [ModelPlan<ByteString>] = [
    ModelPlan(
        name: "names", operations: 25_000, peak: 9_000,
        key: { _, random in ByteString("person-\(random.below(1_000_000))") },
        value: { n, _ in Int64(n) }),
    ModelPlan(
        name: "ascending", operations: 20_000, peak: 6_000, key: { n, _ in ByteString("id:\(padded(n))") },
        value: { n, _ in Int64(n) }),
    ModelPlan(
        name: "descending", operations: 12_000, peak: 4_000,
        key: { n, _ in ByteString("id:\(padded(90_000_000 - n))") },
        value: { n, _ in Int64(n) }),
    ModelPlan(
        name: "any bytes", operations: 25_000, peak: 6_000, key: { _, random in nastyKey(&random) },
        value: { _, random in Int64(random.below(100)) - 50 }),
    ModelPlan(
        name: "few keys", operations: 15_000, peak: 3_000,
        key: { _, random in ByteString(String(repeating: "k", count: random.below(6) * 20)) },
        value: { _, random in Int64(random.below(1000)) - 500 }),
    ModelPlan(
        name: "equal pairs", operations: 8_000, peak: 1_500,
        key: { _, random in ByteString(random.below(2) == 0 ? "" : "x") },
        value: { _, random in Int64(random.below(3)) }),
    ModelPlan(
        name: "small", operations: 8_000, peak: 60, key: { _, random in ByteString("\(random.below(100))") },
        value: { _, random in Int64(random.below(4)) }),
]

@Suite("Bytes index trees", .timeLimit(.minutes(20)))
struct BytesIndexTreeTests {
    @Test("agree with a sorted array at every version, through rollbacks and with pins", arguments: 0..<7)
    func model(_ plan: Int) throws {
        var model = TreeModel<ByteStringTree>(plans[plan], seed: 0xB17E + UInt64(plan))
        try model.run()
    }

    @Test(
        "trees built in bulk have the same entries as trees built one by one",
        arguments: [0, 1, 5, 30, 100, 300, 5_000])
    func bulk(_ count: Int) throws {
        var random = SeededRandom(seed: UInt64(count))
        for kind in 0..<4 {
            let entries = (0..<count).map { n in
                let key =
                    switch kind {
                    case 0: ByteString("person-\(random.below(1_000_000))")
                    case 1: nastyKey(&random)
                    case 2: ByteString("same")
                    default: ByteString("id:\(padded(n))")
                    }
                return Entry(key: key, value: Int64(random.below(100)) - 50)
            }
            let versions = VersionSimulation()
            let writer = versions.begin()
            versions.slot.pointee = ByteStringTree.build(entries, writer).word
            try BytesIndexTree.checkInvariants(versions.root)
            #expect(ByteStringTree.entries(0..<count, in: versions.root) == entries.sorted(), "kind \(kind)")
            for entry in entries.prefix(200) {
                #expect(ByteStringTree.remove(entry.key, value: entry.value, at: versions.slot, writer: writer))
                ByteStringTree.insert(
                    ByteString(entry.key.bytes.reversed()), value: entry.value, at: versions.slot, writer: writer)
            }
            try BytesIndexTree.checkInvariants(versions.root)
            versions.rollback()
        }
    }

    @Test("trees filled in ascending order have full leaves")
    func ascendingIsDense() throws {
        let versions = VersionSimulation()
        let writer = versions.begin()
        for key in 0..<10_000 {
            ByteStringTree.insert(ByteString("id:\(padded(key))"), value: Int64(key), at: versions.slot, writer: writer)
        }
        var leaves = 0
        var used = 0
        BytesIndexTree.forEachNode(versions.root) {
            if $0.width == 0 {
                leaves += 1
                used += SlottedPage($0).used
            }
        }
        #expect(used > (leaves - 1) * SlottedPage.entryByteCapacity / 100 * 98)
        versions.rollback()
    }

    @Test("trees shrink when their entries are removed")
    func removalMerges() throws {
        let versions = VersionSimulation()
        let writer = versions.begin()
        let keys = (0..<20_000).map { ByteString("key \(padded($0 &* 7919 % 20_000))") }
        for (n, key) in keys.enumerated() {
            ByteStringTree.insert(key, value: Int64(n), at: versions.slot, writer: writer)
        }
        let full = writer.state.pointee.byteDelta
        for (n, key) in keys.enumerated() where n % 20 != 0 {
            #expect(ByteStringTree.remove(key, value: Int64(n), at: versions.slot, writer: writer))
        }
        try BytesIndexTree.checkInvariants(versions.root)
        #expect(writer.state.pointee.byteDelta < full / 8)
        versions.rollback()
    }

    /// The page's first child is gone, and what belonged there is now in the second child, below that child's
    /// separator.
    @Test("merging an inner page into the one before it keeps its lower bound")
    func mergedInnerPage() throws {
        let versions = VersionSimulation()
        let writer = versions.begin()
        func key(_ number: Int) -> ByteString { ByteString(padded(number) + String(repeating: "-", count: 120)) }
        func insert(_ number: Int) {
            ByteStringTree.insert(key(number), value: Int64(number), at: versions.slot, writer: writer)
        }
        func remove(_ number: Int) {
            #expect(ByteStringTree.remove(key(number), value: Int64(number), at: versions.slot, writer: writer))
        }
        for number in 0..<9000 { insert(number) }
        var root: SlottedPage { SlottedPage(versions.root.node) }
        try #require(root.node.width == 2 && root.count > 3)
        let inner = root.count
        let (first, second) = (root.childCount(0), root.childCount(1))
        for number in first..<first + SlottedPage(SlottedPage(root.child(1)).child(0)).count { remove(number) }
        insert(first)
        // Leaves both pages with few children.
        for number in (first + 60..<first + second).reversed() { remove(number) }
        #expect(root.count == inner)
        for number in (60..<first).reversed() where root.count == inner { remove(number) }
        #expect(root.count == inner - 1)
        try BytesIndexTree.checkInvariants(versions.root)
        #expect(ByteStringTree.contains(key(first), Int64(first), in: versions.root))
        versions.rollback()
    }

    @Test("one changed pair copies one path, and a missing pair copies nothing")
    func oneChangeCopiesOnePath() {
        let versions = VersionSimulation()
        var writer = versions.begin()
        for key in 0..<10_000 {
            ByteStringTree.insert(ByteString("\(key)"), value: 7, at: versions.slot, writer: writer)
        }
        versions.commit()
        writer = versions.begin()
        #expect(!ByteStringTree.remove(ByteString("5000"), value: 8, at: versions.slot, writer: writer))
        #expect(!ByteStringTree.remove(ByteString("500x"), value: 7, at: versions.slot, writer: writer))
        #expect(writer.state.pointee.madeCount == 0)
        #expect(ByteStringTree.remove(ByteString("5000"), value: 7, at: versions.slot, writer: writer))
        #expect(writer.state.pointee.madeCount == versions.root.node.width + 1)
        versions.rollback()
    }

    @Test(
        "the invariant check finds a broken tree",
        arguments: ["order", "count", "separator", "stamp", "head", "garbage"])
    func brokenTree(_ damage: String) throws {
        let versions = VersionSimulation()
        let writer = versions.begin()
        for key in 0..<10_000 {
            ByteStringTree.insert(
                ByteString("id:\(padded(key * 37 % 10_000))"), value: 7, at: versions.slot, writer: writer)
        }
        try BytesIndexTree.checkInvariants(versions.root)
        let root = SlottedPage(versions.root.node)
        try #require(!root.isLeaf)
        let leaf = SlottedPage(root.child(1))
        switch damage {
        case "order": (leaf.slots[4], leaf.slots[9]) = (leaf.slots[9], leaf.slots[4])
        case "count": root.addToChildCount(1, 1)
        case "separator": root.entry(1)[3] += 1 << 40
        case "stamp": leaf.node.stamp += 1
        case "head": leaf.slots[4] ^= 1 << 40
        default: leaf.garbage += 8
        }
        #expect { try BytesIndexTree.checkInvariants(versions.root) } throws: { error in
            (error as? Damage)?.text.hasPrefix("bytes index tree, node at") ?? false
        }
        versions.rollback()
    }
}
