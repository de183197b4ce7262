#if SQLite
    import CFirnSQLite
    import FirnBytes
    import FirnCore

    /// A table: what SQLite's catalogue says of it, and what kinds of values its columns have.
    struct SQLiteTable {
        struct Column {
            var name: String
            var mayBeNull: Bool
            var isIndexed = false
            /// The table and its primary key that a foreign key of this column alone refers to.
            var reference: (table: String, column: String)?
            var seen: SQLiteTypes

            /// The type of the property that the column becomes, unless it is a link.
            var type: ColumnType { seen.type }
            /// The type of the property if the column is the primary key.
            var keyType: ColumnType { seen.keyType }
        }

        var name: String
        var columns: [Column]
        /// The column that is the whole primary key.
        var primaryKey: Int?
        private(set) var rowCount = 0

        /// Whether the table's primary key can become the primary key of its class.
        var hasKey: Bool { primaryKey.map { [.int, .string].contains(columns[$0].keyType) } ?? false }

        /// The user's tables of a database, or the chosen ones, after their rows were examined.
        ///
        /// - Parameters:
        ///   - chosen: the names of the wanted tables; all tables if there are none.
        ///   - note: called with what an import can't keep.
        static func all(_ chosen: [String], in file: SQLiteFile, note: (String) -> Void) throws -> [SQLiteTable] {
            let names = try names(in: file, mayBeForeign: !chosen.isEmpty)
            if chosen.isEmpty { try noteVirtualTables(of: file, note) }
            for name in chosen where !names.contains(name) {
                let shown = names.sorted().map { DisplayText.name($0) }.joined(separator: ", ")
                throw ToolError(
                    .usage,
                    "\(file.name) has no table \(DisplayText.name(name)). It has \(shown.isEmpty ? "none" : shown).")
            }
            var tables: [String: SQLiteTable] = [:]
            for name in chosen.isEmpty ? names : chosen where tables[name] == nil {
                guard names.count(where: { $0 == name }) == 1 else {
                    throw ToolError(
                        .usage,
                        "\(file.name): several tables have the name \(DisplayText.name(name)), or names that are the same text."
                    )
                }
                tables[name] = try SQLiteTable(named: name, in: file).lookedThrough(file)
            }
            let folded = Dictionary(names.map { (ascii($0), $0) }) { first, _ in first }
            return try tables.keys.sorted().map { name in
                var table = tables[name]!
                // For a table that is not imported, only the catalogue matters.
                try table.readReferences(file, note: note) { target in
                    guard let name = folded[ascii(target)] else { return nil }
                    return try tables[name] ?? SQLiteTable(named: name, in: file)
                }
                return table
            }
        }

        /// A name in lower case, as SQLite compares names: only letters of ASCII are changed.
        static func ascii(_ name: String) -> [UInt8] {
            name.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 + 32 : $0 }
        }

        /// Notes the virtual tables, such as those of FTS and R-tree, whose rows are left out.
        private static func noteVirtualTables(of file: SQLiteFile, _ note: (String) -> Void) throws {
            let list = try SQLiteFile.Rows(
                file, "SELECT name, sql FROM main.sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE%' ORDER BY name")
            while try list.next() {
                let name = list.name(0) ?? "a table whose name is not UTF-8"
                // … USING module(arguments)
                let words = (list.name(1) ?? "").split(whereSeparator: { $0.isWhitespace || $0 == "(" })
                let using = words.firstIndex { $0.lowercased() == "using" }.map { $0 + 1 }
                let module = using.flatMap { $0 < words.count ? " of \(words[$0])" : nil } ?? ""
                note("\(name) is a virtual table\(module); its rows are left out.")
            }
        }

        private static func names(in file: SQLiteFile, mayBeForeign: Bool) throws -> [String] {
            var names: [String] = []
            let list = try SQLiteFile.Rows(file, "PRAGMA main.table_list")
            while try list.next() {
                guard list.name(0) == "main", list.name(2) == "table" else { continue }
                guard let name = list.name(1) else {
                    if mayBeForeign { continue }
                    throw ToolError(
                        .usage,
                        "\(file.name) has a table whose name is not UTF-8. Name the tables to import with --table.")
                }
                if !name.hasPrefix("sqlite_") { names.append(name) }
            }
            return names
        }

        private init(named name: String, in file: SQLiteFile) throws {
            self.name = name
            columns = []
            var keys: [Int] = []
            let info = try SQLiteFile.Rows(file, "PRAGMA main.table_xinfo(\(SQLiteFile.quoted(name)))")
            while try info.next() {
                // 1 marks the hidden columns of virtual tables; 2 and 3 mark generated columns.
                guard info.integer(6) != 1 else { continue }
                guard let column = info.name(1) else {
                    throw ToolError(
                        .usage, "\(file.name): a column of \(DisplayText.name(name)) has a name that is not UTF-8.")
                }
                guard !columns.contains(where: { $0.name == column }) else {
                    throw ToolError(
                        .usage,
                        "\(file.name): \(DisplayText.name(name)) has two columns \(DisplayText.name(column)), whose names are the same text."
                    )
                }
                if info.integer(5) > 0 { keys.append(columns.count) }
                columns.append(
                    Column(
                        name: column, mayBeNull: info.integer(3) == 0,
                        seen: SQLiteTypes((info.name(2) ?? "").uppercased())))
            }
            if keys.count == 1 { primaryKey = keys[0] }
            let indexes = try SQLiteFile.Rows(file, "PRAGMA main.index_list(\(SQLiteFile.quoted(name)))")
            while try indexes.next() {
                // A partial index does not have all rows.
                guard indexes.integer(4) == 0, let index = indexes.name(1) else { continue }
                let parts = try SQLiteFile.Rows(file, "PRAGMA main.index_info(\(SQLiteFile.quoted(index)))")
                var indexed: [String?] = []
                while try parts.next() { indexed.append(parts.name(2)) }
                if indexed.count == 1, let column = columns.firstIndex(where: { $0.name == indexed[0] }) {
                    columns[column].isIndexed = true
                }
            }
        }

        // MARK: Foreign keys

        private mutating func readReferences(
            _ file: SQLiteFile, note: (String) -> Void, _ table: (String) throws -> SQLiteTable?
        ) throws {
            var found: [Int64: [(table: String, from: String, to: String)]] = [:]
            let keys = try SQLiteFile.Rows(file, "PRAGMA main.foreign_key_list(\(SQLiteFile.quoted(name)))")
            while try keys.next() {
                found[keys.integer(0), default: []].append(
                    (keys.name(2) ?? "", keys.name(3) ?? "", keys.name(4) ?? ""))
            }
            // SQLite numbers the last foreign key 0.
            for (_, parts) in found.sorted(by: { $0.key > $1.key }) {
                guard parts.count == 1, let column = columns.firstIndex(where: { Self.isSame($0.name, parts[0].from) })
                else {
                    let columns = parts.map(\.from).joined(separator: ", ")
                    note(
                        "\(name): its foreign key (\(columns)) to \(parts[0].table) has several columns, which stay values."
                    )
                    continue
                }
                let place = "\(name).\(columns[column].name)"
                guard column != primaryKey else {
                    note("\(place) is a foreign key and the primary key; it stays a value.")
                    continue
                }
                guard let target = try table(parts[0].table) else {
                    note("\(place) refers to \(parts[0].table), which does not exist; it stays a value.")
                    continue
                }
                guard let key = target.primaryKey.map({ target.columns[$0] }), target.hasKey,
                    parts[0].to.isEmpty || Self.isSame(parts[0].to, key.name)
                else {
                    note(
                        "\(place) does not refer to a primary key of one column that holds only integers or only texts; it stays a value."
                    )
                    continue
                }
                guard columns[column].reference == nil else {
                    note(
                        "\(place) is a foreign key to several tables; it leads to \(columns[column].reference!.table).")
                    continue
                }
                columns[column].reference = (target.name, key.name)
            }
        }

        private static func isSame(_ one: String, _ other: String) -> Bool { ascii(one) == ascii(other) }

        // MARK: Rows

        /// The table after all its rows were examined and counted.
        private func lookedThrough(_ file: SQLiteFile) throws -> SQLiteTable {
            var table = self
            let rows = try rows(in: file)
            while try rows.next() {
                for column in table.columns.indices { table.columns[column].seen.see(rows, column) }
                table.rowCount += 1
                if table.rowCount & 0xFFF == 0 { try Interrupts.check() }
            }
            return table
        }

        /// All rows, with the columns in their order.
        func rows(in file: SQLiteFile) throws(ToolError) -> SQLiteFile.Rows {
            // SQLite may take a column's quoted name for a text, but not with the table's name before it.
            let names = columns.map { "t.\(SQLiteFile.quoted($0.name))" }.joined(separator: ", ")
            return try SQLiteFile.Rows(file, "SELECT \(names) FROM main.\(SQLiteFile.quoted(name)) AS t")
        }
    }
#endif
