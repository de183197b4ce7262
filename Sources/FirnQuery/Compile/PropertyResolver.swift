import FirnCore

/// What a property's name stands for.
public enum ResolvedProperty: Sendable, Hashable {
    /// A column of the object's own table.
    case column(Int)
    /// The objects of another table whose link column leads to the object.
    case backlinks(TableID, Int)
}

/// How the names in a query are understood. The object layer knows public names and computed backlink properties; the schema alone knows columns.
public protocol PropertyResolver {
    func property(_ name: String, of table: TableID) -> ResolvedProperty?
    /// As errors name the class.
    func className(of table: TableID) -> String
    /// The names that an error may suggest.
    func propertyNames(of table: TableID) -> [String]
    /// Why a property that the class has can't be queried, as a sentence; nil where that is not so.
    func refusal(of name: String, of table: TableID) -> String?
}

extension PropertyResolver {
    public func refusal(of name: String, of table: TableID) -> String? { nil }
}

/// Names are the columns'.
public struct SchemaResolver: PropertyResolver {
    public let schema: StoreSchema

    public init(_ schema: StoreSchema) { self.schema = schema }

    public func property(_ name: String, of table: TableID) -> ResolvedProperty? {
        schema[table].column(named: name).map { .column($0) }
    }

    public func className(of table: TableID) -> String { schema[table].name }

    public func propertyNames(of table: TableID) -> [String] {
        schema[table].columns.filter { !$0.isRemoved }.map(\.name)
    }
}

/// A column that a query reads, so that an observer knows which changes concern it.
public struct ColumnReference: Sendable, Hashable {
    public let table: TableID
    public let column: Int

    public init(table: TableID, column: Int) {
        self.table = table
        self.column = column
    }
}
