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
            let found = try SQLiteTable.all(chosen, in: file) { output.warn("firn: \(DisplayText.line($0))") }
            tables = Self.ordered(found)
            rowCount = tables.reduce(0) { $0 + $1.rowCount }
        }

        /// The tables, each behind the tables that it refers to, unless they refer to one another. So few links have to
        /// wait.
        private static func ordered(_ tables: [SQLiteTable]) -> [SQLiteTable] {
            let byName = Dictionary(uniqueKeysWithValues: tables.map { ($0.name, $0) })
            var ordered: [SQLiteTable] = []
            var seen: Set<String> = []
            // This is not recursive, since a chain may be long. A table is taken a second time behind the tables that
            // it refers to.
            var waiting = tables.reversed().map { (table: $0, isReady: false) }
            while let (table, isReady) = waiting.popLast() {
                if isReady {
                    ordered.append(table)
                    continue
                }
                guard seen.insert(table.name).inserted else { continue }
                waiting.append((table, true))
                for column in table.columns.reversed() {
                    if let target = column.reference.flatMap({ byName[$0.table] }) { waiting.append((target, false)) }
                }
            }
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
            let imported = Set(tables.map(\.name))
            let storedClasses = stored.numbersByName
            let classes = tables.map { table in
                let known = storedClasses[table.name]
                let properties = known.map { stored[$0].numbersByName }
                var new = ImportSchema.Class(name: table.name, properties: [])
                if known == nil, table.hasKey { new.primaryKey = table.primaryKey.map { table.columns[$0].name } }
                for (index, column) in table.columns.enumerated() {
                    // A property that exists keeps its type; a value that it does not take is refused.
                    if properties?[column.name] != nil { continue }
                    let isKey = table.hasKey && index == table.primaryKey
                    var type = NamedType(type: isKey ? column.keyType : column.type)
                    if let target = column.reference?.table,
                        imported.contains(target) || storedClasses[target] != nil
                    {
                        type = NamedType(type: .link, target: target)
                    }
                    type.isNullable = !isKey && (column.mayBeNull || column.seen.nulls || type.type == .link)
                    let isIndexed = column.isIndexed && [.int, .string, .bool, .date].contains(type.type)
                    new.properties.append((column.name, type, isIndexed))
                }
                return new
            }
            return (classes, 0)
        }

        /// Throws unless a foreign key refers to the primary key of the class that the property links to.
        private func check(
            _ column: SQLiteTable.Column, of table: SQLiteTable, property: ColumnSchema, schema: StoreSchema
        ) throws(ToolError) {
            guard property.type == .link, let target = property.target.map({ schema[$0] }) else { return }
            let key = target.primaryKey.map { target.columns[$0].name }
            guard let reference = column.reference, reference.table == target.name, reference.column == key else {
                let place = "\(DisplayText.line(table.name)).\(DisplayText.line(column.name))"
                let refers = column.reference.map { "refers to \($0.table).\($0.column)" } ?? "refers to no primary key"
                throw ToolError(
                    .usage,
                    "\(file.name): \(place) \(DisplayText.line(refers)), but in the store it links to \(DisplayText.line(target.name)), whose primary key is \(DisplayText.line(key ?? "missing")). Nothing was imported."
                )
            }
        }

        // MARK: Rows

        func forEachObject(_ schema: StoreSchema, _ body: Body) throws {
            var line = 0
            let classes = schema.numbersByName
            for table in tables {
                guard let id = classes[table.name], !schema[id].isEmbedded else {
                    throw ToolError(
                        .usage,
                        "the class \(DisplayText.line(table.name)) is embedded in the store, so no table can become it."
                    )
                }
                let properties = schema[id].numbersByName
                let columns = try table.columns.map { column in
                    guard let found = properties[column.name] else {
                        throw ToolError(.input, "another process has changed the classes of the store. Import again.")
                    }
                    try check(column, of: table, property: schema[id].columns[found], schema: schema)
                    return found
                }
                var values = [ImportValues.Parsed?](repeating: nil, count: schema[id].columns.count)
                let rows = try table.rows(in: file)
                while try rows.next() {
                    line += 1
                    do {
                        for (index, column) in columns.enumerated() {
                            values[column] = try Self.value(
                                rows, index: index, column: schema[id].columns[column], schema: schema)
                        }
                        try body(id, nil, &values, line)
                    } catch let fault as InputFault {
                        throw ObjectFault(place: place(line, id), text: fault.text)
                    }
                    if line & 0xFF == 0 {
                        try Interrupts.check()
                        output.progress("importing", line, of: rowCount, in: { Amount.of($0, one: "row") })
                    }
                }
            }
        }

        /// The value that a property gets.
        private static func value(
            _ rows: SQLiteFile.Rows, index: Int, column: ColumnSchema, schema: StoreSchema
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
            guard column.collection == .none,
                let value = try value(rows, index: index, type: wanted.type)
                    ?? (linked == nil ? nil : key(rows, index: index, type: wanted.type))
            else {
                let type = TypeText.text(column, schema)
                throw InputFault("\(DisplayText.line(column.name)) has a value that is no \(type)", at: 0)
            }
            return linked.map { .link($0, .primaryKey(value)) } ?? .value(value)
        }

        /// A foreign key, converted to the type of the key that it refers to; nil if that is impossible. SQLite treats
        /// such keys as the same.
        private static func key(_ rows: SQLiteFile.Rows, index: Int, type: ColumnType) -> Value? {
            switch (type, rows.type(index)) {
            case (.int, SQLITE_TEXT): Int64(String(decoding: rows.bytes(index), as: UTF8.self)).map { .int($0) }
            case (.int, SQLITE_FLOAT): Int64(exactly: rows.double(index)).map { .int($0) }
            case (.string, SQLITE_INTEGER): .string(String(rows.integer(index)))
            default: nil
            }
        }

        /// The value, converted to a property's type; nil if that is impossible.
        private static func value(
            _ rows: SQLiteFile.Rows, index: Int, type: ColumnType
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
                case .float: return ImportValues.float(value).map { .float($0) }
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
