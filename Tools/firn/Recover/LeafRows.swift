/// The rows of one leaf of a checkpoint.
///
/// Memory: the columns that are read. It is used by one thread.
struct LeafRows {
    /// A value of a row.
    enum Found {
        /// The leaf is too old to have the column.
        case tooOld
        /// The value, valid until `forget` is called.
        case here(Cell)
        /// The value from the newest older checkpoint in which it can be read.
        case older(KeptCell, version: UInt64)
        /// The value can't be read in any checkpoint.
        case lost
    }

    let keys: [Int64]
    private let checkpoint: DamagedCheckpoint
    private let olderValues: OlderValues
    /// The values by the column's number. Nil for a column that can't be read or is not wanted, or if the leaf is too
    /// old to have it.
    private var runs: [ChunkRun?]
    /// Whether the leaf is new enough to have a column.
    private var hasColumn: [Bool]

    /// - Parameters:
    ///   - columns: the wanted columns, in ascending order.
    ///   - older: the checkpoints before this one, newest first.
    init(
        _ leaf: OnDiskLeaf, of checkpoint: DamagedCheckpoint, table: Int, columns: [Int],
        older: ArraySlice<DamagedCheckpoint>
    ) throws {
        self.checkpoint = checkpoint
        keys = leaf.keys
        olderValues = OlderValues(
            checkpoints: older, table: table, keys: keys[0]...keys[keys.count - 1])
        runs = Array(repeating: nil, count: (columns.last ?? -1) + 1)
        hasColumn = Array(repeating: false, count: runs.count)
        for number in columns {
            hasColumn[number] = checkpoint.column(number, of: leaf, table: table) != nil
            runs[number] = try checkpoint.run(number, of: leaf, table: table)
        }
    }

    /// The value of a row in one of the wanted columns.
    func value(_ number: Int, row: Int) throws -> Found {
        guard hasColumn[number] else { return .tooOld }
        if let run = runs[number], let cell = try checkpoint.ifReadable({ try run.cell(row) }) { return .here(cell) }
        guard let older = try olderValues.value(number, of: keys[row]) else { return .lost }
        return .older(older.value, version: older.version)
    }

    /// Ends the validity of the cells of a row, and releases their memory.
    func forget() { for run in runs { run?.forget() } }
}
