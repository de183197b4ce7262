/// A table of a checkpoint: the counters in its node, and the roots of its trees.
struct OnDiskTable {
    let number: Int
    let node: OnDiskNode
    let rowCount: Int64
    let nextKey: Int64
    let columnCount: Int

    init(_ number: Int, _ node: OnDiskNode) throws(NodeDamage) {
        self.number = number
        self.node = node
        rowCount = try node.i64(40)
        nextKey = try node.i64(48)
        columnCount = try node.u32(56)
        guard rowCount >= 0, nextKey >= 0, nextKey <= FormatNumbers.keyLimit, rowCount <= nextKey else {
            throw node.damage("the table counts \(rowCount) rows below the key \(nextKey)")
        }
    }

    func index(_ column: Int) throws(NodeDamage) -> Int? { try node.reference(64 + 16 * column) }
    func backlinks(_ column: Int) throws(NodeDamage) -> Int? { try node.reference(72 + 16 * column) }
}

/// Up to 256 rows of a table.
struct OnDiskLeaf {
    let node: OnDiskNode
    /// The keys of the rows, in ascending order.
    let keys: [Int64]
    let columnCount: Int

    init(_ checkpoint: OpenedCheckpoint, _ node: OnDiskNode) throws {
        self.node = node
        columnCount = try node.u32(48)
        let first = try node.i64(32)
        guard let chunk = try checkpoint.node(node.reference(40), of: node, .chunk) else {
            guard first >= 0, first < FormatNumbers.keyLimit else {
                throw node.damage("\(first) can't be an object's key")
            }
            keys = (0..<node.count).map { first + Int64($0) }
            return
        }
        let run = try ChunkRun(checkpoint: checkpoint, node: chunk, column: Self.keyColumn, rows: node.count)
        var keys: [Int64] = []
        for row in 0..<node.count {
            guard case .int(let key) = try run.cell(row), key >= 0, key < FormatNumbers.keyLimit,
                keys.last.map({ $0 < key }) ?? true
            else { throw node.damage("the leaf's keys do not ascend") }
            keys.append(key)
        }
        guard keys.first == first else { throw node.damage("the leaf's first key is \(keys[0]), but it says \(first)") }
        self.keys = keys
    }

    private static let keyColumn = DecodedSchema.Column(
        name: "the keys", type: .int, collection: .none, isNullable: false, isIndexed: false, isRemoved: false,
        target: nil)

    /// The values of a column for the leaf's rows; nil if the leaf has no chunk for it.
    func run(_ checkpoint: OpenedCheckpoint, number: Int, column: DecodedSchema.Column) throws -> ChunkRun? {
        guard number < columnCount, let chunk = try checkpoint.node(node.reference(64 + 8 * number), of: node, .chunk)
        else {
            return nil
        }
        return try ChunkRun(checkpoint: checkpoint, node: chunk, column: column, rows: node.count)
    }
}

/// The children of an inner node of rows.
extension OnDiskNode {
    /// The lowest key that a child may have.
    func childBound(_ child: Int) throws(NodeDamage) -> Int64 { try i64(32 + 8 * child) }
    func childReference(_ child: Int) throws(NodeDamage) -> Int? { try reference(544 + 8 * child) }
    /// How many rows the node says that a child has.
    func childRows(_ child: Int) throws(NodeDamage) -> Int64 { try i64(1056 + 8 * child) }
}

extension OpenedCheckpoint {
    /// The tables that have a node: tables that have, or have had, rows.
    func tables() throws -> [OnDiskTable] {
        let root = try node(at: footer.root)
        guard root.kind == .root else {
            throw root.damage("the checkpoint's footer names a \(root.kind.name.one) as the root")
        }
        guard root.count <= schema.tables.count else {
            throw root.damage("the root has \(root.count) tables, the schema \(schema.tables.count)")
        }
        var tables: [OnDiskTable] = []
        for number in 0..<root.count {
            guard let node = try node(root.reference(32 + 8 * number), of: root, .table) else { continue }
            tables.append(try OnDiskTable(number, node))
        }
        return tables
    }

    /// Calls `visit` with each leaf of a table, in order. Checks levels and counts, and that keys ascend.
    func forEachLeaf(_ table: OnDiskTable, _ visit: (OnDiskLeaf) throws -> Void) throws {
        var last: Int64 = -1
        var count: Int64 = 0
        if let root = try node(table.node.reference(32), of: table.node, .rowInner, .leaf) {
            count = try forEachLeaf(root, level: root.kind == .leaf ? 0 : root.header.width, last: &last, visit)
        }
        guard count == table.rowCount else {
            throw table.node.damage("the table counts \(table.rowCount) rows and has \(count)")
        }
        guard last < table.nextKey else {
            throw table.node.damage("the key \(last) is in use, but the next one to be assigned is \(table.nextKey)")
        }
    }

    private func forEachLeaf(
        _ node: OnDiskNode, level: Int, last: inout Int64, _ visit: (OnDiskLeaf) throws -> Void
    ) throws -> Int64 {
        guard node.header.width == level, (node.kind == .leaf) == (level == 0) else {
            throw node.damage("a \(node.kind.name.one) of level \(node.header.width) is at level \(level)")
        }
        if node.kind == .leaf {
            let leaf = try OnDiskLeaf(self, node)
            guard leaf.keys[0] > last else { throw node.damage("the leaf's key \(leaf.keys[0]) follows \(last)") }
            try visit(leaf)
            last = leaf.keys[leaf.keys.count - 1]
            return Int64(leaf.keys.count)
        }
        var total: Int64 = 0
        for child in 0..<node.count {
            let bound = try node.childBound(child)
            guard let below = try self.node(node.childReference(child), of: node, .rowInner, .leaf) else {
                throw node.damage("the inner node lacks its child \(child)")
            }
            // The first child's bound may be below all its keys, and even below keys before the node.
            guard child == 0 || bound > last, try bound <= lowestKey(below) else {
                throw node.damage("the key \(bound) of child \(child) is not between its keys and those before")
            }
            let rows = try forEachLeaf(below, level: level - 1, last: &last, visit)
            guard try node.childRows(child) == rows else {
                throw node.damage(
                    "child \(child) is counted with \(try node.childRows(child)) rows and has \(rows)")
            }
            total += rows
        }
        return total
    }

    private func lowestKey(_ node: OnDiskNode) throws(NodeDamage) -> Int64 { try node.i64(32) }

    /// The leaf and the row of an object; nil if no object has the key.
    func find(_ key: Int64, in table: OnDiskTable) throws -> (leaf: OnDiskLeaf, row: Int)? {
        guard var node = try node(table.node.reference(32), of: table.node, .rowInner, .leaf) else { return nil }
        while node.kind == .rowInner {
            var child = 0
            for index in 1..<max(node.count, 1) where try node.childBound(index) <= key { child = index }
            guard let below = try self.node(node.childReference(child), of: node, .rowInner, .leaf),
                below.kind == .leaf || below.header.width < node.header.width
            else { throw node.damage("the inner node lacks its child \(child)") }
            node = below
        }
        let leaf = try OnDiskLeaf(self, node)
        return leaf.keys.firstIndex(of: key).map { (leaf, $0) }
    }
}
