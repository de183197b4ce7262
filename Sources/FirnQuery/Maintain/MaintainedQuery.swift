import FirnCore

/// A query over a whole table whose result is updated from one version to the next by the changes between them.
///
/// This works for filters and sorts, with at most one `distinct` among them. The order of the result is total: by the
/// sorts, the last one first, then by object key. The sort values are not stored: an object is found in the result by
/// comparing values, which are read from the version of the result. So a changed object is found by its old values and
/// inserted by its new ones, each in O(log² n). Only the keys of the result's objects are kept: 8 to 16 bytes for each
/// at first. With a `distinct`, the keys of all objects that it chooses among are kept, too (`DistinctGroups`).
package struct MaintainedQuery: Sendable {
    private let table: TableID
    /// The filters before the `distinct`, or all filters if there is none.
    private let filters: [any QueryNode]
    /// The sort keys of the result, the most significant first.
    private let keys: [SortKey]
    private var distinct: Distinct?
    /// The paths that decide whether an object is found, and where it is in the order.
    package let reads: Set<ReadPath>

    private struct Distinct: Sendable {
        var groups: DistinctGroups
        /// The filters behind the `distinct`.
        var filters: [any QueryNode] = []
    }

    /// Nil if the query has a stage that can't be maintained.
    package init?(_ pipeline: QueryPipeline, schema: StoreSchema, resolver: any PropertyResolver) {
        var filters = pipeline.filter.map { [$0] } ?? []
        var keys: [SortKey] = []
        var distinct: Distinct?
        for stage in pipeline.stages {
            switch stage {
            case .filter(let node): if distinct == nil { filters.append(node) } else { distinct?.filters.append(node) }
            case .sort(let descriptors): keys.insert(contentsOf: descriptors, at: 0)
            case .distinct(let paths):
                guard distinct == nil, let groups = DistinctGroups(paths, order: keys, pipeline) else { return nil }
                distinct = Distinct(groups: groups)
            case .limit: return nil
            }
        }
        table = pipeline.table
        self.filters = filters
        self.keys = keys
        self.distinct = distinct
        let compiler = QueryCompiler(schema, resolver)
        var reads = Set((keys + (distinct?.groups.keys ?? [])).map { $0.path.reads() })
        for predicate in pipeline.predicates {
            guard let paths = try? compiler.reads(predicate, from: pipeline.table) else { return nil }
            reads.formUnion(paths)
        }
        self.reads = reads.filter { !$0.steps.isEmpty }
    }

    /// Must be called if the result was computed again instead of being updated.
    package mutating func forget() { distinct?.groups.forget() }

    /// Updates a result from one version to another.
    ///
    /// - Parameters:
    ///   - result: the result in `old`; afterwards, in `new`.
    ///   - candidates: all objects that may be in only one of the two results, or at different positions in the order.
    ///   - changed: objects that count as modified if they stay where they are.
    package mutating func update(
        _ result: inout OrderedKeys, from old: Snapshot, to new: Snapshot, candidates: Set<Int64>,
        changed: Set<Int64>
    ) -> MaintainedChange {
        let (before, after) = (
            RowOrder(keys: keys, snapshot: old, table: table), RowOrder(keys: keys, snapshot: new, table: table)
        )
        func match(_ filters: [any QueryNode], _ key: Int64) -> Bool {
            after.find(key).map { row in filters.allSatisfy { $0.matches(row.leaf, row: row.row, in: after.context) } }
                ?? false
        }
        // The objects to remove from the result, if they are in it, and the objects to insert, some of them again.
        var (leaving, found) = (candidates, candidates.filter { match(filters, $0) })
        if var distinct {
            self.distinct = nil  // Without a second reference its keys are changed in place.
            let firsts = distinct.groups.update(from: old, to: new, candidates: candidates, matching: found)
            let staying = firsts.old.intersection(firsts.new).subtracting(candidates)
            leaving.formUnion(firsts.old.union(firsts.new).subtracting(staying))
            found = firsts.new.subtracting(staying).filter { match(distinct.filters, $0) }
            self.distinct = distinct
        }
        var change = MaintainedChange()
        for key in changed where !leaving.contains(key) {
            if let index = before.index(of: key, in: result) { change.modified.append(index) }
        }
        change.removed = before.indices(of: leaving, in: result)
        for (index, _) in change.removed.reversed() { result.remove(at: index) }
        change.inserted = after.insert(found, into: &result)
        change.staying = MaintainedQuery.staying(change.removed, change.inserted)
        return change
    }

    /// The objects that were removed and inserted again between the same other objects. Of these, the result has the
    /// longest sequence that has the same order before and after.
    private static func staying(
        _ removed: [(index: Int, key: Int64)], _ inserted: [(index: Int, key: Int64)]
    ) -> Set<Int64> {
        // The number of other objects before an object is its index minus its rank among the removed or inserted ones.
        // An object with the same number before and after has stayed between the same other objects.
        var gaps: [Int64: (gap: Int, index: Int)] = [:]
        for (rank, entry) in inserted.enumerated() { gaps[entry.key] = (entry.index - rank, entry.index) }
        var candidates: [(key: Int64, index: Int)] = []
        for (rank, entry) in removed.enumerated() {
            if let after = gaps[entry.key], after.gap == entry.index - rank {
                candidates.append((entry.key, after.index))
            }
        }
        // The longest ascending sequence of new indices, in the order of the old indices (patience sorting).
        var tops: [Int] = []
        var previous = [Int](repeating: -1, count: candidates.count)
        for (number, candidate) in candidates.enumerated() {
            var (low, high) = (0, tops.count)
            while low < high {
                let middle = (low + high) / 2
                if candidates[tops[middle]].index < candidate.index { low = middle + 1 } else { high = middle }
            }
            if low > 0 { previous[number] = tops[low - 1] }
            if low == tops.count { tops.append(number) } else { tops[low] = number }
        }
        var result: Set<Int64> = []
        var next = tops.last ?? -1
        while next >= 0 {
            result.insert(candidates[next].key)
            next = previous[next]
        }
        return result
    }
}

/// The changes of a query's result from one version to the next.
package struct MaintainedChange: Sendable {
    /// The removed objects, even if they were inserted again, with their indices in the old result, in ascending order.
    package fileprivate(set) var removed: [(index: Int, key: Int64)] = []
    /// The inserted objects, even if they were removed before, with their indices in the new result, in ascending
    /// order.
    package fileprivate(set) var inserted: [(index: Int, key: Int64)] = []
    /// The removed and inserted objects that lie between the same other objects as before.
    package fileprivate(set) var staying: Set<Int64> = []
    /// The old indices of objects that count as modified and were not removed.
    package fileprivate(set) var modified: [Int] = []

    /// The same changes as a list difference.
    ///
    /// - Parameter changed: objects that count as modified if they stay where they are.
    package func difference(changed: Set<Int64>) -> ListDifference {
        var difference = ListDifference()
        var modifications = modified
        for (index, key) in removed {
            if !staying.contains(key) {
                difference.deletions.append(index)
            } else if changed.contains(key) {
                modifications.append(index)
            }
        }
        for (index, key) in inserted where !staying.contains(key) { difference.insertions.append(index) }
        difference.modifications = modifications.sorted()
        return difference
    }
}
