import FirnBytes

/// Follows a checkpoint's references from its root, and checks that the nodes form the tables that the schema
/// describes:
/// - each reference leads to a node of the right kind;
/// - keys ascend;
/// - counts are right;
/// - every value can be read.
struct CheckpointCheck {
    let checkpoint: OpenedCheckpoint
    private(set) var findings: [Finding] = []

    init(_ checkpoint: OpenedCheckpoint) { self.checkpoint = checkpoint }

    mutating func run() throws {
        try checkpoint.walk {
            var tables: [OnDiskTable] = []
            if let finding = try checkpoint.finding({ tables = try checkpoint.tables() }) { findings.append(finding) }
            for table in tables where !checkpoint.isSpent { try check(table) }
        }
    }

    /// Checks one table. Adds at most one finding for its rows, and one for each index and for each column's
    /// backlinks.
    private mutating func check(_ table: OnDiskTable) throws {
        let schema = checkpoint.schema.tables[table.number]
        func add(_ what: String, _ body: () throws -> Void) throws -> Finding? {
            guard var finding = try checkpoint.finding(body) else { return nil }
            finding.text = "\(what): \(finding.text)"
            return finding
        }
        var links = [Int64](repeating: 0, count: schema.columns.count)
        let rows = try add(schema.name) {
            guard !schema.isRemoved, table.columnCount == schema.columns.count else {
                throw table.node.damage(
                    "the table has \(table.columnCount) columns, the schema \(schema.columns.count)")
            }
            try checkpoint.forEachLeaf(table) { leaf in
                for (number, column) in schema.columns.enumerated() where !column.isRemoved {
                    links[number] += try check(leaf, number: number, column: column)
                }
            }
        }
        if let rows { findings.append(rows) }
        guard table.columnCount == schema.columns.count else { return }
        for (number, column) in schema.columns.enumerated() where !column.isRemoved && !checkpoint.isSpent {
            let name = "\(schema.name).\(column.name)"
            let isIndexed = column.isIndexed || schema.primaryKey == number
            let index = try add("the index of \(name)") {
                try checkIndex(table, number: number, column: column, isIndexed: isIndexed)
            }
            if let index { findings.append(index) }
            if checkpoint.isSpent { return }
            let backlinks = try add("the backlinks of \(name)") {
                try checkBacklinks(table, number: number, column: column, links: rows == nil ? links[number] : nil)
            }
            if let backlinks { findings.append(backlinks) }
        }
    }

    /// Reads a column's values in a leaf. Returns how many links there are.
    private func check(_ leaf: OnDiskLeaf, number: Int, column: DecodedSchema.Column) throws -> Int64 {
        guard let run = try leaf.run(checkpoint, number: number, column: column) else {
            throw leaf.node.damage("the leaf lacks the chunk of \(column.name)")
        }
        try run.checkReferences()
        var links: Int64 = 0
        for row in 0..<run.rows {
            if column.collection == .none {
                links += try run.cell(row).linkCount
            } else {
                try run.forEachElement(row) { _, cell in
                    links += cell.linkCount
                    run.forget()
                }
            }
            run.forget()
        }
        return links
    }

    /// Checks an index: it has one entry for each row. The index of a link column has the entries of the backlinks
    /// instead, which leave out links that lead nowhere.
    private func checkIndex(
        _ table: OnDiskTable, number: Int, column: DecodedSchema.Column, isIndexed: Bool
    ) throws {
        let root = try table.index(number)
        guard isIndexed else {
            if root != nil { throw table.node.damage("the column is not indexed, but has an index") }
            return
        }
        var walk = IndexWalk(checkpoint, isNumbers: Self.isNumbers(column))
        try walk.run(root, of: table.node)
        guard column.type == .link || Int64(walk.count) == table.rowCount else {
            throw table.node.damage("it has \(walk.count) entries for \(table.rowCount) rows")
        }
    }

    private static func isNumbers(_ column: DecodedSchema.Column) -> Bool {
        switch column.type {
        case .bool, .int, .float, .double: !column.isNullable
        case .link: true
        case .string, .data, .date, .objectID, .uuid, .decimal, .mixed: false
        }
    }

    private func checkBacklinks(
        _ table: OnDiskTable, number: Int, column: DecodedSchema.Column, links: Int64?
    ) throws {
        let root = try table.backlinks(number)
        guard column.type == .link || column.type == .mixed else {
            if root != nil { throw table.node.damage("the column holds no links, but has backlinks") }
            return
        }
        var walk = IndexWalk(checkpoint, isNumbers: true)
        try walk.run(root, of: table.node)
        if let links, links != Int64(walk.count) {
            throw table.node.damage("there are \(walk.count) backlinks for \(links) links")
        }
    }
}

extension Cell {
    /// How many links there are in the value, those in collections of a mixed value included.
    fileprivate var linkCount: Int64 {
        switch self {
        case .link, .anyLink: 1
        case .list(let elements), .set(let elements): elements.reduce(0) { $0 + $1.linkCount }
        case .map(let entries): entries.reduce(0) { $0 + $1.value.linkCount }
        default: 0
        }
    }
}
