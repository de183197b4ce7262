import FirnCore

/// The combinations of values met so far (SEMANTICS 72): nulls are one value, −0 is 0, a NaN equals itself, numbers of different types in mixed columns
/// are one where their values are; rows behind a nil link are not taken at all.
struct DistinctValues {
    private let paths: [BoundPath]
    private let context: QueryContext
    private var words: Set<UInt64> = []
    private var values: Set<[Value]> = []

    init(_ paths: [BoundPath], _ context: QueryContext) {
        self.paths = paths
        self.context = context
    }

    /// Whether the row is the first of its kind.
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
            guard let place = key.locate(leaf, row, context) else { return false }
            combination.append(
                DistinctValues.canonical(context.table(path.table).value(key.column, place.leaf, place.row)))
        }
        return values.insert(combination).inserted
    }

    /// One form for numbers that are equal.
    private static func canonical(_ value: Value) -> Value {
        switch value {
        case .float(let x) where x.isFinite: return canonical(.double(Double(x)))
        case .double(let x):
            guard let integer = Int64(exactly: x) else { return value }
            return .int(integer)
        default: return value
        }
    }
}
