import FirnCore

/// An object that was put together from what is left of it.
struct RecoveredRow {
    let table: Int
    let key: Int64
    /// The values by the column's number; nil for a value that is as in a new object, or whose column is not wanted.
    var values: [Value?]
}

/// The columns whose values a row has.
enum RowColumns {
    /// Columns that hold no links, and the primary key.
    case plain
    /// Columns that may hold links.
    case linking

    func contains(_ number: Int, of table: DecodedSchema.Table) -> Bool {
        switch self {
        case .plain: !table.columns[number].mayLink || number == table.primaryKey
        case .linking: table.columns[number].mayLink
        }
    }
}

extension DecodedSchema.Column {
    /// Whether a value may lead to another object.
    var mayLink: Bool { type == .link || type == .mixed }
}

extension DecodedSchema.Table {
    /// Whether an object may link to another one.
    var mayLink: Bool { columns.contains { $0.mayLink && !$0.isRemoved } }
}
