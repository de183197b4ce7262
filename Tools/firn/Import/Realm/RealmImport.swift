import FirnBytes
import FirnCore
import FirnStorage

/// The objects of a Realm file, as `realm2json` writes them.
final class RealmImport: ImportSource {
    private let source: RecordSource
    private let schemaSource: RecordSource
    private let output: Output
    /// The classes whose objects have a `_key`.
    private var numbered: Set<String> = []

    /// - Parameters:
    ///   - file: what `realm2json` has written.
    ///   - schemaFile: what `realm2json --schema` has written.
    init(_ file: String, schema schemaFile: String, storage: any Storage, _ output: Output) throws {
        source = try RecordSource(file, storage: storage)
        schemaSource = try RecordSource(schemaFile, storage: storage)
        self.output = output
    }

    var name: String { source.name }

    func place(_ line: Int, _ table: TableID) -> String { "\(line)" }

    func classes(_ stored: StoreSchema) throws -> (classes: [ImportSchema.Class], version: UInt64) {
        var found: [ImportSchema.Class] = []
        _ = try schemaSource.next(end: { bytes, isLast, _ in isLast ? bytes.count : nil }) { bytes, _ in
            do throws(InputFault) {
                var reader = JSONReader(bytes)
                found = try RealmSchema.read(&reader)
            } catch {
                throw ToolError(
                    .usage, "\(schemaSource.name):\(schemaSource.place(error.offset, in: bytes)): \(error.text).")
            }
        }
        // Looks at the first object of each class, and at the form of the document.
        var seen = ""
        try forEachObject { name, object, _ in
            guard name != seen else { return }
            seen = name
            var reader = JSONReader(object)
            try reader.object { (member, _, reader) throws(InputFault) in
                if member.elementsEqual("_key".utf8) { numbered.insert(name) }
                try reader.skip()
            }
        }
        source.rewind()
        for found in found where !found.isEmbedded && found.primaryKey == nil { numbered.insert(found.name) }
        return (found, 0)
    }

    func forEachObject(_ schema: StoreSchema, _ body: Body) throws {
        let classes = schema.numbersByName
        let numbered = Set(numbered.compactMap { classes[$0] })
        let form = RealmValues(schema: schema, numbered: numbered)
        var current: (name: String, table: TableID)?
        var values: [ImportValues.Parsed?] = []
        try forEachObject { name, object, line in
            if current?.name != name {
                guard let table = classes[name], !schema[table].isEmbedded else {
                    throw InputFault("the class \(DisplayText.name(name)) is not in the schema, or embedded", at: 0)
                }
                current = (name, table)
                values = [ImportValues.Parsed?](repeating: nil, count: schema[table].columns.count)
            }
            guard let table = current?.table else { return }
            var reader = JSONReader(object)
            let read = try form.readObject(table, &reader)
            try reader.end()
            for column in values.indices { values[column] = read.values[column] }
            try body(table, read.key, &values, line)
        }
    }

    /// Calls `body` with each object and the name of its class, and adds the location in the input to errors.
    private func forEachObject(
        _ body: (_ name: String, _ object: UnsafeRawBufferPointer, _ line: Int) throws -> Void
    ) throws {
        var document = RealmDocument()
        var name: String?
        while !document.isComplete {
            let isThere = try source.next(end: document.end) { piece, line in
                do {
                    switch try document.take(piece, source.terminator) {
                    case .head(let table): name = RealmSchema.className(table)
                    case .object: if let name { try body(name, piece, line) }
                    case .nothing, .end: break
                    }
                } catch let fault as InputFault {
                    throw ObjectFault(place: source.place(fault.offset, in: piece), text: fault.text)
                }
            }
            guard isThere else {
                throw ObjectFault(
                    place: source.end, text: "this is not what realm2json writes: the document ends before its }")
            }
            try source.didRead(output)
        }
    }
}
