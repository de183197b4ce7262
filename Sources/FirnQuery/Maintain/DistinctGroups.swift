import FirnCore

/// The objects among which a maintained query's `distinct` chooses, updated for each version.
///
/// They are kept in the order of the distinct values; objects with equal values are in the order that the query has
/// before the `distinct`. So the objects with one combination of values are adjacent and form a **group**, and the
/// `distinct` chooses its first object. Finding a group costs O(log² n). 8 to 16 bytes are kept for each object, in
/// addition to those of the result.
struct DistinctGroups: Sendable {
    /// The sort keys of the distinct values.
    let keys: [SortKey]
    /// The keys of the distinct values, followed by the order before the `distinct`.
    private let order: [SortKey]
    /// The query sorted in that order, without the `distinct` and the stages behind it.
    private let sorted: QueryPipeline
    /// The objects in the version of the result. Nil before the first change, and after the result was computed again.
    private var known: OrderedKeys?

    /// Nil for types whose order does not fit the distinct values. Some mixed and decimal values are one distinct value
    /// although they differ in the order, and links have no order.
    init?(_ paths: [BoundPath], order: [SortKey], _ pipeline: QueryPipeline) {
        guard paths.allSatisfy({ $0.type != .mixed && $0.type != .decimal && $0.type != .link }) else { return nil }
        keys = paths.map { SortKey(path: $0, isAscending: true) }
        self.order = keys + order
        var stages = pipeline.stages.prefix { if case .distinct = $0 { false } else { true } }
        stages.append(.sort(keys))
        sorted = pipeline.replacing(stages: Array(stages))
    }

    /// Forgets the objects, because the result was computed again.
    mutating func forget() { known = nil }

    /// Updates the groups from one version to another.
    ///
    /// - Parameters:
    ///   - candidates: all objects that may be in only one of the versions, or at different positions in the order.
    ///   - matching: the candidates that match the filters before the `distinct` in `new`.
    /// - Returns: the first objects of all groups that contain a candidate, in both versions.
    mutating func update(
        from old: Snapshot, to new: Snapshot, candidates: Set<Int64>, matching: Set<Int64>
    ) -> (old: Set<Int64>, new: Set<Int64>) {
        let (before, after) = (
            RowOrder(keys: order, snapshot: old, table: sorted.table),
            RowOrder(keys: order, snapshot: new, table: sorted.table)
        )
        var objects = known ?? made(in: old)
        known = nil  // Without a second reference the keys are changed in place.
        func first(_ key: Int64, _ order: RowOrder) -> Int64? {
            order.first(equalTo: key, byFirst: keys.count, in: objects)
        }
        let removed = before.indices(of: candidates, in: objects)
        var firsts = Set(removed.compactMap { first($0.key, before) })
        for (index, _) in removed.reversed() { objects.remove(at: index) }
        // The remaining objects have the same values in both versions. `left` has the first of them in each group that
        // lost one.
        let inserted = matching.filter { key in
            after.find(key).map { row in keys.allSatisfy { $0.locate(row.leaf, row: row.row, in: after.context) != nil }
            }
                ?? false
        }
        let left = removed.compactMap { first($0.key, before) }
        // The first object of a group from which nothing was removed is the same as in the old version.
        let shortened = Set(left)
        firsts.formUnion(inserted.compactMap { first($0, after) }.filter { !shortened.contains($0) })
        _ = after.insert(inserted, into: &objects)
        let now = Set((left + inserted).compactMap { first($0, after) })
        known = objects
        return (firsts, now)
    }

    /// Finds the objects in a version. Costs as much as the sorted query.
    private func made(in snapshot: Snapshot) -> OrderedKeys {
        // The class may be newer than the version.
        guard sorted.table.index < snapshot.schema.tables.count else { return OrderedKeys() }
        let context = QueryContext(snapshot)
        let view = context.table(sorted.table)
        let found = sorted.run(in: snapshot).keys(in: view)
        guard keys.contains(where: { !$0.path.steps.isEmpty }) else { return OrderedKeys(found) }
        // Objects behind a nil link have no value.
        return OrderedKeys(
            found.filter { key in
                view.find(key).map { row in keys.allSatisfy { $0.locate(row.leaf, row: row.row, in: context) != nil } }
                    ?? false
            })
    }
}
