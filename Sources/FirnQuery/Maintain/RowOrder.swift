import FirnCore

/// The order of objects in one version: by sort keys, then by object key.
struct RowOrder {
    let context: QueryContext
    private let keys: [SortKey]
    private let view: TableView?

    init(keys: [SortKey], snapshot: Snapshot, table: TableID) {
        self.keys = keys
        context = QueryContext(snapshot)
        // The class may be newer than the version.
        view = table.index < snapshot.schema.tables.count ? context.table(table) : nil
    }

    func find(_ key: Int64) -> (leaf: Leaf, row: Int)? { view?.find(key) }

    /// Compares two rows by the first `count` sort keys. The result is negative, zero or positive.
    private func order(
        _ a: (leaf: Leaf, row: Int), _ b: (leaf: Leaf, row: Int), byFirst count: Int
    ) -> Int {
        for key in keys[..<count] {
            let order = key.order(a, b, in: context)
            if order != 0 { return order }
        }
        return 0
    }

    private func precedes(_ a: Int64, _ b: Int64, at rowB: (leaf: Leaf, row: Int)) -> Bool {
        guard !keys.isEmpty, let rowA = find(a) else { return a < b }
        let order = order(rowA, rowB, byFirst: keys.count)
        return order != 0 ? order < 0 : a < b
    }

    /// Whether an object comes before another one. Both must be in the version.
    func precedes(_ a: Int64, _ b: Int64) -> Bool { find(b).map { precedes(a, b, at: $0) } ?? (a < b) }

    /// The position of an object in a result, or the position at which it would be inserted.
    func position(of key: Int64, in result: OrderedKeys) -> Int {
        guard !keys.isEmpty else { return result.firstIndex(notPreceding: { $0 < key }) }
        guard let row = find(key) else { return result.count }
        return result.firstIndex(notPreceding: { precedes($0, key, at: row) })
    }

    /// The index of an object in a result. Nil if the object is not in it.
    func index(of key: Int64, in result: OrderedKeys) -> Int? {
        guard find(key) != nil else { return nil }
        let position = position(of: key, in: result)
        return position < result.count && result[position] == key ? position : nil
    }

    /// The objects among `keys` that are in a result, with their indices, in ascending order.
    func indices(of keys: Set<Int64>, in result: OrderedKeys) -> [(index: Int, key: Int64)] {
        keys.compactMap { key in index(of: key, in: result).map { ($0, key) } }.sorted { $0.index < $1.index }
    }

    /// Inserts objects into a result. Returns them with their new indices, in ascending order.
    func insert(_ keys: Set<Int64>, into result: inout OrderedKeys) -> [(index: Int, key: Int64)] {
        var inserted: [(index: Int, key: Int64)] = []
        for key in keys.sorted(by: precedes) {
            let index = position(of: key, in: result)
            result.insert(key, at: index)
            inserted.append((index, key))
        }
        return inserted
    }

    /// The first object of a result that equals an object in the first sort keys. Nil if there is none.
    func first(equalTo key: Int64, byFirst count: Int, in result: OrderedKeys) -> Int64? {
        guard let row = find(key) else { return nil }
        let position = result.firstIndex(notPreceding: { other in
            find(other).map { order($0, row, byFirst: count) < 0 } ?? false
        })
        guard position < result.count, let other = find(result[position]), order(other, row, byFirst: count) == 0 else {
            return nil
        }
        return result[position]
    }
}
