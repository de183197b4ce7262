import FirnBytes
import FirnStorage

/// The primary keys of objects, as far as they are known.
protocol ObjectNames {
    /// The primary key, or nil if it is unknown. It is a `JSON.string` if the output is text.
    subscript(table: Int, key: Int64) -> JSON? { get }
}

extension RowRun {
    /// The rows' primary keys; nil if the block does not have them.
    func primaryKeys(in schema: DecodedSchema?) -> CellRun? {
        guard let schema, schema.tables.indices.contains(table), let column = schema.tables[table].primaryKey else {
            return nil
        }
        return columns.first { $0.column == column }?.values
    }
}

extension OpenedCheckpoint {
    /// Calls `body` with the primary key of an object, if there is one. The value is valid during the call.
    func withPrimaryKey(of key: Int64, in table: OnDiskTable, _ body: (Cell) -> Void) throws {
        guard schema.tables.indices.contains(table.number), let number = schema.tables[table.number].primaryKey else {
            return
        }
        let column = schema.tables[table.number].columns[number]
        try walk {
            guard let (leaf, row) = try find(key, in: table),
                let run = try leaf.run(self, number: number, column: column)
            else {
                return
            }
            try withExtendedLifetime(run) { body(try run.cell(row)) }
        }
    }
}

/// The primary keys of objects, gathered from the checkpoint and the versions that inserted them.
struct PrimaryKeys: ObjectNames {
    private var texts: [Int: [Int64: JSON]] = [:]
    /// The bytes of `texts`. Once they reach `byteMax`, no more primary keys are collected, so that memory stays
    /// bounded.
    private var byteCount = 0
    private static let byteMax = 64 << 20
    /// The most bytes of a checkpoint's nodes that are read to find objects.
    private static let readMax = 16 << 30
    /// Parts of the checkpoint that could not be read.
    private(set) var findings: [Finding] = []

    /// The primary keys of no objects.
    init(none: ()) {}

    /// Looks up the objects in `wanted` in the checkpoint and, if some are not there, in the log before `version`.
    /// Reads nothing if `wanted` is empty.
    init(_ store: OpenedStore, before version: UInt64, of wanted: [Int: Set<Int64>], isJSON: Bool) throws {
        guard !wanted.isEmpty, version > 1 else { return }
        try readCheckpoint(store, wanted: wanted, isJSON: isJSON)
        var (texts, byteCount) = (self.texts, self.byteCount)
        var commits = CommitReader()
        var left = wanted.values.reduce(0) { $0 + $1.count } - texts.values.reduce(0) { $0 + $1.count }
        guard left > 0 else { return }
        _ = try LogWalk(store: store).run { event in
            guard case .frame(let frame, let payload, let path) = event else { return true }
            guard frame.version < version || !frame.kind.isPart else { return false }
            var schema = commits.schema
            _ = try commits.take(frame, payload: payload, path: path) { block in
                let rows: RowRun
                switch block {
                case .schema(let new):
                    schema = new
                    return
                case .insert(let run), .insertMore(let run): rows = run
                default: return
                }
                guard let keys = wanted[rows.table], let values = rows.primaryKeys(in: schema) else { return }
                for index in 0..<rows.keys.count
                where keys.contains(rows.keys[index]) && byteCount < Self.byteMax {
                    let value = CellText.shown(values.cell(index), schema, isJSON: isJSON)
                    byteCount += value.byteCount
                    if texts[rows.table, default: [:]].updateValue(value, forKey: rows.keys[index]) == nil { left -= 1 }
                }
            }
            return left > 0 && byteCount < Self.byteMax
        }
        self.texts = texts
    }

    private mutating func readCheckpoint(
        _ store: OpenedStore, wanted: [Int: Set<Int64>], isJSON: Bool
    ) throws {
        let opened = try store.openCheckpoint()
        findings = opened.findings
        guard let checkpoint = opened.checkpoint else { return }
        var (texts, byteCount) = (self.texts, self.byteCount)
        let finding = try checkpoint.finding {
            for table in try checkpoint.walk({ try checkpoint.tables() }) {
                for key in wanted[table.number] ?? []
                where byteCount < Self.byteMax && checkpoint.followed < Self.readMax {
                    try checkpoint.withPrimaryKey(of: key, in: table) { cell in
                        let value = CellText.shown(cell, checkpoint.schema, isJSON: isJSON)
                        byteCount += value.byteCount
                        texts[table.number, default: [:]][key] = value
                    }
                }
            }
        }
        self.texts = texts
        self.byteCount = byteCount
        if let finding { findings.append(finding) }
    }

    subscript(table: Int, key: Int64) -> JSON? { texts[table]?[key] }
}
