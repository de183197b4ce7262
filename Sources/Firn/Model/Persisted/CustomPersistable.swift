/// A type of the application that is stored as one of Firn's types, or as an embedded object.
///
/// ```swift
/// struct Celsius: CustomPersistable {
///     var degrees: Double
///
///     init(degrees: Double) { self.degrees = degrees }
///     init(persistedValue: Double) { self.init(degrees: persistedValue) }
///     var persistableValue: Double { degrees }
/// }
///
/// class Reading: Object {
///     @Persisted var outside: Celsius
///     @Persisted var inside: List<Celsius?>
/// }
///
/// realm.objects(Reading.self).where { $0.outside.persistableValue > 30 }
/// ```
///
/// It can be the type of a property, also of an optional one. It can also be the type of a collection's elements, of a
/// primary key, and of an indexed property, if the stored type can. A property without an initial value starts with the
/// value that the stored type's initial value represents. `persistableValue` is called when a property is set, for a
/// value in a query, and for a `description`. For an element of an unmanaged collection, it is called when the
/// collection's object is added. `init(persistedValue:)` is called at each read, on any thread that reads. Neither may
/// end the running transaction.
///
/// **As an embedded object.** A type with several members is stored as an `EmbeddedObject`, which it makes anew each
/// time:
///
/// ```swift
/// class StoredMoney: EmbeddedObject {
///     @Persisted var amount: Decimal128
///     @Persisted var currency: String
/// }
/// struct Money: CustomPersistable {
///     var amount: Decimal128, currency: String
///
///     init(persistedValue: StoredMoney) { (amount, currency) = (persistedValue.amount, persistedValue.currency) }
///     var persistableValue: StoredMoney { StoredMoney(value: [amount, currency]) }
/// }
/// class Order: Object {
///     @Persisted var total: Money
///     @Persisted var parts: List<Money>
///     @Persisted var discounts: Map<String, Money?>
/// }
///
/// realm.objects(Order.self).where { $0.total.persistableValue.currency == "CHF" }
/// ```
///
/// The property need not be optional: if there is no object, it shows the value that a new object represents. Setting
/// the property replaces the object. `==` in a query compares the members, which must not be collections.
///
/// Unless the type defines equality itself, two values are equal if their stored values are equal. Embedded objects are
/// equal if their members are. The store always compares the stored values. If some stored values are invalid for the
/// type, conform to `FailableCustomPersistable`.
public protocol CustomPersistable: _CustomPersistable {
    /// The value that a stored value represents.
    init(persistedValue: PersistedType)
}

/// A type of the application that is stored as one of Firn's types, some of whose values are invalid for it.
///
/// ```swift
/// extension URL: FailableCustomPersistable {
///     public init?(persistedValue: String) { self.init(string: persistedValue) }
///     public var persistableValue: String { absoluteString }
/// }
///
/// class Page: Object {
///     @Persisted var url: URL?
/// }
/// ```
///
/// An optional property shows nil for an invalid stored value, and queries for nil do not find it. If the property is
/// not optional, reading such a value stops the program with a message that names the value. In a new object, a
/// property without an initial value can hold such a value.
public protocol FailableCustomPersistable: _CustomPersistable {
    /// The value that a stored value represents; nil if the stored value is invalid.
    init?(persistedValue: PersistedType)
}

/// The common requirements of `CustomPersistable` and `FailableCustomPersistable`.
public protocol _CustomPersistable: _MappedValue where _Mapped == PersistedType {
    /// The type that is stored: any that a property can have, except collections, optionals, and objects that are not
    /// embedded.
    associatedtype PersistedType: _MappingTarget
    /// The value that is stored.
    var persistableValue: PersistedType { get }
}

extension _CustomPersistable {
    /// The stored value.
    public var _mapped: PersistedType { persistableValue }
    /// Whether the stored values are equal. Embedded objects are equal if their members are.
    public static func == (a: Self, b: Self) -> Bool {
        let (a, b) = (a.persistableValue, b.persistableValue)
        if let a = instance(a, of: EmbeddedObject.self), let b = instance(b, of: EmbeddedObject.self) {
            return a.hasEqualMembers(b)
        }
        return a == b
    }
    /// Hashes the stored value; of an embedded object, its members.
    public func hash(into hasher: inout Hasher) {
        let value = persistableValue
        if let object = instance(value, of: EmbeddedObject.self) {
            object.hashMembers(into: &hasher)
        } else {
            hasher.combine(value)
        }
    }
}

extension CustomPersistable {
    /// The value that a stored value represents.
    public init?(_mapped: PersistedType) { self.init(persistedValue: _mapped) }
}

extension FailableCustomPersistable {
    /// The value that a stored value represents; nil if the stored value is invalid.
    public init?(_mapped: PersistedType) { self.init(persistedValue: _mapped) }
    /// True: an optional property shows nil for an invalid stored value.
    public static var _hidesUnknown: Bool { true }
}

extension Query where T: _CustomPersistable {
    /// The stored value, to be compared as such: `pages.where { $0.url.persistableValue.contains("swift") }`.
    public var persistableValue: Query<T.PersistedType> { Query<T.PersistedType>(expression) }
}

extension Query where T: _OptionalProtocol, T.Wrapped: _CustomPersistable {
    /// The stored value, to be compared as such; nil if the property is nil.
    public var persistableValue: Query<T.Wrapped.PersistedType?> { Query<T.Wrapped.PersistedType?>(expression) }
}
