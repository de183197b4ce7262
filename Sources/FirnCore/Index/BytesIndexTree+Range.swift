extension BytesIndexTree {
    /// The pairs from `position` to the end of the leaf that holds it; nil if no pair is at `position`. To continue,
    /// call again with `position + count`. The run is valid until other leaves are read (`Node.isScratch`).
    static func run(from position: Int, in root: NodeRef) -> Run? {
        guard !root.isNone, position >= 0 else { return nil }
        var page = SlottedPage(root.node)
        var position = position
        while !page.isLeaf { page = SlottedPage(page.child(page.child(at: &position))) }
        return position < page.count ? Run(page: page, start: position, count: page.count - position) : nil
    }

    /// The pairs before `position` in the leaf that holds the last of them; nil if no pair is at `position - 1`. To
    /// walk backwards, call again with `position - count`. The run is valid as long as one of `run(from:)`.
    static func run(upTo position: Int, in root: NodeRef) -> Run? {
        guard !root.isNone, position > 0 else { return nil }
        var page = SlottedPage(root.node)
        var last = position - 1
        while !page.isLeaf { page = SlottedPage(page.child(page.child(at: &last))) }
        return last < page.count ? Run(page: page, start: 0, count: last + 1) : nil
    }

    /// Calls `body` with the pairs at `positions` in ascending order, until it returns false. There is one run per
    /// leaf.
    static func forEachRun(_ positions: Range<Int>, in root: NodeRef, _ body: (Run) -> Bool) {
        guard !root.isNone, !positions.isEmpty else { return }
        _ = forEachRun(SlottedPage(root.node), lower: positions.lowerBound, upper: positions.upperBound, body)
    }

    /// Calls `body` with the runs of `forEachRun` in descending order. Within a run the pairs are in ascending order.
    static func forEachRunBackwards(_ positions: Range<Int>, in root: NodeRef, _ body: (Run) -> Bool) {
        guard !root.isNone, !positions.isEmpty else { return }
        _ = forEachRunBackwards(SlottedPage(root.node), lower: positions.lowerBound, upper: positions.upperBound, body)
    }

    private static func forEachRun(_ page: SlottedPage, lower: Int, upper: Int, _ body: (Run) -> Bool) -> Bool {
        if page.isLeaf {
            return ScratchNode.holding(page.node) { body(run(SlottedPage($0), lower: lower, upper: upper)) }
        }
        var start = 0
        for index in 0..<page.count {
            if start >= upper { break }
            let end = start + page.childCount(index)
            if end > lower {
                let child = SlottedPage(page.child(index))
                guard forEachRun(child, lower: max(lower - start, 0), upper: min(upper, end) - start, body) else {
                    return false
                }
            }
            start = end
        }
        return true
    }

    private static func forEachRunBackwards(_ page: SlottedPage, lower: Int, upper: Int, _ body: (Run) -> Bool)
        -> Bool
    {
        if page.isLeaf {
            return ScratchNode.holding(page.node) { body(run(SlottedPage($0), lower: lower, upper: upper)) }
        }
        var end = page.total
        for index in stride(from: page.count - 1, through: 0, by: -1) {
            if end <= lower { break }
            let start = end - page.childCount(index)
            if start < upper {
                let child = SlottedPage(page.child(index))
                guard forEachRunBackwards(child, lower: max(lower - start, 0), upper: min(upper, end) - start, body)
                else {
                    return false
                }
            }
            end = start
        }
        return true
    }

    @inline(__always)
    private static func run(_ page: SlottedPage, lower: Int, upper: Int) -> Run {
        let end = min(upper, page.count)
        precondition(lower < end, "Firn: positions beyond the end of an index")
        return Run(page: page, start: lower, count: end - lower)
    }
}
