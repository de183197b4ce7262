import FirnBytes
import FirnCore
import Foundation

/// The changes to a store's schema when the store is opened with a set of classes.
///
/// Without a higher schema version, classes and indexes may be added, and indexes removed; anything else is a
/// difference that opening refuses. With a higher version, properties are added and removed as well. The
/// primary key may change, and a class may become embedded or stop being so. A property whose optionality changed keeps
/// its values (nil becomes the blank value). A property whose type changed starts again with blank values.
struct SchemaPlan {
    /// The schema that the store is to have.
    private(set) var schema: StoreSchema
    /// The changes that need a higher schema version, one sentence each.
    private(set) var differences: [String] = []
    private let old: StoreSchema
    /// For each table that several classes share, by its name: the columns that at least one of these classes indexes.
    private let sharedIndexes: [[UInt8]: Set<[UInt8]>]

    /// Whether the store's schema has to be changed at all.
    var changesAnything: Bool { schema != old }

    /// Whether a store with objects has to be migrated for a schema version.
    func needsMigration(to version: UInt64) -> Bool { version != old.version || !differences.isEmpty }

    init(_ infos: [ClassInfo], version: UInt64, on old: StoreSchema) {
        self.old = old
        sharedIndexes = SchemaPlan.sharedIndexes(infos)
        schema = old
        schema.version = max(version, old.version)
        // All tables are added first, so that links between new classes find them.
        let known = old.numbersByName
        var added: Set<[UInt8]> = []
        // Two classes of one name share a table.
        for info in infos where known[info.name] == nil && added.insert(Array(info.name.utf8)).inserted {
            schema.tables.append(TableSchema(name: info.name, isEmbedded: info.isEmbedded, columns: []))
        }
        let tables = schema.numbersByName
        for info in infos {
            guard let id = tables[info.name] else { continue }
            merge(info, table: id, tables: tables, isNew: id.index >= old.tables.count)
        }
    }

    /// For each table that several classes share, by its name: the columns that at least one of these classes indexes.
    private static func sharedIndexes(_ infos: [ClassInfo]) -> [[UInt8]: Set<[UInt8]>] {
        let byName = Dictionary(grouping: infos) { Array($0.name.utf8) }
        return byName.filter { $0.value.count > 1 }.mapValues { classes in
            Set(classes.flatMap { $0.stored.filter(\.isIndexed).map { Array($0.columnName.utf8) } })
        }
    }

    /// Changes a class's table to what the class declares, and notes the differences.
    private mutating func merge(_ info: ClassInfo, table id: TableID, tables: NameMap<TableID>, isNew: Bool) {
        var table = schema[id]
        let indexed = sharedIndexes.isEmpty ? nil : sharedIndexes[Array(info.name.utf8)]
        func column(_ property: PropertyInfo) -> ColumnSchema {
            var column = property.column(
                target: property.isLink ? property.shape.target.flatMap { tables[$0.className()] } : nil)
            if let indexed, !property.isPrimaryKey {
                column.isIndexed = indexed.contains(Array(property.columnName.utf8))
            }
            return column
        }
        // Most openings find a class unchanged.
        if !isNew, table.isEmbedded == info.isEmbedded, table.columns.count == info.stored.count,
            table.primaryKey.map({ table.columns[$0].name }) == info.primaryKey?.columnName,
            zip(table.columns, info.stored).allSatisfy({ $0 == column($1) })
        {
            return
        }
        let columns = table.numbersByName
        let name = info.name
        if table.isEmbedded != info.isEmbedded {
            differences.append(
                "Class \"\(name)\" has been made \(info.isEmbedded ? "an embedded class" : "a class of objects of their own")."
            )
            table.isEmbedded = info.isEmbedded
        }
        let wanted = NameMap(info.stored.map { ($0.columnName, $0) })
        for property in info.stored {
            let column = column(property)
            let full = "\(name).\(property.name)"
            guard let index = columns[property.columnName] else {
                if !isNew { differences.append("Property \"\(full)\" has been added.") }
                table.columns.append(column)
                continue
            }
            let before = table.columns[index]
            if before.type != column.type || before.collection != column.collection || before.target != column.target {
                differences.append(
                    "Property \"\(full)\" has been changed from \(SchemaPlan.name(before, schema)) to \(SchemaPlan.name(column, schema))."
                )
                SchemaPlan.remove(index, from: &table)
                table.columns.append(column)
                continue
            }
            if before.isNullable != column.isNullable {
                differences.append("Property \"\(full)\" has been made \(column.isNullable ? "optional" : "required").")
                table.columns[index].isNullable = column.isNullable
            }
            table.columns[index].isIndexed = column.isIndexed
        }
        for (index, column) in table.columns.enumerated() where !column.isRemoved && wanted[column.name] == nil {
            differences.append("Property \"\(name).\(DisplayText.line(column.name))\" has been removed.")
            SchemaPlan.remove(index, from: &table)
        }
        let key = info.primaryKey.flatMap { table.column(named: $0.columnName) }
        let oldName = table.primaryKey.map { table.columns[$0].name }
        let newName = info.primaryKey?.columnName
        if !isNew && oldName != newName {
            switch (oldName.map(DisplayText.line), newName) {
            case (nil, let new?): differences.append("Primary key \"\(name).\(new)\" has been added.")
            case (let old?, nil): differences.append("Primary key \"\(name).\(old)\" has been removed.")
            case (let old?, let new?):
                differences.append("Primary key of \"\(name)\" has been changed from \"\(old)\" to \"\(new)\".")
            case (nil, nil): break
            }
        }
        table.primaryKey = key
        schema.tables[id.index] = table
    }

    /// Marks a column as removed. It keeps its number.
    static func remove(_ column: Int, from table: inout TableSchema) {
        table.columns[column].isRemoved = true
        table.columns[column].isIndexed = false
    }

    /// The type of a column, for messages.
    static func name(_ column: ColumnSchema, _ schema: StoreSchema) -> String {
        var text = column.target.map { "link to \(DisplayText.line(schema[$0].name))" } ?? "\(column.type)"
        if column.isNullable && column.type != .link { text = "optional \(text)" }
        return column.collection == .none ? text : "\(column.collection) of \(text)"
    }
}

extension TableSchema {
    /// Whether a column was the primary key before, with the same optionality as now, so that it has no duplicates.
    func keepsKey(_ column: Int, of before: TableSchema) -> Bool {
        before.primaryKey == column && before.columns[column].isNullable == columns[column].isNullable
    }
}

extension ClassInfo {
    /// Whether two classes store the same, so that they may share a table. Their indexes may differ: the column is
    /// indexed if one of the classes declares an index.
    fileprivate func storesTheSame(as other: ClassInfo) -> Bool {
        guard stored.count == other.stored.count, isEmbedded == other.isEmbedded, !isObservable, !other.isObservable,
            primaryKey?.columnName == other.primaryKey?.columnName
        else { return false }
        let others = NameMap(other.stored.map { ($0.columnName, $0) })
        return stored.allSatisfy { property in
            guard let same = others[property.columnName] else { return false }
            // The targets are compared below by class name, since the classes have no tables here.
            var column = property.column(target: nil)
            let other = same.column(target: nil)
            column.isIndexed = other.isIndexed
            return column == other
                && property.shape.target?.className() == same.shape.target?.className()
        }
    }
}

extension Value {
    /// A primary key, for messages.
    var keyText: String {
        switch self {
        case .null: "nil"
        case .int(let number): "\(number)"
        case .string(let text): DisplayText.quoted(text)
        case .objectID(let bytes): ObjectId(bytes).stringValue
        case .uuid(let bytes): UUID(_raw: bytes).uuidString
        default: DisplayText.line("\(self)")
        }
    }
}

extension SchemaPlan {
    /// The limit that a set of classes exceeds by itself, in an empty store; nil if it exceeds none. The classes must
    /// have no faults. Changing a store's schema checks the limits too.
    static func limitFault(of infos: [ClassInfo]) -> Fault? {
        SchemaPlan(infos, version: 0, on: StoreSchema()).schema.limitFault
    }

    /// The mistakes in a set of classes, without regard to a store, one sentence each.
    static func faults(of infos: [ClassInfo]) -> [String] {
        var faults = infos.flatMap(\.faults)
        let names = NameMap(infos.map { ($0.name, $0) })
        for info in infos {
            guard let first = names[info.name], first !== info, !first.storesTheSame(as: info) else { continue }
            faults.append(
                "Two classes are named \"\(info.name)\"; override _realmObjectName() of one. They may share the name only if they store the same properties, with the same types and the same primary key, and are not Observable."
            )
        }
        let types = Dictionary(infos.map { (ObjectIdentifier($0.type), $0) }) { first, _ in first }
        for info in infos {
            for property in info.properties {
                guard let target = property.shape.target else { continue }
                let full = "\(info.name).\(property.name)"
                guard let other = types[ObjectIdentifier(target)] else {
                    faults.append(
                        "\(full) links to \(target.className()), which is not among the realm's classes; add it to objectTypes."
                    )
                    continue
                }
                guard property.isLinkingObjects else { continue }
                guard let origin = property.origin, let linking = other.property(named: origin) else {
                    faults.append(
                        "\(full) names the property \"\(property.origin ?? "")\", which \(other.name) does not have.")
                    continue
                }
                if !linking.isLink || linking.shape.target != info.type {
                    faults.append("\(full) names \(other.name).\(origin), which does not link to \(info.name).")
                }
            }
        }
        return faults
    }
}
