/// The elements of a long collection: a counted B+tree by position whose leaves are element blocks.
///
/// ```
/// list leaf   0             32      38                       inner node   0             32           544
///            ┌─────────────┬───────┬───────────────┐                     ┌─────────────┬────────────┬───────────────┐
///            │ node header │ zeros │ element block │                     │ node header │ refs       │ ends          │
///            └─────────────┴───────┴───────────────┘                     └─────────────┴────────────┴───────────────┘
///                           6 bytes                                                     u64 x 64     u32 x 64
/// ```
///
/// * A leaf's `count` is its block's count, and its `capacity` is the block's length. The memory behind the block is
///   not initialised. The six zeros put the first value of a fixed block on a multiple of 8.
/// * An inner node's `count` is its number of children, and its `width` is its level. `ends` has, for each child, the
///   number of elements in it and in the children before it, so the last entry is the node's total. The root may be a
///   leaf.
/// * A leaf holds at most `leafByteCount` bytes and `leafElementCount` elements, and no leaf is empty. When elements
///   are appended, a full last leaf stays full and a new one follows. Any other overfull leaf is split in halves. A
///   node that a removal leaves less than a quarter full is merged with a neighbour if the two fit together well.
///
/// Ownership follows the birth stamp, as everywhere (see `NodeWriter`). All operations take O(log n) time. Within its
/// leaf, an element's position is computed if its width is fixed, and otherwise found by walking over the elements.
struct ListTree {
    let layout: ElementLayout
    let writer: NodeWriter

    /// The length of a full leaf's block: 256 values of 8 bytes, and twice the longest element.
    static let leafByteCount = 2058
    /// The number of elements in a full leaf. It is more than any cell holds inline, so that a promoted block is
    /// always one leaf.
    static let leafElementCount = 1024
    static let fanout = Limits.fanout

    // MARK: Nodes

    struct Leaf {
        let node: Node
        let layout: ElementLayout

        @inline(__always)
        init(_ node: Node, _ layout: ElementLayout) {
            assert(node.kind == .listLeaf, "Firn: a list's leaf is a node of another kind")
            self.node = node
            self.layout = layout
        }

        var block: ElementBlock {
            @inline(__always) get { ElementBlock(node.address + NodeLayout.ListLeaf.block, layout) }
        }

        /// The block's length. Setting it also copies the block's count to the node.
        var length: Int {
            get { node.capacity }
            nonmutating set {
                node.capacity = newValue
                node.count = block.count
            }
        }

        var blockCapacity: Int { node.byteCount - NodeLayout.ListLeaf.block }
        var isUnderfull: Bool { length < leafByteCount / 4 && node.count < leafElementCount / 4 }
    }

    struct Inner {
        let node: Node

        @inline(__always)
        init(_ node: Node) {
            assert(node.kind == .listInner, "Firn: a list's inner node is a node of another kind")
            self.node = node
        }

        var refs: UnsafeMutablePointer<UInt64> { @inline(__always) get { node.pointer(NodeLayout.ListInner.refs) } }
        var ends: UnsafeMutablePointer<UInt32> { @inline(__always) get { node.pointer(NodeLayout.ListInner.ends) } }

        /// The number of elements below the node.
        var total: Int { node.count == 0 ? 0 : Int(ends[node.count - 1]) }

        /// The number of elements before a child.
        @inline(__always)
        func start(_ child: Int) -> Int { child == 0 ? 0 : Int(ends[child - 1]) }

        /// The number of elements in a child.
        func count(_ child: Int) -> Int { Int(ends[child]) - start(child) }

        /// Moves the ends of the child at `child` and of all children behind it by `delta`.
        func shiftEnds(from child: Int, by delta: Int) {
            let delta = UInt32(truncatingIfNeeded: delta)
            for index in child..<node.count { ends[index] &+= delta }
        }

        /// The child that holds the element at `index`, and the element's index in it. The index behind the last
        /// element belongs to the last child.
        @inline(__always)
        func find(_ index: Int) -> (child: Int, index: Int) {
            let last = node.count &- 1
            let ends = ends
            // Children of a list that was only appended to have the same size, so first try the child that this
            // implies.
            let guess = min(index / Int(ends[0]), last)
            if index < Int(ends[guess]) || guess == last, index >= start(guess) {
                return (guess, index &- start(guess))
            }
            var low = 0
            var high = last
            while low < high {
                let middle = (low &+ high) >> 1
                if index < Int(ends[middle]) { high = middle } else { low = middle &+ 1 }
            }
            return (low, index &- start(low))
        }
    }

    @inline(__always)
    static func isInner(_ node: Node) -> Bool {
        assert(node.kind == .listInner || node.kind == .listLeaf, "Firn: a list's node is a node of another kind")
        return node.kindNumber == Node.Kind.listInner.rawValue
    }

    /// The number of elements in the tree below a node.
    static func count(_ node: Node) -> Int {
        isInner(node) ? Inner(node).total : node.count
    }

    /// The leaf with the element at `index`, and the element's index in it.
    static func locate(_ index: Int, in root: NodeRef, _ layout: ElementLayout) -> (leaf: Leaf, index: Int) {
        var node = root.node
        var rest = index
        while isInner(node) {
            let inner = Inner(node)
            let position = inner.find(rest)
            rest = position.index
            node = NodeRef(inner.refs[position.child]).node
        }
        return (Leaf(node, layout), rest)
    }

    // MARK: Making and retiring nodes

    /// A leaf with the elements of `block`, and a capacity of at least `blockCapacity` bytes for the block.
    func makeLeaf(_ block: ElementBlock, length: Int, blockCapacity: Int) -> Leaf {
        let leaf = makeEmptyLeaf(blockCapacity: max(blockCapacity, length))
        leaf.block.base.copyMemory(from: block.base, byteCount: length)
        leaf.length = length
        return leaf
    }

    func makeEmptyLeaf(blockCapacity: Int) -> Leaf {
        let node = writer.make(.listLeaf, byteCount: NodeLayout.ListLeaf.block + blockCapacity)
        node.clear(NodeLayout.headerByteCount..<NodeLayout.ListLeaf.block)
        let leaf = Leaf(node, layout)
        leaf.length = leaf.block.makeEmpty()
        return leaf
    }

    func makeInner(level: Int) -> Inner {
        Inner(writer.make(.listInner, width: level, byteCount: NodeLayout.ListInner.byteCount))
    }

    /// The leaf at `slot`, owned by the transaction, with a capacity of at least `length` bytes for its block.
    func ownLeaf(_ slot: UnsafeMutablePointer<UInt64>, length: Int) -> Leaf {
        let old = Leaf(NodeRef(slot.pointee).node, layout)
        if writer.owns(old.node) && old.blockCapacity >= length { return old }
        // A leaf that grows gets some extra capacity. A leaf that is only copied keeps its capacity.
        let capacity =
            old.blockCapacity >= length
            ? old.blockCapacity : length > Self.leafByteCount ? length : min(length + length / 2, Self.leafByteCount)
        let leaf = makeLeaf(old.block, length: old.length, blockCapacity: capacity)
        slot.pointee = NodeRef(leaf.node).word
        writer.retire(old.node)
        return leaf
    }

    /// Retires every node of the tree, including blobs.
    func retireAll(_ root: NodeRef) {
        Self.forEachNode(root, layout: layout) { writer.retire($0) }
    }

    /// Calls `body` with every node of the tree, including blobs, children first. Stops once damage has been met.
    static func forEachNode(_ root: NodeRef, layout: ElementLayout, _ body: (Node) -> Void) {
        let node = root.node
        if isInner(node) {
            let inner = Inner(node)
            for child in 0..<node.count where !DamageRecord.isSet {
                forEachNode(NodeRef(inner.refs[child]), layout: layout, body)
            }
        } else {
            Leaf(node, layout).block.forEachBlob(0..<node.count, body)
        }
        body(node)
    }
}
