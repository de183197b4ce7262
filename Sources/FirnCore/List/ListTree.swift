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
/// * A leaf's `count` is that of its block, `capacity` the block's length; what lies behind that is not initialised. The six zeros put the first
///   value of a fixed block on a multiple of 8.
/// * An inner node's `count` is its number of children, `width` its level. `ends` has for each child the number of elements in it and in those before
///   it, so that the last is the node's total. The root may be a leaf.
/// * A leaf holds at most `leafByteCount` bytes and `leafElementCount` elements, and none is empty. The last leaf is left behind full when elements
///   are appended; any other overfull leaf splits in halves. What a removal leaves below a quarter joins a neighbour where the two fit well.
///
/// Ownership is by the birth stamp, as everywhere: see `NodeWriter`. All operations take O(log n) time; an element's place within its leaf is
/// computed where its width is fixed, else walked to.
struct ListTree {
    let layout: ElementLayout
    let writer: NodeWriter

    /// Length of a full leaf's block: 256 values of 8 bytes, and twice the longest element.
    static let leafByteCount = 2058
    /// Elements of a full leaf; more than any cell holds inline, so that a promoted block is always one leaf.
    static let leafElementCount = 1024
    static let fanout = Limits.fanout

    // MARK: Nodes

    struct Leaf {
        let node: Node
        let layout: ElementLayout

        static let blockOffset = 38

        @inline(__always)
        init(_ node: Node, _ layout: ElementLayout) {
            assert(node.kind == .listLeaf, "Firn: a list's leaf is no list leaf")
            self.node = node
            self.layout = layout
        }

        var block: ElementBlock { @inline(__always) get { ElementBlock(node.address + Leaf.blockOffset, layout) } }

        /// The block's length. Setting it takes over the block's count.
        var length: Int {
            get { node.capacity }
            nonmutating set {
                node.capacity = newValue
                node.count = block.count
            }
        }

        var room: Int { node.byteCount - Leaf.blockOffset }
        var isUnderfull: Bool { length < leafByteCount / 4 && node.count < leafElementCount / 4 }
    }

    struct Inner {
        let node: Node

        @inline(__always)
        init(_ node: Node) {
            assert(node.kind == .listInner, "Firn: a list's inner node is none")
            self.node = node
        }

        var refs: UnsafeMutablePointer<UInt64> { @inline(__always) get { node.pointer(32) } }
        var ends: UnsafeMutablePointer<UInt32> { @inline(__always) get { node.pointer(32 + 8 * fanout) } }
        static let byteCount = 32 + 12 * fanout

        /// Elements below.
        var total: Int { node.count == 0 ? 0 : Int(ends[node.count - 1]) }

        /// Elements before a child.
        @inline(__always)
        func start(_ child: Int) -> Int { child == 0 ? 0 : Int(ends[child - 1]) }

        /// Elements in a child.
        func count(_ child: Int) -> Int { Int(ends[child]) - start(child) }

        /// The child at `child`, and all behind it, end `delta` later.
        func shiftEnds(from child: Int, by delta: Int) {
            let delta = UInt32(truncatingIfNeeded: delta)
            for place in child..<node.count { ends[place] &+= delta }
        }

        /// The child that holds the element at `index`, and its place there. The place behind the last element is the last child's.
        @inline(__always)
        func find(_ index: Int) -> (child: Int, index: Int) {
            let last = node.count &- 1
            let ends = ends
            // A list that was appended to has children of one size: try where the element then is.
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
        assert(node.kind == .listInner || node.kind == .listLeaf, "Firn: a node of a list is none")
        return node.kindNumber == Node.Kind.listInner.rawValue
    }

    /// Elements in the tree under a node.
    static func count(_ node: Node) -> Int {
        isInner(node) ? Inner(node).total : node.count
    }

    /// The leaf with the element at `index`, and its place there.
    static func locate(_ index: Int, in root: NodeRef, _ layout: ElementLayout) -> (leaf: Leaf, index: Int) {
        var node = root.node
        var rest = index
        while isInner(node) {
            let inner = Inner(node)
            let place = inner.find(rest)
            rest = place.index
            node = NodeRef(inner.refs[place.child]).node
        }
        return (Leaf(node, layout), rest)
    }

    // MARK: Making and letting go

    /// A leaf with the elements of `block`, with `room` for its block to grow.
    func makeLeaf(_ block: ElementBlock, length: Int, room: Int) -> Leaf {
        let leaf = makeEmptyLeaf(room: max(room, length))
        leaf.block.base.copyMemory(from: block.base, byteCount: length)
        leaf.length = length
        return leaf
    }

    func makeEmptyLeaf(room: Int) -> Leaf {
        let node = writer.make(.listLeaf, byteCount: Leaf.blockOffset + room)
        node.store(UInt64(0), 32)
        let leaf = Leaf(node, layout)
        leaf.length = leaf.block.makeEmpty()
        return leaf
    }

    func makeInner(level: Int) -> Inner {
        Inner(writer.make(.listInner, width: level, byteCount: Inner.byteCount))
    }

    /// The leaf at `slot` as the transaction's own, with room for a block of `length` bytes.
    func ownLeaf(_ slot: UnsafeMutablePointer<UInt64>, length: Int) -> Leaf {
        let old = Leaf(NodeRef(slot.pointee).node, layout)
        if writer.owns(old.node) && old.room >= length { return old }
        // A leaf that grows gets room for some more; one that is only copied keeps the room it has.
        let room =
            old.room >= length
            ? old.room : length > Self.leafByteCount ? length : min(length + length / 2, Self.leafByteCount)
        let leaf = makeLeaf(old.block, length: old.length, room: room)
        slot.pointee = NodeRef(leaf.node).word
        writer.retire(old.node)
        return leaf
    }

    /// Lets the whole tree go, blobs included.
    func retireAll(_ root: NodeRef) {
        Self.forEachNode(root, layout) { writer.retire($0) }
    }

    /// Calls `body` with every node of the tree, blobs included, children first. It ends once damage has been met.
    static func forEachNode(_ root: NodeRef, _ layout: ElementLayout, _ body: (Node) -> Void) {
        let node = root.node
        if isInner(node) {
            let inner = Inner(node)
            for child in 0..<node.count where !Faults.isSet { forEachNode(NodeRef(inner.refs[child]), layout, body) }
        } else {
            Leaf(node, layout).block.forEachBlob(0..<node.count, body)
        }
        body(node)
    }
}
