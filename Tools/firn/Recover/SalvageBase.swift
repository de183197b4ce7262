import FirnBytes
import FirnStorage

/// Reads the rows of a checkpoint as far as they can be read. Unreadable rows are reported and skipped.
final class SalvageBase {
    /// Rows that can't be read.
    struct Lost {
        var keys: Range<Int64>
        /// The same for all ranges that `rows` is about: the lowest key below the node that is lost.
        var group: Int64
        /// How many there were, if a node above says so. If not, there may have been none.
        var rows: Int64?
    }

    let checkpoint: OpenedCheckpoint
    /// The tables that can be read, by number.
    private var tables: [Int: OnDiskTable] = [:]
    /// The tables whose own node can't be read, so that it is not known where their rows begin.
    private var headless: Set<Int> = []
    /// The damaged nodes that make tables headless, where their positions are known.
    private var heads: [Range<Int>] = []
    private(set) var findings: [Finding] = []
    private lazy var strays = StrayNodes(checkpoint)

    private static let allKeys = 0..<FormatNumbers.keyLimit

    var version: UInt64 { checkpoint.footer.version }
    var schema: DecodedSchema { checkpoint.schema }

    init(_ checkpoint: OpenedCheckpoint) throws {
        self.checkpoint = checkpoint
        try readTables()
    }

    private func note(_ fault: NodeFault) {
        let finding = checkpoint.finding(fault)
        if findings.count < 10_000, !findings.contains(finding) { findings.append(finding) }
    }

    /// Runs `body`, and notes what is wrong instead of throwing it. Returns nil then.
    func salvaging<T>(_ body: () throws -> T) throws -> T? {
        do {
            return try body()
        } catch let fault as NodeFault {
            note(fault)
            return nil
        }
    }

    // MARK: Tables

    private func readTables() throws {
        let root = try salvaging {
            let root = try checkpoint.node(at: checkpoint.footer.root)
            guard root.kind == .root, root.count <= schema.tables.count else {
                throw root.fault("the node that the footer names is not the root of this schema's tables")
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
            let position = try salvaging { try root.reference(32 + 8 * number) } ?? 0
            guard let position else { continue }
            let table = try salvaging {
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

    // MARK: Rows

    /// Whether all rows of a table, and all their values, can be read.
    func isWhole(_ number: Int) throws -> Bool {
        guard !headless.contains(number) else { return false }
        guard tables[number] != nil else { return true }
        struct Broken: Error {}
        do {
            try forEachLeaf(number, range: Self.allKeys) { _ in
                throw Broken()
            } _: { leaf in
                try Interrupts.check()
                for (column, description) in schema.tables[number].columns.enumerated() where !description.isRemoved {
                    let isRead: Void? = try salvaging {
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

    /// Calls `visit` with each leaf of a table that has keys in a range, in order.
    ///
    /// - Parameter lose: called with the rows that can't be read, where they would come.
    func forEachLeaf(
        _ number: Int, range: Range<Int64>, lose: (Lost) throws -> Void, _ visit: (OnDiskLeaf) throws -> Void
    ) throws {
        if headless.contains(number) {
            return try visitStrays(number, bounds: Self.allKeys, rows: nil, range: range, lose: lose, visit)
        }
        guard let table = tables[number] else { return }
        try checkpoint.walk {
            let root = try salvaging { try table.node.reference(32) } ?? 0
            guard let root else { return }
            try follow(
                root, of: table.node, bounds: Self.allKeys, rows: table.rowCount, table: number, range: range,
                lose: lose, visit)
        }
    }

    /// Visits the leaves of a table that no reference leads to any more, and tells of what may lie between them.
    private func visitStrays(
        _ number: Int, bounds: Range<Int64>, rows: Int64?, range: Range<Int64>, lose: (Lost) throws -> Void,
        _ visit: (OnDiskLeaf) throws -> Void
    ) throws {
        let rivals = schema.tables.enumerated().filter { $0.offset != number && !$0.element.isRemoved }
        let found = try strays.leaves(
            schema.tables[number], bounds, rows: rows, rivals: rivals.map(\.element), below: heads)
        let left = rows.map { rows in found.leaves.reduce(rows) { $0 - Int64($1.keys.count) } }
        var next = bounds.lowerBound
        func loseGap(before end: Int64) throws {
            guard !found.areAll, next < end else { return }
            try lose(Lost(keys: next..<end, group: bounds.lowerBound, rows: left))
        }
        for leaf in found.leaves {
            try loseGap(before: leaf.keys[0])
            if Self.overlaps(leaf, range) { try visit(leaf) }
            next = leaf.keys[leaf.keys.count - 1] + 1
        }
        try loseGap(before: bounds.upperBound)
    }

    private static func overlaps(_ leaf: OnDiskLeaf, _ range: Range<Int64>) -> Bool {
        leaf.keys[0] < range.upperBound && leaf.keys[leaf.keys.count - 1] >= range.lowerBound
    }

    private func follow(
        _ position: Int, of parent: OnDiskNode, bounds: Range<Int64>, rows: Int64, table: Int,
        range: Range<Int64>, lose: (Lost) throws -> Void, _ visit: (OnDiskLeaf) throws -> Void
    ) throws {
        guard bounds.overlaps(range) else { return }
        func lost() throws { try lose(Lost(keys: bounds, group: bounds.lowerBound, rows: rows)) }
        guard let node = try salvaging({ try checkpoint.node(position, of: parent, .rowInner, .leaf) }) ?? nil else {
            // If it was a leaf, its rows are lost. Those below an inner node are not.
            let isInner = parent.kind == .rowInner ? parent.header.width > 1 : rows > Int64(OnDiskNode.rowsPerLeaf)
            return isInner
                ? try visitStrays(table, bounds: bounds, rows: rows, range: range, lose: lose, visit) : try lost()
        }
        guard parent.kind != .rowInner || node.kind == .leaf || node.header.width < parent.header.width else {
            note(parent.fault("a child of the inner node is not of a lower level"))
            return try lost()
        }
        guard node.kind == .rowInner else {
            guard let leaf = try salvaging({ try OnDiskLeaf(checkpoint, node) }),
                bounds.contains(leaf.keys[0])
            else { return try lost() }
            return try visit(leaf)
        }
        for child in 0..<node.count {
            let lower =
                child == 0 ? bounds.lowerBound : try salvaging { try node.childBound(child) } ?? bounds.lowerBound
            let upper =
                child + 1 < node.count
                ? try salvaging { try node.childBound(child + 1) } ?? bounds.upperBound : bounds.upperBound
            guard lower <= upper else { continue }
            let counted = try salvaging { try node.childRows(child) } ?? 0
            guard let below = try salvaging({ try node.childReference(child) }) ?? nil else {
                try lose(Lost(keys: lower..<upper, group: lower, rows: counted))
                continue
            }
            try follow(
                below, of: node, bounds: lower..<upper, rows: counted, table: table, range: range, lose: lose, visit)
        }
    }
}
