import FirnCore

/// The objects of classes that a migration makes embedded which have no parent when its block has returned.
///
/// Until then these classes are ordinary, so nothing is deleted with its parent. Now the objects are deleted that an
/// embedded class would have lost: objects that the block has copied for their parents, and objects that have lost
/// their last link in the block. All others stay: opening names them, and refuses the migration.
struct Orphans {
    let transaction: WriteTransaction
    /// The schema that the store is to have.
    let final: StoreSchema
    /// The tables of the classes that become embedded.
    let tables: Set<TableID>
    /// The objects that the block has copied.
    let copied: [TableID: Set<Int64>]

    /// Deletes them, and the objects that have no other parent than them. O(n log n) for the n objects of these
    /// classes. If damage is met, the transaction throws it.
    func delete() {
        transaction.recordingDamage {
            var orphans = tables.sorted().map { id in (table: id, keys: keys(of: id) { isOrphan(id, $0) }) }
            while orphans.contains(where: { !$0.keys.isEmpty }), !transaction.hasMetDamage {
                var parts: [TableID: Set<Int64>] = [:]
                for (id, keys) in orphans {
                    for key in keys { addParts(of: id, key, to: &parts) }
                    transaction.delete(id, keys)
                }
                orphans = parts.keys.sorted().map { id in
                    (id, parts[id, default: []].sorted().filter { isLeft(id, $0) })
                }
            }
        }
    }

    private func keys(of id: TableID, where isIncluded: (Int64) -> Bool) -> [Int64] {
        var keys: [Int64] = []
        transaction.table(id).forEachLeaf { leaf, _ in
            for row in 0..<leaf.count where isIncluded(leaf.key(row)) { keys.append(leaf.key(row)) }
            return !transaction.hasMetDamage
        }
        return keys
    }

    private func isOrphan(_ id: TableID, _ key: Int64) -> Bool {
        let links = transaction.resolvedSchema.links(to: id).filter {
            transaction.table($0.table).sourceCount(of: key, $0.column) > 0
        }
        if links.contains(where: { !goes($0.table, $0.column) }) { return false }
        if copied[id]?.contains(key) ?? false { return true }
        return links.isEmpty && hadParent(id, key)
    }

    /// Whether a property is removed with the migration, so that nothing is linked to by it in the end.
    private func goes(_ table: TableID, _ column: Int) -> Bool {
        final[table].isRemoved || final[table].columns[column].isRemoved
    }

    /// Whether an object was linked to before the migration.
    private func hadParent(_ id: TableID, _ key: Int64) -> Bool {
        let snapshot = transaction.base.snapshot
        return snapshot.resolvedSchema.links(to: id).contains { link in
            snapshot.table(link.table).sourceCount(of: key, link.column) > 0
        }
    }

    /// Whether an object whose parent was deleted is there, and has no other one.
    private func isLeft(_ id: TableID, _ key: Int64) -> Bool {
        guard transaction.table(id).find(key) != nil else { return false }
        return transaction.resolvedSchema.links(to: id).allSatisfy { link in
            goes(link.table, link.column) || transaction.table(link.table).sourceCount(of: key, link.column) == 0
        }
    }

    /// Adds the objects of these classes that an object links to.
    private func addParts(of id: TableID, _ key: Int64, to parts: inout [TableID: Set<Int64>]) {
        let table = transaction.table(id)
        for (column, schema) in transaction.resolvedSchema.schema[id].columns.enumerated() {
            guard !schema.isRemoved, let target = schema.target, tables.contains(target) else { continue }
            let value = table.value(column, of: key) ?? .null
            for part in schema.collection == .none ? [value.linkedKey] : value.elements.map(\.linkedKey) {
                if let part { parts[target, default: []].insert(part) }
            }
        }
    }
}
