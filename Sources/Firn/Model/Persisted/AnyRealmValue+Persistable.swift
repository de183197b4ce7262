public import FirnCore
import FirnStorage
import Foundation

extension AnyRealmValue: _Persistable, _Indexable {
    /// The value itself.
    public typealias _Stored = AnyRealmValue

    /// A mixed value. Its type is not optional, because `.none` serves as nil.
    public static var _propertyType: _PropertyType { _PropertyType(.mixed, swiftType: AnyRealmValue.self) }
    /// A property without an initial value starts with `.none`.
    public static var _initial: AnyRealmValue { .none }
    /// True: `.none` owns nothing.
    public static var _blankOwnsNothing: Bool { true }
    /// The value itself.
    public static func _wrap(_ value: AnyRealmValue) -> AnyRealmValue { value }
    /// The value itself.
    public static func _unwrap(_ stored: AnyRealmValue) -> AnyRealmValue { stored }

    /// The value in a column of a current row.
    public static func _get(_ row: _Row, _ column: Int) -> AnyRealmValue {
        let binding = TableBinding.of(row)
        let realm = _RealmInstance.of(row)
        guard let value = realm.table(binding)?.value(column, leaf: row.leafView, row: row.row) else { return .none }
        return AnyRealmValue(
            value, realm, at: NestedLocation(CollectionLocation(row, binding.property(column: column)), []))
    }

    /// Sets the value through the transaction. Unmanaged objects in it are added to the realm.
    public static func _set(_ object: ObjectBase, column: Int32, value: AnyRealmValue) {
        object.set(mixed: value, column: _BoundColumn.number(column))
    }

    /// The value without its case: a number as `NSNumber`, an object, a list, a map; nil for `.none`.
    public static func _any(_ value: AnyRealmValue) -> Any? {
        switch value {
        case .none: nil
        case .int(let value): value._boxed
        case .bool(let value): value._boxed
        case .float(let value): value._boxed
        case .double(let value): value._boxed
        case .string(let value): value
        case .data(let value): value
        case .date(let value): value
        case .object(let value): value
        case .objectId(let value): value
        case .decimal128(let value): value
        case .uuid(let value): value
        case .dictionary(let value): value
        case .list(let value): value
        }
    }

    /// An untyped value as a mixed one. It may be of any type that a property can have, an array, or a dictionary with
    /// strings as keys. Throws `ValueFault` for anything else.
    public static func _fromAny(_ any: Any?) throws -> AnyRealmValue { try AnyRealmValue(untyped: any) }

    /// The value as the store keeps it; nil if there are objects in it.
    public static func _storeValue(_ value: AnyRealmValue) -> Value? {
        try? value.stored { _ in throw ValueFault("an object has no value") }
    }
}

extension AnyRealmValue: RealmCollectionValue {
    /// The type of an element.
    public static func _elementPropertyType() -> _PropertyType { _propertyType }
    /// The element of a stored value. A collection in it is unmanaged.
    public static func _fromElement(_ value: Value, _ realm: _RealmInstance) -> AnyRealmValue {
        AnyRealmValue(value, realm, at: nil)
    }
    /// The element as the store keeps it. Unmanaged objects in it are added to the realm first.
    public func _element(for realm: _RealmInstance) -> Value {
        do {
            return try stored { object in
                let type = object.modelType
                return .typedLink(realm.binding(of: type).table, realm.linkKey(of: object, as: type))
            }
        } catch { stopProgram("\(error)") }
    }
    /// The element as the store keeps it; nil if it has an object that is not one of the realm.
    public func _existingElement(in realm: _RealmInstance) -> Value? {
        try? stored { object in
            guard object.isManaged, _RealmInstance.of(object._row) === realm else {
                throw ValueFault("the object is not one of the realm")
            }
            return .typedLink(TableBinding.of(object._row).table, object._row.key)
        }
    }
    /// The key by which an unmanaged set compares the element: numbers are compared by value, whatever their types.
    public var _member: _SetMember {
        switch self {
        case .object(let object): object._member
        case .list, .dictionary: stopProgram("\(ValueFault.collectionInSet)")
        default: .value(AnyRealmValue._storeValue(self)?.unifiedNumber ?? .null)
        }
    }
    /// Throws if a set can't hold the value.
    func checkMember() throws(ValueFault) {
        switch self {
        case .list, .dictionary: throw ValueFault.collectionInSet
        default: break
        }
    }
    /// The object's row, if the element is a managed object; otherwise nil.
    public var _rowMember: _SetMember? { if case .object(let object) = self { object._rowMember } else { nil } }
}

extension AnyRealmValue: _QueryValue {
    /// The value as the store compares it.
    public var _queryValue: Value {
        do { return try stored { $0._queryValue } } catch { stopProgram("\(error)") }
    }
    /// The object that the value is, or those in its collections.
    public var _queryObjects: [ObjectBase] { (try? objects) ?? [] }
}

extension AnyRealmValue: _QueryOrdered, _QueryTextual {}
extension AnyRealmValue: SortableType {}

extension AnyRealmValue: MinMaxType, AddableType {
    /// Zero.
    public static var _zero: AnyRealmValue { .int(0) }
    /// The result of an aggregate as a mixed value; nil if it is neither a number nor a date.
    public init?(_aggregate: Value) {
        switch _aggregate {
        case .int(let value): self = .int(Int(value))
        case .float(let value): self = .float(value)
        case .double(let value): self = .double(value)
        case .decimal(let value): self = .decimal128(Decimal128(value))
        case .date(let value): self = .date(Date(_raw: value))
        default: return nil
        }
    }
    /// The smallest value in the order of all values. Nil, NaN, objects and collections are ignored.
    public static func _min(_ values: some Sequence<AnyRealmValue>) -> AnyRealmValue? {
        compared(values).min { Value.precedes($0.stored, $1.stored) }?.value
    }
    /// The largest value in the order of all values. Nil, NaN, objects and collections are ignored.
    public static func _max(_ values: some Sequence<AnyRealmValue>) -> AnyRealmValue? {
        compared(values).max { Value.precedes($0.stored, $1.stored) }?.value
    }

    private static func compared(
        _ values: some Sequence<AnyRealmValue>
    ) -> [(value: AnyRealmValue, stored: Value)] {
        values.compactMap { value in
            switch value {
            case .none, .object, .list, .dictionary: return nil
            default:
                guard let stored = AnyRealmValue._storeValue(value), !stored.isNaN else { return nil }
                return (value, stored)
            }
        }
    }

    /// The exact sum of the numbers, as a decimal. NaN, and values that are not numbers, are ignored.
    public static func _sum(_ values: some Sequence<AnyRealmValue>) -> AnyRealmValue {
        .decimal128(Decimal128._sum(numbers(values)))
    }
    /// The average of the numbers, as a decimal. NaN, and values that are not numbers, are ignored.
    public static func _average(_ values: some Collection<AnyRealmValue>) -> Value {
        Decimal128._average(numbers(values))
    }

    private static func numbers(_ values: some Sequence<AnyRealmValue>) -> [Decimal128] {
        values.compactMap { value in
            switch value {
            case .int, .float, .double, .decimal128:
                AnyRealmValue._storeValue(value).flatMap { Decimal128(_aggregate: $0) }
            default: nil
            }
        }
    }
}

extension ObjectBase {
    /// Sets a mixed value. Unmanaged objects in it are added to the realm first.
    final func set(mixed value: AnyRealmValue, column: Int) {
        let realm = _RealmInstance.of(_row)
        // Adding objects, and reading collections, may run the application's code.
        _ = realm.writing("set \(classInfo.name).\(TableBinding.of(_row).property(column: column).name)")
        setStored(value._element(for: realm), column: column)
    }
}
