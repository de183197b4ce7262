import FirnCore
import FirnQuery
import Foundation

/// Resolves the names in a query by the realm's classes: public names of properties, column names, and backlinks. A
/// stored property that the realm's classes lack can't be named here.
struct BindingResolver: PropertyResolver {
    private let binding: SchemaBinding
    private let stored: SchemaResolver

    init(_ binding: SchemaBinding, _ schema: StoreSchema) {
        self.binding = binding
        stored = SchemaResolver(schema)
    }

    func property(_ name: String, of table: TableID) -> ResolvedProperty? {
        // Tables without a class in this realm, and columns without a property, come from code that opened the store
        // with other classes. They may be newer than the version that the realm shows.
        guard let bound = binding.table(table), fault(in: name, of: table) == nil,
            let property = bound.info.property(named: name) ?? bound.info.stored.first(where: { $0.columnName == name })
        else { return nil }
        guard property.isLinkingObjects else { return .column(bound.column(property)) }
        guard let origin = property.shape.target.flatMap({ binding.table(of: $0) }),
            let linking = property.origin.flatMap({ origin.info.property(named: $0) })
        else { return nil }
        return .backlinks(origin.table, origin.column(linking))
    }

    func fault(in name: String, of table: TableID) -> Fault? {
        guard let info = binding.table(table)?.info, info.isIgnored(name) else { return nil }
        return Fault("'\(info.name)' does not store '\(name)', because its ignoredProperties() names it.")
    }

    func className(of table: TableID) -> String { binding.table(table)?.info.name ?? stored.className(of: table) }

    func propertyNames(of table: TableID) -> [String] {
        binding.table(table)?.info.properties.map(\.name) ?? []
    }

    func writableNames(of table: TableID) -> [String] {
        propertyNames(of: table) + (binding.table(table)?.info.stored.map(\.columnName) ?? [])
    }
}

extension QueryArgument {
    /// Converts an object to the value by which it is compared.
    typealias Linking = (ObjectBase) throws(QueryError) -> Value

    /// Converts the argument that a caller gave for a `%@`. Throws if a query of the realm can't use it.
    init(_ any: Any, _ realm: _RealmInstance) throws(QueryError) {
        try self.init(any) { object throws(QueryError) in
            guard object.isManaged else { return .linkToNothing }
            guard _RealmInstance.of(object._row).shared === realm.shared else {
                throw QueryError(
                    .argument, "An argument is an object of \(type(of: object).className()) of another realm.",
                    advice: "Use an object of the realm that is queried.")
            }
            return .typedLink(TableBinding.of(object._row).table, object._row.key)
        }
    }

    /// Converts the argument that a caller gave for a `%@`. Throws if no property can have such a value.
    init(_ any: Any, linking: Linking) throws(QueryError) {
        guard let value = unwrapped(any) else {
            self = .value(.null)
            return
        }
        if let single = try QueryArgument.single(value, linking) {
            self = .value(single)
        } else if let shape = value as? any Geospatial {
            self = .region(shape._region.region)
        } else if let sequence = value as? any Sequence {
            self = .values(
                try anyElements(of: sequence).map { element throws(QueryError) in
                    guard let element = unwrapped(element) else { return .null }
                    guard let single = try QueryArgument.single(element, linking) else {
                        throw QueryArgument.fault(element)
                    }
                    return single
                })
        } else {
            throw QueryArgument.fault(value)
        }
    }

    private static func fault(_ any: Any) -> QueryError {
        QueryError(
            .argument, "An argument is of the type \(type(of: any)), which no property has.",
            advice: "Give a number, string, date, data, id, object, a sequence of these, or a shape such as GeoBox.")
    }

    /// The stored form of a value of an application's type.
    private static func mapped(_ value: some _MappedValue, _ linking: Linking) throws(QueryError) -> Value? {
        if instance(value._mapped, of: EmbeddedObject.self) != nil { throw fault(value) }
        return try single(value._mapped, linking)
    }

    /// Converts a mixed value and the objects in it.
    private static func mixed(_ value: AnyRealmValue, _ linking: Linking) throws(QueryError) -> Value {
        do { return try value.stored { try single($0, linking) ?? .null } } catch {
            throw error as? QueryError
                ?? QueryError(.argument, "An argument can't be compared: \(error).", advice: "Give another value.")
        }
    }

    static func single(_ any: Any, _ linking: Linking) throws(QueryError) -> Value? {
        if let object = instance(any, of: ObjectBase.self) { return try linking(object) }
        switch any {
        case let value as AnyRealmValue: return try mixed(value, linking)
        case let value as any _Scalar: return value._value
        case let value as any _MappedValue: return try mapped(value, linking)
        default:
            if let number = floating(any) { return .double(number) }
            if let number = integer(any) { return .int(number) }
            if let data = instance(any, of: NSData.self) { return .data(Array(data as Data)) }
            if let id = instance(any, of: NSUUID.self) { return UUID._convert(id)?._value }
            return String._convert(any).map { .string($0) } ?? Date._convert(any).map { .date(Timestamp($0)) }
        }
    }
}
