/// The values of one leaf's rows that its checkpoint has lost, as older checkpoints have them.
///
/// An object's number is never given to another one, so an older checkpoint's values under the number are those of the
/// same object.
///
/// Memory: the lost properties of the leaf's rows. It is used by one thread.
final class OlderValues {
    typealias Found = (value: KeptCell, version: UInt64)

    private let checkpoints: ArraySlice<DamagedCheckpoint>
    private let table: Int
    private let keys: ClosedRange<Int64>
    /// The values by the column's number, then by the object's. A column is read when one of its values is first
    /// needed.
    private var found: [Int: [Int64: Found]] = [:]

    /// - Parameter checkpoints: newest first.
    init(checkpoints: ArraySlice<DamagedCheckpoint>, table: Int, keys: ClosedRange<Int64>) {
        self.checkpoints = checkpoints
        self.table = table
        self.keys = keys
    }

    /// A value of an object from the newest of the checkpoints in which it can be read; nil if there is none.
    func value(_ column: Int, of key: Int64) throws -> Found? {
        if let values = found[column] { return values[key] }
        let values = try all(column)
        found[column] = values
        return values[key]
    }

    private func all(_ column: Int) throws -> [Int64: Found] {
        var values: [Int64: Found] = [:]
        for checkpoint in checkpoints {
            try checkpoint.forEachLeaf(table, range: Range(keys.clamped(to: 0...FormatNumbers.keyLimit - 1))) { item in
                guard case .leaf(let leaf) = item, let run = try checkpoint.run(column, of: leaf, table: table) else {
                    return
                }
                for (row, key) in leaf.keys.enumerated() where keys.contains(key) && values[key] == nil {
                    guard let cell = try checkpoint.ifReadable({ try run.cell(row) }) else { continue }
                    values[key] = (KeptCell(cell), checkpoint.version)
                    run.forget()
                }
            }
        }
        return values
    }
}
