import FirnStorage

/// Makes, copies and retires nodes for a running transaction.
///
/// The state is behind one pointer, so that passing a `NodeWriter` costs nothing and no access is checked for
/// exclusivity. A writer belongs to the thread that runs the transaction; no other thread uses it.
///
/// * A node that is **made** here is entered in `made` (its `link` is its index there), so that a rollback can free
///   it.
/// * A node that is **retired** here is freed at once if it is younger than the last held state: nobody else can see
///   it. That state (`held`) is the base or a transaction snapshot. An older node goes on `dead`, the list of nodes
///   that died since that state.
struct NodeWriter {
    struct State {
        /// The stamp that new nodes get.
        var stamp: UInt64
        /// The stamp of the last state that somebody holds: of the base, or of a transaction snapshot.
        var held: UInt64
        /// The transaction's first stamp. The transaction made every node with this stamp or a later one.
        let firstStamp: UInt64
        var made: UnsafeMutablePointer<Node>
        var madeCount = 0
        var madeCapacity: Int
        var dead = NodeList()
        var nodeDelta = 0
        /// On-disk nodes that the transaction has replaced, by `Node.diskLocation`.
        var deadOnDisk: [(address: UInt, byteCount: Int)] = []
        var byteDelta = 0
        /// A dead list for each transaction snapshot: the nodes that died between the state `base` and that snapshot.
        var deadBySnapshot: [(base: UInt64, dead: NodeList)] = []
        /// The scratch files in which nodes are made once the transaction has more than `spillThreshold` bytes; nil
        /// for a store without files.
        var spillHeap: SpillHeap?
        var spillThreshold = Int.max
        var cursors = SpillCursors()
        /// The error that prevented making a scratch file; nil if there was none. After it, nodes that do not fit in
        /// the current pages are made on the heap.
        var spillFailure: StorageError?
        /// The realm's generation, which rises when leaves are copied or rows move, so that accessors find their rows
        /// again; nil outside a realm.
        var generation: UnsafeMutablePointer<UInt64>?
        /// Whether chunks are copied before rows are appended to them, because the memory behind their last row is
        /// still read: see `NodeHeap.deferredFreesCount`.
        var copiesChunks = false
        /// The value of `byteDelta` at which a store with a log encodes the objects inserted so far; see
        /// `StreamedInserts`.
        var flushAt = Int.max
    }

    let state: UnsafeMutablePointer<State>

    /// Creates a writer that makes nodes under `stamp`, which is above the stamp of the base.
    ///
    /// - Parameter memory: the memory of an earlier writer, to be used again.
    init(stamp: UInt64, held: UInt64? = nil, memory: Memory? = nil) {
        let memory = memory ?? Memory(state: .allocate(capacity: 1), made: .allocate(capacity: 64), madeCapacity: 64)
        state = memory.state
        state.initialize(
            to: State(
                stamp: stamp, held: held ?? stamp - 1, firstStamp: stamp, made: memory.made,
                madeCapacity: memory.madeCapacity))
    }

    /// The memory of a finished writer, for the next one.
    struct Memory {
        fileprivate let state: UnsafeMutablePointer<State>
        fileprivate let made: UnsafeMutablePointer<Node>
        fileprivate let madeCapacity: Int

        /// Whether there is so much memory that it is not worth keeping.
        var isLarge: Bool { madeCapacity > 4096 }

        func deallocate() {
            made.deallocate()
            state.deallocate()
        }
    }

    /// Makes nodes in scratch files from now on. These are all nodes, or those made after the bytes of all nodes have
    /// passed the threshold of the scratch folder. `heapByteCount` is the number of those bytes so far.
    func spill(to heap: SpillHeap, heapByteCount: Int) {
        state.pointee.spillHeap = heap
        state.pointee.spillThreshold = heap.holdsAllNodes ? .min : heap.scratchFolder.threshold - heapByteCount
        // The pages that earlier transactions left are not needed soon.
        if !heap.holdsAllNodes, heapByteCount < heap.scratchFolder.threshold / 2 { heap.closeIdle() }
    }

    /// Ends the writer and returns its memory, which the caller frees or uses again. By then the nodes must have
    /// another owner.
    func dispose() -> Memory {
        state.pointee.spillHeap?.keep(state.pointee.cursors)
        let memory = Memory(state: state, made: state.pointee.made, madeCapacity: state.pointee.madeCapacity)
        state.deinitialize(count: 1)
        return memory
    }

    var stamp: UInt64 { @inline(__always) get { state.pointee.stamp } }
    var firstStamp: UInt64 { @inline(__always) get { state.pointee.firstStamp } }

    @inline(__always)
    func owns(_ node: Node) -> Bool { node.stamp == state.pointee.stamp }

    /// Whether this transaction made the node, under its current stamp or an earlier one.
    @inline(__always)
    func isNew(_ node: Node) -> Bool { node.stamp >= state.pointee.firstStamp }

    /// Makes accessors find their leaves and rows again, because what they remember may be wrong.
    @inline(__always)
    func layoutChanged() {
        if let generation = state.pointee.generation { generation.pointee &+= 1 }
    }

    /// Makes a node with its header filled in; the payload is not initialised.
    func make(_ kind: Node.Kind, form: UInt8 = 0, width: Int = 0, count: Int = 0, capacity: Int = 0, byteCount: Int)
        -> Node
    {
        let length = NodeLayout.heapByteCount(byteCount)
        let (node, spilled) = allocate(length, kind.rawValue)
        node.stamp = state.pointee.stamp
        node.kindByte = kind.rawValue | spilled
        node.form = form
        node.width = width
        node.count = count
        node.capacity = capacity
        node.byteCount = length
        enter(node)
        return node
    }

    /// A copy of `node` under the current stamp, byte for byte.
    func copy(_ node: Node) -> Node {
        let length = node.byteCount
        let (copy, spilled) = allocate(length, node.kindNumber)
        copy.address.copyMemory(from: node.address, byteCount: length)
        copy.stamp = state.pointee.stamp
        copy.kindByte = copy.kindNumber | spilled
        enter(copy)
        return copy
    }

    /// Returns memory for a node of a kind, and the bit to set in that kind: `spilledBit` or none.
    @inline(__always)
    private func allocate(_ length: Int, _ kind: UInt8) -> (Node, UInt8) {
        if state.pointee.byteDelta > state.pointee.spillThreshold, let node = spill(length, kind) {
            return (node, Node.spilledBit)
        }
        return (NodeHeap.allocate(byteCount: length), 0)
    }

    /// Returns memory in a scratch file; nil if none can be made. A full disk is no reason to fail a transaction that
    /// still fits in memory.
    @inline(never)
    private func spill(_ length: Int, _ kind: UInt8) -> Node? {
        guard let heap = state.pointee.spillHeap else { return nil }
        return kind == Node.Kind.chunk.rawValue || kind == Node.Kind.blob.rawValue
            ? spill(length, into: &state.pointee.cursors.values, pool: heap.values, heap: heap)
            : spill(length, into: &state.pointee.cursors.structure, pool: heap.structure, heap: heap)
    }

    private func spill(_ length: Int, into cursor: inout SpillCursor, pool: SpillPool, heap: SpillHeap) -> Node? {
        if let memory = cursor.allocate(byteCount: length) { return Node(memory) }
        do throws(StorageError) {
            if let failure = state.pointee.spillFailure { throw failure }
            return Node(try pool.allocate(byteCount: length, stamp: state.pointee.stamp, &cursor))
        } catch {
            state.pointee.spillFailure = error
            if heap.holdsAllNodes { heap.countHeapNode(error, stamp: state.pointee.stamp) }
            return nil
        }
    }

    /// Frees a node that nobody else has seen.
    private func free(_ node: Node) {
        if !node.isSpilled, let heap = state.pointee.spillHeap, heap.holdsAllNodes { heap.subtractHeapNodes(1) }
        NodeHeap.free(node)
    }

    /// Frees nodes that only a released transaction snapshot needed.
    func free(_ garbage: NodeList) {
        state.pointee.nodeDelta -= garbage.count
        state.pointee.byteDelta -= garbage.byteCount
        garbage.forEach { free($0) }
    }

    private func enter(_ node: Node) {
        if state.pointee.madeCount == state.pointee.madeCapacity { growMade() }
        let index = state.pointee.madeCount
        node.link = UInt64(index)
        (state.pointee.made + index).initialize(to: node)
        state.pointee.madeCount = index &+ 1
        state.pointee.nodeDelta &+= 1
        state.pointee.byteDelta &+= node.byteCount
    }

    private func growMade() {
        let capacity = state.pointee.madeCapacity * 2
        let larger = UnsafeMutablePointer<Node>.allocate(capacity: capacity)
        larger.moveInitialize(from: state.pointee.made, count: state.pointee.madeCount)
        state.pointee.made.deallocate()
        state.pointee.made = larger
        state.pointee.madeCapacity = capacity
    }

    private func leave(_ node: Node) {
        let index = Int(node.link)
        let last = state.pointee.madeCount &- 1
        assert(
            index <= last && state.pointee.made[index] == node,
            "Firn: a node has a wrong index in the list of made nodes")
        let moved = state.pointee.made[last]
        state.pointee.made[index] = moved
        moved.link = UInt64(index)
        state.pointee.madeCount = last
    }

    /// Retires a node that is no longer part of the transaction's state. An on-disk node stays in its file until a
    /// compaction finds that no version reaches it.
    func retire(_ node: Node) {
        if node.isOnDisk {
            state.pointee.deadOnDisk.append(node.diskLocation)
            return
        }
        if node.stamp > state.pointee.held {
            leave(node)
            state.pointee.nodeDelta &-= 1
            state.pointee.byteDelta &-= node.byteCount
            free(node)
            return
        }
        if isNew(node) { leave(node) }
        state.pointee.dead.push(node)
    }

    /// Makes the node that `slot` refers to this transaction's own, copying it if necessary.
    @inline(__always)
    func own(_ slot: UnsafeMutablePointer<UInt64>) -> Node {
        let node = NodeRef(slot.pointee).node
        if node.stamp == state.pointee.stamp { return node }
        return replace(node, at: slot)
    }

    @inline(never)
    private func replace(_ node: Node, at slot: UnsafeMutablePointer<UInt64>) -> Node {
        replace(node, at: slot, by: copy(node))
    }

    /// Replaces the node that `slot` refers to by `copy`, this transaction's own form of it.
    func replace(_ node: Node, at slot: UnsafeMutablePointer<UInt64>, by copy: Node) -> Node {
        slot.pointee = NodeRef(copy).word
        retire(node)
        return copy
    }

    /// Begins a new stamp: from now on, nodes made before are copied before they are changed, although nobody holds
    /// them.
    func advance(to stamp: UInt64) {
        precondition(stamp > state.pointee.stamp, "Firn: a stamp must be above the one before it")
        state.pointee.stamp = stamp
    }

    /// Begins a transaction snapshot: the nodes made so far are from now on as immutable as those of a version.
    func beginSnapshot(stamp: UInt64, base: UInt64) {
        precondition(stamp > state.pointee.stamp, "Firn: a stamp must be above the one before it")
        state.pointee.deadBySnapshot.append((base, state.pointee.dead))
        state.pointee.dead = NodeList()
        state.pointee.held = state.pointee.stamp
        state.pointee.stamp = stamp
    }
}
