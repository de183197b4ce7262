import FirnBytes

/// Regroups a version's blocks, which are ordered by column, into objects, and writes these. It writes the objects in
/// memory whenever they exceed a limit, so an object may be written in several pieces.
struct ChangeCollector {
    private typealias Identity = ChangedObject.Identity
    private typealias Property = ChangedObject.Property

    var schema: DecodedSchema?
    /// The objects that are written; the others are passed over.
    var filter = ObjectFilter.all
    private let isJSON: Bool
    private let names: any ObjectNames
    private let output: Output
    /// The line of text before a version's first object, and the members that begin each object's JSON.
    private var heading: String?
    private var stamp: [(String, JSON)] = []
    private var objects: [ChangedObject] = []
    private var indexes: [Identity: Int] = [:]
    private var byteCount = 0
    /// Deleted objects whose old values have been read. The delete block that follows names the same objects again.
    private var deleted: Set<Identity> = []

    /// The number of objects written. An object that was written in pieces counts once for each piece.
    private(set) var writtenCount = 0

    /// How many deleted objects are remembered.
    var rememberedCount: Int { deleted.count }

    /// The limit of the objects in memory, in bytes of text.
    private static let byteMax = 8 << 20
    /// The most deleted objects that are remembered.
    private static let deletedMax = 1 << 20

    init(isJSON: Bool, names: any ObjectNames, output: Output) {
        self.isJSON = isJSON
        self.names = names
        self.output = output
    }

    /// Begins a version. It is named in a heading, or in the JSON of each object. Objects that are still in memory are
    /// discarded, because their version turned out to be incomplete.
    mutating func begin(version: UInt64, time: Int64) {
        giveUp()
        let text = TimeText.milliseconds(time)
        heading = "version \(version)  \(text)"
        stamp = [("version", .int(version)), ("time", .string(text))]
        deleted.removeAll(keepingCapacity: true)
    }

    // MARK: Blocks

    mutating func add(_ block: ChangeBlock) throws {
        switch block {
        case .schema(let new):
            // Earlier changes are written with the names that were in force then.
            try flush()
            schema = new
        case .nextKey: break
        case .insert(let rows): try add(rows, .inserted)
        case .insertMore(let rows): try add(rows, .inserted)
        case .deleteOld(let rows): try add(rows, .deleted)
        case .delete(let rows):
            for index in 0..<rows.keys.count where filter.includes(rows.table, rows.keys[index]) {
                let identity = Identity(table: rows.table, key: rows.keys[index])
                if deleted.remove(identity) == nil {
                    try change(identity, kind: .deleted, property: nil, lacksOldValues: !rows.hasOldValues)
                }
            }
        case .update(let update): try add(update)
        case .script(let script): try add(script)
        case .elements(let more): try add(more)
        case .unknown(let kind, let byteCount):
            if !isJSON { try output.line("  (a block of kind \(kind), \(byteCount) B, that this release can't read)") }
        }
    }

    private mutating func add(_ rows: RowRun, _ kind: ChangedObject.Change) throws {
        guard filter.includes(table: rows.table) else { return }
        let primaryKey = schema?.tables[rows.table].primaryKey
        for index in 0..<rows.keys.count where filter.includes(rows.table, rows.keys[index]) {
            let identity = Identity(table: rows.table, key: rows.keys[index])
            if kind == .deleted {
                // The objects forgotten here are written twice, if a delete block names them.
                if deleted.count >= Self.deletedMax { deleted.removeAll() }
                deleted.insert(identity)
            }
            if rows.columns.isEmpty { try change(identity, kind: kind, property: nil) }
            for (column, values) in rows.columns {
                let cell = values.cell(index)
                if column == primaryKey { setPrimaryKey(identity, kind: kind, cell: cell) }
                try change(
                    identity, kind: kind,
                    property: Property(
                        name: name(identity.table, column), text: isJSON ? "" : text(cell),
                        json: isJSON ? [(kind == .deleted ? "old" : "new", json(cell))] : []))
            }
        }
    }

    private mutating func add(_ update: UpdateRun) throws {
        guard filter.includes(table: update.table) else { return }
        var oldIndex = 0
        let name = name(update.table, update.column)
        for index in 0..<update.keys.count {
            let isUnchanged = update.unchanged?[index] ?? false
            defer { if !isUnchanged { oldIndex += 1 } }
            guard filter.includes(update.table, update.keys[index]) else { continue }
            let new = update.values.cell(index)
            let property: Property
            if isUnchanged {
                // A value that was assigned again without a change has no old value of its own.
                property =
                    isJSON
                    ? Property(name: name, json: [("new", json(new)), ("unchanged", .bool(true))])
                    : Property(name: name, text: "\(text(new)), assigned again")
            } else if let old = update.old?.cell(oldIndex) {
                property =
                    isJSON
                    ? Property(name: name, json: [("old", json(old)), ("new", json(new))])
                    : Property(name: name, text: "\(text(old)) -> \(text(new))")
            } else {
                property =
                    isJSON
                    ? Property(name: name, json: [ChangedObject.oldNotLogged, ("new", json(new))])
                    : Property(name: name, text: "\(ChangedObject.notLogged) -> \(text(new))")
            }
            try change(Identity(table: update.table, key: update.keys[index]), kind: .updated, property: property)
        }
    }

    private mutating func add(_ script: EditScript) throws {
        guard filter.includes(script.table, script.key) else { return }
        var property = Property(name: name(script.table, script.column))
        let edits = script.edits
        if isJSON {
            property.json = [("edits", .array(edits.map { $0.json(schema) }))]
        } else {
            property.text =
                edits.isEmpty ? "assigned again" : edits.map { $0.text(schema) }.joined(separator: "; ")
        }
        try change(Identity(table: script.table, key: script.key), kind: .updated, property: property)
    }

    private mutating func add(_ more: MoreElements) throws {
        guard filter.includes(more.table, more.key) else { return }
        let kind: ChangedObject.Change =
            more.owner == .inserted ? .inserted : more.owner == .deleted ? .deleted : .updated
        let cell = more.values.cell(0)
        let which = more.owner.isOld ? "old" : "new"
        let property = Property(
            name: name(more.table, more.column), text: isJSON ? "" : "\(which), further: \(text(cell))",
            json: isJSON ? [(which, json(cell)), ("continues", .bool(true))] : [])
        try change(Identity(table: more.table, key: more.key), kind: kind, property: property)
    }

    // MARK: Objects

    private mutating func setPrimaryKey(_ identity: Identity, kind: ChangedObject.Change, cell: Cell) {
        let index = object(identity, kind)
        objects[index].primaryKey = CellText.shown(cell, schema, isJSON: isJSON)
    }

    private mutating func object(_ identity: Identity, _ kind: ChangedObject.Change) -> Int {
        if let index = indexes[identity], objects[index].change == kind || kind == .updated { return index }
        objects.append(
            ChangedObject(identity: identity, change: kind, primaryKey: names[identity.table, identity.key]))
        indexes[identity] = objects.count - 1
        return objects.count - 1
    }

    private mutating func change(
        _ identity: Identity, kind: ChangedObject.Change, property: Property?, lacksOldValues: Bool = false
    ) throws {
        let index = object(identity, kind)
        byteCount += 64
        if lacksOldValues { objects[index].lacksOldValues = true }
        if let property {
            objects[index].properties.append(property)
            byteCount += property.byteCount
        }
        if byteCount > Self.byteMax { try flush() }
    }

    /// Writes the objects in memory.
    mutating func flush() throws {
        writtenCount += objects.count
        if !objects.isEmpty, !isJSON, let heading {
            try output.line(heading, .bold)
            self.heading = nil
        }
        for object in objects { try object.write(to: output, schema, isJSON: isJSON, stamp: stamp) }
        giveUp()
    }

    private mutating func giveUp() {
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
}

extension EditScript {
    /// The operations with their elements. The elements are valid as long as the script's bytes.
    var edits: [ShownEdit] {
        let new = Element.all(of: self.new.cell(0))
        let old = self.old.map { Element.all(of: $0.cell(0)) } ?? []
        var newStart = 0
        var oldStart = 0
        return operations.map { operation in
            defer {
                newStart += operation.newCount
                oldStart += operation.oldCount
            }
            return ShownEdit(
                operation: operation, new: new[newStart..<newStart + operation.newCount],
                old: old[min(old.count, oldStart)..<min(old.count, oldStart + operation.oldCount)])
        }
    }
}
