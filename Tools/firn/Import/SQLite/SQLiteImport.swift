#if SQLite
    import CFirnSQLite
    import FirnBytes
    import FirnCore

    /// The rows of a database of SQLite: each table becomes a class, each row an object, each foreign key a link.
    final class SQLiteImport: ImportSource {
        private let file: SQLiteFile
        private let tables: [SQLiteTable]
        private let output: Output
        private let rowCount: Int

        /// - Parameter chosen: the names of the tables; all if there are none.
        init(_ path: String, tables chosen: [String], _ output: Output) throws {
            file = try SQLiteFile(path)
            self.output = output
            let all = try SQLiteTable.all(in: file) { output.warn("firn: \(DisplayText.line($0))") }
            for name in chosen where !all.contains(where: { $0.name == name }) {
                let names = all.map { DisplayText.line($0.name) }.joined(separator: ", ")
                throw ToolError(
                    .usage,
                    "\(file.name) has no table \(DisplayText.line(name)). It has \(names.isEmpty ? "none" : names).")
            }
            tables = Self.ordered(chosen.isEmpty ? all : all.filter { chosen.contains($0.name) })
            rowCount = tables.reduce(0) { $0 + $1.rowCount }
        }

        /// The tables, each behind those that it refers to unless they refer to one another, so that few links have to
        /// wait.
        private static func ordered(_ tables: [SQLiteTable]) -> [SQLiteTable] {
            var ordered: [SQLiteTable] = []
            var seen: Set<String> = []
            func visit(_ table: SQLiteTable) {
                guard seen.insert(table.name).inserted else { return }
                for column in table.columns {
                    if let target = tables.first(where: { $0.name == column.reference?.table }) { visit(target) }
                }
                ordered.append(table)
            }
            for table in tables { visit(table) }
            return ordered
        }

        var name: String { file.name }

        func place(_ line: Int, _ table: TableID) -> String {
            var row = line
            for table in tables {
                if row <= table.rowCount { return "\(DisplayText.line(table.name)), row \(row)" }
                row -= table.rowCount
            }
            return "row \(line)"
        }

        // MARK: Classes

        func classes(_ stored: StoreSchema) throws -> (classes: [ImportSchema.Class], version: UInt64) {
            let classes = tables.map { table in
                let known = stored.table(named: table.name).map { stored[$0] }
                var new = ImportSchema.Class(name: table.name, properties: [])
                if known == nil, table.hasKey { new.primaryKey = table.primaryKey.map { table.columns[$0].name } }
                for (index, column) in table.columns.enumerated() {
                    // A property that exists keeps its type; a value that it does not take is refused.
                    if known?.column(named: column.name) != nil { continue }
                    let isKey = table.hasKey && index == table.primaryKey
                    var type = NamedType(type: isKey ? column.keyType : column.type)
                    if let reference = column.reference,
                        isImported(reference.table) || stored.table(named: reference.table) != nil
                    {
                        type = NamedType(type: .link, target: reference.table)
                    }
                    type.isNullable = !isKey && (column.mayBeNull || column.seen.nulls || type.type == .link)
                    let isIndexed = column.isIndexed && [.int, .string, .bool, .date].contains(type.type)
                    new.properties.append((column.name, type, isIndexed))
                }
                return new
            }
            return (classes, 0)
        }

        private func isImported(_ name: String) -> Bool { tables.contains { $0.name == name } }

        // MARK: Rows

        func forEachObject(_ schema: StoreSchema, _ body: Body) throws {
            var line = 0
            for table in tables {
                guard let id = schema.table(named: table.name), !schema[id].isEmbedded else {
                    throw ToolError(
                        .usage,
                        "the class \(DisplayText.line(table.name)) is embedded in the store, so no table can become it."
                    )
                }
                let columns = try table.columns.map { column in
                    guard let found = schema[id].column(named: column.name) else {
                        throw ToolError(.input, "another process has changed the classes of the store. Import again.")
                    }
                    return found
                }
                var values = [ImportValues.Parsed?](repeating: nil, count: schema[id].columns.count)
                let rows = try table.rows(in: file)
                while try rows.next() {
                    line += 1
                    do {
                        for (index, column) in columns.enumerated() {
                            values[column] = try Self.value(rows, index, schema[id].columns[column], schema)
                        }
                        try body(id, nil, &values, line)
                    } catch let fault as InputFault {
                        throw RefusedObject(place: place(line, id), text: fault.text)
                    }
                    if line & 0xFF == 0 {
                        try Interrupts.check()
                        output.progress("importing", line, of: rowCount, in: { Amount.of($0, "row") })
                    }
                }
            }
        }

        /// The value that a property gets.
        private static func value(
            _ rows: SQLiteFile.Rows, _ index: Int, _ column: ColumnSchema, _ schema: StoreSchema
        ) throws(InputFault) -> ImportValues.Parsed {
            guard rows.type(index) != SQLITE_NULL else {
                if column.isNullable || column.type == .link || column.type == .mixed, column.collection == .none {
                    return .value(.null)
                }
                throw InputFault("\(DisplayText.line(column.name)) is NULL, but the property is not optional", at: 0)
            }
            var wanted = column
            var linked: TableID?
            if column.type == .link, let target = column.target, let key = schema[target].primaryKey {
                (wanted, linked) = (schema[target].columns[key], target)
            }
            guard column.collection == .none, let value = try value(rows, index, wanted.type) else {
                let type = TypeText.text(column, schema)
                throw InputFault("\(DisplayText.line(column.name)) has a value that is no \(type)", at: 0)
            }
            return linked.map { .link($0, .primaryKey(value)) } ?? .value(value)
        }

        /// The value as a type has it; nil if it is none of that type.
        private static func value(
            _ rows: SQLiteFile.Rows, _ index: Int, _ type: ColumnType
        ) throws(InputFault) -> Value? {
            switch rows.type(index) {
            case SQLITE_INTEGER:
                let value = rows.integer(index)
                switch type {
                case .int, .mixed: return .int(value)
                case .bool: return value == 0 || value == 1 ? .bool(value == 1) : nil
                case .double: return Double(exactly: value).map { .double($0) }
                case .float: return Float(exactly: value).map { .float($0) }
                case .decimal: return DecimalBits(text: String(value)).map { .decimal($0) }
                default: return nil
                }
            case SQLITE_FLOAT:
                let value = rows.double(index)
                switch type {
                case .double, .mixed: return .double(value)
                case .float: return .float(Float(value))
                case .decimal: return DecimalBits(text: "\(value)").map { .decimal($0) }
                default: return nil
                }
            case SQLITE_TEXT:
                let bytes = rows.bytes(index)
                try ImportValues.checkLength(bytes.count, at: 0)
                guard let text = String(validating: bytes, as: UTF8.self) else {
                    throw InputFault("a text is not UTF-8", at: 0)
                }
                if type == .string || type == .mixed { return .string(text) }
                return type == .data ? nil : ImportValues.scalar(type, text)
            default:
                let bytes = rows.bytes(index)
                try ImportValues.checkLength(bytes.count, at: 0)
                return type == .data || type == .mixed ? .data(Array(bytes)) : nil
            }
        }
    }
#endif
