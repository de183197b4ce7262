#if SQLite
    import CFirnSQLite
    import FirnCore

    /// What SQLite's catalogue says of a table, and what values its columns have.
    struct SQLiteTable {
        struct Column {
            var name: String
            var mayBeNull: Bool
            var isIndexed = false
            /// What a foreign key of this column alone refers to; without a column, to the primary key.
            var reference: (table: String, column: String?)?
            var seen: SQLiteTypes

            /// The type of the property that the column becomes, unless it is a link.
            var type: ColumnType { seen.type }
            /// The type that it has as a primary key.
            var keyType: ColumnType { seen.keyType }
        }

        var name: String
        var columns: [Column]
        /// The column that is the whole primary key.
        var primaryKey: Int?
        var rowCount = 0

        /// The tables of a database that hold the user's rows. What an import can't keep is told by `note`.
        static func all(in file: SQLiteFile, note: (String) -> Void) throws -> [SQLiteTable] {
            var names: [String] = []
            let list = try SQLiteFile.Rows(
                file,
                "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
            )
            while try list.next() { names.append(list.text(0)) }
            var tables = try names.map { try SQLiteTable(named: $0, in: file) }
            for index in tables.indices { try tables[index].readForeignKeys(names, in: file, note: note) }
            for index in tables.indices { try tables[index].lookThrough(file) }
            for index in tables.indices { tables[index].dropReferences(to: tables, note: note) }
            return tables
        }

        /// Whether objects of the table's class can have its primary key.
        var hasKey: Bool { primaryKey.map { [.int, .string].contains(columns[$0].keyType) } ?? false }

        /// A link leads to a primary key, so references to anything else stay values.
        private mutating func dropReferences(to tables: [SQLiteTable], note: (String) -> Void) {
            for index in columns.indices {
                guard let reference = columns[index].reference,
                    let target = tables.first(where: { $0.name == reference.table })
                else { continue }
                let key = target.primaryKey.map { target.columns[$0].name.lowercased() }
                if target.hasKey, reference.column == nil || reference.column?.lowercased() == key { continue }
                columns[index].reference = nil
                note(
                    "\(name).\(columns[index].name) does not refer to a primary key that is an integer or a text; it stays a value."
                )
            }
        }

        private init(named name: String, in file: SQLiteFile) throws {
            self.name = name
            columns = []
            var keys: [Int] = []
            // Hidden columns are those of virtual tables (1); generated columns are 2 and 3.
            let info = try SQLiteFile.Rows(
                file,
                "SELECT name, upper(type), \"notnull\", pk FROM pragma_table_xinfo(\(Self.literal(name))) WHERE hidden <> 1 ORDER BY cid"
            )
            while try info.next() {
                if info.integer(3) > 0 { keys.append(columns.count) }
                let declared = info.text(1)
                columns.append(
                    Column(
                        name: info.text(0), mayBeNull: info.integer(2) == 0,
                        seen: SQLiteTypes(declared)))
            }
            if keys.count == 1 { primaryKey = keys[0] }
            let indexes = try SQLiteFile.Rows(
                file,
                """
                SELECT min(i.name) FROM pragma_index_list(\(Self.literal(name))) AS l, pragma_index_info(l.name) AS i
                WHERE l.partial = 0 GROUP BY l.name HAVING count(*) = 1
                """)
            while try indexes.next() {
                let column = indexes.text(0)
                if let index = columns.firstIndex(where: { $0.name == column }) { columns[index].isIndexed = true }
            }
        }

        /// Table-valued functions take the name as a value.
        private static func literal(_ name: String) -> String {
            "'" + name.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
        }

        private mutating func readForeignKeys(
            _ names: [String], in file: SQLiteFile, note: (String) -> Void
        ) throws {
            let keys = try SQLiteFile.Rows(
                file,
                """
                SELECT min("from"), "table", min("to"), count(*) FROM pragma_foreign_key_list(\(Self.literal(name)))
                GROUP BY id ORDER BY id DESC
                """)
            while try keys.next() {
                let (from, table, to) = (keys.text(0), keys.text(1), keys.text(2))
                guard keys.integer(3) == 1 else {
                    note("\(name): its foreign key to \(table) has several columns, which stay values.")
                    continue
                }
                // Names in a declaration may be written in other letters than the table's own.
                guard let column = columns.firstIndex(where: { $0.name.lowercased() == from.lowercased() }),
                    let target = names.first(where: { $0.lowercased() == table.lowercased() })
                else {
                    note("\(name).\(from) refers to \(table), which does not exist; it stays a value.")
                    continue
                }
                guard column != primaryKey else {
                    note("\(name).\(from) is a foreign key and the primary key; it stays a value.")
                    continue
                }
                columns[column].reference = (target, to.isEmpty ? nil : to)
            }
        }

        /// Reads all rows, and takes account of their values.
        private mutating func lookThrough(_ file: SQLiteFile) throws {
            let rows = try rows(in: file)
            while try rows.next() {
                for column in columns.indices { columns[column].seen.see(rows, column) }
                rowCount += 1
                if rowCount & 0xFFF == 0 { try Interrupts.check() }
            }
        }

        /// All rows, with the columns in their order.
        func rows(in file: SQLiteFile) throws(ToolError) -> SQLiteFile.Rows {
            let names = columns.map { SQLiteFile.quoted($0.name) }.joined(separator: ", ")
            return try SQLiteFile.Rows(file, "SELECT \(names) FROM \(SQLiteFile.quoted(name))")
        }
    }
#endif
