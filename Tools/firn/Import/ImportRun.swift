import FirnBytes
import FirnCore
import FirnStorage

/// One run of `firn import`: reads the records, makes the classes that are missing, and puts the objects in.
final class ImportRun {
    struct Options {
        /// The class of objects that do not name theirs.
        var type: String?
        var primaryKey: String?
        var types: [(name: String, type: NamedType)] = []
        var isCSV = false
        /// After how many objects a transaction is committed; nil to commit everything at once.
        var batch: Int?
    }

    let source: RecordSource
    let options: Options
    private let output: Output
    private var schema = StoreSchema()

    /// The properties of a class as a record names them, in the order in which they came last. The import's thread
    /// alone uses it, and no call reads a value while another one changes it, so that need not be checked.
    private final class Names {
        @exclusivity(unchecked) var names: [(bytes: [UInt8], column: Int)] = []
        @exclusivity(unchecked) var columns: [String: Int] = [:]
        /// Of the object that is read.
        @exclusivity(unchecked) var values: [ImportValues.Parsed?]
        let descriptions: [ColumnSchema]

        init(_ table: TableSchema) {
            descriptions = table.columns
            for (number, column) in table.columns.enumerated() where !column.isRemoved { columns[column.name] = number }
            values = [ImportValues.Parsed?](repeating: nil, count: table.columns.count)
        }

        /// Forgets the object before.
        func clear() {
            for column in values.indices { values[column] = nil }
        }

        /// The column of a property that is the `index`th of its record; nil if there is none.
        func column(_ name: UnsafeRawBufferPointer, _ index: Int) -> Int? {
            if index < names.count, names[index].bytes.elementsEqual(name) { return names[index].column }
            guard let column = columns[String(decoding: name, as: UTF8.self)] else { return nil }
            if index < names.count {
                names[index] = (Array(name), column)
            } else if index == names.count {
                names.append((Array(name), column))
            }
            return column
        }
    }

    private var names: [Names?] = []

    init(_ source: RecordSource, _ options: Options, _ output: Output) {
        self.source = source
        self.options = options
        self.output = output
    }

    /// Imports everything.
    ///
    /// - Returns: how many objects were inserted, and how many changed; the last version.
    func run(into store: Store) throws -> (inserted: Int, changed: Int, version: UInt64) {
        let (classes, version) = try self.classes(store.pin().snapshot.schema)
        var transaction = try store.beginWrite()
        // Whether the transaction is neither committed nor cancelled.
        var isOpen = true
        do {
            // Another process may have changed the schema while the records were looked at.
            let stored = transaction.snapshot.schema
            schema = try ImportSchema(stored, adding: classes, version: version).schema
            names = schema.tables.map { _ in nil }
            if schema != stored { try transaction.changeSchema(to: schema) }
            let importer = Importer(schema, transaction)
            var last = store.pin().version
            func commit() throws {
                isOpen = false
                last = try transaction.commit().number
            }
            var pending = 0
            try forEachObject { table, number, values, line in
                try importer.add(table, number: number, &values, line: line)
                pending += 1
                guard let batch = options.batch, pending >= batch else { return }
                pending = 0
                try commit()
                transaction = try store.beginWrite()
                isOpen = true
                guard transaction.snapshot.schema == schema else {
                    throw ToolError(
                        .input, "another process has changed the classes of the store meanwhile. Import the rest again."
                    )
                }
                importer.go(on: transaction)
            }
            try importer.finish()
            if let fault = transaction.fault { throw fault }
            if transaction.hasChanges { try commit() } else { transaction.cancel() }
            return (importer.inserted, importer.changed, last)
        } catch {
            if isOpen { transaction.cancel() }
            guard let fault = error as? LineFault else { throw error }
            throw refusal(fault.fault, fault.line, hasColumn: false)
        }
    }

    private func refusal(_ fault: InputFault, _ line: Int, hasColumn: Bool = true) -> ToolError {
        let place = hasColumn ? "\(line):\(fault.offset + 1)" : "\(line)"
        let left = options.batch == nil ? "Nothing was imported." : "Objects before the last full batch are imported."
        return ToolError(.usage, "\(source.name):\(place): \(fault.text). \(left)")
    }

    // MARK: Records

    /// Calls `body` with each record that is not empty, and adds the place to what is thrown.
    func forEachRecord(
        _ body: (_ record: UnsafeRawBufferPointer, _ line: Int) throws -> Bool
    ) throws {
        var goesOn = true
        var count = 0
        while goesOn {
            let isThere = try source.next(end: options.isCSV ? CSVReader.end : LineReader.end) { record, line in
                var record = record
                // A mark that some programs put before UTF-8.
                if line == 1, record.starts(with: [0xEF, 0xBB, 0xBF]) {
                    record = UnsafeRawBufferPointer(rebasing: record[3...])
                }
                guard record.contains(where: { $0 > 0x20 }) else { return }
                do {
                    goesOn = try body(record, line)
                } catch let fault as InputFault {
                    throw place(fault, record, line)
                }
            }
            count += 1
            if count & 0xFF == 0 {
                try Interrupts.check()
                if let byteCount = source.byteCount { output.progress("reading", source.done, of: byteCount) }
            }
            if !isThere { return }
        }
    }

    /// A fault's line and column: a record of CSV may have several lines.
    private func place(_ fault: InputFault, _ record: UnsafeRawBufferPointer, _ line: Int) -> ToolError {
        let before = record[..<min(fault.offset, record.count)]
        let lines = before.count { $0 == 0x0A }
        let column = before.count - ((before.lastIndex(of: 0x0A) ?? -1) + 1)
        return refusal(InputFault(fault.text, at: column), line + lines)
    }

    // MARK: Objects

    private func table(named name: String, at offset: Int) throws(InputFault) -> TableID {
        guard let table = schema.table(named: name), !schema[table].isEmbedded else {
            throw InputFault("there is no class \(DisplayText.line(name)) whose objects stand alone", at: offset)
        }
        return table
    }

    private func unknown(_ name: String, _ table: TableID, at offset: Int) -> InputFault {
        let type = DisplayText.line(schema[table].name)
        return InputFault("\(type) has no property \(name); name its type in --types to add it", at: offset)
    }

    private func names(_ table: TableID) -> Names {
        if let known = names[table.index] { return known }
        let made = Names(schema[table])
        names[table.index] = made
        return made
    }

    /// Calls `body` with each object.
    private func forEachObject(
        _ body: (TableID, _ number: Int64?, inout [ImportValues.Parsed?], _ line: Int) throws -> Void
    ) throws {
        let form = ImportValues(schema: schema)
        let given = try options.type.map { (name) throws(InputFault) in try table(named: name, at: 0) }
        if options.isCSV { return try forEachRow(form, given!, body) }
        try forEachRecord { record, line in
            var reader = JSONReader(record)
            var table = given
            var number: Int64?
            var index = 0
            var names: Names?
            var isSchema = false
            try reader.object { (name, offset, reader) throws(InputFault) in
                if name.first == UInt8(ascii: "$") {
                    switch String(decoding: name, as: UTF8.self) {
                    case "$schema" where names == nil && index == 0 && number == nil:
                        isSchema = true
                        return try reader.skip()
                    case "$type" where names == nil:
                        table = try self.table(named: try reader.string(), at: offset)
                        return
                    case "$object" where names == nil:
                        guard try reader.kind() == .number, case .int(let found) = try reader.number(), found >= 0
                        else {
                            throw InputFault("$object should be a number of an object", at: offset)
                        }
                        number = found
                        return
                    default: break
                    }
                }
                guard let table else {
                    throw InputFault("the object should begin with its $type, or give --type", at: offset)
                }
                let known = names ?? self.names(table)
                if names == nil {
                    names = known
                    known.clear()
                }
                guard let column = known.column(name, index) else {
                    let name = DisplayText.line(String(decoding: name, as: UTF8.self))
                    throw unknown(name, table, at: offset)
                }
                guard known.values[column] == nil else { throw InputFault("the property is there twice", at: offset) }
                known.values[column] = try form.read(known.descriptions[column], &reader)
                index += 1
            }
            try reader.end()
            if isSchema {
                guard names == nil, line == 1 else {
                    throw InputFault("only the first line may have a $schema, and nothing else", at: 0)
                }
                return true
            }
            guard let table else { throw InputFault("the object should begin with its $type, or give --type", at: 0) }
            let known = names ?? self.names(table)
            if names == nil { known.clear() }
            try body(table, number, &known.values, line)
            return true
        }
    }

    private func forEachRow(
        _ form: ImportValues, _ table: TableID,
        _ body: (TableID, _ number: Int64?, inout [ImportValues.Parsed?], _ line: Int) throws -> Void
    ) throws {
        var columns: [Int?]?
        let known = names(table)
        try forEachRecord { record, line in
            let fields = try CSVReader.fields(record)
            guard let columns else {
                var seen: Set<[UInt8]> = []
                for field in fields where !seen.insert(field.text).inserted {
                    throw InputFault("the name is there twice", at: field.offset)
                }
                columns = try fields.map { (field) throws(InputFault) in
                    let name = String(decoding: field.text, as: UTF8.self)
                    if name == "$object" { return nil }
                    guard let column = known.columns[name] else {
                        throw unknown(DisplayText.line(name), table, at: field.offset)
                    }
                    return column
                }
                return true
            }
            guard fields.count == columns.count else {
                throw InputFault("the line has \(fields.count) fields, but the first one \(columns.count)", at: 0)
            }
            known.clear()
            var number: Int64?
            for (column, field) in zip(columns, fields) {
                if let column {
                    known.values[column] = try form.read(known.descriptions[column], field)
                } else {
                    number = Int64(String(decoding: field.text, as: UTF8.self)).flatMap { $0 >= 0 ? $0 : nil }
                    if number == nil { throw InputFault("$object should be a number of an object", at: field.offset) }
                }
            }
            try body(table, number, &known.values, line)
            return true
        }
    }
}
