import FirnCore

/// An observer of a map. Its first call shows the map; later calls show which keys were inserted, deleted or modified.
///
/// It keeps nothing: the change summary has the edits, and each version has its keys. So the cost depends on the number
/// of edits. If the map may link to objects that changed, all its entries are also read.
final class MapSubscription<M: RealmKeyedCollection>: SourceSubscription<M> {
    private let block: (RealmMapChange<M>) -> Void

    init(
        map: M, from start: SubscriptionStart, paths: [ObservedPath]?,
        _ block: @escaping (RealmMapChange<M>) -> Void
    ) {
        self.block = block
        super.init(map, from: start, paths)
    }

    override func showInitial(_ map: M) { block(.initial(map)) }

    override func notify(_ summary: ChangeSummary, from old: Pin, to new: Pin) {
        guard !summary.isEmpty, case .list(let location) = source.origin else { return }
        let changes = MapDifference(map: location, summary: summary, from: old.snapshot, to: new.snapshot) {
            if location.property.isMixed { return affectedTargets(summary, from: old.snapshot, to: new.snapshot) }
            guard let target = source.binding?.table else { return [:] }
            return [target: affected(summary, from: old.snapshot, to: new.snapshot)]
        }
        guard !changes.isEmpty else { return }
        block(
            .update(
                shown(), deletions: changes.deletions.map { M.Key._key($0) },
                insertions: changes.insertions.map { M.Key._key($0) },
                modifications: changes.modifications.map { M.Key._key($0) }))
    }
}

/// The keys that were deleted, inserted or modified in a map between two versions, each array in the order of the keys.
struct MapDifference {
    private(set) var deletions: [String] = []
    private(set) var insertions: [String] = []
    private(set) var modifications: [String] = []

    var isEmpty: Bool { deletions.isEmpty && insertions.isEmpty && modifications.isEmpty }

    /// - Parameter affected: returns the keys of the objects that count as changed, by table. Called only if the map's
    ///   values are objects or mixed values.
    init(
        map: CollectionLocation, summary: ChangeSummary, from old: Snapshot, to new: Snapshot,
        affected: () -> [TableID: Set<Int64>]
    ) {
        let changes = summary.tables[map.binding.table]
        let key = map.row.key
        var (before, after) = (map.cell(in: old), map.cell(in: new))
        var touched: Set<Value> = []
        if let script = changes?.scripts[.init(key: key, column: map.column)], before != nil, after != nil {
            for edit in script.edits { for key in edit.keys { touched.insert(.string(key)) } }
        } else if before == nil || after == nil || changes?.modified[key]?.contains(map.column) ?? false {
            touched.formUnion(MapDifference.differences(before?.entries ?? [], after?.entries ?? []))
        }
        let isMixed = map.property.isMixed
        let targets = isMixed || map.property.isLink ? affected() : [:]
        // Finding them has read much, so the maps are read again.
        (before, after) = (map.cell(in: old), map.cell(in: new))
        if let before, old.table(map.binding.table).mayHaveLink(map, toOneOf: targets, among: before.count) {
            // The objects of a map that is not mixed are all of one table.
            let keys = targets.first?.value ?? []
            for entry in before.entries
            where isMixed ? entry.value.links(toOneOf: targets) : entry.value.linkedKey.map(keys.contains) ?? false {
                touched.insert(.string(entry.key))
            }
        }
        for case .string(let key) in touched.sorted(by: Value.precedes) {
            switch (before?.find(key: key).isFound ?? false, after?.find(key: key).isFound ?? false) {
            case (true, true): modifications.append(key)
            case (true, false): deletions.append(key)
            case (false, true): insertions.append(key)
            case (false, false): break
            }
        }
    }

    /// The keys of the entries that only one of two maps has.
    private static func differences(_ a: [Value.MapEntry], _ b: [Value.MapEntry]) -> [Value] {
        let (x, y) = (Set(a), Set(b))
        return x.symmetricDifference(y).map { .string($0.key) }
    }
}

extension ListEdit {
    /// The keys of a map that an edit concerns.
    fileprivate var keys: [String] {
        switch self {
        case .insert(_, let element), .remove(_, old: let element), .set(_, new: let element, old: _):
            [element.onlyEntry.key]
        case .removeAll(old: let elements): elements.map(\.onlyEntry.key)
        case .move: []
        }
    }
}
