extension IntegerIndexTree {
    /// Makes the node whose reference lies at `slot` the transaction's own. A progression is expanded to a leaf.
    @inline(__always)
    static func own(_ slot: UnsafeMutablePointer<UInt64>, _ writer: NodeWriter) -> Node {
        let node = NodeRef(slot.pointee).node
        if writer.owns(node) { return node }
        guard node.width == 0, node.form == IntegerIndexLeaf.progressionForm else { return writer.own(slot) }
        let leaf = IntegerIndexLeaf.make(capacity: node.capacity, writer)
        IntegerIndexProgression(node).fill(leaf)
        return writer.replace(node, at: slot, by: leaf.node)
    }

    /// A node that was split off to the right, with the separator and count that its parent must insert.
    struct Split {
        var ref: UInt64
        /// The separator before the node: its key and its value.
        var key: UInt64
        var value: Int64
        /// The number of pairs below the node.
        var count: Int

        static var none: Split { @inline(__always) get { Split(ref: 0, key: 0, value: 0, count: 0) } }
    }

    /// Adds the pair. `value` is not `Int64.min`.
    static func insert(
        _ key: UInt64, value: Int64, at root: UnsafeMutablePointer<UInt64>, writer: NodeWriter
    ) {
        precondition(value != .min, "Firn: an index can't hold the value Int64.min")
        if root.pointee == 0 {
            let leaf = IntegerIndexLeaf.make(capacity: NodeLayout.IntegerIndexLeaf.capacities.least, writer)
            leaf.insert(key, value, at: 0)
            root.pointee = NodeRef(leaf.node).word
            return
        }
        // The insert can't fail, so the counts are raised on the way down.
        var slot = root
        var node = own(slot, writer)
        while node.width != 0 {
            let inner = IntegerIndexInner(node)
            let index = inner.upperChild(key, value)
            inner.counts[index] &+= 1
            slot = inner.refs + index
            node = own(slot, writer)
        }
        if node.count == node.capacity {
            guard node.capacity < fanout else {
                insertSplitting(key, value: value, at: root, writer: writer)
                return
            }
            node = resize(node, capacity: node.capacity * NodeLayout.RootSizes.growth, at: slot, writer)
        }
        let leaf = IntegerIndexLeaf(node)
        leaf.insert(key, value, at: leaf.upperBound(key, value))
    }

    /// Adds the pair if its key is above all others and the last leaf has space. This is usual if keys come in
    /// ascending order. Otherwise returns false and changes nothing.
    static func append(
        _ key: UInt64, value: Int64, at root: UnsafeMutablePointer<UInt64>, writer: NodeWriter
    ) -> Bool {
        guard root.pointee != 0, value != .min else { return false }
        var node = NodeRef(root.pointee).node
        while node.width != 0 { node = IntegerIndexInner(node).child(node.count &- 1) }
        let count = node.count
        guard count > 0, count < node.capacity, IntegerIndexLeaf(node).keys[count &- 1] < key else { return false }
        var slot = root
        node = own(slot, writer)
        while node.width != 0 {
            let inner = IntegerIndexInner(node)
            let last = node.count &- 1
            inner.counts[last] &+= 1
            slot = inner.refs + last
            node = own(slot, writer)
        }
        IntegerIndexLeaf(node).insert(key, value, at: count)
        return true
    }

    /// Moves a root leaf's pairs into a leaf of another capacity.
    static func resize(
        _ node: Node, capacity: Int, at slot: UnsafeMutablePointer<UInt64>, _ writer: NodeWriter
    ) -> Node {
        let resized = IntegerIndexLeaf.make(capacity: capacity, writer)
        resized.append(from: IntegerIndexLeaf(node), at: 0, count: node.count)
        slot.pointee = NodeRef(resized.node).word
        writer.retire(node)
        return resized.node
    }

    /// Inserts when the leaf is full. The nodes on the path are already owned and already count the new pair.
    @inline(never)
    private static func insertSplitting(
        _ key: UInt64, value: Int64, at root: UnsafeMutablePointer<UInt64>, writer: NodeWriter
    ) {
        let split = split(root, key: key, value: value, isRightEdge: true, writer: writer)
        guard split.ref != 0 else { return }
        let left = NodeRef(root.pointee).node
        let parent = IntegerIndexInner.make(level: left.width + 1, writer)
        let (first, count) =
            left.width == 0
            ? (IntegerIndexLeaf(left).keys[0], left.count)
            : (IntegerIndexInner(left).keys[0], IntegerIndexInner(left).total)
        parent.insertChild(Split(ref: root.pointee, key: first, value: .min, count: count), at: 0)
        parent.insertChild(split, at: 1)
        root.pointee = NodeRef(parent.node).word
    }

    private static func split(
        _ slot: UnsafeMutablePointer<UInt64>, key: UInt64, value: Int64, isRightEdge: Bool, writer: NodeWriter
    ) -> Split {
        let node = own(slot, writer)
        if node.width == 0 {
            return splitLeaf(IntegerIndexLeaf(node), key: key, value: value, isRightEdge: isRightEdge, writer: writer)
        }
        let inner = IntegerIndexInner(node)
        let index = inner.upperChild(key, value)
        let isLast = index == node.count - 1
        let below = split(
            inner.refs + index, key: key, value: value, isRightEdge: isRightEdge && isLast, writer: writer)
        guard below.ref != 0 else { return .none }
        inner.counts[index] -= Int64(below.count)
        if node.count < fanout {
            inner.insertChild(below, at: index + 1)
            return .none
        }
        let right = IntegerIndexInner.make(level: node.width, writer)
        if isRightEdge && isLast {
            right.insertChild(below, at: 0)
            return Split(ref: NodeRef(right.node).word, key: below.key, value: below.value, count: below.count)
        }
        let half = fanout / 2
        right.append(from: inner, at: half, count: fanout - half)
        node.count = half
        if index < half {
            inner.insertChild(below, at: index + 1)
        } else {
            right.insertChild(below, at: index + 1 - half)
        }
        return Split(
            ref: NodeRef(right.node).word, key: right.keys[0], value: right.values[0], count: right.total)
    }

    private static func splitLeaf(
        _ leaf: IntegerIndexLeaf, key: UInt64, value: Int64, isRightEdge: Bool, writer: NodeWriter
    ) -> Split {
        let index = leaf.upperBound(key, value)
        let right = IntegerIndexLeaf.make(capacity: fanout, writer)
        if isRightEdge && index == leaf.count {
            right.insert(key, value, at: 0)
        } else {
            let half = fanout / 2
            right.append(from: leaf, at: half, count: fanout - half)
            leaf.node.count = half
            if index <= half {
                leaf.insert(key, value, at: index)
            } else {
                right.insert(key, value, at: index - half)
            }
        }
        let separator = separator(leaf, right)
        return Split(
            ref: NodeRef(right.node).word, key: separator.key, value: separator.value, count: right.count)
    }

    /// The separator between two neighbouring leaves.
    static func separator(_ left: IntegerIndexLeaf, _ right: IntegerIndexLeaf) -> (key: UInt64, value: Int64) {
        let key = right.keys[0]
        return (key, left.keys[left.count - 1] == key ? right.values[0] : .min)
    }
}
