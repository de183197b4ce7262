public import FirnCore

/// The type of a property's values: the column type in the store, and its type in Swift.
public struct _PropertyType {
    /// The type of the column, or of the elements of a collection.
    public var type: ColumnType
    /// The kind of collection; `.none` for a single value.
    public var collection: CollectionKind
    /// Whether the value, or an element, may be nil.
    public var isNullable: Bool
    /// The class that a link leads to, or whose objects link here, for backlinks; nil for other types.
    public var target: ObjectBase.Type?
    /// Whether the values are of a type of the application, whose code determines what is stored.
    public var callsApplication = false
    /// Whether the values are of a type of the application that is stored as embedded objects.
    public var isMapped = false
    /// Whether the property shows a new embedded object if the store has none.
    public var showsNewObject = false
    /// Whether the property shows nil for an invalid stored value.
    public var hidesUnknown = false
    /// Whether the values lie in a `RealmProperty`.
    public var isBoxed = false
    /// Whether the property holds backlinks, which have no column.
    public var isLinkingObjects: Bool
    /// The Swift type of one value, as errors name it.
    public var swiftType: Any.Type
    /// How an unmanaged value lies in memory, if it can be read without knowing its type.
    public var memory: _InlineStorage

    /// The type of a property's values.
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

extension _PropertyType {
    /// The type of a collection of such elements.
    func of(_ collection: CollectionKind, _ swiftType: Any.Type) -> _PropertyType {
        var type = self
        type.collection = collection
        type.swiftType = swiftType
        type.memory = .opaque
        return type
    }
}

/// How an unmanaged value of a common type lies in memory. Adding an object reads these directly, without a generic
/// call for each property.
public enum _InlineStorage: Sendable {
    /// `opaque` needs a generic call; the others are the Swift types with these names, and optionals of them.
    case opaque, bool, int, int8, int16, int32, float, double, string, optionalInt, optionalString, optionalDouble, date
}

/// A type that a `@Persisted` property can have.
///
/// All types that work already conform, and enums conform through `PersistableEnum`; conforming other types is of no
/// use. Only Firn calls the requirements. A "current" row is one whose `_Row.isCurrent` is true.
public protocol _Persistable {
    /// What the wrapper holds while the object is unmanaged.
    associatedtype _Stored

    /// The type of the property's values.
    static var _propertyType: _PropertyType { get }
    /// What the wrapper of a property without an initial value holds.
    static var _initial: _Stored { get }
    /// What the wrapper holds in an accessor, and in an object whose link has been released.
    static var _blank: _Stored { get }
    /// Whether `_blank` owns nothing, so that a copy of its bytes is a copy of it.
    static var _blankOwnsNothing: Bool { get }
    /// A value as the wrapper holds it.
    static func _wrap(_ value: Self) -> _Stored
    /// The value that the wrapper holds.
    static func _unwrap(_ stored: _Stored) -> Self

    /// The value in a column of a current row.
    static func _get(_ row: _Row, _ column: Int) -> Self
    /// Whether the type has nil, which the store may refuse (`requiredProperties()`).
    static var _mayBeRequired: Bool { get }
    /// Like `_get`, for a column that holds no nulls although the type has nil.
    static func _getRequired(_ row: _Row, _ column: Int) -> Self
    /// Writes the value in place and marks it, if the row is current and the chunk is the running transaction's own;
    /// returns false otherwise. It takes no object, so that it is specialised and inlined into the application's
    /// module.
    static func _store(_ row: _Row, column: Int32, value: Self) -> Bool
    /// Sets the property of a managed object through the transaction. `column` is negative if a write affects more than
    /// the cell.
    static func _set(_ object: ObjectBase, column: Int32, value: Self)

    /// Whether the values are collections, which are kept and filled instead of being read and replaced.
    static var _isCollection: Bool { get }
    /// The collection of a property, made and kept in `stored` at the first call.
    static func _collection(of object: ObjectBase, _ column: Int32, _ stored: inout _Stored) -> Self
    /// The collection of a frozen object, made at each call and not kept.
    static func _frozenCollection(of object: ObjectBase, _ column: Int32) -> Self
    /// Replaces the elements of a property's collection.
    static func _replaceCollection(of object: ObjectBase, _ column: Int32, _ stored: inout _Stored, with value: Self)

    /// An object that records which of its properties are read, if the type has properties.
    static func _traced(by tracer: _KeyPathTracer) -> Self?

    // The functions for code that knows the property only by name.
    /// The value as `Any`; nil if it is nil.
    static func _any(_ value: Self) -> Any?
    /// An untyped value converted to an unmanaged value of this type. Throws `ValueFault` if that is not possible.
    static func _fromAny(_ any: Any?) throws -> Self
    /// The unmanaged value as the store keeps it; nil if it consists of objects.
    static func _storeValue(_ value: Self) -> Value?
    // The same functions for what the wrapper holds. If that is another form of the value, they do not make the value.
    /// What the wrapper holds as `Any`; nil if the value is nil.
    static func _anyStored(_ stored: _Stored) -> Any?
    /// An untyped value converted to what the wrapper holds. Throws `ValueFault` if that is not possible.
    static func _storedFromAny(_ any: Any?) throws -> _Stored
    /// What the wrapper holds as the store keeps it; nil if it consists of objects.
    static func _storedValue(_ stored: _Stored) -> Value?
}

extension _Persistable {
    /// What a property without an initial value holds.
    public static var _blank: _Stored { _initial }
    /// Whether no value that the wrapper can hold owns anything.
    public static var _blankOwnsNothing: Bool { _isPOD(_Stored.self) }

    /// False: most types are not collections.
    @inlinable public static var _isCollection: Bool { @inline(__always) get { false } }

    /// Stops the program: the type is not a collection.
    @inlinable
    public static func _collection(of object: ObjectBase, _ column: Int32, _ stored: inout _Stored) -> Self {
        fatalError("Firn: \(Self.self) is not a collection.")
    }

    /// Stops the program: the type is not a collection.
    public static func _frozenCollection(of object: ObjectBase, _ column: Int32) -> Self {
        fatalError("Firn: \(Self.self) is not a collection.")
    }

    /// Stops the program: the type is not a collection.
    @inlinable
    public static func _replaceCollection(
        of object: ObjectBase, _ column: Int32, _ stored: inout _Stored, with value: Self
    ) {
        fatalError("Firn: \(Self.self) is not a collection.")
    }

    /// Nil: most types have no properties.
    public static func _traced(by tracer: _KeyPathTracer) -> Self? { nil }

    /// False: most types have no nil.
    @inlinable public static var _mayBeRequired: Bool { @inline(__always) get { false } }
    /// The same as `_get`, for a type that has no nil.
    public static func _getRequired(_ row: _Row, _ column: Int) -> Self { _get(row, column) }

    /// False: the value is set through the transaction.
    @inlinable @inline(__always)
    public static func _store(_ row: _Row, column: Int32, value: Self) -> Bool { false }

    /// The value that the wrapper holds, as `Any`.
    public static func _anyStored(_ stored: _Stored) -> Any? { _any(_unwrap(stored)) }
    /// An untyped value, converted to what the wrapper holds. Throws `ValueFault` if that is not possible.
    public static func _storedFromAny(_ any: Any?) throws -> _Stored { _wrap(try _fromAny(any)) }
    /// The value that the wrapper holds, as the store keeps it.
    public static func _storedValue(_ stored: _Stored) -> Value? { _storeValue(_unwrap(stored)) }
}

/// A type whose optional form can be persisted too: scalars and objects.
public protocol _OptionalPersistable {
    /// What the wrapper of an optional property holds while the object is unmanaged.
    associatedtype _OptionalStored
    /// What an optional property without an initial value holds: nil.
    static var _optionalInitial: _OptionalStored { get }
    /// An optional value as the wrapper holds it.
    static func _wrapOptional(_ value: Self?) -> _OptionalStored
    /// The optional value that the wrapper holds.
    static func _unwrapOptional(_ stored: _OptionalStored) -> Self?

    /// The type of a property whose Swift type is an optional of this type.
    static var _optionalPropertyType: _PropertyType { get }
    /// The value in a nullable column of a current row.
    static func _getOptional(_ row: _Row, _ column: Int) -> Self?
    /// Like `_getOptional`, for a column that holds no nulls.
    static func _getPresent(_ row: _Row, _ column: Int) -> Self?
    /// Like `_Persistable._store`, for a value that may be nil.
    static func _storeOptional(_ row: _Row, column: Int32, value: Self?) -> Bool
    /// Like `_Persistable._set`, for a value that may be nil.
    static func _setOptional(_ object: ObjectBase, column: Int32, value: Self?)
    /// An object that records which of its properties are read, or nil at the end of the trace; `.none` if the type has
    /// no properties.
    static func _tracedOptional(by tracer: _KeyPathTracer) -> Self??
    /// The value as `Any`; nil if it is nil.
    static func _anyOptional(_ value: Self?) -> Any?
    /// An untyped value converted to an unmanaged value; nil for nil and `NSNull`. Throws `ValueFault` if that is not
    /// possible.
    static func _optionalFromAny(_ any: Any?) throws -> Self?
    /// The unmanaged value as the store keeps it; nil if it is an object.
    static func _optionalStoreValue(_ value: Self?) -> Value?
    /// What the wrapper holds as `Any`; nil if the value is nil.
    static func _anyOptionalStored(_ stored: _OptionalStored) -> Any?
    /// An untyped value converted to what the wrapper holds. Throws `ValueFault` if that is not possible.
    static func _optionalStoredFromAny(_ any: Any?) throws -> _OptionalStored
    /// What the wrapper holds as the store keeps it; nil if it is an object.
    static func _optionalStoredValue(_ stored: _OptionalStored) -> Value?
}

extension _OptionalPersistable {
    /// The same as `_getOptional`.
    public static func _getPresent(_ row: _Row, _ column: Int) -> Self? { _getOptional(row, column) }

    /// False: the value is set through the transaction.
    @inlinable @inline(__always)
    public static func _storeOptional(_ row: _Row, column: Int32, value: Self?) -> Bool { false }

    /// The value that the wrapper holds, as `Any`.
    public static func _anyOptionalStored(_ stored: _OptionalStored) -> Any? { _anyOptional(_unwrapOptional(stored)) }
    /// An untyped value converted to what the wrapper holds. Throws `ValueFault` if that is not possible.
    public static func _optionalStoredFromAny(_ any: Any?) throws -> _OptionalStored {
        _wrapOptional(try _optionalFromAny(any))
    }
    /// The value that the wrapper holds, as the store keeps it.
    public static func _optionalStoredValue(_ stored: _OptionalStored) -> Value? {
        _optionalStoreValue(_unwrapOptional(stored))
    }
}

extension Optional: _Persistable where Wrapped: _OptionalPersistable {
    /// What the wrapper of an optional property holds, as the wrapped type defines it.
    public typealias _Stored = Wrapped._OptionalStored

    /// The optional property type of the wrapped type.
    public static var _propertyType: _PropertyType { Wrapped._optionalPropertyType }
    /// An optional property without an initial value starts with nil.
    @inlinable public static var _initial: _Stored { @inline(__always) get { Wrapped._optionalInitial } }
    /// True: nil owns nothing.
    public static var _blankOwnsNothing: Bool { true }
    /// The value as the wrapper holds it.
    @inlinable @inline(__always)
    public static func _wrap(_ value: Wrapped?) -> _Stored { Wrapped._wrapOptional(value) }
    /// The value that the wrapper holds.
    @inlinable @inline(__always)
    public static func _unwrap(_ stored: _Stored) -> Wrapped? { Wrapped._unwrapOptional(stored) }
    /// The value in a column of a current row.
    @inlinable @inline(__always)
    public static func _get(_ row: _Row, _ column: Int) -> Wrapped? { Wrapped._getOptional(row, column) }
    /// True: an optional has nil, which `requiredProperties()` can refuse.
    @inlinable public static var _mayBeRequired: Bool { @inline(__always) get { true } }
    /// The value in a column of a current row that holds no nulls.
    @_effects(releasenone) @inline(never)
    public static func _getRequired(_ row: _Row, _ column: Int) -> Wrapped? { Wrapped._getPresent(row, column) }
    /// Writes the value in place, if that is possible.
    @inlinable @inline(__always)
    public static func _store(_ row: _Row, column: Int32, value: Wrapped?) -> Bool {
        Wrapped._storeOptional(row, column: column, value: value)
    }
    /// Sets the property of a managed object through the transaction.
    @inlinable @inline(__always)
    public static func _set(_ object: ObjectBase, column: Int32, value: Wrapped?) {
        Wrapped._setOptional(object, column: column, value: value)
    }
    /// An object that records which of its properties are read, if the wrapped type has properties.
    public static func _traced(by tracer: _KeyPathTracer) -> Wrapped?? { Wrapped._tracedOptional(by: tracer) }
    /// The value as `Any`; nil if it is nil.
    public static func _any(_ value: Wrapped?) -> Any? { Wrapped._anyOptional(value) }
    /// An untyped value converted to this type; nil for nil and `NSNull`. Throws `ValueFault` if that is not possible.
    public static func _fromAny(_ any: Any?) throws -> Wrapped? { try Wrapped._optionalFromAny(any) }
    /// The value as the store keeps it; nil for an object.
    public static func _storeValue(_ value: Wrapped?) -> Value? { Wrapped._optionalStoreValue(value) }
    /// What the wrapper holds as `Any`; nil if the value is nil.
    public static func _anyStored(_ stored: _Stored) -> Any? { Wrapped._anyOptionalStored(stored) }
    /// An untyped value converted to what the wrapper holds. Throws `ValueFault` if that is not possible.
    public static func _storedFromAny(_ any: Any?) throws -> _Stored { try Wrapped._optionalStoredFromAny(any) }
    /// What the wrapper holds as the store keeps it; nil for an object.
    public static func _storedValue(_ stored: _Stored) -> Value? { Wrapped._optionalStoredValue(stored) }
}

/// A type that a primary key can have: `Int` and its narrower forms, `String`, `ObjectId`, `UUID`, and optionals. An
/// enum or a type of the application can be a primary key if its stored type can.
public protocol _PrimaryKey {}

/// A type that can be indexed: the types of primary keys, `Bool`, `Date`, `AnyRealmValue`, and optionals. Enums and
/// types of the application can be indexed if their stored type can.
public protocol _Indexable {}

extension Optional: _PrimaryKey where Wrapped: _PrimaryKey {}
extension Optional: _Indexable where Wrapped: _Indexable {}

/// An optional of any type. It is used in generic constraints and in casts of values of unknown type.
public protocol _OptionalProtocol {
    /// The type that the optional wraps.
    associatedtype Wrapped
}
extension Optional: _OptionalProtocol {}
