import FirnCore

/// A query over a whole table whose result is brought from one version to the next by what has changed between them.
///
/// It can be done for filters and sorts. The order of the result is total: by the sorts, the last one first, then by
/// object key. It is not stored: an object is found in the result by comparing values, which are read from the version
/// that the result is of. So a changed object is found by its old values and inserted by its new ones, each in
/// O(log² n), and the keys of all objects are all that is kept.
package struct MaintainedQuery: Sendable {
    private let table: TableID
    private let filters: [any QueryNode]
    /// The sort keys, the most significant first.
    private let keys: [SortKey]
    /// What decides whether an object is found, and where it is in the order.
    package let reads: Set<ReadPath>

    /// Nil if the query has a stage for which this can't be done.
    package init?(_ pipeline: QueryPipeline, schema: StoreSchema, resolver: any PropertyResolver) {
        var filters = pipeline.filter.map { [$0] } ?? []
        var keys: [SortKey] = []
        for stage in pipeline.stages {
            switch stage {
            case .filter(let node): filters.append(node)
            case .sort(let descriptors): keys.insert(contentsOf: descriptors, at: 0)
            case .distinct, .limit: return nil
            }
        }
        table = pipeline.table
        self.filters = filters
        self.keys = keys
        let compiler = QueryCompiler(schema, resolver)
        var reads = Set(keys.map { $0.path.reads() })
        for predicate in pipeline.predicates {
            guard let paths = try? compiler.reads(predicate, from: pipeline.table) else { return nil }
            reads.formUnion(paths)
        }
        self.reads = reads.filter { !$0.steps.isEmpty }
    }

    /// Brings a result from one version to another.
    ///
    /// - Parameters:
    ///   - result: the result in `old`; afterwards, in `new`.
    ///   - candidates: all objects that may be in one of the two results only, or elsewhere in the order.
    ///   - changed: objects that count as modified if they stay where they are.
    /// - Returns: how the results differ.
    package func update(
        _ result: inout OrderedKeys, from old: Snapshot, to new: Snapshot, candidates: Set<Int64>,
        changed: Set<Int64>
    ) -> ListDifference {
        let (before, after) = (Order(keys, old, table), Order(keys, new, table))
        var modifications: [Int] = []
        for key in changed where !candidates.contains(key) {
            if let index = before.index(of: key, in: result) { modifications.append(index) }
        }
        var removed: [(index: Int, key: Int64)] = []
        for key in candidates {
            if let index = before.index(of: key, in: result) { removed.append((index, key)) }
        }
        removed.sort { $0.index < $1.index }
        for (index, _) in removed.reversed() { result.remove(at: index) }

        var inserted: [(index: Int, key: Int64)] = []
        let found = candidates.filter { key in
            after.find(key).map { row in filters.allSatisfy { $0.matches(row.leaf, row.row, after.context) } } ?? false
        }
        for key in found.sorted(by: after.precedes) {
            let index = after.position(of: key, in: result)
            result.insert(key, at: index)
            inserted.append((index, key))
        }

        let staying = MaintainedQuery.staying(removed, inserted)
        var difference = ListDifference()
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

    /// The objects that were removed and inserted again between the same others: the longest sequence of them that has
    /// the same order before and after.
    private static func staying(
        _ removed: [(index: Int, key: Int64)], _ inserted: [(index: Int, key: Int64)]
    ) -> Set<Int64> {
        // Before an object there are as many that are no candidates as its index minus its rank among the candidates.
        var gaps: [Int64: (gap: Int, index: Int)] = [:]
        for (rank, entry) in inserted.enumerated() { gaps[entry.key] = (entry.index - rank, entry.index) }
        var candidates: [(key: Int64, index: Int)] = []
        for (rank, entry) in removed.enumerated() {
            if let after = gaps[entry.key], after.gap == entry.index - rank {
                candidates.append((entry.key, after.index))
            }
        }
        // The longest ascending sequence of new indices, in the order of the old ones (patience sorting).
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

    /// The order of objects in one version.
    private struct Order {
        let context: QueryContext
        private let keys: [SortKey]
        private let view: TableView?

        init(_ keys: [SortKey], _ snapshot: Snapshot, _ table: TableID) {
            self.keys = keys
            context = QueryContext(snapshot)
            // The class may be newer than the version.
            view = table.index < snapshot.schema.tables.count ? context.table(table) : nil
        }

        func find(_ key: Int64) -> (leaf: Leaf, row: Int)? { view?.find(key) }

        private func precedes(_ a: Int64, _ b: Int64, _ rowB: (leaf: Leaf, row: Int)) -> Bool {
            guard !keys.isEmpty, let rowA = find(a) else { return a < b }
            for key in keys {
                let order = key.order(rowA, rowB, context)
                if order != 0 { return order < 0 }
            }
            return a < b
        }

        /// Whether an object comes before another one. Both are in the version.
        func precedes(_ a: Int64, _ b: Int64) -> Bool { find(b).map { precedes(a, b, $0) } ?? (a < b) }

        /// The position of an object in a result, or the one that it would have there.
        func position(of key: Int64, in result: OrderedKeys) -> Int {
            guard !keys.isEmpty else { return result.firstIndex(notPreceding: { $0 < key }) }
            guard let row = find(key) else { return result.count }
            return result.firstIndex(notPreceding: { precedes($0, key, row) })
        }

        /// The index of an object in a result; nil if it is not in it.
        func index(of key: Int64, in result: OrderedKeys) -> Int? {
            guard find(key) != nil else { return nil }
            let position = position(of: key, in: result)
            return position < result.count && result[position] == key ? position : nil
        }
    }
}
