/// The nodes that died when one version was replaced by the next, in buckets by birth stamp.
///
/// History is linear, so a dead node is needed exactly by the versions in [birth, death). Suppose that version p is
/// dropped, and that q is the active version before it. Then p's dead nodes that were born after q are freed, and the
/// rest pass to q. (ZFS's dead lists follow the same rule.)
///
/// A **bucket** holds the dead nodes born in (low, high], where both bounds were active when the bucket was made.
/// Version q was already active then, and buckets are only merged if no active version lies between them. So q is never
/// strictly inside a bucket: a bucket is freed or passed on as a whole, in O(1).
struct DeadList {
    struct Bucket {
        /// The exclusive lower bound of the birth stamps in the bucket.
        var low: UInt64
        /// The inclusive upper bound of the birth stamps in the bucket.
        var high: UInt64
        var nodes: NodeList
    }

    /// In ascending order of birth stamps.
    private(set) var buckets: [Bucket] = []

    /// Sorts a transaction's dead nodes by birth stamp into the intervals between `active` stamps. These are in
    /// ascending order, and the last is the stamp of the version after which the nodes died.
    init(_ nodes: NodeList, active: ArraySlice<UInt64>) {
        nodes.forEach { node in
            // Nearly all dead nodes of a commit were born in the last interval, or in the interval of a node just
            // before.
            if let known = buckets.lastIndex(where: { $0.low < node.stamp }), node.stamp <= buckets[known].high {
                return buckets[known].nodes.push(node)
            }
            var low = active.startIndex
            var high = active.endIndex - 1
            while low < high {
                let middle = (low + high) >> 1
                if active[middle] < node.stamp { low = middle + 1 } else { high = middle }
            }
            var bucket = Bucket(
                low: low == active.startIndex ? 0 : active[low - 1], high: active[low], nodes: NodeList())
            bucket.nodes.push(node)
            buckets.insert(bucket, at: (buckets.lastIndex { $0.low < bucket.low } ?? -1) + 1)
        }
    }

    init() {}

    /// The number of bytes of the nodes born after `stamp`. If the active version before the list's version has that
    /// stamp, the list's version alone retains these bytes.
    func byteCount(bornAfter stamp: UInt64) -> Int {
        buckets.reversed().prefix { $0.low >= stamp }.reduce(0) { $0 + $1.nodes.byteCount }
    }

    /// The number of bytes of the nodes that the active version with `stamp` reaches.
    func byteCount(bornThrough stamp: UInt64) -> Int {
        buckets.prefix { $0.low < stamp }.reduce(0) { $0 + $1.nodes.byteCount }
    }

    /// Removes the nodes born after `stamp` and returns them.
    mutating func takeNodes(bornAfter stamp: UInt64) -> NodeList {
        var result = NodeList()
        while let bucket = buckets.last, bucket.low >= stamp {
            result.join(bucket.nodes)
            buckets.removeLast()
        }
        return result
    }

    /// Adds another list's buckets to this list. Neighbouring buckets are merged if no active version lies strictly
    /// inside their joint interval; `nextActive` returns the least active stamp above a given one.
    mutating func join(_ other: DeadList, nextActive: (UInt64) -> UInt64) {
        guard !other.buckets.isEmpty else { return }
        var merged: [Bucket] = []
        merged.reserveCapacity(buckets.count + other.buckets.count)
        var (i, j) = (0, 0)
        while i < buckets.count || j < other.buckets.count {
            var next: Bucket
            if j == other.buckets.count || (i < buckets.count && buckets[i].low <= other.buckets[j].low) {
                next = buckets[i]
                i += 1
            } else {
                next = other.buckets[j]
                j += 1
            }
            if let last = merged.last, nextActive(last.low) >= max(last.high, next.high) {
                next.low = last.low
                next.high = max(last.high, next.high)
                next.nodes.join(last.nodes)
                merged.removeLast()
            }
            merged.append(next)
        }
        buckets = merged
    }
}
