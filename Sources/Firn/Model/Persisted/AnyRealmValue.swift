import FirnCore
public import Foundation

/// A value of any type that a property can have, chosen for each object: a mixed value.
///
/// ```swift
/// class Setting: Object {
///     @Persisted(primaryKey: true) var name: String
///     @Persisted var value: AnyRealmValue
/// }
///
/// try realm.write {
///     setting.value = .int(3)
///     setting.value = .object(dog)
///     setting.value = .fromDictionary(["volumes": .fromArray([.int(1), .double(2.5)])])
///     setting.value.dictionaryValue?["volumes"]?.listValue?.append(.none)
/// }
/// realm.objects(Setting.self).where { $0.value == .string("on") }
/// ```
///
/// - **Links.** A value can link to an object, like a property of the object's class. If the object is deleted, the
///   value becomes `.none`.
/// - **Lists and dictionaries** may contain others, 100 levels deep. Those of a managed object are live: a change to
///   one changes the object, and needs a write transaction. A nested collection is found by its indices and keys, and
///   can't be queried or observed by itself. Each change stores the whole value again, in O(size of the value). For
///   collections that grow, declare a `List` or `Map` of `AnyRealmValue`, which costs O(log n).
/// - **Comparison.** `==` compares type and value, so that `.int(1)` differs from `.double(1)`. Texts are equal if
///   their UTF-8 bytes are, as in queries, and objects if they are the same row (`isSameObject(as:)`). Queries, sorting
///   and sets compare numbers of all types by value.
///
/// A value is read in O(size). It has at most 16 MiB: a longer one stops the program.
public enum AnyRealmValue {
    /// Nothing.
    case none
    /// An integer.
    case int(Int)
    /// A Boolean.
    case bool(Bool)
    /// A floating-point number of 32 bits.
    case float(Float)
    /// A floating-point number of 64 bits.
    case double(Double)
    /// A string.
    case string(String)
    /// Bytes.
    case data(Data)
    /// A date.
    case date(Date)
    /// A link to an object of any class.
    case object(Object)
    /// An identity of twelve bytes.
    case objectId(ObjectId)
    /// A decimal number.
    case decimal128(Decimal128)
    /// A UUID.
    case uuid(UUID)
    /// A dictionary of mixed values.
    case dictionary(Map<String, AnyRealmValue>)
    /// A list of mixed values.
    case list(List<AnyRealmValue>)

    /// The value `.none`.
    public init() { self = .none }

    /// A list of mixed values.
    public static func fromArray(_ array: [AnyRealmValue]) -> AnyRealmValue {
        let list = List<AnyRealmValue>()
        list.append(objectsIn: array)
        return .list(list)
    }

    /// A dictionary of mixed values. Stops the program if a key is not allowed: see `Map`.
    public static func fromDictionary(_ dictionary: [String: AnyRealmValue]) -> AnyRealmValue {
        let map = Map<String, AnyRealmValue>()
        for (key, value) in dictionary { map[key] = value }
        return .dictionary(map)
    }

    /// The integer; nil if the value is something else.
    public var intValue: Int? { if case .int(let value) = self { value } else { nil } }
    /// The Boolean; nil if the value is something else.
    public var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The floating-point number of 32 bits; nil if the value is something else.
    public var floatValue: Float? { if case .float(let value) = self { value } else { nil } }
    /// The floating-point number of 64 bits; nil if the value is something else.
    public var doubleValue: Double? { if case .double(let value) = self { value } else { nil } }
    /// The string; nil if the value is something else.
    public var stringValue: String? { if case .string(let value) = self { value } else { nil } }
    /// The bytes; nil if the value is something else.
    public var dataValue: Data? { if case .data(let value) = self { value } else { nil } }
    /// The date; nil if the value is something else.
    public var dateValue: Date? { if case .date(let value) = self { value } else { nil } }
    /// The identity; nil if the value is something else.
    public var objectIdValue: ObjectId? { if case .objectId(let value) = self { value } else { nil } }
    /// The decimal number; nil if the value is something else.
    public var decimal128Value: Decimal128? { if case .decimal128(let value) = self { value } else { nil } }
    /// The UUID; nil if the value is something else.
    public var uuidValue: UUID? { if case .uuid(let value) = self { value } else { nil } }
    /// The dictionary; nil if the value is something else.
    public var dictionaryValue: Map<String, AnyRealmValue>? {
        if case .dictionary(let value) = self { value } else { nil }
    }
    /// The list; nil if the value is something else.
    public var listValue: List<AnyRealmValue>? { if case .list(let value) = self { value } else { nil } }
    /// The object, if it is of the given class; nil if it is of another class, or if the value is something else.
    public func object<T: Object>(_ objectType: T.Type) -> T? {
        if case .object(let object) = self { object as? T } else { nil }
    }

    /// The object, if it is managed, for code that does not know its class; nil if the value is something else.
    public var dynamicObject: DynamicObject? {
        guard case .object(let object) = self, object.isManaged else { return nil }
        return _RealmInstance.of(object._row).dynamicAccessor(TableBinding.of(object._row), object._row.key)
    }

    /// Hashes the value. All lists have the same hash, and so have all dictionaries, because they can change.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .none: hasher.combine(0)
        case .int(let value): hasher.combine(value)
        case .bool(let value): hasher.combine(value)
        case .float(let value): hasher.combine(value)
        case .double(let value): hasher.combine(value)
        case .string(let value): hasher.combine(value)
        case .data(let value): hasher.combine(value)
        case .date(let value): hasher.combine(value)
        case .object(let value): value.hashAsSameObject(into: &hasher)
        case .objectId(let value): hasher.combine(value)
        case .decimal128(let value): hasher.combine(value)
        case .uuid(let value): hasher.combine(value)
        case .dictionary: hasher.combine(1)
        case .list: hasher.combine(2)
        }
    }
}

extension AnyRealmValue: CustomStringConvertible {
    /// The value as text, for people.
    public var description: String { describeValue(AnyRealmValue._any(self), depth: 0) }
}

extension AnyRealmValue: Hashable {
    /// Whether both have the same type and the same value: see "Comparison" above.
    public static func == (a: AnyRealmValue, b: AnyRealmValue) -> Bool {
        switch (a, b) {
        case (.none, .none): true
        case (.int(let a), .int(let b)): a == b
        case (.bool(let a), .bool(let b)): a == b
        case (.float(let a), .float(let b)): a == b
        case (.double(let a), .double(let b)): a == b
        case (.string(let a), .string(let b)): Value.sameBytes(a, b)
        case (.data(let a), .data(let b)): a == b
        case (.date(let a), .date(let b)): a == b
        case (.object(let a), .object(let b)): a.isSameObject(as: b)
        case (.objectId(let a), .objectId(let b)): a == b
        case (.decimal128(let a), .decimal128(let b)): a == b
        case (.uuid(let a), .uuid(let b)): a == b
        case (.dictionary(let a), .dictionary(let b)): a == b
        case (.list(let a), .list(let b)): a == b
        default: false
        }
    }
}
