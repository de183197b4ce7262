import FirnQuery

/// A type of the application that is stored as one of Firn's types.
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
/// It can be the type of a property, also of an optional one, of a collection's elements, of a primary key, and of an
/// indexed property, if the stored type can. A property without an initial value starts with what the stored type's
/// initial value stands for. `init(persistedValue:)` is called at each read of a managed property, on any thread that
/// reads it.
///
/// Two values are equal if their stored values are, unless the type says otherwise; the store always goes by the stored
/// values. If not every stored value stands for something, conform to `FailableCustomPersistable`.
public protocol CustomPersistable: _CustomPersistable {
    /// What a stored value stands for.
    init(persistedValue: PersistedType)
}

/// A type of the application that is stored as one of Firn's types, which has values that stand for nothing.
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
/// An optional property shows nil for a stored value that stands for nothing, and queries for nil do not find it. If
/// the property is not optional, reading such a value stops the program with a message that names it; so does making an
/// object, if there is no initial value and the stored type's stands for nothing.
public protocol FailableCustomPersistable: _CustomPersistable {
    /// What a stored value stands for; nil if nothing.
    init?(persistedValue: PersistedType)
}

/// What `CustomPersistable` and `FailableCustomPersistable` have in common.
public protocol _CustomPersistable: _MappedScalar where _Mapped == PersistedType {
    /// The type that is stored: any that a property can have, except objects, collections and optionals.
    associatedtype PersistedType: _Scalar
    /// The value that is stored.
    var persistableValue: PersistedType { get }
}

extension _CustomPersistable {
    /// The stored value.
    public var _mapped: PersistedType { persistableValue }
    /// Whether the stored values are equal.
    public static func == (a: Self, b: Self) -> Bool { a.persistableValue == b.persistableValue }
    /// Hashes the stored value.
    public func hash(into hasher: inout Hasher) { hasher.combine(persistableValue) }
    /// What the stored type's initial value stands for. Stops the program if it stands for nothing.
    public static var _initial: Self { _known(PersistedType._initial) }
    /// Whether no value owns anything.
    public static var _initialOwnsNothing: Bool { _isPOD(Self.self) }
}

extension CustomPersistable {
    /// What a stored value stands for.
    public init?(_mapped: PersistedType) { self.init(persistedValue: _mapped) }
}

extension FailableCustomPersistable {
    /// What a stored value stands for; nil if nothing.
    public init?(_mapped: PersistedType) { self.init(persistedValue: _mapped) }
    /// True: the stored type's initial value may stand for nothing.
    @inlinable public static var _mayLackInitial: Bool { true }
    /// False: no value is made unless it must be.
    public static var _initialOwnsNothing: Bool { false }
    /// True: an optional property shows nil for a stored value that stands for nothing.
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
