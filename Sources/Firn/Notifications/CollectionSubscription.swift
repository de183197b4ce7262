import FirnCore

/// An observer of a collection. It is told of the collection once at first, then of positions that came, went or changed.
///
/// Of all objects of a class it keeps nothing and asks the two versions for ranks, so a change costs what changed. Of other collections it keeps the elements
/// that it was told of.
final class CollectionSubscription<C: RealmCollection>: DataSubscription {
    private var collection: C
    private var source: CollectionSource
    private let paths: [ObservedPath]?
    private let block: (RealmCollectionChange<C>) -> Void
    /// What was told of last; nil before the first call, and for whole tables.
    private var content: CollectionSource.Content?
    private var hasBegun = false

    init(
        _ collection: C, _ source: CollectionSource, from start: SubscriptionStart, _ paths: [ObservedPath]?,
        _ block: @escaping (RealmCollectionChange<C>) -> Void
    ) {
        self.collection = collection
        self.source = source
        self.paths = paths
        self.block = block
        super.init(source.realm, from: start)
    }

    override var wantsInitial: Bool { !hasBegun }

    override func begin(_ pin: Pin) {
        hasBegun = true
        skipped(pin)
        let collection = shown()
        // Reading a list whose owner is gone stops the program, and the owner may go at any time before the first call.
        block(.initial(source.isOwnerGone(in: pin.snapshot) ? collection._withoutOwner : collection))
    }

    /// What the block is given: after `invalidate()` the collection made anew, as the one from before is of no use.
    private func shown() -> C {
        if source.isDead {
            collection = collection._moved(to: realm)
            source = collection._source
        }
        return collection
    }

    override func skipped(_ pin: Pin) {
        if !source.isWholeTable { content = source.evaluate(pin.snapshot) }
    }

    override func notify(_ notes: ChangeSummary, from old: Pin, to new: Pin) {
        guard !notes.isEmpty else { return }
        let changes =
            source.isWholeTable
            ? wholeTable(notes, old.snapshot, new.snapshot) : compared(notes, old.snapshot, new.snapshot)
        guard !changes.isEmpty else { return }
        block(
            .update(
                shown(), deletions: changes.deletions, insertions: changes.insertions,
                modifications: changes.modifications))
    }

    /// The elements that count as changed.
    private func reached(_ notes: ChangeSummary, _ old: Snapshot, _ new: Snapshot) -> Set<Int64> {
        guard let binding = source.binding else { return [] }
        let reach = AffectedObjects(notes: notes, old: old, snapshot: new, schema: realm.schema)
        guard let paths else { return reach.deep(binding.table) }
        return paths.reduce(into: []) { $0.formUnion(reach.along($1)) }
    }

    private func wholeTable(_ notes: ChangeSummary, _ old: Snapshot, _ new: Snapshot) -> IndexChanges {
        guard let binding = source.binding else { return IndexChanges(from: [Int64](), to: []) { _ in false } }
        var changes = IndexChanges(from: [Int64](), to: []) { _ in false }
        let hasOld = binding.table.index < old.reference.schema.tables.count
        let table = notes.tables[binding.table]
        if let table {
            if hasOld {
                let before = old.table(binding.table)
                changes.deletions = table.deleted.compactMap { before.position(of: $0) }.sorted()
            }
            let after = new.table(binding.table)
            changes.insertions = table.inserted.compactMap { after.position(of: $0) }.sorted()
        }
        if hasOld {
            let before = old.table(binding.table)
            let inserted = table?.inserted ?? []
            let deleted = table?.deleted ?? []
            changes.modifications = reached(notes, old, new).filter { !inserted.contains($0) && !deleted.contains($0) }
                .compactMap { before.position(of: $0) }.sorted()
        }
        return changes
    }

    private func compared(_ notes: ChangeSummary, _ oldSnapshot: Snapshot, _ newSnapshot: Snapshot) -> IndexChanges {
        let before = content ?? .keys([])
        let after = source.evaluate(newSnapshot)
        content = after
        switch (before, after) {
        case (.keys(let old), .keys(let new)):
            let reached = reached(notes, oldSnapshot, newSnapshot)
            if let script = script(notes) {
                return IndexChanges(script, oldCount: old.count) { reached.contains(old[$0]) }
            }
            return IndexChanges(from: old, to: new) { reached.contains($0) }
        case (.values(let old), .values(let new)):
            if let script = script(notes) { return IndexChanges(script, oldCount: old.count) { _ in false } }
            return IndexChanges(from: old, to: new) { _ in false }
        default: return IndexChanges(from: [Int64](), to: []) { _ in false }
        }
    }

    /// What was done to the list, where the collection is one as it stands, and the notes say it.
    private func script(_ notes: ChangeSummary) -> ListScript? {
        guard case .list(let place) = source.origin, source.stages.isEmpty,
            let table = notes.tables[place.binding.table], !table.deleted.contains(place.row.key)
        else { return nil }
        return table.scripts[.init(key: place.row.key, column: place.column)]
    }
}
