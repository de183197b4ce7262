import FirnCore

/// The combinations of values that a `distinct` has seen so far.
///
/// All nulls are one value, −0 equals 0, and a NaN equals itself. Numbers of different types in mixed columns are one
/// value if they are numerically equal. Rows behind a nil link are dropped.
struct DistinctValues {
    private let paths: [BoundPath]
    private let context: QueryContext
    private var words: Set<UInt64> = []
    private var values: Set<[Value]> = []

    init(_ paths: [BoundPath], _ context: QueryContext) {
        self.paths = paths
        self.context = context
    }

    /// Adds the row's combination of values. Returns whether it is new: false if it was added before, or if the row is
    /// behind a nil link.
    mutating func insert(_ leaf: Leaf, _ row: Int) -> Bool {
        if paths.count == 1, paths[0].steps.isEmpty, case .value(let column) = paths[0].end, !paths[0].isNullable {
            switch paths[0].type {
            case .int: return words.insert(leaf.load(column, row)).inserted
            case .bool: return words.insert(UInt64(leaf.load(column, row, as: UInt8.self))).inserted
            default: break
            }
        }
        var combination: [Value] = []
        for path in paths {
            let key = SortKey(path: path, isAscending: true)
            guard let position = key.locate(leaf, row: row, in: context) else { return false }
            combination.append(
                context.table(path.table).value(key.column, leaf: position.leaf, row: position.row).unifiedNumber)
        }
        return values.insert(combination).inserted
    }
}
