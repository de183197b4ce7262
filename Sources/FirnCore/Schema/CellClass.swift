/// The facts about a column that determine the layout of its cells.
struct CellClass: Hashable {
    let type: ColumnType
    let collection: CollectionKind
    let isNullable: Bool

    /// Nullable and required links have the same class: see `mayBeNull`.
    init(_ column: ColumnSchema) {
        self.init(column.type, column.collection, isNullable: column.isNullable && column.type != .link)
    }

    private init(_ type: ColumnType, _ collection: CollectionKind, isNullable: Bool) {
        self.type = type
        self.collection = collection
        self.isNullable = isNullable
    }

    /// The class of the bytes of a blob. It does not depend on whether the column's values may be null, so it is the
    /// same in each version.
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

    /// A column of this class, for code that needs only these facts about a column.
    var column: ColumnSchema {
        ColumnSchema(
            name: "", type: type, collection: collection, isNullable: isNullable,
            target: type == .link ? TableID(0) : nil)
    }

    /// Whether a value, or an element, may be null.
    var mayBeNull: Bool { isNullable || type == .mixed || type == .link }
}
