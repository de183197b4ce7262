import FirnBytes

/// Follows a checkpoint's references from its root, and checks that they make up the tables that the schema describes: that each leads to a node of the right kind, that keys
/// ascend, that counts are right, and that every value can be read.
struct CheckpointCheck {
    let space: CheckpointSpace
    private(set) var findings: [Finding] = []

    init(_ space: CheckpointSpace) { self.space = space }

    mutating func run() throws {
        try space.walk {
            var tables: [OnDiskTable] = []
            if let finding = try space.finding({ tables = try space.tables() }) { findings.append(finding) }
            for table in tables where !space.isSpent { try check(table) }
        }
    }

    /// Notes what of a table is damaged: one thing of its rows, and of each index.
    private mutating func check(_ table: OnDiskTable) throws {
        let schema = space.schema.tables[table.number]
        func add(_ what: String, _ body: () throws -> Void) throws -> Finding? {
            guard var finding = try space.finding(body) else { return nil }
            finding.text = "\(what): \(finding.text)"
            return finding
        }
        var links = [Int64](repeating: 0, count: schema.columns.count)
        let rows = try add(schema.name) {
            guard !schema.isRemoved, table.columnCount == schema.columns.count else {
                throw table.node.fault("the table has \(table.columnCount) columns, the schema \(schema.columns.count)")
            }
            try space.forEachLeaf(table) { leaf in
                for (number, column) in schema.columns.enumerated() where !column.isRemoved {
                    links[number] += try check(leaf, number, column)
                }
            }
        }
        if let rows { findings.append(rows) }
        guard table.columnCount == schema.columns.count else { return }
        for (number, column) in schema.columns.enumerated() where !column.isRemoved && !space.isSpent {
            let name = "\(schema.name).\(column.name)"
            let isIndexed = column.isIndexed || schema.primaryKey == number
            let index = try add("the index of \(name)") {
                try checkIndex(table, number, column, isIndexed: isIndexed)
            }
            if let index { findings.append(index) }
            if space.isSpent { return }
            let backlinks = try add("the backlinks of \(name)") {
                try checkBacklinks(table, number, column, links: rows == nil ? links[number] : nil)
            }
            if let backlinks { findings.append(backlinks) }
        }
    }

    /// Reads a column's values of a leaf; returns how many links they are.
    private func check(_ leaf: StoredLeaf, _ number: Int, _ column: DecodedSchema.Column) throws -> Int64 {
        guard let run = try leaf.run(space, number, column) else {
            throw leaf.node.fault("the leaf lacks the chunk of \(column.name)")
        }
        try run.checkReferences()
        var links: Int64 = 0
        for row in 0..<run.rows {
            if column.collection == .none {
                if case .link = try run.cell(row) { links += 1 }
            } else {
                try run.forEachElement(row) { _, cell in
                    if case .link = cell { links += 1 }
                    run.forget()
                }
            }
            run.forget()
        }
        return links
    }

    /// An index holds every row once; that of a column of links is its backlinks, in which those that lead nowhere are not.
    private func checkIndex(
        _ table: OnDiskTable, _ number: Int, _ column: DecodedSchema.Column, isIndexed: Bool
    ) throws {
        let root = try table.index(number)
        guard isIndexed else {
            if root != nil { throw table.node.fault("the column is not indexed, but has an index") }
            return
        }
        var walk = IndexWalk(space, isNumbers: Self.isNumbers(column))
        try walk.run(root, of: table.node)
        guard column.type == .link || Int64(walk.count) == table.rowCount else {
            throw table.node.fault("it has \(walk.count) entries for \(table.rowCount) rows")
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
        _ table: OnDiskTable, _ number: Int, _ column: DecodedSchema.Column, links: Int64?
    ) throws {
        let root = try table.backlinks(number)
        guard column.type == .link else {
            if root != nil { throw table.node.fault("the column holds no links, but has backlinks") }
            return
        }
        var walk = IndexWalk(space, isNumbers: true)
        try walk.run(root, of: table.node)
        if let links, links != Int64(walk.count) {
            throw table.node.fault("there are \(walk.count) backlinks for \(links) links")
        }
    }
}
