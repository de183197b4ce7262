/// Walks an index or a tree of backlinks in a checkpoint. It checks levels and counts, and that entries ascend within
/// the bounds that the nodes above give.
struct IndexWalk {
    private enum Key: Equatable {
        case number(UInt64)
        case bytes([UInt8])

        func isBelow(_ other: Key) -> Bool {
            switch (self, other) {
            case (.number(let a), .number(let b)): a < b
            case (.bytes(let a), .bytes(let b)): a.lexicographicallyPrecedes(b)
            default: false
            }
        }
    }

    /// An entry: the key of a value, and the key of an object.
    private struct Entry {
        var key: Key
        var value: Int64

        func isAbove(_ other: Entry) -> Bool { other.key.isBelow(key) || other.key == key && value > other.value }
    }

    private let checkpoint: OpenedCheckpoint
    private let kinds: (inner: NodeKind, leaf: NodeKind)
    private var last: Entry?
    private(set) var count = 0

    /// - Parameter isNumbers: whether the keys are numbers, as in backlinks, or bytes.
    init(_ checkpoint: OpenedCheckpoint, isNumbers: Bool) {
        self.checkpoint = checkpoint
        kinds = isNumbers ? (.integerIndexInner, .integerIndexLeaf) : (.bytesIndexInner, .bytesIndexLeaf)
    }

    /// Walks the tree at `position`, to which a reference of `parent` leads.
    mutating func run(_ position: Int?, of parent: OnDiskNode) throws {
        guard let root = try checkpoint.node(position, of: parent, kinds.leaf, kinds.inner) else { return }
        count = try walk(root, level: root.kind == kinds.leaf ? 0 : root.header.width, from: nil, to: nil)
    }

    private mutating func walk(_ node: OnDiskNode, level: Int, from lower: Entry?, to upper: Entry?) throws -> Int {
        guard node.header.width == level, (node.kind == kinds.leaf) == (level == 0) else {
            throw node.damage("a \(node.kind.name.one) of level \(node.header.width) is at level \(level)")
        }
        if node.kind == .bytesIndexLeaf || node.kind == .bytesIndexInner { try checkHeads(node) }
        if level == 0 {
            for index in 0..<node.count {
                let entry = try entry(node, index)
                if last?.isAbove(entry) ?? false || lower?.isAbove(entry) ?? false
                    || upper.map(entry.isAbove) ?? false
                {
                    throw node.damage("entry \(index) of the \(node.kind.name.one) is out of order")
                }
                last = entry
            }
            return node.count
        }
        var total = 0
        for child in 0..<node.count {
            let (reference, counted) = try self.child(node, child)
            guard let below = try checkpoint.node(reference, of: node, kinds.leaf, kinds.inner) else {
                throw node.damage("the \(node.kind.name.one) lacks its child \(child)")
            }
            guard below.isFull else {
                throw below.damage("the \(below.kind.name.one) has the capacity of a root, and is not one")
            }
            let count = try walk(
                below, level: level - 1, from: child == 0 ? lower : entry(node, child),
                to: child + 1 < node.count ? entry(node, child + 1) : upper)
            guard counted == Int64(count) else {
                throw node.damage("child \(child) is counted with \(counted) entries and has \(count)")
            }
            total += count
        }
        return total
    }

    /// An entry of a leaf, or the separator before a child of an inner node.
    private func entry(_ node: OnDiskNode, _ index: Int) throws(NodeDamage) -> Entry {
        switch node.kind {
        case .integerIndexInner:
            return Entry(key: .number(try node.u64(32 + 8 * index)), value: try node.i64(544 + 8 * index))
        case .integerIndexLeaf where node.header.form == 1:
            let key = try node.u64(32) &+ node.u64(40) &* UInt64(index)
            return Entry(key: .number(key), value: try node.i64(48) &+ node.i64(56) &* Int64(index))
        case .integerIndexLeaf:
            let values = 32 + 8 * node.header.capacity
            return Entry(key: .number(try node.u64(32 + 8 * index)), value: try node.i64(values + 8 * index))
        default:
            let found = try node.bytesEntry(index)
            return Entry(key: .bytes(try keyBytes(node, found)), value: try node.i64(found.offset))
        }
    }

    private func child(_ node: OnDiskNode, _ index: Int) throws(NodeDamage) -> (reference: Int?, count: Int64) {
        guard node.kind == .bytesIndexInner else {
            return (try node.reference(1056 + 8 * index), try node.i64(1568 + 8 * index))
        }
        let offset = try node.bytesEntry(index).offset
        return (try node.reference(offset + 8), try node.i64(offset + 16))
    }

    /// The bytes of a key. They lie in words of eight bytes. Within a word, the last byte comes first in the key.
    private func keyBytes(
        _ node: OnDiskNode, _ entry: (offset: Int, key: Int, keyByteCount: Int, head: UInt32)
    ) throws(NodeDamage) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(entry.keyByteCount)
        for index in 0..<entry.keyByteCount { bytes.append(try node.u8(entry.key + (index ^ 7))) }
        return bytes
    }

    /// Checks the keys of a page: all begin with the same `form` bytes, and a slot's head is the four bytes after
    /// those.
    private func checkHeads(_ node: OnDiskNode) throws(NodeDamage) {
        let prefix = Int(node.header.form)
        // The first separator of an inner node is never used.
        let first = node.kind == .bytesIndexInner ? 1 : 0
        var common: ArraySlice<UInt8>?
        for index in first..<max(node.count, first) {
            let entry = try node.bytesEntry(index)
            let key = try keyBytes(node, entry)
            let own = key.prefix(prefix)
            let head = (0..<4).reduce(UInt32(0)) { $0 << 8 | (prefix + $1 < key.count ? UInt32(key[prefix + $1]) : 0) }
            guard own.count == prefix, common ?? own == own, head == entry.head else {
                throw node.damage("slot \(index) of the \(node.kind.name.one) is not that of its key")
            }
            common = own
        }
    }
}
