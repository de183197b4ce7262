/// What the cells of a column hold, as far as their layout depends on it.
struct CellClass: Hashable {
    let type: ColumnType
    let collection: CollectionKind
    let isNullable: Bool

    /// Links are of the same class whether they may be null or not: see `mayBeNull`.
    init(_ column: ColumnSchema) {
        self.init(column.type, column.collection, isNullable: column.isNullable && column.type != .link)
    }

    private init(_ type: ColumnType, _ collection: CollectionKind, isNullable: Bool) {
        self.type = type
        self.collection = collection
        self.isNullable = isNullable
    }

    /// The class of the bytes of a blob. It is the same in each version, whether the column's values may be null in
    /// it or not.
    var value: CellClass { CellClass(type, .none, isNullable: false) }

    /// A key of a map.
    static let key = CellClass(.string, .none, isNullable: false)

    init?(bits: UInt64) {
        guard let type = ColumnType(rawValue: UInt8(bits & 15)),
            let kind = CollectionKind(rawValue: UInt8(bits >> 4 & 3))
        else { return nil }
        self.type = type
        collection = kind
        isNullable = bits >> 6 & 1 != 0
    }

    var bits: UInt64 {
        UInt64(type.rawValue) | UInt64(collection.rawValue) << 4 | (isNullable ? 1 << 6 : 0)
    }

    /// A column of this class, for code that needs to know no more of a column.
    var column: ColumnSchema {
        ColumnSchema(
            name: "", type: type, collection: collection, isNullable: isNullable,
            target: type == .link ? TableID(0) : nil)
    }

    /// Whether a value, or an element, may be null.
    var mayBeNull: Bool { isNullable || type == .mixed || type == .link }
}
