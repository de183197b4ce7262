import FirnCore
import FirnQuery

/// An observer of a collection. Its first call shows the collection; later calls show which indices were inserted,
/// deleted or modified.
///
/// For all objects of a class, and for a list, it keeps nothing: the versions contain the ranks, and the change summary
/// contains the edits. So the cost depends only on what changed. If a list's edits are not known, its old and new
/// elements are compared. If an element's object changed, the list is also searched.
///
/// For a query, it keeps the keys of the elements that it has shown. A query over all objects of a class is a
/// maintained one (`MaintainedQuery`) if it has only filters, sorts and at most one `distinct`. Then its keys are
/// updated for each version. Any other query is run again, and the old and new elements are compared.
final class CollectionSubscription<C: RealmCollection>: SourceSubscription<C> {
    private let block: (RealmCollectionChange<C>) -> Void
    /// The elements that the query found when the observer was last called; nil before the first call, for whole
    /// tables, and for lists.
    private var content: _CollectionSource.Content?

    init(
        collection: C, from start: SubscriptionStart, paths: [ObservedPath]?,
        _ block: @escaping (RealmCollectionChange<C>) -> Void
    ) {
        self.block = block
        super.init(collection, from: start, paths)
    }

    override func showInitial(_ collection: C) { block(.initial(collection)) }

    override func skipped(_ pin: Pin) {
        guard list == nil, !source.isWholeTable else { return content = nil }
        foundAnew()
        // Another observer of the same results may have evaluated them for this version already.
        let isShown = realm.pin?.snapshot.root == pin.snapshot.root && !realm.isInTransaction && !source.isDead
        content = isShown ? source.content : source.evaluate(pin.snapshot)
    }

    override func notify(_ summary: ChangeSummary, from old: Pin, to new: Pin) {
        guard !summary.isEmpty else { return }
        let difference =
            if source.isWholeTable {
                wholeTable(summary, from: old.snapshot, to: new.snapshot)
            } else if let list {
                edited(list, summary: summary, from: old.snapshot, to: new.snapshot)
            } else {
                compared(summary, from: old.snapshot, to: new.snapshot)
            }
        guard !difference.isEmpty else { return }
        block(
            .update(
                shown(), deletions: difference.deletions, insertions: difference.insertions,
                modifications: difference.modifications))
    }

    // MARK: All objects of a class

    /// The differences between two versions of a whole table. O(log n) for each changed object, because each version
    /// gives the rank of a key.
    private func wholeTable(_ summary: ChangeSummary, from old: Snapshot, to new: Snapshot) -> ListDifference {
        var difference = ListDifference()
        guard let binding = source.binding else { return difference }
        let table = summary.tables[binding.table]
        if let inserted = table?.inserted, !inserted.isEmpty {
            let after = new.table(binding.table)
            difference.insertions = inserted.compactMap { after.position(of: $0) }.sorted()
        }
        // The class may not exist yet in the old version.
        guard binding.table.index < old.resolvedSchema.schema.tables.count else { return difference }
        let before = old.table(binding.table)
        difference.deletions = (table?.deleted ?? []).compactMap { before.position(of: $0) }.sorted()
        difference.modifications = affected(summary, from: old, to: new).compactMap { key in
            table?.inserted.contains(key) ?? false || table?.deleted.contains(key) ?? false
                ? nil : before.position(of: key)
        }.sorted()
        return difference
    }

    // MARK: A list without a query

    /// The list, if the collection is a list without a query.
    private var list: CollectionLocation? {
        guard case .list(let list) = source.origin, source.query == nil else { return nil }
        return list
    }

    /// Computes the changes of a list.
    ///
    /// The cost depends on the number of edits and of changed objects, not on the list's length. There are two
    /// exceptions. If an element's object changed, the list is searched; if the list's edits are not known, the two
    /// states are compared.
    private func edited(
        _ list: CollectionLocation, summary: ChangeSummary, from old: Snapshot, to new: Snapshot
    ) -> ListDifference {
        let changes = summary.tables[list.binding.table]
        let key = list.row.key
        guard let before = list.cell(in: old), let after = list.cell(in: new) else {
            // The owner was deleted, or it did not exist in the old version.
            return ListDifference(comparing: values(list, old), to: values(list, new))
        }
        var difference = ListDifference()
        if let script = changes?.scripts[.init(key: key, column: list.column)] {
            difference = ListDifference(script.edits, oldCount: before.count)
        } else if changes?.modified[key]?.contains(list.column) ?? false {
            difference = ListDifference(comparing: before.values, to: after.values)
        }
        if list.property.isMixed {
            addLinking(list, targets: affectedTargets(summary, from: old, to: new), from: old, to: &difference)
            return difference
        }
        guard list.property.isLink, let target = source.binding?.table else { return difference }
        let affected = affected(summary, from: old, to: new)
        // Finding them has read much, so the list is read again.
        guard let before = list.cell(in: old),
            old.table(list.binding.table).mayHaveLink(list, toOneOf: [target: affected], among: before.count)
        else { return difference }
        let keys = before.keys
        difference.addModifications(keys.indices.filter { affected.contains(keys[$0]) })
        return difference
    }

    /// Adds the mixed values that link to changed objects, as modifications.
    private func addLinking(
        _ list: CollectionLocation, targets: [TableID: Set<Int64>], from old: Snapshot,
        to difference: inout ListDifference
    ) {
        guard let before = list.cell(in: old),
            old.table(list.binding.table).mayHaveLink(list, toOneOf: targets, among: before.count)
        else { return }
        let values = before.values
        difference.addModifications(values.indices.filter { values[$0].links(toOneOf: targets) })
    }

    private func values(_ list: CollectionLocation, _ snapshot: Snapshot) -> [Value] {
        list.cell(in: snapshot)?.values ?? []
    }

    // MARK: The elements of a query

    private func compared(_ summary: ChangeSummary, from oldSnapshot: Snapshot, to newSnapshot: Snapshot)
        -> ListDifference
    {
        // Cached, so that a read by the block does not run the query again.
        defer { if let content { source.keep(content, of: newSnapshot) } }
        let affected = source.binding == nil ? [] : affected(summary, from: oldSnapshot, to: newSnapshot)
        if let difference = updated(summary, from: oldSnapshot, to: newSnapshot, affected: affected) {
            return difference
        }
        foundAnew()
        let before = content ?? .keys(OrderedKeys())
        let after = source.evaluate(newSnapshot)
        content = after
        switch (before, after) {
        case (.keys(let old), .keys(let new)):
            let keys = old.array
            var difference = ListDifference(comparing: keys, to: new.array)
            if !affected.isEmpty {
                difference.addModifications(keys.indices.filter { affected.contains(keys[$0]) })
            }
            return difference
        case (.values(let old), .values(let new)):
            var difference = ListDifference(comparing: old, to: new)
            let targets = affectedTargets(summary, from: oldSnapshot, to: newSnapshot)
            if !targets.isEmpty {
                difference.addModifications(old.indices.filter { old[$0].links(toOneOf: targets) })
            }
            return difference
        default: return ListDifference()
        }
    }

    /// Updates the kept keys to the new version; nil if the query can't be maintained, or if running it again costs
    /// less.
    private func updated(
        _ summary: ChangeSummary, from oldSnapshot: Snapshot, to newSnapshot: Snapshot, affected: Set<Int64>
    ) -> ListDifference? {
        guard case .keys(var keys)? = content else { return nil }
        content = nil
        let change = update(&keys, summary: summary, from: oldSnapshot, to: newSnapshot, affected: affected)
        content = .keys(keys)
        return change?.difference(changed: affected)
    }
}
