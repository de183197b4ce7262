import FirnCore

/// The objects of classes that become embedded, if they have no parent when the block of the migration has returned.
///
/// Until then these classes are ordinary, so no object is deleted with its parent. Now those objects are deleted which
/// would be gone if the class had been embedded from the start. These are objects whose copies have parents, copies
/// that have no parent any more, and objects that have lost their last link in the block. All others stay: opening
/// names them, and refuses the migration.
struct Orphans {
    let transaction: WriteTransaction
    /// The schema that the store is to have.
    let final: StoreSchema
    /// The tables of the classes that become embedded.
    let tables: Set<TableID>
    let copies: MigrationCopies

    /// Deletes the orphans, and the objects that have only deleted parents. O(n log n) for the n objects of these
    /// classes. If damage is met, the transaction's commit throws it.
    func delete() {
        transaction.recordingDamage {
            let owned = transaction.objects(of: tables, underOthersExcept: goes)
            var orphans = tables.sorted().map { id in
                (table: id, keys: keys(of: id) { isOrphan(id, $0, owned: owned) })
            }
            while orphans.contains(where: { !$0.keys.isEmpty }), !transaction.hasMetDamage {
                var parts: [TableID: Set<Int64>] = [:]
                for (id, keys) in orphans {
                    for key in keys {
                        transaction.forEachPart(of: id, key, in: tables) { part, key, _ in
                            parts[part, default: []].insert(key)
                        }
                    }
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
        transaction.forEachObject(of: id) { if isIncluded($0) { keys.append($0) } }
        return keys
    }

    /// Whether an object is to be deleted.
    ///
    /// - Parameter owned: the objects to which a chain of links leads from an object of another class.
    private func isOrphan(_ id: TableID, _ key: Int64, owned: [TableID: Set<Int64>]) -> Bool {
        if owned[id]?.contains(key) ?? false { return false }
        // Deleting the object would leave nil in the mixed value that links to it.
        guard transaction.mixedSources(of: key, in: id).isEmpty else { return false }
        // Only a copy can be new: an object of such a class can't be created by itself.
        guard transaction.base.snapshot.table(id).find(key) != nil else { return true }
        if copies.ofObject(id, key).contains(where: { owned[$0.table]?.contains($0.key) ?? false }) { return true }
        return !isLinked(id, key, except: { _, _ in false }) && hadParent(id, key)
    }

    /// Whether the migration removes a property, so that its links do not count.
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

    /// Whether an object whose parent was deleted still exists and has no other parent.
    private func isLeft(_ id: TableID, _ key: Int64) -> Bool {
        transaction.table(id).find(key) != nil && !isLinked(id, key, except: goes)
    }

    /// Whether any property links to an object. The columns for which `isIgnored` returns true do not count.
    private func isLinked(_ id: TableID, _ key: Int64, except isIgnored: (TableID, Int) -> Bool) -> Bool {
        transaction.resolvedSchema.links(to: id).contains { link in
            !isIgnored(link.table, link.column) && transaction.table(link.table).sourceCount(of: key, link.column) > 0
        }
    }
}
