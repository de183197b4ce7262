import FirnBytes

/// The net change of the versions after one and up to another: each object's values before and after, whatever happened
/// in between. A change that was undone again does not count.
///
/// Memory: about `byteMax`, however much has changed. If more would be held, the objects with the higher numbers are
/// given up. Then `upper` is the first of them, and the caller collects them in another pass.
struct NetChanges {
    typealias Identity = ChangedObject.Identity

    private(set) var objects: [Identity: NetObject] = [:]
    private var byteCount = 0
    /// The objects from this one on are collected.
    private let lower: Identity
    /// The objects from this one on are not collected; nil if all are.
    private(set) var upper: Identity?
    private let filter: ObjectFilter
    private let byteMax: Int
    /// Whether versions may be missing, so that edits may not fit.
    private let isSalvage: Bool

    init(from lower: Identity, _ filter: ObjectFilter, byteMax: Int, isSalvage: Bool = false) {
        self.lower = lower
        self.filter = filter
        self.byteMax = byteMax
        self.isSalvage = isSalvage
    }

    /// Adds a block of a version. Blocks and versions come in order.
    mutating func add(_ block: ChangeBlock, version: UInt64) throws(Damage) {
        switch block {
        case .schema, .nextKey, .unknown: return
        case .insert(let rows), .insertMore(let rows):
            try change(rows) { object, column, values, row in
                if values.collection == .none {
                    object.singles[column] = NetValue(new: KeptCell(values.cell(row)))
                } else {
                    object.collection(column, values.collection).insert(values.cell(row))
                }
            }
        case .deleteOld(let rows):
            try change(rows, isInserting: false) { object, column, values, row in
                // The delete block that follows drops an object that these versions inserted.
                if object.change == .inserted { return }
                if values.collection == .none {
                    let known = object.singles[column]
                    let lacksOld = known?.lacksOld ?? false
                    object.singles[column] = NetValue(
                        old: lacksOld ? nil : known?.old ?? KeptCell(values.cell(row)), lacksOld: lacksOld)
                } else {
                    object.collection(column, values.collection).delete(values.cell(row))
                }
            }
        case .delete(let rows): try delete(rows)
        case .update(let update): try self.update(update)
        case .script(let script):
            let isSalvage = isSalvage
            try change(Identity(table: script.table, key: script.key)) { object throws(Damage) in
                try object.collection(script.column, script.new.collection).edit(
                    script, version: version, isSalvage: isSalvage)
            }
        case .elements(let more):
            try change(Identity(table: more.table, key: more.key)) { object throws(Damage) in
                object.collection(more.column, more.values.collection).append(more.values.cell(0), more.owner)
            }
        }
        if byteCount > byteMax { shrink() }
    }

    private mutating func update(_ update: UpdateRun) throws(Damage) {
        var oldIndex = 0
        let lacksOld = update.lacksOldValues
        for index in 0..<update.keys.count {
            let isUnchanged = update.unchanged?[index] ?? false
            let old = isUnchanged ? nil : update.old?.cell(oldIndex)
            if !isUnchanged { oldIndex += 1 }
            try change(Identity(table: update.table, key: update.keys[index])) { object throws(Damage) in
                let new = update.values.cell(index)
                if update.values.collection != .none {
                    object.collection(update.column, update.values.collection)
                        .assign(
                            new, old: old, isOldLogged: isUnchanged || !lacksOld,
                            isInserted: object.change == .inserted)
                } else {
                    // A value that is assigned unchanged counts, too, because the values of a newly added column are
                    // also logged as unchanged.
                    let known = object.singles[update.column]
                    let isOwn = known == nil && object.change != .inserted
                    let isOldLogged = isUnchanged || !lacksOld
                    object.singles[update.column] = NetValue(
                        old: isOwn ? (isOldLogged ? KeptCell(old ?? new) : nil) : known?.old, new: KeptCell(new),
                        lacksOld: isOwn ? !isOldLogged : known?.lacksOld ?? false)
                }
            }
        }
    }

    private mutating func delete(_ rows: DeleteRun) throws(Damage) {
        for index in 0..<rows.keys.count {
            let identity = Identity(table: rows.table, key: rows.keys[index])
            if let object = objects[identity], object.change == .inserted {
                objects[identity] = nil
                byteCount -= object.byteCount
            } else {
                try change(identity) { object throws(Damage) in
                    object.change = .deleted
                    if !rows.hasOldValues { object.deleteWithoutOldValues() }
                }
            }
        }
    }

    // MARK: Objects

    private mutating func change(
        _ rows: RowRun, isInserting: Bool = true,
        _ body: (NetObject, _ column: Int, CellRun, _ row: Int) -> Void
    ) throws(Damage) {
        for index in 0..<rows.keys.count {
            let identity = Identity(table: rows.table, key: rows.keys[index])
            try change(identity, change: isInserting ? .inserted : .updated) { object throws(Damage) in
                for (column, values) in rows.columns { body(object, column, values, index) }
            }
        }
    }

    /// Changes an object if it is among those collected.
    ///
    /// - Parameter change: what happened to an object that the versions have not mentioned before.
    private mutating func change(
        _ identity: Identity, change: ChangedObject.Change = .updated,
        _ body: (NetObject) throws(Damage) -> Void
    ) throws(Damage) {
        guard identity >= lower, upper.map({ identity < $0 }) ?? true,
            filter.includes(identity.table, identity.key)
        else { return }
        let object: NetObject
        if let known = objects[identity] {
            object = known
            byteCount -= object.byteCount
        } else {
            object = NetObject(change)
            objects[identity] = object
        }
        defer { byteCount += object.byteCount }
        try body(object)
    }

    /// Gives up the objects with the higher numbers until the rest is small enough.
    private mutating func shrink() {
        while byteCount > byteMax, objects.count > 1 {
            let sorted = objects.keys.sorted()
            let first = sorted[sorted.count / 2]
            for identity in sorted[(sorted.count / 2)...] { objects[identity] = nil }
            upper = first
            byteCount = objects.values.reduce(0) { $0 + $1.byteCount }
        }
    }

    // MARK: The result

    /// The objects whose primary keys are not in the changes, by table.
    func unnamed(in schema: DecodedSchema?) -> [Int: Set<Int64>] {
        var unnamed: [Int: Set<Int64>] = [:]
        for (identity, object) in objects {
            guard let schema, schema.tables.indices.contains(identity.table),
                let column = schema.tables[identity.table].primaryKey, object.singles[column] == nil
            else { continue }
            unnamed[identity.table, default: []].insert(identity.key)
        }
        return unnamed
    }

    /// The objects that differ, in the order of tables and numbers. The values before and after are exchanged if
    /// `isReversed`.
    func result(_ names: any ObjectNames, _ schema: DecodedSchema?, isReversed: Bool, isJSON: Bool) throws(Damage)
        -> [ChangedObject]
    {
        var result: [ChangedObject] = []
        for identity in objects.keys.sorted() {
            guard let object = objects[identity] else { continue }
            let text = NetText(schema: schema, isReversed: isReversed, isJSON: isJSON)
            let properties = try text.properties(of: object, identity.table)
            // An update after which no property differs is no change.
            if object.change == .updated, properties.isEmpty { continue }
            var change = object.change
            if isReversed, change != .updated { change = change == .inserted ? .deleted : .inserted }
            let primaryKey = text.primaryKey(of: object, identity.table) ?? names[identity.table, identity.key]
            result.append(
                ChangedObject(
                    identity: identity, change: change, primaryKey: primaryKey, properties: properties,
                    lacksOldValues: object.lacksOldValues))
        }
        return result
    }
}

/// The properties of an object of `NetChanges`, as text or as JSON.
private struct NetText {
    let schema: DecodedSchema?
    let isReversed: Bool
    let isJSON: Bool

    private func shown(_ cell: Cell) -> JSON {
        CellText.shown(cell, schema, isJSON: isJSON)
    }

    func primaryKey(of object: NetObject, _ table: Int) -> JSON? {
        guard let schema, schema.tables.indices.contains(table), let column = schema.tables[table].primaryKey,
            let value = object.singles[column], let kept = value.new ?? value.old
        else { return nil }
        return shown(kept.cell)
    }

    func properties(of object: NetObject, _ table: Int) throws(Damage) -> [ChangedObject.Property] {
        var properties: [ChangedObject.Property] = []
        for column in Set(object.singles.keys).union(object.collections.keys).sorted() {
            let name = schema?.name(table, column) ?? "column \(column)"
            var property = ChangedObject.Property(name: isJSON ? name : DisplayText.line(name))
            if let value = object.singles[column] {
                guard
                    show(
                        value.old?.cell, new: value.new?.cell, lacksOld: value.lacksOld, change: object.change,
                        property: &property)
                else { continue }
            } else if let collection = object.collections[column] {
                guard try show(collection, change: object.change, property: &property) else { continue }
            }
            properties.append(property)
        }
        return properties
    }

    /// Puts a value into a property; returns false if it has not changed.
    ///
    /// - Parameter lacksOld: whether there was an old value that was not logged. It may equal the new one.
    private func show(
        _ old: Cell?, new: Cell?, lacksOld: Bool = false, change: ChangedObject.Change,
        property: inout ChangedObject.Property
    ) -> Bool {
        if change == .updated, let old, let new, old.isSame(as: new) { return false }
        let (before, after) = isReversed ? (new, old) : (old, new)
        var shown = (old: before.map(self.shown), new: after.map(self.shown))
        if isJSON {
            property.json = [("old", shown.old), ("new", shown.new)].compactMap { name, value in
                value.map { (name, $0) }
            }
            if lacksOld { property.json.append((isReversed ? "newNotLogged" : "oldNotLogged", .bool(true))) }
            return true
        }
        if lacksOld {
            let text = JSON.string(ChangedObject.notLogged)
            if isReversed { shown.new = text } else { shown.old = text }
        }
        let texts = [shown.old, shown.new].compactMap { if case .string(let text)? = $0 { text } else { nil } }
        property.text = texts.joined(separator: " -> ")
        return true
    }

    private func show(
        _ collection: NetCollection, change: ChangedObject.Change, property: inout ChangedObject.Property
    ) throws(Damage) -> Bool {
        let old = change == .inserted ? nil : try collection.old(isDeleted: change == .deleted)
        let new = change == .deleted ? nil : collection.new
        // For a collection that was only edited, its edits are shown.
        let isEdited = change == .updated && collection.new == nil
        let lacksOld = old == nil && change != .inserted && !isEdited
        if old != nil || !isEdited {
            if let old, let new, old.isSame(as: new) { return false }
            return withExtendedLifetime((old, new)) {
                show(
                    old?.cell(collection.kind), new: new?.cell(collection.kind), lacksOld: lacksOld, change: change,
                    property: &property)
            }
        }
        let versions = isReversed ? collection.edits.reversed() : collection.edits
        var texts: [String] = []
        var json: [JSON] = []
        for (version, edits) in versions where !edits.isEmpty {
            let ordered = isReversed ? edits.reversed().map(\.inverse) : edits
            if isJSON {
                json.append(
                    .object([
                        ("version", .int(version)), ("edits", .array(ordered.map { $0.shown.json(schema) })),
                    ]))
            } else {
                texts.append("version \(version): " + ordered.map { $0.shown.text(schema) }.joined(separator: "; "))
            }
        }
        if isJSON { property.json = [("edits", .array(json))] } else { property.text = texts.joined(separator: "; ") }
        return !texts.isEmpty || !json.isEmpty
    }
}
