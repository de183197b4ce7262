import CFirn
import FirnStorage
import Synchronization

/// Allocates and frees the nodes of a store, and counts the live ones.
///
/// The one writer makes nodes; the thread that releases the last pin of a version frees them. The two totals are
/// atomics, changed once per transaction or per freed list, so that neither side waits for the other.
package final class NodeHeap: Sendable {
    private let nodes = Atomic<Int>(0)
    private let bytes = Atomic<Int>(0)
    /// The number of cancelled transactions whose transaction snapshots somebody still holds (`DeferredFrees`). Such a
    /// snapshot reads rows that its transaction appended to the chunks of its base. So later transactions append
    /// nothing to those chunks.
    let deferredFreesCount = Atomic<Int>(0)
    /// The store's scratch files; nil for a store without files.
    let spill: SpillHeap?

    init(_ spill: SpillHeap? = nil) { self.spill = spill }

    private let forkMark = ForkMark()

    /// Whether this process is a forked child. A child does not even free nodes. Some may be in memory that the parent
    /// also uses, and the links of these nodes are the parent's.
    var isForked: Bool { forkMark.isForked }

    /// The number of live nodes: exactly the nodes that the pinned versions and the running transaction reach.
    package var nodeCount: Int { nodes.load(ordering: .relaxed) }

    /// The total length of the live nodes in bytes.
    package var byteCount: Int { bytes.load(ordering: .relaxed) }

    func account(nodes nodeDelta: Int, bytes byteDelta: Int) {
        nodes.wrappingAdd(nodeDelta, ordering: .relaxed)
        bytes.wrappingAdd(byteDelta, ordering: .relaxed)
    }

    /// Returns uninitialised memory for a node. The caller accounts for it (`account`).
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

    /// Returns memory of freed nodes to the system, which malloc would keep for later allocations of the same threads.
    /// O(memory of malloc); other threads that allocate meanwhile may wait.
    static func returnFreedMemory() { firn_return_freed_memory() }

    /// Frees every node on the list.
    func free(_ list: NodeList) {
        if list.isEmpty || isForked { return }
        var next = list.head
        var count = 0
        var total = 0
        var unspilledCount = 0
        while next != 0 {
            let node = NodeRef(next).node
            next = node.link
            count += 1
            total += node.byteCount
            if !node.isSpilled { unspilledCount += 1 }
            NodeHeap.free(node)
        }
        if let spill, spill.holdsAllNodes { spill.subtractHeapNodes(unspilledCount) }
        assert(count == list.count && total == list.byteCount, "Firn: a dead list's totals are wrong")
        if count > 0 { account(nodes: -count, bytes: -total) }
    }
}

/// A linked list of dead nodes, through their `link` fields. Adding and joining are O(1) and allocate nothing.
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

    /// Puts all nodes of `other` before those of this list.
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
