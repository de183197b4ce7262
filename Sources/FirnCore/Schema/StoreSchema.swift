/// A table's number. It never changes, and no other table gets the number of a table that was removed.
@frozen
public struct TableID: Sendable, Hashable, RawRepresentable, Comparable {
    public let rawValue: UInt32
    @inlinable public init(rawValue: UInt32) { self.rawValue = rawValue }
    @inlinable public init(_ index: Int) { rawValue = UInt32(index) }
    @inlinable public var index: Int { Int(rawValue) }
    public static func < (a: TableID, b: TableID) -> Bool { a.rawValue < b.rawValue }
}

/// The type of a property's values, or of a collection's elements.
public enum ColumnType: UInt8, Sendable, Hashable, CaseIterable {
    case bool = 1
    case int = 2
    case float = 3
    case double = 4
    case string = 5
    case data = 6
    case date = 7
    case objectID = 8
    case uuid = 9
    case decimal = 10
    case link = 11
    case mixed = 12

    /// Bytes of a value; nil if values differ in length.
    package var fixedWidth: Int? {
        switch self {
        case .bool: 1
        case .float: 4
        case .int, .double, .link: 8
        case .objectID: 12
        case .date, .uuid, .decimal: 16
        case .string, .data, .mixed: nil
        }
    }
}

extension ColumnType {
    /// The value that replaces a null if nulls are no longer allowed.
    package var blankValue: Value {
        switch self {
        case .bool: .bool(false)
        case .int: .int(0)
        case .float: .float(0)
        case .double: .double(0)
        case .string: .string("")
        case .data: .data([])
        case .date: .date(Timestamp(seconds: 0, nanoseconds: 0))
        case .objectID: .objectID(ObjectIDBytes(a: 0, b: 0, c: 0))
        case .uuid: .uuid(UUIDBytes(high: 0, low: 0))
        // Zero with the exponent 0.
        case .decimal: .decimal(DecimalBits(high: 0x3040 << 48, low: 0))
        case .link, .mixed: .null
        }
    }
}

/// Whether a property holds one value or many.
public enum CollectionKind: UInt8, Sendable, Hashable, CaseIterable {
    case none = 0
    case list = 1
    case set = 2
    case map = 3
}

/// A property of a table. Its index in `TableSchema.columns` is its number, which never changes.
package struct ColumnSchema: Sendable, Hashable {
    package var name: String
    package var type: ColumnType
    package var collection: CollectionKind
    /// Whether the value, or a collection's element, may be null. A to-one link always may be (null is the key -1).
    package var isNullable: Bool
    package var isIndexed: Bool
    /// The table that a link leads to.
    package var target: TableID?
    /// Whether the column was removed. No other column gets its number.
    package var isRemoved: Bool

    package init(
        name: String, type: ColumnType, collection: CollectionKind = .none, isNullable: Bool = false,
        isIndexed: Bool = false, target: TableID? = nil, isRemoved: Bool = false
    ) {
        self.name = name
        self.type = type
        self.collection = collection
        self.isNullable = isNullable
        self.isIndexed = isIndexed
        self.target = target
        self.isRemoved = isRemoved
    }

    package var isLink: Bool { type == .link }

    /// The layout of the column's chunks. A collection's cell is variable: it holds a short collection itself, and a
    /// reference to the tree of a long one.
    package var layout: ChunkLayout {
        guard collection == .none else { return .variable() }
        guard let width = type.fixedWidth else {
            return .variable(blank: isNullable || type == .mixed ? .null : .zero)
        }
        if type == .link { return ChunkLayout(form: .fixed, width: width, blank: .noLink) }
        return isNullable
            ? ChunkLayout(form: .nullable, width: width, blank: .null) : ChunkLayout(form: .fixed, width: width)
    }

    /// Whether a write to a cell of the column changes nothing else, so that accessors may write the cell in place.
    package var isPlain: Bool { collection == .none && !isIndexed && type != .link && type != .mixed }
}

/// The table of one class.
package struct TableSchema: Sendable, Hashable {
    package var name: String
    /// Whether each object of the table belongs to one parent, and is deleted with it.
    package var isEmbedded: Bool
    package var primaryKey: Int?
    package var columns: [ColumnSchema]
    package var isRemoved: Bool

    package init(
        name: String, isEmbedded: Bool = false, primaryKey: Int? = nil, columns: [ColumnSchema], isRemoved: Bool = false
    ) {
        self.name = name
        self.isEmbedded = isEmbedded
        self.primaryKey = primaryKey
        self.columns = columns
        self.isRemoved = isRemoved
    }

    /// The number of the column with this name. O(columns); for many names see `numbersByName`.
    package func column(named name: String) -> Int? {
        columns.firstIndex { !$0.isRemoved && $0.name == name }
    }
}

/// All tables of a store, by number, and the application's schema version.
package struct StoreSchema: Sendable, Hashable {
    package var version: UInt64
    /// A table's index is its number.
    package var tables: [TableSchema]

    package init(version: UInt64 = 0, tables: [TableSchema] = []) {
        self.version = version
        self.tables = tables
    }

    /// The table with this name. O(tables); for many names see `numbersByName`.
    package func table(named name: String) -> TableID? {
        tables.firstIndex { !$0.isRemoved && $0.name == name }.map(TableID.init)
    }

    package subscript(id: TableID) -> TableSchema { tables[id.index] }
}

extension StoreSchema {
    /// The reason why no store can have this schema, although it can be encoded; nil if a store can have it. A schema
    /// that was read from a file is checked with this property before it is used.
    var fault: Fault? {
        for table in tables where !table.isRemoved {
            for (number, column) in table.columns.enumerated() where !column.isRemoved {
                if column.isIndexed, column.collection != .none {
                    return Fault("\(table.name).\(column.name) is a collection with an index")
                }
                if number == table.primaryKey, column.collection != .none || column.type == .link {
                    return Fault("\(table.name).\(column.name) can't be a primary key")
                }
            }
            if let key = table.primaryKey, key >= table.columns.count || table.columns[key].isRemoved {
                return Fault("the primary key of \(table.name) is a property that it does not have")
            }
        }
        return nil
    }
}
