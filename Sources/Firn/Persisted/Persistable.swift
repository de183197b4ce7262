public import FirnCore

/// What a property's values are: the store's column type and what Swift makes of it.
public struct _PropertyType {
    public var type: ColumnType
    public var collection: CollectionKind
    public var isNullable: Bool
    /// A link's class.
    public var target: ObjectBase.Type?
    public var isLinkingObjects: Bool
    /// The Swift type of one value, as errors name it.
    public var swiftType: Any.Type
    /// How an unmanaged value lies in memory, where it can be read without knowing its type.
    public var memory: _InlineStorage

    public init(
        _ type: ColumnType, collection: CollectionKind = .none, isNullable: Bool = false,
        target: ObjectBase.Type? = nil,
        isLinkingObjects: Bool = false, swiftType: Any.Type, memory: _InlineStorage = .opaque
    ) {
        self.type = type
        self.collection = collection
        self.isNullable = isNullable
        self.target = target
        self.isLinkingObjects = isLinkingObjects
        self.swiftType = swiftType
        self.memory = memory
    }
}

/// The memory of an unmanaged value of the common types; adding an object reads these directly, without a generic call for each property.
public enum _InlineStorage: Sendable {
    case opaque, bool, int, int8, int16, int32, float, double, string, optionalInt, optionalString, optionalDouble, date
}

/// A type that a `@Persisted` property can have. Firn conforms all that work; there is no reason to conform others.
public protocol _Persistable {
    /// What the wrapper keeps of an unmanaged value.
    associatedtype _Stored

    static var _propertyType: _PropertyType { get }
    /// What a property without an initial value holds.
    static var _initial: _Stored { get }
    static func _wrap(_ value: Self) -> _Stored
    static func _unwrap(_ stored: _Stored) -> Self

    /// The value of a managed row that is up to date.
    static func _get(_ row: _Row, _ column: Int) -> Self
    /// Whether the type has nil, which the store may refuse (`requiredProperties`).
    static var _mayBeRequired: Bool { get }
    /// As `_get`, of a column that holds no nulls although the type has nil.
    static func _getRequired(_ row: _Row, _ column: Int) -> Self
    /// Writes the value in place and marks it, if the row is up to date and its chunk the running transaction's own; false where that is not so. Takes no object, so that it
    /// is specialised and inlined into the application's module.
    static func _store(_ row: _Row, _ column: Int32, _ value: Self) -> Bool
    /// Sets the property of a managed object; `column` is negative where the store must be asked.
    static func _set(_ object: ObjectBase, _ column: Int32, _ value: Self)

    /// Whether values are collections, which are kept and filled instead of being read and replaced.
    static var _isCollection: Bool { get }
    static func _collection(of object: ObjectBase, _ column: Int32, _ stored: inout _Stored) -> Self
    /// The collection of a frozen object, which keeps none.
    static func _frozenCollection(of object: ObjectBase, _ column: Int32) -> Self
    static func _replaceCollection(of object: ObjectBase, _ column: Int32, _ stored: inout _Stored, with value: Self)

    /// An object that records the properties asked of it, where the type has properties.
    static func _traced(by tracer: KeyPathTracer) -> Self?

    // What only knows the property by name.
    /// The value as `Any`; nil where it is nil.
    static func _any(_ value: Self) -> Any?
    /// The unmanaged value that `any` stands for.
    static func _fromAny(_ any: Any?) throws -> Self
    /// The unmanaged value as the store's; nil where it is made of objects.
    static func _storeValue(_ value: Self) -> Value?
}

extension _Persistable {
    @inlinable public static var _isCollection: Bool { @inline(__always) get { false } }

    @inlinable
    public static func _collection(of object: ObjectBase, _ column: Int32, _ stored: inout _Stored) -> Self {
        fatalError("Firn: \(Self.self) is no collection.")
    }

    public static func _frozenCollection(of object: ObjectBase, _ column: Int32) -> Self {
        fatalError("Firn: \(Self.self) is no collection.")
    }

    @inlinable
    public static func _replaceCollection(
        of object: ObjectBase, _ column: Int32, _ stored: inout _Stored, with value: Self
    ) {
        fatalError("Firn: \(Self.self) is no collection.")
    }

    public static func _traced(by tracer: KeyPathTracer) -> Self? { nil }

    @inlinable public static var _mayBeRequired: Bool { @inline(__always) get { false } }
    public static func _getRequired(_ row: _Row, _ column: Int) -> Self { _get(row, column) }

    @inlinable @inline(__always)
    public static func _store(_ row: _Row, _ column: Int32, _ value: Self) -> Bool { false }
}

/// A type whose optional form can be persisted too: scalars and objects.
public protocol _OptionalPersistable {
    static var _optionalPropertyType: _PropertyType { get }
    static func _getOptional(_ row: _Row, _ column: Int) -> Self?
    /// As `_getOptional`, of a column that holds no nulls.
    static func _getPresent(_ row: _Row, _ column: Int) -> Self?
    static func _storeOptional(_ row: _Row, _ column: Int32, _ value: Self?) -> Bool
    static func _setOptional(_ object: ObjectBase, _ column: Int32, _ value: Self?)
    static func _tracedOptional(by tracer: KeyPathTracer) -> Self?
    static func _anyOptional(_ value: Self?) -> Any?
    static func _optionalFromAny(_ any: Any?) throws -> Self?
    static func _optionalStoreValue(_ value: Self?) -> Value?
}

extension _OptionalPersistable {
    public static func _getPresent(_ row: _Row, _ column: Int) -> Self? { _getOptional(row, column) }

    @inlinable @inline(__always)
    public static func _storeOptional(_ row: _Row, _ column: Int32, _ value: Self?) -> Bool { false }
}

extension Optional: _Persistable where Wrapped: _OptionalPersistable {
    public typealias _Stored = Wrapped?

    public static var _propertyType: _PropertyType { Wrapped._optionalPropertyType }
    @inlinable public static var _initial: Wrapped? { @inline(__always) get { nil } }
    @inlinable @inline(__always) public static func _wrap(_ value: Wrapped?) -> Wrapped? { value }
    @inlinable @inline(__always) public static func _unwrap(_ stored: Wrapped?) -> Wrapped? { stored }
    @inlinable @inline(__always)
    public static func _get(_ row: _Row, _ column: Int) -> Wrapped? { Wrapped._getOptional(row, column) }
    @inlinable public static var _mayBeRequired: Bool { @inline(__always) get { true } }
    @_effects(releasenone) @inline(never)
    public static func _getRequired(_ row: _Row, _ column: Int) -> Wrapped? { Wrapped._getPresent(row, column) }
    @inlinable @inline(__always)
    public static func _store(_ row: _Row, _ column: Int32, _ value: Wrapped?) -> Bool {
        Wrapped._storeOptional(row, column, value)
    }
    @inlinable @inline(__always)
    public static func _set(_ object: ObjectBase, _ column: Int32, _ value: Wrapped?) {
        Wrapped._setOptional(object, column, value)
    }
    public static func _traced(by tracer: KeyPathTracer) -> Wrapped?? { .some(Wrapped._tracedOptional(by: tracer)) }
    public static func _any(_ value: Wrapped?) -> Any? { Wrapped._anyOptional(value) }
    public static func _fromAny(_ any: Any?) throws -> Wrapped? { try Wrapped._optionalFromAny(any) }
    public static func _storeValue(_ value: Wrapped?) -> Value? { Wrapped._optionalStoreValue(value) }
}

/// A type that a primary key can have: `Int` and its narrower forms, `String`, `ObjectId`, `UUID`, enums of these, and their optionals.
public protocol _PrimaryKey {}

/// A type that can be indexed: the primary keys' types, `Bool` and `Date`.
public protocol _Indexable {}

extension Optional: _PrimaryKey where Wrapped: _PrimaryKey {}
extension Optional: _Indexable where Wrapped: _Indexable {}
