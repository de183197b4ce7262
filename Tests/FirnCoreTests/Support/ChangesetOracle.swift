@testable import FirnCore

/// A store of dictionaries. Random transactions run against it, and each returns its changeset.
struct ChangesetOracle {
    typealias Rows = [Int64: [Int: Value]]

    static let schema = StoreSchema(
        version: 3,
        tables: [
            TableSchema(
                name: "A", primaryKey: 0,
                columns: [
                    ColumnSchema(name: "i", type: .int), ColumnSchema(name: "s", type: .string, isNullable: true),
                    ColumnSchema(name: "gone", type: .double, isRemoved: true),
                    ColumnSchema(name: "d", type: .date, isNullable: true), ColumnSchema(name: "x", type: .mixed),
                    ColumnSchema(name: "l", type: .int, collection: .list),
                    ColumnSchema(name: "m", type: .string, collection: .map, isNullable: true),
                ]),
            TableSchema(
                name: "B",
                columns: [
                    ColumnSchema(name: "link", type: .link, target: TableID(0)),
                    ColumnSchema(name: "links", type: .link, collection: .list, target: TableID(0)),
                    ColumnSchema(name: "set", type: .uuid, collection: .set), ColumnSchema(name: "b", type: .bool),
                ]),
        ])

    var tables: [TableID: Rows] = [TableID(0): [:], TableID(1): [:]]
    var nextKeys: [TableID: Int64] = [:]
    var version: UInt64 = 0

    /// Runs a transaction of `steps` steps and returns its changeset.
    mutating func transact(_ steps: Int, _ samples: inout ChangesetSamples) -> Changeset {
        version += 1
        var changes = Changeset(version: version, time: Int64(version) * 1000)
        for _ in 0..<steps {
            let id = TableID(samples.int(0...1))
            var table = changes.tables[id] ?? TableChanges()
            step(id, changes: &table, samples: &samples)
            changes.tables[id] = table.isEmpty ? nil : table
        }
        for id in Array(changes.tables.keys) {
            changes.tables[id]?.dropEmpty()
            if changes.tables[id]?.isEmpty == true { changes.tables[id] = nil }
        }
        return changes
    }

    private mutating func step(_ id: TableID, changes: inout TableChanges, samples: inout ChangesetSamples) {
        let schema = Self.schema[id]
        let keys = tables[id]!.keys.sorted()
        let kind = keys.isEmpty ? 0 : samples.int(0...99)
        if kind < 25 {
            let key = nextKeys[id, default: 0]
            nextKeys[id] = key + 1
            let row = samples.row(schema, samples.int(0...5), longest: 12)
            tables[id]![key] = row
            changes.insert(key, row)
            changes.nextKey = key + 1
            return
        }
        let key = keys[samples.int(0...keys.count - 1)]
        let live = schema.columns.indices.filter { !schema.columns[$0].isRemoved }
        let column = live[samples.int(0...live.count - 1)]
        let old = tables[id]![key]![column]!
        if kind < 35 {
            changes.delete(key, tables[id]!.removeValue(forKey: key)!)
        } else if schema.columns[column].collection == .list, kind < 80 {
            let script = ChangesetOracle.script(old, type: schema.columns[column].type, samples: &samples)
            tables[id]![key]![column] = old.applying(script.edits)!
            changes.edit(column, key: key, edits: script.edits)
        } else {
            let new = samples.chance(30) ? old : samples.value(schema.columns[column], samples.int(0...5), longest: 12)
            tables[id]![key]![column] = new
            changes.update(column, key: key, cell: CellChange(new: new, old: old, isUnchanged: new == old))
        }
    }

    static func script(_ list: Value, type: ColumnType, samples: inout ChangesetSamples) -> ListScript {
        func element() -> Value {
            let number = Int64(samples.int(0...99))
            return type == .link ? .link(number) : .int(number)
        }
        var elements = list.scriptElements!
        var edits: [ListEdit] = []
        for _ in 0..<samples.int(0...8) {
            let edit: ListEdit
            let kind = elements.isEmpty ? 0 : samples.int(0...9)
            if kind < 4 {
                edit = .insert(samples.int(0...elements.count), element())
            } else {
                let index = samples.int(0...elements.count - 1)
                switch kind {
                case 4...6: edit = .remove(index, old: elements[index])
                case 7...8: edit = .set(index, new: element(), old: elements[index])
                default: edit = .move(from: index, to: samples.int(0...elements.count - 1))
                }
            }
            elements.apply(edit)
            edits.append(edit)
        }
        return ListScript(edits)
    }

    /// Applies a changeset. Returns whether every old value was the one that the oracle held.
    mutating func apply(_ changeset: Changeset) -> Bool {
        var isRight = true
        for (id, changes) in changeset.tables {
            for (key, row) in changes.deleted {
                let old = tables[id]!.removeValue(forKey: key)
                isRight = isRight && old == row
            }
            for (key, row) in changes.inserted {
                isRight = isRight && tables[id]![key] == nil
                tables[id]![key] = row
            }
            for (column, cells) in changes.updated {
                for (key, cell) in cells {
                    isRight =
                        isRight && tables[id]![key]?[column] == cell.old && (!cell.isUnchanged || cell.new == cell.old)
                    tables[id]![key]?[column] = cell.new
                }
            }
            for (column, scripts) in changes.scripts {
                for (key, script) in scripts {
                    let new = tables[id]![key]?[column]?.applying(script.edits)
                    isRight = isRight && new != nil
                    tables[id]![key]?[column] = new
                }
            }
        }
        return isRight
    }
}
