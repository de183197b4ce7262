import FirnBytes
import FirnCore
import Foundation

/// What becomes of a store's schema when it is opened with a set of classes.
///
/// Without a higher schema version, classes and indexes may be added, and indexes removed; anything else is a
/// difference that opening refuses. With a higher version, properties are added and removed as well, the
/// primary key may change, and a class may become embedded or stop being so. A property whose
/// optionality changed keeps its values (nil becomes the blank value). A property whose type changed starts again with
/// blank values.
struct SchemaPlan {
    /// The schema that the store is to have.
    private(set) var schema: StoreSchema
    /// What a higher schema version is needed for, one sentence each.
    private(set) var differences: [String] = []
    private let old: StoreSchema

    /// Whether the store's schema has to be changed at all.
    var changesAnything: Bool { schema != old }

    /// Whether a store with objects has to be migrated for a schema version.
    func needsMigration(to version: UInt64) -> Bool { version != old.version || !differences.isEmpty }

    init(_ infos: [ClassInfo], version: UInt64, on old: StoreSchema) {
        self.old = old
        schema = old
        schema.version = max(version, old.version)
        // All names first, so that links between new classes find their tables.
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

    /// Brings one class's table to what the class declares, and notes the differences.
    private mutating func merge(_ info: ClassInfo, table id: TableID, tables: NameMap<TableID>, isNew: Bool) {
        var table = schema[id]
        func column(_ property: PropertyInfo) -> ColumnSchema {
            property.column(target: property.isLink ? property.shape.target.flatMap { tables[$0.className()] } : nil)
        }
        // Most openings find a class as they left it.
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

extension SchemaPlan {
    /// How many keys or objects of a class a message names.
    private static let mostNamed = 5

    /// Why the objects in the store do not fit the classes, one sentence for each class. Either several objects would
    /// have one primary key, or embedded objects have no parent or several. The transaction has changed its schema from
    /// `old`.
    static func objectFaults(
        in transaction: WriteTransaction, from old: StoreSchema, freed: Set<TableID> = []
    ) -> [String] {
        let schema = transaction.resolvedSchema.schema
        var faults: [String] = []
        for (index, table) in schema.tables.enumerated() where !table.isRemoved {
            let before = index < old.tables.count ? old.tables[index] : nil
            if table.isEmbedded, before.map({ !$0.isEmbedded }) ?? false,
                let fault = parentFault(TableID(index), in: transaction, from: old)
            {
                faults.append(fault)
            }
            guard let column = table.primaryKey else { continue }
            // A column that was the primary key has no duplicates, unless the block has set keys, or several nil keys
            // became blank.
            let isEnforced = before.map { table.keepsKey(column, of: $0) } ?? true
            if isEnforced, !freed.contains(TableID(index)) { continue }
            let (total, first) = transaction.table(TableID(index)).duplicatePrimaryKeys(limit: mostNamed)
            guard total > 0 else { continue }
            let keys = first.map { "\($0.value.keyText) (\($0.count) objects)" } + (total > first.count ? ["…"] : [])
            faults.append(
                "\"\(table.name).\(table.columns[column].name)\": \(total) \(total == 1 ? "key is" : "keys are") held by several objects: \(keys.joined(separator: ", "))."
            )
        }
        return faults
    }

    /// A sentence about the objects that do not fit a class which has become embedded; nil if there are none. These
    /// objects do not have exactly one parent, are parts of themselves, or are in mixed values.
    private static func parentFault(
        _ id: TableID, in transaction: WriteTransaction, from old: StoreSchema
    ) -> String? {
        var count = 0
        var named: [String] = []
        func note(_ key: Int64, _ fault: String) {
            count += 1
            guard named.count < mostNamed else { return }
            named.append("\(transaction.table(id).name(ofObject: key, before: old[id])) \(fault)")
        }
        let schema = transaction.resolvedSchema.schema
        transaction.forEachWithoutOneParent(id) { key, parents in
            let mixed = transaction.mixedSources(of: key, in: id).first.map(schema.name)
            note(key, "by \(parents == 0 ? mixed ?? "none" : "\(parents)")")
        }
        if count == 0 {
            let embedded = Set(schema.tables.indices.map { TableID($0) }.filter { schema[$0].isEmbedded })
            let loop = schema.canContainItself(id) ? transaction.objects(of: embedded) { _, _ in false } : nil
            let hasMixed = !transaction.resolvedSchema.mixed.isEmpty
            if loop != nil || hasMixed {
                transaction.forEachObject(of: id) { key in
                    if let loop, !(loop[id]?.contains(key) ?? false) {
                        note(key, "only by its own parts")
                    } else if let source = transaction.mixedSources(of: key, in: id).first {
                        note(key, "by one and by \(schema.name(source)), a mixed value")
                    }
                }
            }
        }
        guard count > 0 else { return nil }
        let list = (named + (count > named.count ? ["…"] : [])).joined(separator: ", ")
        return
            "\"\(schema[id].name)\" is an embedded class now: \(count) of its objects \(count == 1 ? "is" : "are") not linked to by exactly one property of one object: \(list). In a migrationBlock, give each object one parent, or delete it."
    }
}

extension StoreSchema {
    /// A property with its class, for messages.
    fileprivate func name(_ property: (table: TableID, column: Int)) -> String {
        "\(self[property.table].name).\(self[property.table].columns[property.column].name)"
    }

    /// Whether an embedded object of a table can be a part of itself, through objects of embedded classes.
    fileprivate func canContainItself(_ id: TableID) -> Bool {
        var seen: Set<TableID> = []
        var next = [id]
        while let id = next.popLast() {
            for column in self[id].columns where !column.isRemoved {
                guard let target = column.target, self[target].isEmbedded, seen.insert(target).inserted else {
                    continue
                }
                next.append(target)
            }
        }
        return seen.contains(id)
    }
}

extension TableView {
    /// An object, for messages: by the primary key that it had, or by its first value.
    fileprivate func name(ofObject key: Int64, before: TableSchema) -> String {
        let plain = schema.columns.indices.filter {
            !schema.columns[$0].isRemoved && schema.columns[$0].collection == .none && schema.columns[$0].target == nil
        }
        let shown = before.primaryKey.flatMap { plain.contains($0) ? $0 : nil } ?? plain.first
        guard let shown, let value = value(shown, of: key) else { return "object \(key)" }
        return "object \(key) (\(DisplayText.line(schema.columns[shown].name)): \(value.keyText))"
    }
}

extension TableSchema {
    /// Whether a column was the primary key before, too, with or without nil as now, so that it has no duplicates.
    func keepsKey(_ column: Int, of before: TableSchema) -> Bool {
        before.primaryKey == column && before.columns[column].isNullable == columns[column].isNullable
    }
}

extension ClassInfo {
    /// Whether two classes store the same, so that they may show one table.
    fileprivate func storesTheSame(as other: ClassInfo) -> Bool {
        guard stored.count == other.stored.count, isEmbedded == other.isEmbedded, !isObservable, !other.isObservable,
            primaryKey?.columnName == other.primaryKey?.columnName
        else { return false }
        let others = NameMap(other.stored.map { ($0.columnName, $0) })
        return stored.allSatisfy { property in
            guard let same = others[property.columnName] else { return false }
            // The number of a table has no meaning here.
            return property.column(target: nil) == same.column(target: nil)
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

    /// What is wrong with a set of classes in itself, one sentence each.
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
