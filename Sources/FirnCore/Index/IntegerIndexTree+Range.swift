extension IntegerIndexTree {
    /// The pairs from `position` to the end of the leaf that holds it; nil if no pair is at `position`. To continue,
    /// call again with `position + count`. The run is valid until other leaves are read (`Node.isScratch`).
    static func run(from position: Int, in root: NodeRef) -> Run? {
        guard !root.isNone, position >= 0 else { return nil }
        var node = root.node
        var position = position
        while node.width != 0 {
            let inner = IntegerIndexInner(node)
            node = inner.child(inner.child(at: &position))
        }
        return position < node.count ? Run(node, position, count: node.count - position) : nil
    }

    /// The pairs before `position` in the leaf that holds the last of them; nil if no pair is at `position - 1`. To
    /// walk backwards, call again with `position - count`. The run is valid as long as one of `run(from:)`.
    static func run(upTo position: Int, in root: NodeRef) -> Run? {
        guard !root.isNone, position > 0 else { return nil }
        var node = root.node
        var last = position - 1
        while node.width != 0 {
            let inner = IntegerIndexInner(node)
            node = inner.child(inner.child(at: &last))
        }
        return last < node.count ? Run(node, 0, count: last + 1) : nil
    }

    /// Calls `body` with the pairs at `positions` in ascending order, until it returns false. There is one run per
    /// leaf.
    static func forEachRun(_ positions: Range<Int>, in root: NodeRef, _ body: (Run) -> Bool) {
        guard !root.isNone, !positions.isEmpty else { return }
        _ = forEachRun(root.node, lower: positions.lowerBound, upper: positions.upperBound, body)
    }

    /// Calls `body` with the runs of `forEachRun` in descending order. Within a run the pairs are in ascending order.
    static func forEachRunBackwards(_ positions: Range<Int>, in root: NodeRef, _ body: (Run) -> Bool) {
        guard !root.isNone, !positions.isEmpty else { return }
        _ = forEachRunBackwards(root.node, lower: positions.lowerBound, upper: positions.upperBound, body)
    }

    private static func forEachRun(_ node: Node, lower: Int, upper: Int, _ body: (Run) -> Bool) -> Bool {
        if node.width == 0 { return ScratchNode.holding(node) { body(run($0, lower: lower, upper: upper)) } }
        let inner = IntegerIndexInner(node)
        var start = 0
        for index in 0..<node.count {
            if start >= upper { break }
            let end = start + Int(inner.counts[index])
            if end > lower {
                guard forEachRun(inner.child(index), lower: max(lower - start, 0), upper: min(upper, end) - start, body)
                else {
                    return false
                }
            }
            start = end
        }
        return true
    }

    private static func forEachRunBackwards(_ node: Node, lower: Int, upper: Int, _ body: (Run) -> Bool) -> Bool {
        if node.width == 0 { return ScratchNode.holding(node) { body(run($0, lower: lower, upper: upper)) } }
        let inner = IntegerIndexInner(node)
        var end = inner.total
        for index in stride(from: node.count - 1, through: 0, by: -1) {
            if end <= lower { break }
            let start = end - Int(inner.counts[index])
            if start < upper {
                guard
                    forEachRunBackwards(
                        inner.child(index), lower: max(lower - start, 0), upper: min(upper, end) - start, body)
                else { return false }
            }
            end = start
        }
        return true
    }

    @inline(__always)
    private static func run(_ leaf: Node, lower: Int, upper: Int) -> Run {
        let end = min(upper, leaf.count)
        precondition(lower < end, "Firn: positions beyond the end of an index")
        return Run(leaf, lower, count: end - lower)
    }
}
