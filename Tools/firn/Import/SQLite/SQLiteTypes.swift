#if SQLite
    import CFirnSQLite
    import FirnCore

    /// Infers the type that a property needs for all values of a column, since SQLite does not enforce the declaration.
    struct SQLiteTypes {
        /// The affinities that "Determination Of Column Affinity" (https://www.sqlite.org/datatype3.html) names, and
        /// two kinds of declaration that SQLite has no type for.
        private enum Declaration {
            case integer, text, blob, real, numeric, boolean, date
        }

        private let declaration: Declaration?
        private var integers = false
        private var reals = false
        private var texts = false
        private var blobs = false
        private(set) var nulls = false
        /// Whether all integers are 0 or 1.
        private var areBooleans = true
        /// Whether all integers are exact as doubles, too.
        private var areExact = true
        /// Whether all texts are dates.
        private var areDates = true

        /// - Parameter declared: the column's declared type, in capitals; empty if there is none.
        init(_ declared: String) {
            func has(_ words: String...) -> Bool { words.contains { declared.contains($0) } }
            declaration =
                if has("BOOL") {
                    .boolean
                } else if has("DATE", "TIMESTAMP") {
                    .date
                } else if has("INT") {
                    .integer
                } else if has("CHAR", "CLOB", "TEXT") {
                    .text
                } else if has("BLOB") {
                    .blob
                } else if has("REAL", "FLOA", "DOUB") {
                    .real
                } else {
                    declared.isEmpty ? nil : .numeric
                }
        }

        /// Notes the kind of a value.
        mutating func see(_ rows: SQLiteFile.Rows, _ column: Int) {
            switch rows.type(column) {
            case SQLITE_INTEGER:
                integers = true
                let value = rows.integer(column)
                if value != 0 && value != 1 { areBooleans = false }
                if value.magnitude > 1 << 53 { areExact = false }
            case SQLITE_FLOAT: reals = true
            case SQLITE_TEXT:
                texts = true
                if declaration == .date, areDates {
                    areDates = TimeText.instant(of: String(decoding: rows.bytes(column), as: UTF8.self)) != nil
                }
            case SQLITE_BLOB: blobs = true
            default: nulls = true
            }
        }

        /// The type that the property needs as a primary key: an integer, a text, or `mixed` if it can't be one.
        var keyType: ColumnType {
            switch (integers, reals || nulls, texts, blobs) {
            case (true, false, false, false): .int
            case (false, false, true, false): .string
            case (false, false, false, false): declaration == .integer ? .int : .string
            default: .mixed
            }
        }

        var type: ColumnType {
            switch (integers, reals, texts, blobs) {
            case (false, false, false, false):
                switch declaration {
                case .integer: .int
                case .text: .string
                case .blob: .data
                case .real, .numeric: .double
                case .boolean: .bool
                case .date: .date
                case nil: .mixed
                }
            case (true, false, false, false):
                if declaration == .boolean, areBooleans {
                    .bool
                } else {
                    // A column for fractions may happen to have only integers.
                    (declaration == .numeric || declaration == .real) && areExact ? .double : .int
                }
            case (_, true, false, false): areExact ? .double : .mixed
            case (false, false, true, false): declaration == .date && areDates ? .date : .string
            case (false, false, false, true): .data
            default: .mixed
            }
        }
    }
#endif
