import Testing

import FirnTestSupport

@testable import FirnCore

/// What both index trees have in common, for tests of both.
protocol TestedTree {
    associatedtype Key: Comparable & Sendable
    static func insert(_ key: Key, value: Int64, at root: UnsafeMutablePointer<UInt64>, writer: NodeWriter)
    static func remove(_ key: Key, value: Int64, at root: UnsafeMutablePointer<UInt64>, writer: NodeWriter) -> Bool
    static func firstValue(of key: Key, in root: NodeRef) -> Int64?
    static func contains(_ key: Key, _ value: Int64, in root: NodeRef) -> Bool
    static func values(of key: Key, in root: NodeRef) -> [Int64]
    static func count(in root: NodeRef) -> Int
    static func rank(_ key: Key, _ value: Int64, in root: NodeRef) -> Int
    static func lowerBound(_ key: Key, in root: NodeRef) -> Int
    static func upperBound(_ key: Key, in root: NodeRef) -> Int
    static func entries(_ positions: Range<Int>, in root: NodeRef) -> [Entry<Key>]
    static func entriesBackwards(_ positions: Range<Int>, in root: NodeRef) -> [Entry<Key>]
    static func entriesByRuns(in root: NodeRef) -> [Entry<Key>]
    static func build(_ entries: [Entry<Key>], _ writer: NodeWriter) -> NodeRef
    static func retireAll(_ root: NodeRef, _ writer: NodeWriter)
    static func checkInvariants(_ root: NodeRef) throws
    static func forEachNode(_ root: NodeRef, _ body: (Node) -> Void)
}

struct Entry<Key: Comparable & Sendable>: Comparable, Sendable {
    var key: Key
    var value: Int64

    static func < (a: Entry, b: Entry) -> Bool { a.key != b.key ? a.key < b.key : a.value < b.value }
}

/// How a run of the model test chooses its keys and how many operations it makes.
struct ModelPlan<Key: Comparable & Sendable>: Sendable {
    var name: String
    var operations: Int
    /// The number of entries above which the run begins to remove entries.
    var peak: Int
    /// The key of the n-th operation.
    var key: @Sendable (Int, inout SeededRandom) -> Key
    /// The value of the n-th operation.
    var value: @Sendable (Int, inout SeededRandom) -> Int64
}

/// Runs a tree and a sorted array side by side through transactions, rollbacks and pins. They must agree at every
/// version.
struct TreeModel<Tree: TestedTree> {
    let plan: ModelPlan<Tree.Key>
    let seed: UInt64
    private let versions = VersionSimulation()
    private var oracle: [Entry<Tree.Key>] = []
    private var pins: [(version: UInt64, content: [Entry<Tree.Key>])] = []
    private var random: SeededRandom
    private var shrinking = false

    init(_ plan: ModelPlan<Tree.Key>, seed: UInt64) {
        self.plan = plan
        self.seed = seed
        random = SeededRandom(seed: seed)
    }

    private var label: Comment { "plan \(plan.name), seed \(seed)" }

    private func position(_ entry: Entry<Tree.Key>, inclusive: Bool = false) -> Int {
        var low = 0
        var high = oracle.count
        while low < high {
            let middle = (low + high) / 2
            if oracle[middle] < entry || inclusive && oracle[middle] == entry {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }

    mutating func run() throws {
        var done = 0
        while done < plan.operations {
            let writer = versions.begin()
            let before = oracle
            for step in 0..<(1 + random.below(200)) {
                operation(done, writer)
                done += 1
                if step % 37 == 36, random.below(4) == 0 { versions.subversion() }
            }
            if random.below(10) == 0 {
                versions.rollback()
                oracle = before
            } else {
                versions.commit()
            }
            if random.below(5) == 0 { pins.append((versions.pin(), oracle)) }
            if pins.count > 6 {
                let index = random.below(pins.count)
                try checkPin(pins[index])
                versions.unpin(pins.remove(at: index).version)
            }
            if random.below(20) == 0 { try checkAll() }
        }
        try checkAll()
        for pin in pins {
            try checkPin(pin)
            versions.unpin(pin.version)
        }
        pins = []
        checkHeap()
        let writer = versions.begin()
        Tree.retireAll(versions.root, writer)
        versions.slot.pointee = 0
        versions.commit()
        #expect(versions.nodeCount == 0 && versions.byteCount == 0, label)
    }

    private mutating func operation(_ number: Int, _ writer: NodeWriter) {
        if oracle.count > plan.peak { shrinking = true }
        if oracle.count < plan.peak / 8 { shrinking = false }
        let choice = random.below(100)
        if choice < (shrinking ? 25 : 60) || oracle.isEmpty {
            let entry = Entry(key: plan.key(number, &random), value: plan.value(number, &random))
            Tree.insert(entry.key, value: entry.value, at: versions.slot, writer: writer)
            oracle.insert(entry, at: position(entry, inclusive: true))
        } else if choice < 85 {
            let entry = oracle[random.below(oracle.count)]
            #expect(Tree.remove(entry.key, value: entry.value, at: versions.slot, writer: writer), label)
            oracle.remove(at: position(entry))
        } else if choice < 90 {
            let entry = Entry(key: plan.key(number, &random), value: plan.value(number, &random))
            let index = position(entry)
            let isThere = index < oracle.count && oracle[index] == entry
            #expect(Tree.contains(entry.key, entry.value, in: versions.root) == isThere, label)
            #expect(Tree.remove(entry.key, value: entry.value, at: versions.slot, writer: writer) == isThere, label)
            if isThere { oracle.remove(at: index) }
        } else {
            checkLookups(plan.key(number, &random), plan.value(number, &random))
        }
    }

    private func checkLookups(_ key: Tree.Key, _ value: Int64) {
        let root = versions.root
        let lower = position(Entry(key: key, value: .min))
        let upper = position(Entry(key: key, value: .max), inclusive: true)
        #expect(Tree.lowerBound(key, in: root) == lower, label)
        #expect(Tree.upperBound(key, in: root) == upper, label)
        #expect(Tree.rank(key, value, in: root) == position(Entry(key: key, value: value)), label)
        #expect(Tree.firstValue(of: key, in: root) == (lower < upper ? oracle[lower].value : nil), label)
        #expect(Tree.values(of: key, in: root) == oracle[lower..<upper].map(\.value), label)
        #expect(Tree.count(in: root) == oracle.count, label)
    }

    private func checkPin(_ pin: (version: UInt64, content: [Entry<Tree.Key>])) throws {
        let root = versions.root(of: pin.version)
        #expect(Tree.entries(0..<pin.content.count, in: root) == pin.content, label)
        #expect(Tree.count(in: root) == pin.content.count, label)
        try Tree.checkInvariants(root)
    }

    private func checkHeap() {
        let reachable = versions.reachable(Tree.forEachNode)
        #expect(versions.nodeCount == reachable.nodes && versions.byteCount == reachable.bytes, label)
    }

    private mutating func checkAll() throws {
        let root = versions.root
        try Tree.checkInvariants(root)
        #expect(Tree.entries(0..<oracle.count, in: root) == oracle, label)
        #expect(Tree.entriesBackwards(0..<oracle.count, in: root) == oracle.reversed(), label)
        #expect(Tree.entriesByRuns(in: root) == oracle, label)
        if !oracle.isEmpty {
            let a = random.below(oracle.count + 1)
            let b = random.below(oracle.count + 1)
            let range = min(a, b)..<max(a, b)
            #expect(Tree.entries(range, in: root) == Array(oracle[range]), label)
            #expect(Tree.entriesBackwards(range, in: root) == oracle[range].reversed(), label)
            for _ in 0..<10 {
                let index = random.below(oracle.count)
                checkLookups(oracle[index].key, oracle[index].value)
            }
        }
        for pin in pins { try checkPin(pin) }
        checkHeap()
    }
}
