import FirnBytes
import FirnCore
import FirnRealmFile
import FirnRealmImport

/// The objects of a file that Realm made, read by Firn itself.
final class RealmFileImport: ImportSource {
    private let file: RealmFile
    private let output: Output
    /// The classes that are imported, and of each the numbers of the properties that are.
    private var chosen: [(type: RealmFileClass, properties: [Int])] = []
    /// The running number of each class's first object.
    private var starts: [Int] = []

    /// - Parameters:
    ///   - classes: the names of the classes; all if there are none.
    ///   - salvages: whether classes that can't be read are left out.
    init(_ file: RealmFile, classes names: [String], salvages: Bool, _ output: Output) throws {
        self.file = file
        self.output = output
        for name in names where !file.classes.contains(where: { $0.name == name }) {
            throw ToolError(
                .usage,
                "\(DisplayText.line(file.path)) has no class \(DisplayText.line(name)). It has \(file.classes.map { DisplayText.line($0.name) }.joined(separator: ", "))."
            )
        }
        var types = file.classes.filter { names.isEmpty || names.contains($0.name) }
        if salvages { types = try types.filter(isReadable) }
        let taken = Set(types.map(\.name))
        for type in types {
            var properties: [Int] = []
            for (number, property) in type.properties.enumerated() {
                // Without --salvage or --class, every class is there.
                if let target = property.target, !taken.contains(target), salvages {
                    warn("\(type.name).\(property.name) is left out: it links to \(target), which is left out")
                } else {
                    properties.append(number)
                }
            }
            chosen.append((type, properties))
        }
    }

    private func warn(_ text: String) { output.warn("firn: \(DisplayText.line(text)).") }

    /// Reads all of a class once. Tells why it can't be read.
    private func isReadable(_ type: RealmFileClass) throws -> Bool {
        defer { file.beginReading() }
        do {
            try file.check(type)
            return true
        } catch let error as RealmFileError {
            output.warn("firn: \(DisplayText.line(error.description)) The class is left out.")
            return false
        }
    }

    var name: String { DisplayText.line(file.path) }

    func place(_ line: Int, _ table: TableID) -> String {
        let index = max(0, (starts.firstIndex { $0 > line } ?? starts.count) - 1)
        guard index < chosen.count else { return "object \(line)" }
        return "\(DisplayText.line(chosen[index].type.name)), object \(line - starts[index] + 1)"
    }

    func classes(_ stored: StoreSchema) throws -> (classes: [ImportSchema.Class], version: UInt64) {
        let classes = chosen.map { type, properties in
            var new = ImportSchema.Class(name: type.name, isEmbedded: type.kind == .embedded, properties: [])
            new.primaryKey = type.primaryKey.map { type.properties[$0].name }
            for number in properties {
                let property = type.properties[number]
                let isIndexed = property.index == .general && property.collection == nil && number != type.primaryKey
                new.properties.append((property.name, Self.type(property), isIndexed))
            }
            return new
        }
        return (classes, UInt64(max(0, file.schemaVersion ?? 0)))
    }

    private static func type(_ property: RealmFileProperty) -> NamedType {
        let type = property.type.columnType
        return NamedType(
            type: type, collection: property.collectionKind, isNullable: type == .mixed || property.isOptional,
            target: property.target)
    }

    func forEachObject(_ schema: StoreSchema, _ body: Body) throws {
        let tables = schema.numbersByName
        let reading = try Reading(self, schema, tables: tables)
        var line = 0
        for (type, properties) in chosen {
            starts.append(line)
            guard type.kind != .embedded, let table = tables[type.name] else { continue }
            guard !schema[table].isEmbedded else {
                throw ToolError(
                    .usage, "the class \(DisplayText.line(type.name)) is embedded in the store, but not in \(name).")
            }
            let columns = try reading.columns(of: type, properties, table)
            try file.forEachBatch(of: type) { batch in
                for index in 0..<batch.count {
                    var values = [ImportValues.Parsed?](repeating: nil, count: schema[table].columns.count)
                    do {
                        for (property, column) in columns {
                            values[column] = try reading.value(
                                batch.value(property, index), schema[table].columns[column])
                        }
                        try body(table, batch.key(index), &values, line)
                    } catch let fault as InputFault {
                        throw ObjectFault(place: place(line, table), text: fault.text)
                    }
                    line += 1
                }
                try Interrupts.check()
                output.progress("importing", line, of: max(line, total), in: { Amount.of($0, one: "object") })
            }
        }
        tell(reading)
    }

    private lazy var total = chosen.reduce(0) {
        $0 + ($1.type.kind == .embedded ? 0 : file.estimatedCount(of: $1.type))
    }

    /// Tells what could not stay as it is.
    private func tell(_ reading: Reading) {
        func tell(_ count: Int, one: String, _ text: String) {
            if count > 0 { output.warn("firn: \(Amount.of(count, one: one)) \(text).") }
        }
        tell(reading.values.replacedTextCount, one: "text", "had bytes that are no UTF-8; each became U+FFFD")
        tell(reading.missingLinkCount, one: "link", "to objects that the file does not have were left out")
        tell(
            reading.values.replacedNullCount, one: "null",
            "in properties that are not optional became 0, empty or false")
        tell(reading.secondParentCount, one: "link", "to embedded objects that have another parent were left out")
        let fullText = chosen.flatMap { type, _ in
            type.properties.filter { $0.index == .fullText }.map { "\(type.name).\($0.name)" }
        }
        if !fullText.isEmpty { warn("the full-text indexes of \(fullText.joined(separator: ", ")) are left out") }
        let others = file.otherTables.filter { !["metadata", "pk"].contains($0) }
        if !others.isEmpty { warn("tables that are no classes are left out: \(others.joined(separator: ", "))") }
        if file.isSynchronized {
            warn("the file was synchronized with a server: changes that were not sent are here, but will not be sent")
        }
    }
}

extension RealmFileImport {
    /// Converts values: links become numbers of objects, and links to embedded objects the objects themselves.
    private final class Reading {
        private let file: RealmFile
        private let schema: StoreSchema
        private let tables: NameMap<TableID>
        private let classes: [UInt32: (type: RealmFileClass, properties: [Int])]
        /// The keys of the objects by the tables of the file, in ascending order.
        private var keys: [UInt32: [Int64]] = [:]
        /// The embedded objects that have a parent.
        private var parented: [UInt32: Set<Int64>] = [:]
        private(set) var values: RealmImportValues
        private(set) var missingLinkCount = 0
        private(set) var secondParentCount = 0

        init(_ source: RealmFileImport, _ schema: StoreSchema, tables: NameMap<TableID>) throws {
            file = source.file
            self.schema = schema
            self.tables = tables
            values = RealmImportValues(file)
            classes = Dictionary(uniqueKeysWithValues: source.chosen.map { ($0.type.table, ($0.type, $0.properties)) })
            // Only links need to know which objects exist.
            for (type, _) in source.chosen where type.kind != .embedded {
                var own: [Int64] = []
                try file.forEachKey(of: type) { own.append($0) }
                if zip(own, own.dropFirst()).contains(where: { $0 >= $1 }) { own.sort() }
                keys[type.table] = own
            }
            file.beginReading()
        }

        /// The numbers of a class's properties and of their columns.
        func columns(
            of type: RealmFileClass, _ properties: [Int], _ table: TableID
        ) throws -> [(property: Int, column: Int)] {
            let columns = schema[table].numbersByName
            return try properties.map { number in
                guard let column = columns[type.properties[number].name] else {
                    throw ToolError(.input, "another process has changed the classes of the store. Import again.")
                }
                return (number, column)
            }
        }

        func value(_ value: RealmFileValue, _ column: ColumnSchema) throws -> ImportValues.Parsed {
            if case .collection(let collection) = value { return try self.collection(collection, column) }
            if column.collection != .none { return .list([]) }
            return try single(value, column)
        }

        private func single(_ value: RealmFileValue, _ column: ColumnSchema) throws -> ImportValues.Parsed {
            switch value {
            case .link(let table, let key): return try link(table, key, isMixed: column.type == .mixed)
            case .collection(let collection): return try self.collection(collection, column)
            default: return .value(try values.scalar(value, column) ?? .null)
            }
        }

        private func collection(
            _ collection: RealmFileCollection, _ column: ColumnSchema
        ) throws -> ImportValues.Parsed {
            if collection.kind == .dictionary {
                var entries: [(key: String, value: ImportValues.Parsed)] = []
                try file.forEachEntry(of: collection) { key, value in
                    entries.append((try values.text(key, column), try single(value, column)))
                }
                return .map(entries.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) })
            }
            var elements: [ImportValues.Parsed] = []
            try file.forEachElement(of: collection) { element in
                let value = try single(element, column)
                // A link to a missing object has no meaning in a list of objects.
                if column.type == .link, case .value(.null) = value { return }
                elements.append(value)
            }
            return collection.kind == .set ? .set(elements) : .list(elements)
        }

        private func link(_ table: UInt32, _ key: Int64, isMixed: Bool) throws -> ImportValues.Parsed {
            guard let (type, properties) = classes[table], let id = tables[type.name] else {
                missingLinkCount += 1
                return .value(.null)
            }
            if type.kind == .embedded { return try embedded(key, of: type, properties, table: id) }
            guard exists(key, table) else {
                missingLinkCount += 1
                return .value(.null)
            }
            return isMixed ? .typedLink(id, .number(key)) : .link(id, .number(key))
        }

        private func exists(_ key: Int64, _ table: UInt32) -> Bool {
            guard let keys = keys[table] else { return false }
            let index = keys.firstIndex(notBelow: key)
            return index < keys.count && keys[index] == key
        }

        /// An embedded object, which one object alone may have.
        private func embedded(
            _ key: Int64, of type: RealmFileClass, _ properties: [Int], table: TableID
        ) throws -> ImportValues.Parsed {
            guard parented[type.table, default: []].insert(key).inserted else {
                secondParentCount += 1
                return .value(.null)
            }
            var object: [Int: ImportValues.Parsed] = [:]
            let isFound = try file.withObject(key, of: type) { batch, index in
                for (property, column) in try columns(of: type, properties, table) {
                    object[column] = try value(batch.value(property, index), schema[table].columns[column])
                }
            }
            guard isFound else {
                missingLinkCount += 1
                return .value(.null)
            }
            return .embedded(table, object)
        }
    }
}
