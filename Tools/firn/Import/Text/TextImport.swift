import FirnBytes
import FirnCore

/// The objects of a text: JSON lines, or CSV.
final class TextImport: ImportSource {
    struct Options {
        /// The class of objects that do not name theirs.
        var type: String?
        var primaryKey: String?
        var types: [(name: String, type: NamedType)] = []
        var isCSV = false
    }

    let source: RecordSource
    let options: Options
    private let output: Output
    private(set) var schema = StoreSchema()
    private var tables = NameMap<TableID>([])

    /// The properties of a class as records name them, in the order of the last record. Only the import's thread uses
    /// it. No call reads a value while another one changes it, so exclusive access need not be checked.
    final class Names {
        @exclusivity(unchecked) var names: [(bytes: [UInt8], column: Int)] = []
        @exclusivity(unchecked) var columns: [String: Int] = [:]
        /// The values of the object that is being read, by the column's number.
        @exclusivity(unchecked) var values: [ImportValues.Parsed?]
        let descriptions: [ColumnSchema]

        init(_ table: TableSchema) {
            descriptions = table.columns
            for (number, column) in table.columns.enumerated() where !column.isRemoved { columns[column.name] = number }
            values = [ImportValues.Parsed?](repeating: nil, count: table.columns.count)
        }

        /// Forgets the values of the previous object.
        func clear() {
            for column in values.indices { values[column] = nil }
        }

        /// The column of the property that has this name and is the `index`th of its record; nil if there is none.
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

    init(source: RecordSource, options: Options, output: Output) {
        self.source = source
        self.options = options
        self.output = output
    }

    var name: String { source.name }

    func place(_ line: Int, _ table: TableID) -> String { "\(line)" }

    // MARK: Records

    /// Calls `body` with each record, and adds the location in the input to errors.
    ///
    /// - Parameter skipsEmpty: whether records that are empty are left out. An empty line of CSV may be an object of
    ///   one property without a value.
    func forEachRecord(
        skipsEmpty: () -> Bool = { true }, _ body: (_ record: UnsafeRawBufferPointer, _ line: Int) throws -> Bool
    ) throws {
        var goesOn = true
        while goesOn {
            let isThere = try source.next(end: options.isCSV ? CSVReader.end : LineReader.end) { record, line in
                var record = record
                // The byte order mark that some programs put before UTF-8.
                if line == 1, record.starts(with: [0xEF, 0xBB, 0xBF]) {
                    record = UnsafeRawBufferPointer(rebasing: record[3...])
                }
                guard record.contains(where: { $0 > 0x20 }) || !skipsEmpty() else { return }
                do {
                    goesOn = try body(record, line)
                } catch let fault as InputFault {
                    throw ObjectFault(place: source.place(fault.offset, in: record), text: fault.text)
                }
            }
            try source.didRead(output)
            if !isThere { return }
        }
    }

    // MARK: Objects

    func table(named name: String, at offset: Int) throws(InputFault) -> TableID {
        guard let table = tables[name], !schema[table].isEmbedded else {
            throw InputFault("there is no class \(DisplayText.name(name)) whose objects stand alone", at: offset)
        }
        return table
    }

    func unknown(_ name: String, _ table: TableID, at offset: Int) -> InputFault {
        let type = DisplayText.name(schema[table].name)
        return InputFault("\(type) has no property \(name); name its type in --types to add it", at: offset)
    }

    func names(_ table: TableID) -> Names {
        if let known = names[table.index] { return known }
        let made = Names(schema[table])
        names[table.index] = made
        return made
    }

    func forEachObject(_ schema: StoreSchema, _ body: Body) throws {
        self.schema = schema
        names = schema.tables.map { _ in nil }
        let form = ImportValues(schema: schema)
        tables = form.tables
        let given: TableID?
        do {
            given = try options.type.map { (name) throws(InputFault) in try table(named: name, at: 0) }
        } catch {
            throw ToolError(.usage, "\(error.text).")
        }
        if options.isCSV { return try forEachRow(form, table: given!, body: body) }
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
                    let name = DisplayText.name(String(decoding: name, as: UTF8.self))
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
}
