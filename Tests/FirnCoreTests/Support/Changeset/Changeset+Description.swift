@testable import FirnCore

extension Changeset: CustomStringConvertible {
    /// One line for each change, in a fixed order, for reading and comparing.
    var description: String {
        var lines = ["version \(version)"]
        if let schema { lines.append("schema \(schema.version), \(schema.tables.count) tables") }
        for (id, changes) in tables.sorted(by: { $0.key < $1.key }) {
            lines += changes.lines.map { "table \(id.index) \($0)" }
        }
        return lines.joined(separator: "\n")
    }
}

extension TableChanges {
    fileprivate var lines: [String] {
        var lines: [String] = []
        func values(_ row: [Int: Value]) -> String {
            row.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")
        }
        for (key, row) in inserted.sorted(by: { $0.key < $1.key }) { lines.append("+ \(key) \(values(row))") }
        for (key, row) in deleted.sorted(by: { $0.key < $1.key }) { lines.append("- \(key) \(values(row))") }
        for (column, cells) in updated.sorted(by: { $0.key < $1.key }) {
            for (key, cell) in cells.sorted(by: { $0.key < $1.key }) {
                lines.append("\(key).\(column) " + (cell.isUnchanged ? "= \(cell.new)" : "\(cell.old) -> \(cell.new)"))
            }
        }
        for (column, scripts) in scripts.sorted(by: { $0.key < $1.key }) {
            for (key, script) in scripts.sorted(by: { $0.key < $1.key }) {
                lines.append("\(key).\(column) \(script.edits)")
            }
        }
        if let nextKey { lines.append("keys from \(nextKey)") }
        return lines
    }
}
