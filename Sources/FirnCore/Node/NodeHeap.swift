import CFirn
import FirnStorage
import Synchronization

/// Where the nodes of a store come from and go to, and how many there are.
///
/// Nodes are made by the one writer and freed by whoever lets the last pin of a version go. The two totals are atomics, added to once per
/// transaction or per freed list, so that neither side waits for the other.
public final class NodeHeap: Sendable {
    private let nodes = Atomic<Int>(0)
    private let bytes = Atomic<Int>(0)
    /// How many cancelled transactions have left states that somebody holds (`DeferredFrees`). What such a transaction
    /// appended lies in the chunks of the version that it began from, so the next ones append nothing there.
    let deferredFreesCount = Atomic<Int>(0)
    /// The store's scratch files; nil for a store without files.
    let spill: SpillHeap?

    init(_ spill: SpillHeap? = nil) { self.spill = spill }

    private let forkMark = ForkMark()

    /// Whether this is a forked child. Some nodes may lie in memory that is the parent's, too, and are not even freed
    /// then: their links are the parent's.
    var isForked: Bool { forkMark.isForked }

    /// Nodes that are alive: exactly those that the pinned versions and the running transaction reach.
    public var nodeCount: Int { nodes.load(ordering: .relaxed) }

    /// Their length in bytes.
    public var byteCount: Int { bytes.load(ordering: .relaxed) }

    func account(nodes nodeDelta: Int, bytes byteDelta: Int) {
        nodes.wrappingAdd(nodeDelta, ordering: .relaxed)
        bytes.wrappingAdd(byteDelta, ordering: .relaxed)
    }

    /// Uninitialised memory for a node. The caller accounts for it.
    @inline(__always)
    static func allocate(byteCount: Int) -> Node {
        guard let memory = firn_allocate(byteCount) else {
            fatalError("Firn: there is no memory left for \(byteCount) bytes")
        }
        return Node(memory)
    }

    @inline(__always)
    static func free(_ node: Node) {
        if node.isSpilled { return SpillArena.free(node) }
        firn_deallocate(node.address)
    }

    /// Frees every node on the list.
    func free(_ list: NodeList) {
        if list.isEmpty || isForked { return }
        var next = list.head
        var count = 0
        var total = 0
        var outside = 0
        while next != 0 {
            let node = NodeRef(next).node
            next = node.link
            count += 1
            total += node.byteCount
            if !node.isSpilled { outside += 1 }
            NodeHeap.free(node)
        }
        if let spill, spill.takesAll { spill.subtractOutside(outside) }
        assert(count == list.count && total == list.byteCount, "Firn: a dead list lost count")
        if count > 0 { account(nodes: -count, bytes: -total) }
    }
}

/// A chain of dead nodes through their `link` fields. Adding and joining are O(1) and allocate nothing.
struct NodeList {
    private(set) var head: UInt64 = 0
    private var tail: UInt64 = 0
    private(set) var count = 0
    private(set) var byteCount = 0

    var isEmpty: Bool { head == 0 }

    @inline(__always)
    mutating func push(_ node: Node) {
        node.link = head
        head = NodeRef(node).word
        if tail == 0 { tail = head }
        count += 1
        byteCount += node.byteCount
    }

    /// Puts all of `other` before what is here.
    mutating func join(_ other: NodeList) {
        guard !other.isEmpty else { return }
        if isEmpty {
            self = other
            return
        }
        NodeRef(other.tail).node.link = head
        head = other.head
        count += other.count
        byteCount += other.byteCount
    }

    func forEach(_ body: (Node) -> Void) {
        var next = head
        while next != 0 {
            let node = NodeRef(next).node
            next = node.link
            body(node)
        }
    }
}
