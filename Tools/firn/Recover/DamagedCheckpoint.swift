import FirnBytes

/// The rows of a checkpoint, as far as they can be read. Collects, in `findings`, the damage met in whatever was read.
///
/// It is used by one thread.
final class DamagedCheckpoint {
    /// Rows that can't be read.
    struct LostRows {
        var keys: Range<Int64>
        /// The lowest key below the lost node. All ranges that `rows` counts together have the same.
        var group: Int64
        /// How many rows there were; nil if no node above says so. There may then have been none.
        var rows: Int64?
    }

    /// What a walk over a table's rows meets.
    enum Item {
        case leaf(OnDiskLeaf)
        /// Lost rows whose keys belong at this point of the order.
        case lost(LostRows)
    }

    /// A part of a table's tree.
    private struct Subtree {
        let table: Int
        /// The keys that it may have.
        var bounds: Range<Int64>
        /// How many rows a node above says that it has.
        var rows: Int64?
        /// The wanted keys.
        let range: Range<Int64>
    }

    private let checkpoint: OpenedCheckpoint
    /// The tables that can be read, by number.
    private var tables: [Int: OnDiskTable] = [:]
    /// The tables whose own node can't be read, so that it is not known where their rows begin.
    private var headless: Set<Int> = []
    /// The damaged nodes that make tables headless, where their positions are known.
    private var heads: [Range<Int>] = []
    private(set) var findings = Findings()
    private lazy var strays = StrayLeaves(checkpoint)

    private static let allKeys = 0..<FormatNumbers.keyLimit

    var version: UInt64 { checkpoint.footer.version }
    var schema: DecodedSchema { checkpoint.schema }

    init(_ checkpoint: OpenedCheckpoint) throws {
        self.checkpoint = checkpoint
        try readTables()
    }

    /// What `body` returns; nil if it meets damage.
    func ifReadable<T>(_ body: () throws -> T) throws -> T? {
        do {
            return try body()
        } catch let damage as NodeDamage {
            findings.add(checkpoint.finding(damage))
            return nil
        }
    }

    // MARK: Tables

    private func readTables() throws {
        let root = try ifReadable {
            let root = try checkpoint.node(at: checkpoint.footer.root)
            guard root.kind == .root, root.count <= schema.tables.count else {
                throw root.damage("the node that the footer names is not the root of this schema's tables")
            }
            return root
        }
        func addHead(_ position: Int, end: Int) {
            let units = (end + NodeHeader.unit - 1) / NodeHeader.unit
            heads.append(position..<position + units * NodeHeader.unit)
        }
        guard let root else {
            addHead(checkpoint.footer.root, end: OnDiskNode.rootEnd(tables: schema.tables.count))
            headless = Set(schema.tables.indices.filter { !schema.tables[$0].isRemoved })
            return
        }
        for number in 0..<root.count where !schema.tables[number].isRemoved {
            let position = try ifReadable { try root.reference(32 + 8 * number) } ?? 0
            guard let position else { continue }
            let table = try ifReadable {
                try checkpoint.node(position, of: root, .table).map { try OnDiskTable(number, $0) }
            }
            if let table = table ?? nil {
                tables[number] = table
            } else {
                addHead(position, end: OnDiskNode.tableEnd(columns: schema.tables[number].columns.count))
                headless.insert(number)
            }
        }
    }

    /// Whether nothing is wrong with the nodes that references lead to.
    func isIntact() throws -> Bool {
        var check = CheckpointCheck(checkpoint)
        try check.run()
        return check.findings.isEmpty
    }

    /// Whether all rows of a table, and all their values, can be read.
    func isWhole(_ number: Int) throws -> Bool {
        guard !headless.contains(number) else { return false }
        guard tables[number] != nil else { return true }
        struct Broken: Error {}
        do {
            try forEachLeaf(number, range: Self.allKeys) { item in
                guard case .leaf(let leaf) = item else { throw Broken() }
                try Interrupts.check()
                for (column, description) in schema.tables[number].columns.enumerated() where !description.isRemoved {
                    let isRead: Void? = try ifReadable {
                        guard let run = try leaf.run(checkpoint, number: column, column: description) else { return }
                        for row in 0..<leaf.keys.count { _ = try run.cell(row) }
                        run.forget()
                    }
                    if isRead == nil { throw Broken() }
                }
            }
            return true
        } catch is Broken {
            return false
        }
    }

    // MARK: Rows

    /// A column of a leaf; nil if the leaf is too old to have it.
    func column(_ number: Int, of leaf: OnDiskLeaf, table: Int) -> DecodedSchema.Column? {
        number < leaf.columnCount ? schema.column(table, number) : nil
    }

    /// The values of a column in a leaf; nil if they can't be read, or if there are none.
    func run(_ number: Int, of leaf: OnDiskLeaf, table: Int) throws -> ChunkRun? {
        guard let column = column(number, of: leaf, table: table) else { return nil }
        return try ifReadable { try leaf.run(checkpoint, number: number, column: column) } ?? nil
    }

    /// Calls `visit` with each leaf of a table that has keys in a range, and with the rows that can't be read, in
    /// order.
    func forEachLeaf(_ number: Int, range: Range<Int64>, _ visit: (Item) throws -> Void) throws {
        var tree = Subtree(table: number, bounds: Self.allKeys, range: range)
        if headless.contains(number) { return try visitStrays(of: tree, visit) }
        guard let table = tables[number] else { return }
        tree.rows = table.rowCount
        try checkpoint.walk {
            let root = try ifReadable { try table.node.reference(32) } ?? 0
            guard let root else { return }
            try follow(root, of: table.node, in: tree, visit)
        }
    }

    /// Visits the leaves that no reference leads to any more, and what may be lost between them.
    private func visitStrays(of tree: Subtree, _ visit: (Item) throws -> Void) throws {
        let rivals = schema.tables.enumerated().filter { $0.offset != tree.table && !$0.element.isRemoved }
        let found = try strays.leaves(
            schema.tables[tree.table], tree.bounds, rows: tree.rows, rivals: rivals.map(\.element), below: heads)
        let left = tree.rows.map { rows in found.leaves.reduce(rows) { $0 - Int64($1.keys.count) } }
        var next = tree.bounds.lowerBound
        func visitGap(before end: Int64) throws {
            guard !found.areAll, next < end else { return }
            try visit(.lost(LostRows(keys: next..<end, group: tree.bounds.lowerBound, rows: left)))
        }
        for leaf in found.leaves {
            let (first, last) = (leaf.keys[0], leaf.keys[leaf.keys.count - 1])
            try visitGap(before: first)
            if first < tree.range.upperBound, last >= tree.range.lowerBound { try visit(.leaf(leaf)) }
            next = last + 1
        }
        try visitGap(before: tree.bounds.upperBound)
    }

    /// Visits the leaves below the node at a position.
    private func follow(
        _ position: Int, of parent: OnDiskNode, in tree: Subtree, _ visit: (Item) throws -> Void
    ) throws {
        let bounds = tree.bounds
        guard bounds.overlaps(tree.range) else { return }
        let lost = Item.lost(LostRows(keys: bounds, group: bounds.lowerBound, rows: tree.rows))
        guard let node = try ifReadable({ try checkpoint.node(position, of: parent, .rowInner, .leaf) }) ?? nil else {
            // If the node was a leaf, its rows are lost. If it was an inner node, the leaves below it may still be
            // found.
            let isInner =
                parent.kind == .rowInner
                ? parent.header.width > 1 : tree.rows ?? 0 > Int64(OnDiskNode.rowsPerLeaf)
            return isInner ? try visitStrays(of: tree, visit) : try visit(lost)
        }
        guard parent.kind != .rowInner || node.kind == .leaf || node.header.width < parent.header.width else {
            findings.add(checkpoint.finding(parent.damage("a child of the inner node is not of a lower level")))
            return try visit(lost)
        }
        guard node.kind == .rowInner else {
            guard let leaf = try ifReadable({ try OnDiskLeaf(checkpoint, node) }), bounds.contains(leaf.keys[0])
            else { return try visit(lost) }
            return try visit(.leaf(leaf))
        }
        for child in 0..<node.count {
            let lower =
                child == 0 ? bounds.lowerBound : try ifReadable { try node.childBound(child) } ?? bounds.lowerBound
            let upper =
                child + 1 < node.count
                ? try ifReadable { try node.childBound(child + 1) } ?? bounds.upperBound : bounds.upperBound
            guard lower <= upper else { continue }
            var below = tree
            below.bounds = lower..<upper
            below.rows = try ifReadable { try node.childRows(child) } ?? 0
            guard let position = try ifReadable({ try node.childReference(child) }) ?? nil else {
                try visit(.lost(LostRows(keys: lower..<upper, group: lower, rows: below.rows)))
                continue
            }
            try follow(position, of: node, in: below, visit)
        }
    }
}
