import FirnStorage

/// What a running transaction does to nodes: makes them, copies those that are not its own, and lets go of those it replaced.
///
/// The state lies behind one pointer, so that passing a `NodeWriter` costs nothing and no access is checked for exclusivity. It belongs to the
/// thread that runs the transaction; nobody else touches it.
///
/// * A node **made** here is entered in `made` (its `link` is its place there), so that a rollback can free it.
/// * A node **retired** here that is younger than the last state held (`held`: the version begun from, or a sub-version) is freed at once: nobody
///   else can see it. An older one goes on `dead`, the list of what died since that state.
struct NodeWriter {
    struct State {
        /// The stamp that nodes made now bear.
        var stamp: UInt64
        /// The stamp of the last state that somebody holds: of the version begun from, or of a sub-version.
        var held: UInt64
        /// The transaction's first stamp: what bears it or a later one was made by this transaction.
        let firstStamp: UInt64
        var made: UnsafeMutablePointer<Node>
        var madeCount = 0
        var madeCapacity: Int
        var dead = NodeList()
        var nodeDelta = 0
        /// The checkpoint's nodes that the transaction has replaced: `Node.diskLocation`.
        var deadOnDisk: [(address: UInt, byteCount: Int)] = []
        var byteDelta = 0
        /// The dead lists of sub-versions: each is what died between that base and the next.
        var earlier: [(base: UInt64, dead: NodeList)] = []
        /// Where nodes go once the transaction has more than `spillThreshold` bytes; nil for a store without files.
        var spillHeap: SpillHeap?
        var spillThreshold = Int.max
        var cursors = SpillCursors()
        /// Why no scratch file could be made: the heap must do for the rest of the transaction.
        var spillFailure: StorageError?
        /// Where accessors learn that leaves were copied or rows moved; nil outside a realm.
        var generation: UnsafeMutablePointer<UInt64>?
        /// Whether chunks are copied before rows are appended to them, as somebody reads behind their last row:
        /// `NodeHeap.deferredFreesCount`.
        var copiesChunks = false
        /// The growth at which a store with a log encodes what is done; see `StreamedInserts`.
        var flushAt = Int.max
    }

    let state: UnsafeMutablePointer<State>

    /// A writer that makes nodes under `stamp`, above that of the version it begins from.
    ///
    /// - Parameter memory: what another writer left, to be used again.
    init(stamp: UInt64, held: UInt64? = nil, memory: Memory? = nil) {
        let memory = memory ?? Memory(state: .allocate(capacity: 1), made: .allocate(capacity: 64), madeCapacity: 64)
        state = memory.state
        state.initialize(
            to: State(
                stamp: stamp, held: held ?? stamp - 1, firstStamp: stamp, made: memory.made,
                madeCapacity: memory.madeCapacity))
    }

    /// The memory of a writer that is done, for the next one.
    struct Memory {
        fileprivate let state: UnsafeMutablePointer<State>
        fileprivate let made: UnsafeMutablePointer<Node>
        fileprivate let madeCapacity: Int

        /// So much that it is not worth keeping.
        var isLarge: Bool { madeCapacity > 4096 }

        func deallocate() {
            made.deallocate()
            state.deallocate()
        }
    }

    /// From now on nodes go there: all, or as soon as there are more bytes of them in all than the place's threshold; `heapByteCount` are there already.
    func spill(to heap: SpillHeap, heapByteCount: Int) {
        state.pointee.spillHeap = heap
        state.pointee.spillThreshold = heap.takesAll ? .min : heap.place.threshold - heapByteCount
        // What earlier transactions have left is not wanted soon.
        if !heap.takesAll, heapByteCount < heap.place.threshold / 2 { heap.dropIdle() }
    }

    /// Ends the writer. The nodes have found their owner by then. Gives its memory, which the caller frees or uses again.
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

    /// True where this transaction made the node, in this or an earlier sub-version.
    @inline(__always)
    func isNew(_ node: Node) -> Bool { node.stamp >= state.pointee.firstStamp }

    /// Tells accessors that what they remember of leaves and rows may be wrong.
    @inline(__always)
    func layoutChanged() {
        if let generation = state.pointee.generation { generation.pointee &+= 1 }
    }

    /// A new node with its header filled in; the payload is not initialised.
    func make(_ kind: Node.Kind, form: UInt8 = 0, width: Int = 0, count: Int = 0, capacity: Int = 0, byteCount: Int)
        -> Node
    {
        let length = (byteCount + 15) & ~15
        let (node, spilled) = allocate(length, kind.rawValue)
        node.stamp = state.pointee.stamp
        node.store(kind.rawValue | spilled, 16)
        node.form = form
        node.width = width
        node.count = count
        node.capacity = capacity
        node.byteCount = length
        enter(node)
        return node
    }

    /// A copy of `node` under the current stamp: byte for byte, but for a leaf that a checkpoint holds as a `IntegerIndexRow`.
    func copy(_ node: Node) -> Node {
        if node.isOnDisk, node.form == IntegerIndexLeaf.rowForm, node.kindNumber == Node.Kind.integerIndexLeaf.rawValue
        {
            let leaf = IntegerIndexLeaf.make(capacity: node.capacity, self)
            IntegerIndexRow(node).fill(leaf)
            return leaf.node
        }
        let length = node.byteCount
        let (copy, spilled) = allocate(length, node.kindNumber)
        copy.address.copyMemory(from: node.address, byteCount: length)
        copy.stamp = state.pointee.stamp
        copy.store(copy.kindNumber | spilled, 16)
        enter(copy)
        return copy
    }

    /// Memory for a node of a kind, and the bit that its kind bears.
    @inline(__always)
    private func allocate(_ length: Int, _ kind: UInt8) -> (Node, UInt8) {
        if state.pointee.byteDelta > state.pointee.spillThreshold, let place = spill(length, kind) {
            return (place, Node.spilledBit)
        }
        return (NodeHeap.allocate(byteCount: length), 0)
    }

    /// Memory in a scratch file; nil where none can be made. A full disk is no reason to fail a transaction that memory may still hold.
    @inline(never)
    private func spill(_ length: Int, _ kind: UInt8) -> Node? {
        guard let heap = state.pointee.spillHeap else { return nil }
        return kind == Node.Kind.chunk.rawValue || kind == Node.Kind.blob.rawValue
            ? spill(length, &state.pointee.cursors.values, heap.values, heap)
            : spill(length, &state.pointee.cursors.structure, heap.structure, heap)
    }

    private func spill(_ length: Int, _ cursor: inout SpillCursor, _ pool: SpillPool, _ heap: SpillHeap) -> Node? {
        if let memory = cursor.allocate(byteCount: length) { return Node(memory) }
        do throws(StorageError) {
            if let failure = state.pointee.spillFailure { throw failure }
            return Node(try pool.allocate(byteCount: length, stamp: state.pointee.stamp, &cursor))
        } catch {
            state.pointee.spillFailure = error
            if heap.takesAll { heap.countOutside(error, stamp: state.pointee.stamp) }
            return nil
        }
    }

    /// Frees a node that nobody else has seen.
    private func free(_ node: Node) {
        if !node.isSpilled, let heap = state.pointee.spillHeap, heap.takesAll { heap.subtractOutside(1) }
        NodeHeap.free(node)
    }

    /// Frees what a held state of the transaction needed.
    func free(_ garbage: NodeList) {
        state.pointee.nodeDelta -= garbage.count
        state.pointee.byteDelta -= garbage.byteCount
        garbage.forEach { free($0) }
    }

    private func enter(_ node: Node) {
        if state.pointee.madeCount == state.pointee.madeCapacity { growMade() }
        let place = state.pointee.madeCount
        node.link = UInt64(place)
        (state.pointee.made + place).initialize(to: node)
        state.pointee.madeCount = place &+ 1
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
        let place = Int(node.link)
        let last = state.pointee.madeCount &- 1
        assert(place <= last && state.pointee.made[place] == node, "Firn: a node lost its place")
        let moved = state.pointee.made[last]
        state.pointee.made[place] = moved
        moved.link = UInt64(place)
        state.pointee.madeCount = last
    }

    /// The node is no longer part of the tip. One in a checkpoint stays there until a compaction finds that no version reaches it.
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

    /// Makes the node whose reference lies at `slot` this transaction's own, copying it if need be.
    @inline(__always)
    func own(_ slot: UnsafeMutablePointer<UInt64>) -> Node {
        let node = NodeRef(slot.pointee).node
        if node.stamp == state.pointee.stamp { return node }
        return replace(node, at: slot)
    }

    @inline(never)
    private func replace(_ node: Node, at slot: UnsafeMutablePointer<UInt64>) -> Node {
        let copy = copy(node)
        slot.pointee = NodeRef(copy).word
        retire(node)
        return copy
    }

    /// From now on whatever was made before is copied before it is changed, though nobody holds it.
    func advance(to stamp: UInt64) {
        precondition(stamp > state.pointee.stamp)
        state.pointee.stamp = stamp
    }

    /// Begins a sub-version: what was made so far is from now on as immutable as any version's.
    func beginSubversion(stamp: UInt64, base: UInt64) {
        precondition(stamp > state.pointee.stamp)
        state.pointee.earlier.append((base, state.pointee.dead))
        state.pointee.dead = NodeList()
        state.pointee.held = state.pointee.stamp
        state.pointee.stamp = stamp
    }
}
