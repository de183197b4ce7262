import FirnBytes
import FirnCore

extension SchemaPlan {
    /// The maximum number of keys or objects of a class that a message names.
    private static let mostNamed = 5

    /// A sentence about objects of a class that becomes embedded which are parts of themselves, so that no parent can
    /// have a copy.
    static func selfContainingFault(
        _ id: TableID, _ keys: [Int64], in transaction: WriteTransaction, from old: StoreSchema
    ) -> String {
        // Read from the version before, because objects that no parent has are deleted by now.
        let table = transaction.base.snapshot.table(id)
        let names = keys.prefix(mostNamed).map { table.name(ofObject: $0, before: old[id]) }
        let list = names.joined(separator: ", ") + (keys.count > names.count ? ", …" : "")
        return
            "\"\(old[id].name)\": \(keys.count) of its objects \(keys.count == 1 ? "is a part of itself" : "are parts of themselves"), so no parent can have a copy: \(list)."
    }

    /// The reasons why the objects in the store do not fit the classes, one sentence for each class. Either several
    /// objects would have one primary key, or embedded objects have no parent or several. The transaction has changed
    /// its schema from `old`.
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
    /// The text for an object in messages: its object key, with the primary key that it had or else its first value.
    fileprivate func name(ofObject key: Int64, before: TableSchema) -> String {
        let plain = schema.columns.indices.filter {
            !schema.columns[$0].isRemoved && schema.columns[$0].collection == .none && schema.columns[$0].target == nil
        }
        let shown = before.primaryKey.flatMap { plain.contains($0) ? $0 : nil } ?? plain.first
        guard let shown, let value = value(shown, of: key) else { return "object \(key)" }
        return "object \(key) (\(DisplayText.line(schema.columns[shown].name)): \(value.keyText))"
    }
}
