import FirnCore

/// The meaning of a property's name.
package enum ResolvedProperty: Sendable, Hashable {
    /// A column of the object's own table.
    case column(Int)
    /// The objects of another table whose link column leads to the object.
    case backlinks(TableID, Int)
}

/// Resolves the names in a query. The object layer knows public names and computed backlink properties; the schema
/// alone knows only columns.
package protocol PropertyResolver {
    func property(_ name: String, of table: TableID) -> ResolvedProperty?
    /// The name of the class as errors show it.
    func className(of table: TableID) -> String
    /// The property names that an error may suggest.
    func propertyNames(of table: TableID) -> [String]
    /// All property names of the class that a query may use. An error may show how such a name is written.
    func writableNames(of table: TableID) -> [String]
    /// Why a property of the class can't be queried, as a sentence. Nil if it can be queried, or if there is no such
    /// property.
    func fault(in name: String, of table: TableID) -> Fault?
}

extension PropertyResolver {
    package func fault(in name: String, of table: TableID) -> Fault? { nil }
    package func writableNames(of table: TableID) -> [String] { propertyNames(of: table) }
}

extension PropertyResolver {
    /// The names that a path from a table may contain: those of its class, and of the classes that its properties lead
    /// to.
    package func reachableNames(from table: TableID, in schema: StoreSchema) -> [String] {
        var names: Set<String> = []
        var seen: Set<TableID> = [table]
        var waiting = [table]
        while let table = waiting.popLast() {
            for name in writableNames(of: table) {
                names.insert(name)
                let target: TableID? =
                    switch property(name, of: table) {
                    case .column(let column): schema[table].columns[column].target
                    case .backlinks(let origin, _): origin
                    case nil: nil
                    }
                if let target, seen.insert(target).inserted { waiting.append(target) }
            }
        }
        return Array(names)
    }
}

/// Resolves names as names of columns.
package struct SchemaResolver: PropertyResolver {
    package let schema: StoreSchema

    package init(_ schema: StoreSchema) { self.schema = schema }

    package func property(_ name: String, of table: TableID) -> ResolvedProperty? {
        schema[table].column(named: name).map { .column($0) }
    }

    package func className(of table: TableID) -> String { schema[table].name }

    package func propertyNames(of table: TableID) -> [String] {
        schema[table].columns.filter { !$0.isRemoved }.map(\.name)
    }
}
