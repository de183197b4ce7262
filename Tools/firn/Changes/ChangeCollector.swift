import FirnBytes

/// Gathers a version's blocks, which are ordered by column, into objects, and writes these. It writes what it holds
/// whenever that passes a limit, so an object may be written in several pieces.
struct ChangeCollector {
    private enum Change: String {
        case inserted, updated, deleted
    }

    /// One property of an object, as text or as JSON.
    private struct Property {
        var name: String
        var text: String
        var json: [(String, JSON)]
    }

    private struct Object {
        var table: Int
        var key: Int64
        var change: Change
        var primaryKey: JSON?
        var properties: [Property] = []
    }

    private struct Identity: Hashable {
        var table: Int
        var key: Int64
    }

    var schema: DecodedSchema?
    private let isJSON: Bool
    private let names: PrimaryKeys
    private let output: Output
    private var objects: [Object] = []
    private var indexes: [Identity: Int] = [:]
    private var byteCount = 0
    /// Deleted objects whose old values have been read. The delete block that follows names the same objects again.
    private var deleted: Set<Identity> = []

    /// How many deleted objects are remembered.
    var rememberedCount: Int { deleted.count }

    /// The most that is held, in bytes of text.
    private static let byteMax = 8 << 20
    /// The most deleted objects that are remembered.
    private static let deletedMax = 1 << 20

    init(isJSON: Bool, names: PrimaryKeys, output: Output) {
        self.isJSON = isJSON
        self.names = names
        self.output = output
    }

    // MARK: Blocks

    mutating func add(_ block: ChangeBlock) throws {
        switch block {
        case .schema, .nextKey: break
        case .insert(let rows): try add(rows, .inserted)
        case .insertMore(let rows): try add(rows, .inserted)
        case .deleteOld(let rows): try add(rows, .deleted)
        case .delete(let table, let keys):
            for index in 0..<keys.count {
                let identity = Identity(table: table, key: keys[index])
                if deleted.remove(identity) == nil { try change(identity, .deleted, nil) }
            }
        case .update(let update): try add(update)
        case .script(let script): try add(script)
        case .elements(let more): try add(more)
        case .unknown(let kind, let byteCount):
            if !isJSON { try output.line("  (a block of kind \(kind), \(byteCount) B, that this release can't read)") }
        }
    }

    private mutating func add(_ rows: RowRun, _ kind: Change) throws {
        let primaryKey = schema?.tables[rows.table].primaryKey
        for index in 0..<rows.keys.count {
            let identity = Identity(table: rows.table, key: rows.keys[index])
            if kind == .deleted {
                // The objects forgotten here are written twice, if a delete block names them.
                if deleted.count >= Self.deletedMax { deleted.removeAll() }
                deleted.insert(identity)
            }
            if rows.columns.isEmpty { try change(identity, kind, nil) }
            for (column, values) in rows.columns {
                let cell = values.cell(index)
                if column == primaryKey { setPrimaryKey(identity, kind, cell) }
                try change(
                    identity, kind,
                    Property(
                        name: name(identity.table, column), text: isJSON ? "" : text(cell),
                        json: isJSON ? [(kind == .deleted ? "old" : "new", json(cell))] : []))
            }
        }
    }

    private mutating func add(_ update: UpdateRun) throws {
        var oldIndex = 0
        let name = name(update.table, update.column)
        for index in 0..<update.keys.count {
            let new = update.values.cell(index)
            let isUnchanged = update.unchanged?[index] ?? false
            var old = new
            if !isUnchanged, let values = update.old {
                old = values.cell(oldIndex)
                oldIndex += 1
            }
            let property: Property
            if isJSON {
                // A value that was assigned again without a change has no old value of its own.
                property = Property(
                    name: name, text: "",
                    json: isUnchanged
                        ? [("new", json(new)), ("unchanged", .bool(true))] : [("old", json(old)), ("new", json(new))])
            } else {
                property = Property(
                    name: name, text: isUnchanged ? "\(text(new)), assigned again" : "\(text(old)) -> \(text(new))",
                    json: [])
            }
            try change(Identity(table: update.table, key: update.keys[index]), .updated, property)
        }
    }

    private mutating func add(_ script: EditScript) throws {
        let new = Self.elements(script.new)
        let old = script.old.map(Self.elements) ?? []
        var newStart = 0
        var oldStart = 0
        var texts: [String] = []
        var edits: [JSON] = []
        for operation in script.operations {
            let added = new[newStart..<newStart + operation.newCount]
            let removed = old[oldStart..<min(old.count, oldStart + operation.oldCount)]
            newStart += operation.newCount
            oldStart += removed.count
            if isJSON {
                edits.append(json(operation, added, removed))
            } else {
                texts.append(text(operation, added, removed))
            }
        }
        let property = Property(
            name: name(script.table, script.column),
            text: script.operations.isEmpty ? "assigned again" : texts.joined(separator: "; "),
            json: isJSON ? [("edits", .array(edits))] : [])
        try change(Identity(table: script.table, key: script.key), .updated, property)
    }

    private mutating func add(_ more: MoreElements) throws {
        let kind: Change = more.owner == .inserted ? .inserted : more.owner == .deleted ? .deleted : .updated
        let cell = more.values.cell(0)
        let which = more.owner.isOld ? "old" : "new"
        let property = Property(
            name: name(more.table, more.column), text: isJSON ? "" : "\(which), further: \(text(cell))",
            json: isJSON ? [(which, json(cell)), ("continues", .bool(true))] : [])
        try change(Identity(table: more.table, key: more.key), kind, property)
    }

    /// An element of a collection: its value, and its key if the collection is a map.
    private typealias Element = (key: String?, value: Cell)

    private static func elements(_ run: CellRun) -> [Element] {
        switch run.cell(0) {
        case .list(let cells), .set(let cells): cells.map { (nil, $0) }
        case .map(let entries): entries.map { (String(decoding: $0.key, as: UTF8.self), $0.value) }
        default: []
        }
    }

    // MARK: Objects

    private mutating func setPrimaryKey(_ identity: Identity, _ kind: Change, _ cell: Cell) {
        let index = object(identity, kind)
        objects[index].primaryKey = isJSON ? json(cell) : .string(text(cell))
    }

    private mutating func object(_ identity: Identity, _ kind: Change) -> Int {
        if let index = indexes[identity], objects[index].change == kind || kind == .updated { return index }
        objects.append(
            Object(
                table: identity.table, key: identity.key, change: kind, primaryKey: names[identity.table, identity.key])
        )
        indexes[identity] = objects.count - 1
        return objects.count - 1
    }

    private mutating func change(_ identity: Identity, _ kind: Change, _ property: Property?) throws {
        let index = object(identity, kind)
        byteCount += 64
        if let property {
            objects[index].properties.append(property)
            byteCount += 64 + property.text.utf8.count + property.json.reduce(0) { $0 + $1.1.byteCount }
        }
        if byteCount > Self.byteMax { try flush() }
    }

    /// Writes what is held.
    mutating func flush() throws {
        for object in objects { try output.line(isJSON ? json(object).text : text(object)) }
        objects.removeAll(keepingCapacity: true)
        indexes.removeAll(keepingCapacity: true)
        byteCount = 0
    }

    // MARK: Text

    /// A column's name: unchanged for JSON, escaped for people.
    private func name(_ table: Int, _ column: Int) -> String {
        let name = schema?.name(table, column) ?? "column \(column)"
        return isJSON ? name : DisplayText.line(name)
    }
    private func text(_ cell: Cell) -> String { CellText.text(cell, schema) }
    private func json(_ cell: Cell) -> JSON { CellText.json(cell, schema) }

    private func text(_ object: Object) -> String {
        let sign = object.change == .inserted ? "+" : object.change == .deleted ? "-" : "~"
        var line = "\(sign) \(schema?.shownName(object.table) ?? "table \(object.table)") #\(object.key)"
        if case .string(let key)? = object.primaryKey { line += " \(key)" }
        for property in object.properties { line += "\n    \(property.name): \(property.text)" }
        return line
    }

    private func json(_ object: Object) -> JSON {
        .object([
            ("change", .string(object.change.rawValue)),
            ("class", .string(schema?.name(object.table) ?? "table \(object.table)")), ("key", .int(object.key)),
            ("primaryKey", object.primaryKey ?? .null),
            ("properties", .array(object.properties.map { .object([("name", .string($0.name))] + $0.json) })),
        ])
    }

    private func text(_ element: Element) -> String {
        (element.key.map { key in
            var key = key
            return key.withUTF8 { CellText.quoted(UnsafeRawBufferPointer($0)) } + ": "
        } ?? "") + text(element.value)
    }

    private func text(_ elements: ArraySlice<Element>) -> String {
        var shown = elements.prefix(CellText.elementCount).map { text($0) }
        if elements.count > shown.count { shown.append("… \(elements.count - shown.count) more") }
        return shown.joined(separator: ", ")
    }

    private func text(_ operation: EditScript.Operation, _ new: ArraySlice<Element>, _ old: ArraySlice<Element>)
        -> String
    {
        switch operation {
        case .insert(let index, _): "insert at \(index): \(text(new))"
        case .remove(let index, _): "remove at \(index): \(text(old))"
        case .replace(let index, _): "replace at \(index): \(text(old)) -> \(text(new))"
        case .move(let from, let to): "move \(from) -> \(to)"
        }
    }

    private func json(_ operation: EditScript.Operation, _ new: ArraySlice<Element>, _ old: ArraySlice<Element>) -> JSON
    {
        func values(_ elements: ArraySlice<Element>) -> JSON {
            .array(
                elements.map { element in
                    element.key.map { .object([("key", .string($0)), ("value", json(element.value))]) }
                        ?? json(element.value)
                })
        }
        switch operation {
        case .insert(let index, _):
            return .object([("edit", .string("insert")), ("index", .int(index)), ("new", values(new))])
        case .remove(let index, _):
            return .object([("edit", .string("remove")), ("index", .int(index)), ("old", values(old))])
        case .replace(let index, _):
            return .object([
                ("edit", .string("replace")), ("index", .int(index)), ("old", values(old)), ("new", values(new)),
            ])
        case .move(let from, let to):
            return .object([("edit", .string("move")), ("from", .int(from)), ("to", .int(to))])
        }
    }
}
