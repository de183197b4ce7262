import FirnBytes

extension DecodedSchema.Column {
    /// Whether a store takes the value. Forged bytes with right checksums may hold other values, and blocks behind a
    /// gap in the log are not compared with the schema.
    func allows(_ cell: Cell) -> Bool {
        func fits(_ cell: Cell) -> Bool {
            switch (type, cell) {
            case (.link, .null), (.mixed, .null): true
            case (_, .null): isNullable
            case (.string, .string(let bytes)), (.data, .data(let bytes)): bytes.count <= FormatNumbers.valueByteCount
            case (.bool, .bool), (.int, .int), (.float, .float), (.double, .double), (.date, .date),
                (.objectID, .objectID), (.uuid, .uuid), (.decimal, .decimal), (.link, .link):
                true
            // A link in a mixed value must say to which table it leads.
            case (.mixed, .link): false
            case (.mixed, .string(let bytes)), (.mixed, .data(let bytes)): bytes.count <= FormatNumbers.valueByteCount
            case (.mixed, .list(let cells)), (.mixed, .set(let cells)): cells.allSatisfy(fits)
            case (.mixed, .map(let entries)): entries.allSatisfy { fits($0.value) }
            case (.mixed, _): true
            default: false
            }
        }
        switch (collection, cell) {
        case (.list, .list(let cells)): return cells.allSatisfy(fits)
        case (.set, .set(let cells)): return cells.allSatisfy(fits)
        case (.map, .map(let entries)):
            return zip(entries, entries.dropFirst()).allSatisfy { $0.key.lexicographicallyPrecedes($1.key) }
                && entries.allSatisfy { fits($0.value) && $0.key.count <= FormatNumbers.valueByteCount }
        case (.none, _): return fits(cell)
        default: return false
        }
    }
}
