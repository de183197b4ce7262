import FirnBytes

extension BytesIndexTree {
    /// Throws if the tree breaks an invariant. O(n).
    ///
    /// Checks:
    /// - kinds and levels
    /// - the order of pairs within and across leaves
    /// - separators and counts
    /// - each page's bytes and heads
    /// - that no node is younger than its parent
    static func checkInvariants(_ root: NodeRef) throws(Damage) {
        guard !root.isNone else { return }
        let page = SlottedPage(root.node)
        try Damage.check(
            page.count >= (page.isLeaf ? 1 : 2), "bytes index tree: the root has \(page.count) entries")
        var previous: Bound?
        _ = try check(
            page, level: page.node.width, lower: nil, upper: nil, stamp: page.node.stamp, isRoot: true, &previous)
    }

    private struct Bound {
        var key: IndexKey
        var value: Int64

        init(_ page: SlottedPage, _ index: Int) {
            key = page.key(index)
            value = page.value(index)
        }

        func isAbove(_ other: Bound) -> Bool {
            let order = key.compare(other.key)
            return order > 0 || order == 0 && value > other.value
        }
    }

    private static func check(
        _ page: SlottedPage, level: Int, lower: Bound?, upper: Bound?, stamp: UInt64, isRoot: Bool,
        _ previous: inout Bound?
    ) throws(Damage) -> Int {
        let node = page.node
        let location = "bytes index tree, node at \(node.address), level \(level):"
        try Damage.check(
            node.stamp <= stamp, "\(location) stamp \(node.stamp) is above its parent's \(stamp)")
        try Damage.check(node.width == level, "\(location) says that its level is \(node.width)")
        try Damage.check(
            node.kind == (level == 0 ? .bytesIndexLeaf : .bytesIndexInner), "\(location) kind \(node.kind)")
        try Damage.check(page.count >= 1, "\(location) is empty")
        try Damage.check(
            node.byteCount == SlottedPage.fullByteCount
                || isRoot && level == 0 && NodeLayout.BytesIndex.pageByteCounts.contains(node.byteCount),
            "\(location) length \(node.byteCount)")
        try checkBytes(page, location)
        var total = 0
        for index in 0..<page.count {
            let bound = Bound(page, index)
            if index > page.first {
                try Damage.check(
                    !Bound(page, index - 1).isAbove(bound), "\(location) entry \(index) is below the one before it")
            }
            if level == 0 {
                if let previous {
                    try Damage.check(
                        !previous.isAbove(bound), "\(location) entry \(index) is below the last of the leaf before")
                }
                if let lower {
                    try Damage.check(
                        !lower.isAbove(bound), "\(location) entry \(index) is below the separator")
                }
                if let upper {
                    try Damage.check(
                        !bound.isAbove(upper), "\(location) entry \(index) is above the separator")
                }
                previous = bound
                total += 1
                continue
            }
            let count = try check(
                SlottedPage(page.child(index)), level: level - 1, lower: index == 0 ? lower : bound,
                upper: index + 1 < page.count ? Bound(page, index + 1) : upper, stamp: node.stamp, isRoot: false,
                &previous)
            try Damage.check(
                count == page.childCount(index),
                "\(location) counts \(page.childCount(index)) pairs in child \(index), which has \(count)")
            total += count
        }
        return total
    }

    static func checkBytes(_ page: SlottedPage, _ location: String) throws(Damage) {
        var bytes = 0
        for index in 0..<page.count {
            let key = page.key(index)
            let offset = page.entryOffset(index)
            let length = page.entryByteCount(wordCount: key.wordCount)
            try Damage.check(
                offset % NodeLayout.BytesIndex.wordByteCount == 0 && offset >= page.heapStart
                    && offset + length <= page.node.byteCount
                    && key.byteCount <= IndexKey.maximumByteCount,
                "\(location) entry \(index) of \(length) bytes at \(offset) is out of bounds")
            bytes += length
            try Damage.check(
                key.byteCount & 7 == 0
                    || key.words[key.wordCount - 1] << UInt64((key.byteCount & 7) * 8) == 0,
                "\(location) key \(index) has bytes behind its end")
            if index < page.first { continue }
            try Damage.check(
                page.prefix <= key.commonPrefix(page.key(page.first)),
                "\(location) key \(index) does not begin with the page's prefix of \(page.prefix) bytes")
            try Damage.check(
                UInt64(key.head(page.prefix)) == NodeLayout.BytesIndex.head(page.slots[index]),
                "\(location) slot \(index) has a wrong head")
        }
        try Damage.check(
            NodeLayout.BytesIndex.slot(page.count) <= page.heapStart, "\(location) slots and entries overlap")
        try Damage.check(
            page.heapStart + bytes + page.garbage == page.node.byteCount,
            "\(location) \(bytes) bytes of entries, \(page.garbage) of garbage: not the page from \(page.heapStart) on"
        )
    }
}
