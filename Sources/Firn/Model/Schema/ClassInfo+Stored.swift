import FirnCore
import Foundation

/// Classes that the store describes instead of the program. A migration shows the objects of the store before it
/// through these classes. The objects are dynamic ones, and the properties have the names and types of the columns.
extension ClassInfo {
    /// The class that describes a table.
    convenience init(_ table: TableSchema, in schema: StoreSchema) {
        let properties = table.columns.enumerated().filter { !$1.isRemoved }.map { number, column in
            PropertyInfo(
                column, isPrimaryKey: number == table.primaryKey, targetName: column.target.map { schema[$0].name })
        }
        self.init(stored: table.name, isEmbedded: table.isEmbedded, properties)
    }
}

extension PropertyInfo {
    /// The property that describes a column.
    fileprivate convenience init(_ column: ColumnSchema, isPrimaryKey: Bool, targetName: String?) {
        self.init(
            name: column.name, columnName: column.name, offset: 0, wrapper: Self.wrapper(of: column), options: [],
            isNamedKey: isPrimaryKey, isNamedIndex: column.isIndexed, isRequired: false, origin: nil,
            targetName: targetName)
    }

    private static func wrapper(of column: ColumnSchema) -> any AnyPersisted.Type {
        switch column.type {
        case .bool: scalar(Bool.self, column)
        case .int: scalar(Int.self, column)
        case .float: scalar(Float.self, column)
        case .double: scalar(Double.self, column)
        case .string: scalar(String.self, column)
        case .data: scalar(Data.self, column)
        case .date: scalar(Date.self, column)
        case .objectID: scalar(ObjectId.self, column)
        case .uuid: scalar(UUID.self, column)
        case .decimal: scalar(Decimal128.self, column)
        case .link:
            switch column.collection {
            case .none: Persisted<DynamicObject?>.self
            case .list: Persisted<List<DynamicObject>>.self
            case .set: Persisted<MutableSet<DynamicObject>>.self
            case .map: Persisted<Map<String, DynamicObject?>>.self
            }
        case .mixed:
            switch column.collection {
            case .none: Persisted<AnyRealmValue>.self
            case .list: Persisted<List<AnyRealmValue>>.self
            case .set: Persisted<MutableSet<AnyRealmValue>>.self
            case .map: Persisted<Map<String, AnyRealmValue>>.self
            }
        }
    }

    private static func scalar<T: _Scalar>(_ type: T.Type, _ column: ColumnSchema) -> any AnyPersisted.Type {
        switch (column.collection, column.isNullable) {
        case (.none, false): Persisted<T>.self
        case (.none, true): Persisted<T?>.self
        case (.list, false): Persisted<List<T>>.self
        case (.list, true): Persisted<List<T?>>.self
        case (.set, false): Persisted<MutableSet<T>>.self
        case (.set, true): Persisted<MutableSet<T?>>.self
        case (.map, false): Persisted<Map<String, T>>.self
        case (.map, true): Persisted<Map<String, T?>>.self
        }
    }
}
