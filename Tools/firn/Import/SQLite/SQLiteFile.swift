#if SQLite
    import CFirnSQLite
    import FirnBytes
    import FirnStorage

    /// A database of SQLite, opened for reading: all statements see it as it was when it was opened.
    ///
    /// Only the thread that opened it uses it.
    final class SQLiteFile {
        private let database: OpaquePointer
        /// The path, as it may be shown.
        let name: String

        init(_ path: String) throws(ToolError) {
            name = DisplayText.line(path)
            let kind = try stored(PosixStorage.shared.status(Terminal.followed(path))?.kind)
            guard kind == .file else {
                let problem = kind == nil ? "does not exist" : "is no regular file"
                throw ToolError(.input, "\(name) \(problem). Give the file of a database.")
            }
            var opened: OpaquePointer?
            // SQLite gives some names, such as `:memory:`, another meaning than a file's, but not behind a folder's
            // name.
            let status = sqlite3_open_v2(
                path.hasPrefix("/") ? path : "./" + path, &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nil)
            guard let opened, status == SQLITE_OK else {
                let text = opened.map { String(cString: sqlite3_errmsg($0)) } ?? "there is no memory"
                sqlite3_close_v2(opened)
                throw ToolError(.input, "\(name): SQLite can't open it: \(DisplayText.line(text)).")
            }
            database = opened
            firn_sqlite_harden(database)
            // Another process may go on writing for a moment.
            sqlite3_busy_timeout(database, 5_000)
            try run("BEGIN")
            // The transaction begins with the first statement that reads.
            try run("SELECT count(*) FROM sqlite_schema")
        }

        deinit { sqlite3_close_v2(database) }

        private func fault() -> ToolError {
            let text = DisplayText.line(String(cString: sqlite3_errmsg(database)))
            let code = sqlite3_errcode(database) & 0xFF
            let advice =
                code == SQLITE_READONLY || code == SQLITE_CANTOPEN
                ? " If it was not closed properly, or lies in a folder that can't be written, copy it with its -wal and -journal files to another folder, and open it once with sqlite3."
                : ""
            return ToolError(.input, "\(name): SQLite can't read it: \(text).\(advice)")
        }

        private func run(_ sql: String) throws(ToolError) {
            let rows = try Rows(self, sql)
            while try rows.next() {}
        }

        /// A name as SQL quotes it.
        static func quoted(_ name: String) -> String {
            "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
        }

        /// The rows of a statement, one at a time.
        final class Rows {
            private let file: SQLiteFile
            private let statement: OpaquePointer

            init(_ file: SQLiteFile, _ sql: String) throws(ToolError) {
                var made: OpaquePointer?
                guard sqlite3_prepare_v2(file.database, sql, -1, &made, nil) == SQLITE_OK, let made else {
                    throw file.fault()
                }
                self.file = file
                statement = made
            }

            deinit { sqlite3_finalize(statement) }

            /// Goes to the next row. Returns false behind the last one.
            func next() throws(ToolError) -> Bool {
                switch sqlite3_step(statement) {
                case SQLITE_ROW: return true
                case SQLITE_DONE: return false
                default: throw file.fault()
                }
            }

            /// The type of a column's value: SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT, SQLITE_BLOB or SQLITE_NULL.
            func type(_ column: Int) -> Int32 { sqlite3_column_type(statement, Int32(column)) }

            func integer(_ column: Int) -> Int64 { sqlite3_column_int64(statement, Int32(column)) }

            func double(_ column: Int) -> Double { sqlite3_column_double(statement, Int32(column)) }

            /// The bytes of a text, in UTF-8 whatever the database's encoding is, or of a blob. They are valid until
            /// the next row.
            func bytes(_ column: Int) -> UnsafeRawBufferPointer {
                let column = Int32(column)
                let start =
                    sqlite3_column_type(statement, column) == SQLITE_TEXT
                    ? UnsafeRawPointer(sqlite3_column_text(statement, column)) : sqlite3_column_blob(statement, column)
                return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
            }

            /// A name in the catalogue; nil if it is not UTF-8.
            func name(_ column: Int) -> String? { String(validating: bytes(column), as: UTF8.self) }
        }
    }
#endif
