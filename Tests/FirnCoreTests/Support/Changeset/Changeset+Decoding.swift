import FirnBytes

@testable import FirnCore

extension Changeset {
    /// Reads a changeset's parts, including old values. Throws a `ChangesetDamage` if they are damaged.
    init(version: UInt64, time: Int64, parts: [[UInt8]]) throws {
        var decoder = Decoder(version: version, time: time)
        for part in parts { try part.withUnsafeBytes { try decoder.add(part: $0) } }
        self = try decoder.finish()
    }

    /// Builds a changeset from its parts, one after the other.
    struct Decoder {
        private var result: Changeset
        private let reader: ChangesetReader

        init(version: UInt64, time: Int64) {
            result = Changeset(version: version, time: time)
            reader = ChangesetReader(version: version, direction: .both)
        }

        /// Adds the next part, decompressed.
        mutating func add(part: UnsafeRawBufferPointer) throws {
            try reader.read(part) { try result.add(&$0) }
        }

        /// Returns the changeset. There are no more parts.
        mutating func finish() throws -> Changeset {
            try reader.finish()
            for id in Array(result.tables.keys) {
                result.tables[id]?.dropEmpty()
                if result.tables[id]?.isEmpty == true { result.tables[id] = nil }
            }
            return result
        }
    }

    private mutating func add(_ block: inout ChangesetBlock) throws {
        switch block {
        case .schema(let schema): self.schema = schema
        case .insert(var rows):
            try read(&rows) { changes, key, values in
                guard changes.inserted[key] == nil else { throw Damage("row \(key) is inserted twice") }
                changes.inserted[key] = values
            }
        case .insertMore(var rows):
            try read(&rows) { changes, key, values in
                guard changes.inserted[key] != nil else { throw Damage("row \(key) was not inserted") }
                changes.inserted[key]?.merge(values) { $1 }
            }
        case .deleteOld(var rows):
            // Until the delete block comes, a row that was inserted before still counts as present.
            try read(&rows) { changes, key, values in changes.deleted[key, default: [:]].merge(values) { $1 } }
        case .delete(let table, let keys):
            for index in 0..<keys.count {
                let key = keys[index]
                let old = tables[table]?.deleted.removeValue(forKey: key) ?? [:]
                tables[table, default: TableChanges()].delete(key, old)
            }
        case .update(var cells): try add(&cells)
        case .script(var script): try add(&script)
        case .elements(var elements): try add(&elements)
        case .nextKey(let table, let key):
            let known = tables[table]?.nextKey ?? 0
            tables[table, default: TableChanges()].nextKey = max(known, key)
        }
    }

    private mutating func read(
        _ rows: inout ChangesetBlock.Rows, _ body: (inout TableChanges, Int64, [Int: Value]) throws -> Void
    ) throws {
        for index in 0..<rows.keys.count {
            var values: [Int: Value] = [:]
            for column in 0..<rows.columns.count {
                guard let value = rows.columns[column].values.nextValue() else {
                    throw Damage(
                        "column \(rows.columns[column].number) of row \(rows.keys[index]) has an invalid value")
                }
                values[rows.columns[column].number] = value
            }
            try body(&tables[rows.table, default: TableChanges()], rows.keys[index], values)
        }
    }

    private mutating func add(_ cells: inout ChangesetBlock.Cells) throws {
        for index in 0..<cells.keys.count {
            let key = cells.keys[index]
            let isUnchanged = cells.isUnchanged(index)
            guard let new = cells.new.nextValue() else {
                throw Damage("column \(cells.column) of row \(key) has an invalid value")
            }
            var old = new
            if !isUnchanged {
                guard let value = cells.old?.nextValue() else { throw Damage("row \(key) has no old value") }
                old = value
            }
            tables[cells.table, default: TableChanges()].update(
                cells.column, key: key, cell: CellChange(new: new, old: old, isUnchanged: isUnchanged))
        }
    }

    private mutating func add(_ block: inout ChangesetBlock.Script) throws {
        guard let new = block.new.nextElements(block.new.nextCount()) else {
            throw Damage("a script's elements are invalid")
        }
        var old: [Value] = []
        if block.oldCount > 0 {
            guard block.old != nil, let count = block.old?.nextCount(), let elements = block.old?.nextElements(count)
            else {
                throw Damage("a script has no old elements")
            }
            old = elements
        }
        let edits = ListScript.edits(block.operations, new: new, old: old)
        tables[block.table, default: TableChanges()].edit(block.column, key: block.key, edits: edits)
    }

    private mutating func add(_ block: inout ChangesetBlock.Elements) throws {
        guard let elements = block.values.nextValue() else { throw Damage("a collection's elements are invalid") }
        let (column, key) = (block.column, block.key)
        var changes = tables.removeValue(forKey: block.table) ?? TableChanges()
        let isAdded: Bool? =
            switch block.owner {
            case .inserted: changes.inserted[key]?[column]?.append(elements: elements)
            case .deleted: changes.deleted[key]?[column]?.append(elements: elements)
            case .updated:
                changes.inserted[key]?[column]?.append(elements: elements)
                    ?? changes.updated[column]?[key]?.new.append(elements: elements)
            case .updatedOld:
                changes.inserted[key] != nil
                    ? true : changes.updated[column]?[key]?.old.append(elements: elements)
            }
        tables[block.table] = changes
        guard isAdded == true else { throw Damage("elements of a cell that is not in the changeset") }
    }
}
