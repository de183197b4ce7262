/// One way in which a store's schema and the application's classes differ.
public enum SchemaDifference: Sendable, Hashable, CustomStringConvertible {
    case addedTable(String)
    case addedColumn(table: String, column: String)
    case removedColumn(table: String, column: String)
    /// Type, collection, nullability or link target differ; the texts are for people.
    case changedColumn(table: String, column: String, from: String, to: String)
    case changedPrimaryKey(table: String, from: String?, to: String?)
    case changedIndex(table: String, column: String, isIndexed: Bool)
    case changedEmbedded(table: String, isEmbedded: Bool)

    /// Whether opening may make the change although the schema version is the same (SEMANTICS 80).
    public var isAutomatic: Bool {
        switch self {
        case .addedTable, .changedIndex: true
        default: false
        }
    }

    public var description: String {
        switch self {
        case .addedTable(let table): "class '\(table)' has been added"
        case .addedColumn(let table, let column): "property '\(table).\(column)' has been added"
        case .removedColumn(let table, let column): "property '\(table).\(column)' has been removed"
        case .changedColumn(let table, let column, let from, let to):
            "property '\(table).\(column)' has been changed from '\(from)' to '\(to)'"
        case .changedPrimaryKey(let table, let from?, let to?):
            "the primary key of class '\(table)' has been changed from '\(from)' to '\(to)'"
        case .changedPrimaryKey(let table, let from?, nil): "primary key '\(from)' of class '\(table)' has been removed"
        case .changedPrimaryKey(let table, _, let to): "property '\(to ?? "")' has been made the primary key of class '\(table)'"
        case .changedIndex(let table, let column, true): "property '\(table).\(column)' has been made indexed"
        case .changedIndex(let table, let column, false): "property '\(table).\(column)' is indexed no longer"
        case .changedEmbedded(let table, true): "class '\(table)' has been made embedded"
        case .changedEmbedded(let table, false): "class '\(table)' is embedded no longer"
        }
    }
}

extension ColumnSchema {
    /// The type as a person would write it.
    public func typeName(in schema: Schema) -> String {
        var name = type == .link ? target.map { schema[$0].name } ?? "?" : "\(type)"
        if isNullable || (type == .link && collection == .none) { name += "?" }
        switch collection {
        case .none: return name
        case .list: return "list<\(name)>"
        case .set: return "set<\(name)>"
        case .map: return "map<\(name)>"
        }
    }
}

extension Schema {
    /// This schema (a store's) changed so that it has the tables and columns of `wanted` (the application's, whose numbers mean nothing): by name, with numbers for life. Tables that the
    /// application does not name stay. A column whose type differs becomes a new one under a new number; one that only may or may not be null any
    /// more keeps its number and its values.
    public func merged(with wanted: Schema) -> (schema: Schema, differences: [SchemaDifference]) {
        var result = self
        var differences: [SchemaDifference] = []
        result.version = wanted.version
        for table in wanted.tables where !table.isRemoved && self.table(named: table.name) == nil {
            differences.append(.addedTable(table.name))
            result.tables.append(TableSchema(name: table.name, isEmbedded: table.isEmbedded, columns: []))
        }
        for table in wanted.tables where !table.isRemoved {
            guard let id = result.table(named: table.name) else { continue }
            result.merge(table, of: wanted, into: id, old: self, &differences)
        }
        return (result, differences)
    }

    private mutating func merge(
        _ wanted: TableSchema, of application: Schema, into id: TableID, old: Schema, _ differences: inout [SchemaDifference]
    ) {
        let isNew = id.index >= old.tables.count
        let before = tables[id.index]
        func note(_ difference: SchemaDifference) { if !isNew { differences.append(difference) } }
        if before.isEmbedded != wanted.isEmbedded {
            note(.changedEmbedded(table: wanted.name, isEmbedded: wanted.isEmbedded))
            tables[id.index].isEmbedded = wanted.isEmbedded
        }
        for (place, column) in before.columns.enumerated()
        where !column.isRemoved && wanted.column(named: column.name) == nil {
            note(.removedColumn(table: wanted.name, column: column.name))
            remove(id, place)
        }
        for column in wanted.columns where !column.isRemoved {
            var new = column
            new.target = column.target.flatMap { table(named: application[$0].name) }
            guard let place = tables[id.index].column(named: column.name) else {
                note(.addedColumn(table: wanted.name, column: column.name))
                tables[id.index].columns.append(new)
                continue
            }
            let old = tables[id.index].columns[place]
            let isSameKind = old.type == new.type && old.collection == new.collection && old.target == new.target
            if !isSameKind || old.isNullable != new.isNullable {
                note(.changedColumn(table: wanted.name, column: column.name, from: old.typeName(in: self), to: new.typeName(in: self)))
                if isSameKind, old.collection == .none {
                    tables[id.index].columns[place].isNullable = new.isNullable
                    tables[id.index].columns[place].isIndexed = new.isIndexed
                } else {
                    remove(id, place)
                    tables[id.index].columns.append(new)
                }
            } else if old.isIndexed != new.isIndexed {
                note(.changedIndex(table: wanted.name, column: column.name, isIndexed: new.isIndexed))
                tables[id.index].columns[place].isIndexed = new.isIndexed
            }
        }
        let oldKey = before.primaryKey.map { before.columns[$0].name }
        let newKey = wanted.primaryKey.map { wanted.columns[$0].name }
        if oldKey != newKey { note(.changedPrimaryKey(table: wanted.name, from: oldKey, to: newKey)) }
        tables[id.index].primaryKey = newKey.flatMap { tables[id.index].column(named: $0) }
    }

    private mutating func remove(_ id: TableID, _ column: Int) {
        tables[id.index].columns[column].isRemoved = true
        tables[id.index].columns[column].isIndexed = false
        if tables[id.index].primaryKey == column { tables[id.index].primaryKey = nil }
    }
}
