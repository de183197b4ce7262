import FirnBytes

/// A choice of objects by table number and object key, as the log names them.
struct ObjectFilter {
    /// The chosen table; nil for all tables.
    let table: Int?
    /// The keys of the chosen objects; nil for all objects of the table.
    let keys: Set<Int64>?
    /// The primary keys of the chosen objects, as far as a search has found them.
    let names: [Int64: JSON]

    static let all = ObjectFilter(table: nil, keys: nil, names: [:])

    var isAll: Bool { table == nil }

    func includes(table: Int) -> Bool { self.table == nil || self.table == table }

    func includes(_ table: Int, _ key: Int64) -> Bool { includes(table: table) && keys?.contains(key) ?? true }
}

extension ObjectFilter {
    /// Looks up the class or object that the user has named.
    ///
    /// A class is looked up in the newest schema, a primary key in the complete log and the checkpoint. Throws if the
    /// store has no such class, or has never had such an object.
    init(_ choice: ObjectChoice, in store: OpenedStore, isJSON: Bool) throws {
        switch choice {
        case .all: self = .all
        case .type(let type):
            self.init(table: try store.table(named: type).number, keys: nil, names: [:])
        case .object(let type, .number(let number)):
            self.init(table: try store.table(named: type).number, keys: [number], names: [:])
        case .object(let type, .primaryKey(let text)):
            let (number, table) = try store.table(named: type)
            guard table.primaryKey != nil else {
                throw ToolError(
                    .usage,
                    "\(DisplayText.line(type)) has no primary key. Give --object and the number that firn shows after #."
                )
            }
            var search = PrimaryKeySearch(table: number, text: text, isJSON: isJSON)
            try search.run(store)
            guard !search.found.isEmpty else {
                if let damage = try search.damage ?? store.firstDamage() { throw store.unfound(damage) }
                throw ToolError(
                    .usage,
                    "\(store.files.path) holds no \(DisplayText.line(type)) with the primary key \(DisplayText.quoted(text)), "
                        + "and its log has none."
                        + (search.lacksOldValues
                            ? " Some objects were deleted on a full disk, without their values in the log: give --object and the number that `firn show` shows after #."
                            : ""))
            }
            self.init(table: number, keys: Set(search.found.keys), names: search.found)
        }
    }
}

extension OpenedStore {
    /// The schema of the newest version: the last one in the last segment, else the checkpoint's, else the last one in
    /// older segments. Nil if the store has none yet, or none can be read.
    func newestSchema() throws -> DecodedSchema? {
        if let schema = try schemas(from: .max).last { return schema }
        if let schema = try openCheckpoint().checkpoint?.schema { return schema }
        // The last segment may be damaged, so an older one may have to do.
        return try schemas(from: 1).last
    }

    /// The schemas that can be read in the log from the segment that holds `version` on, oldest first.
    private func schemas(from version: UInt64) throws -> [DecodedSchema] {
        var commits = CommitReader()
        var schemas: [DecodedSchema] = []
        _ = try LogWalk(store: self, continuesAfterDamage: true, from: version).run { event in
            guard case .frame(let frame, let payload, let path) = event,
                frame.kind == .schema || frame.kind == .segmentSchema
            else { return true }
            // What can't be read is reported by the walk that reads changes.
            if try commits.take(frame, payload: payload, path: path, { _ in }) == nil, let schema = commits.schema {
                schemas.append(schema)
            }
            return true
        }
        return schemas
    }

    /// The class with a name in the newest schema. A removed class is found, too, since the log has its changes.
    func table(named name: String) throws -> (number: Int, table: DecodedSchema.Table) {
        let tables = try newestSchema()?.tables ?? []
        let named = tables.enumerated().filter { $0.element.name == name }
        if let found = named.first(where: { !$0.element.isRemoved }) ?? named.last {
            return (found.offset, found.element)
        }
        if let damage = try firstDamage() { throw unfound(damage) }
        let names = tables.filter { !$0.isRemoved }.map { DisplayText.line($0.name) }.sorted()
        let list = names.prefix(40).joined(separator: ", ") + (names.count > 40 ? " and \(names.count - 40) more" : "")
        throw ToolError(
            .usage,
            "\(files.path) has no class \(DisplayText.quoted(name)). "
                + (names.isEmpty ? "It has no classes yet." : "Its classes: \(list)."))
    }
}

extension OpenedStore {
    /// The first damage of the manifest, the checkpoint's headers or the log; nil if there is none.
    fileprivate func firstDamage() throws -> Finding? {
        var found = (findings + (try openCheckpoint().findings)).first { $0.kind == .damage }
        guard found == nil else { return found }
        var commits = CommitReader()
        _ = try LogWalk(store: self).run { event in
            switch event {
            case .finding(let finding) where finding.kind == .damage: found = finding
            case .frame(let frame, let payload, let path):
                found = try commits.take(frame, payload: payload, path: path) { _ in }
            default: break
            }
            return found == nil
        }
        return found
    }

    /// The error if something was not found, which may be in the damaged part.
    fileprivate func unfound(_ damage: Finding) -> ToolError {
        ToolError(
            .damage,
            "\(damage)\nWhat was asked for is not in the rest. To see all that is damaged, run `firn verify STORE`."
        )
    }
}

/// Finds the numbers of the objects that have, or have had, a primary key. There are several if an object was deleted
/// and another one got its primary key.
///
/// An object that the log does not insert was there before the log began. It is in the checkpoint, or the log deletes
/// it, with its old values, unless the disk was full.
struct PrimaryKeySearch {
    private let table: Int
    private let text: String
    private let isJSON: Bool
    /// The objects' numbers, and their primary keys for the output.
    private(set) var found: [Int64: JSON] = [:]
    /// Damage of the checkpoint, at which the search in it ended.
    private(set) var damage: Finding?
    /// Whether objects of the table were deleted whose values the log does not have.
    private(set) var lacksOldValues = false

    init(table: Int, text: String, isJSON: Bool) {
        self.table = table
        self.text = text
        self.isJSON = isJSON
    }

    mutating func run(_ store: OpenedStore) throws {
        try searchCheckpoint(store)
        var commits = CommitReader()
        var this = self
        _ = try LogWalk(store: store, continuesAfterDamage: true).run { event in
            switch event {
            case .frame(let frame, let payload, let path):
                var schema = commits.schema
                // What is damaged is reported by the walk that shows the objects.
                _ = try commits.take(frame, payload: payload, path: path) { block in
                    if case .schema(let new) = block { schema = new }
                    if let schema { this.search(block, schema) }
                }
            case .resumed: commits.forgetSchema()
            default: break
            }
            return true
        }
        self = this
    }

    private mutating func search(_ block: ChangeBlock, _ schema: DecodedSchema) {
        guard let column = schema.tables.indices.contains(table) ? schema.tables[table].primaryKey : nil else { return }
        switch block {
        case .delete(let rows) where rows.table == table && !rows.hasOldValues: lacksOldValues = true
        case .insert(let rows), .insertMore(let rows), .deleteOld(let rows):
            guard rows.table == table, let values = rows.primaryKeys(in: schema) else { return }
            for index in 0..<rows.keys.count { take(rows.keys[index], values.cell(index)) }
        case .update(let update):
            // A migration may assign primary keys.
            guard update.table == table, update.column == column else { return }
            for index in 0..<update.keys.count { take(update.keys[index], update.values.cell(index)) }
            var oldIndex = 0
            for index in 0..<update.keys.count where !(update.unchanged?[index] ?? false) {
                if let old = update.old { take(update.keys[index], old.cell(oldIndex)) }
                oldIndex += 1
            }
        default: return
        }
    }

    private mutating func searchCheckpoint(_ store: OpenedStore) throws {
        guard store.manifest.firstVersion > 1, let checkpoint = try store.openCheckpoint().checkpoint,
            checkpoint.schema.tables.indices.contains(table),
            let number = checkpoint.schema.tables[table].primaryKey
        else { return }
        let column = checkpoint.schema.tables[table].columns[number]
        var this = self
        this.damage = try checkpoint.finding {
            try checkpoint.walk {
                for found in try checkpoint.tables() where found.number == this.table {
                    try checkpoint.forEachLeaf(found) { leaf in
                        guard let run = try leaf.run(checkpoint, number: number, column: column) else { return }
                        for row in 0..<run.rows { this.take(leaf.keys[row], try run.cell(row)) }
                        run.forget()
                    }
                }
            }
        }
        self = this
    }

    private mutating func take(_ key: Int64, _ cell: Cell) {
        guard matches(cell) else { return }
        found[key] = CellText.shown(cell, isJSON: isJSON)
    }

    private func matches(_ cell: Cell) -> Bool {
        switch cell {
        case .string(let bytes): return bytes.elementsEqual(text.utf8)
        case .int(let value): return Int64(text) == value
        case .uuid: return CellText.text(cell) == text.uppercased()
        case .objectID: return CellText.text(cell) == text.lowercased()
        case .null: return text == "nil"
        default: return CellText.text(cell) == text
        }
    }
}
