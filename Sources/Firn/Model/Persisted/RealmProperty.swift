public import FirnCore
import FirnStorage

/// A type whose optional can be the value of a `RealmProperty`: every scalar, and enums.
public protocol RealmOptionalType: _OptionalPersistable {}

/// A type that `RealmProperty` can hold: the optional of a scalar or of an enum, and `AnyRealmValue`.
public protocol RealmPropertyType: _Persistable {}

extension Optional: RealmPropertyType where Wrapped: RealmOptionalType {}
extension AnyRealmValue: RealmPropertyType {}

/// The earlier name of a `RealmProperty` that holds an optional number.
@available(*, deprecated, message: "Declare the property as an optional: @Persisted var age: Int?")
public typealias RealmOptional<Value: RealmOptionalType> = RealmProperty<Value?>

/// A box with the value of a property.
///
/// RealmSwift needs it for optional numbers in `@objc dynamic` classes. A class that comes from there declares the box
/// as below, and code that uses `dog.age.value` stays as it is. A new class declares the value itself,
/// `@Persisted var age: Int?`: both store the same, so the box can go at any time without a migration.
///
/// ```swift
/// class Dog: Object {
///     @Persisted var age: RealmProperty<Int?>
/// }
/// let dog = Dog()
/// dog.age.value = 3
/// ```
///
/// The box of an unmanaged object holds the value. When the object is added to a realm, its box becomes managed, too.
/// The box of a managed object is made at each access, and `value` costs what the property costs. Assigning a box to
/// the property copies its value. Access by name, queries by text, notifications and copies use the value and not the
/// box; `where { }` takes `$0.age.value`.
@available(*, deprecated, message: "Declare the property with the value's type: @Persisted var age: Int?")
public final class RealmProperty<Value: RealmPropertyType> {
    /// The value of an unmanaged box, as the wrapper of a property without a box would hold it.
    private var stored: Value._Stored
    /// The location of a managed box's value; nil for an unmanaged box.
    private var location: CollectionLocation?

    /// A box with its type's empty value: nil, or `.none`. O(1).
    public init() { stored = Value._initial }

    /// A box with a value. O(1).
    public init(_ value: Value) { stored = Value._wrap(value) }

    init(at location: CollectionLocation) {
        location.retain()
        stored = Value._initial
        self.location = location
    }

    deinit { location?.release() }

    /// The value. The box of a managed object reads and sets its property, and stops the program for the same reasons
    /// as the property itself.
    public var value: Value {
        get {
            guard let location else { return Value._unwrap(stored) }
            if !location.row.isCurrent {
                self.location!.row = _relocate(location.row, reading: location.property)
            }
            let row = self.location!.row
            return location.property.isRequired
                ? Value._getRequired(row, location.column) : Value._get(row, location.column)
        }
        set {
            guard let location else { return stored = Value._wrap(newValue) }
            let object = location.realm.accessor(location.binding, location.row.key)
            Value._set(object, column: Int32(location.column), value: newValue)
        }
    }
}

@available(*, deprecated)
extension RealmProperty: Equatable where Value: Equatable {
    /// Whether both hold equal values.
    public static func == (x: RealmProperty, y: RealmProperty) -> Bool { x.value == y.value }
}

@available(*, deprecated)
extension RealmProperty: CustomStringConvertible {
    /// The value as text.
    public var description: String { "\(value)" }
}

@available(*, deprecated)
extension RealmProperty: Encodable where Value: Encodable {
    /// Encodes the value. Throws what the encoder throws.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}

@available(*, deprecated)
extension RealmProperty: Decodable where Value: Decodable {
    /// An unmanaged box with a decoded value. Throws what the decoder throws.
    public convenience init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(Value.self))
    }
}

/// A box of unknown value type.
protocol PropertyBox: AnyObject {
    /// The type of the value.
    static var contents: any _Persistable.Type { get }
    /// The mixed value of an unmanaged box; nil if it holds another type.
    var mixed: AnyRealmValue? { get }
    /// Sets an unmanaged box to an untyped value. Throws `ValueFault` if the value does not fit.
    func assign(_ any: Any?) throws
    /// Turns an unmanaged box into the box of a managed row's property.
    func adopt(_ row: _Row, _ property: PropertyInfo)
}

@available(*, deprecated)
extension RealmProperty: PropertyBox {
    static var contents: any _Persistable.Type { Value.self }
    var mixed: AnyRealmValue? { stored as? AnyRealmValue }
    func assign(_ any: Any?) throws {
        stored = try Value._storedFromAny(instance(any, of: RealmProperty.self)?.value ?? any)
    }

    func adopt(_ row: _Row, _ property: PropertyInfo) {
        let location = CollectionLocation(row, property)
        location.retain()
        self.location = location
        stored = Value._initial
    }
}

@available(*, deprecated)
extension RealmProperty: _Persistable {
    /// The box; nil until it is first read.
    public typealias _Stored = RealmProperty?

    /// The property type of the value, marked as boxed.
    public static var _propertyType: _PropertyType {
        var type = Value._propertyType
        type.memory = .opaque
        type.swiftType = RealmProperty.self
        type.isBoxed = true
        return type
    }
    /// Nil: the box is made when it is first read.
    public static var _initial: RealmProperty? { nil }
    /// True: nil owns nothing.
    public static var _blankOwnsNothing: Bool { true }
    /// The box itself.
    public static func _wrap(_ value: RealmProperty) -> RealmProperty? { value }
    /// The box itself, or a new one.
    public static func _unwrap(_ stored: RealmProperty?) -> RealmProperty { stored ?? RealmProperty() }
    /// Stops the program: a box is reached through its object.
    public static func _get(_ row: _Row, _ column: Int) -> RealmProperty {
        stopProgram("a RealmProperty is never read from a row.")
    }
    /// Stops the program: a box is never stored, only its value is.
    public static func _set(_ object: ObjectBase, column: Int32, value: RealmProperty) {
        stopProgram("a RealmProperty is never stored as a whole.")
    }

    /// True: the box is kept, and its value is replaced.
    @inlinable public static var _isCollection: Bool { @inline(__always) get { true } }
    /// The box of a property: made at each call if the object is managed, otherwise at the first call.
    public static func _collection(
        of object: ObjectBase, _ column: Int32, _ stored: inout RealmProperty?
    ) -> RealmProperty {
        if let box = stored { return box }
        if object.isManaged && column != _BoundColumn.ignored { return _frozenCollection(of: object, column) }
        let box = RealmProperty()
        stored = box
        return box
    }
    /// The box of a managed object, made at each call.
    public static func _frozenCollection(of object: ObjectBase, _ column: Int32) -> RealmProperty {
        if !object._row.isCurrent { object._row = _relocate(object._row) }
        let property = TableBinding.of(object._row).property(column: _BoundColumn.number(column))
        return RealmProperty(at: CollectionLocation(object._row, property))
    }
    /// Copies the value of another box.
    public static func _replaceCollection(
        of object: ObjectBase, _ column: Int32, _ stored: inout RealmProperty?, with value: RealmProperty
    ) {
        _collection(of: object, column, &stored).value = value.value
    }

    /// The box's value as untyped access returns it.
    public static func _any(_ value: RealmProperty) -> Any? { Value._any(value.value) }
    /// An unmanaged box with an untyped value. Throws `ValueFault` if the value does not fit.
    public static func _fromAny(_ any: Any?) throws -> RealmProperty {
        let box = RealmProperty()
        try box.assign(any)
        return box
    }
    /// The box's value as the store keeps it.
    public static func _storeValue(_ value: RealmProperty) -> FirnCore.Value? { Value._storeValue(value.value) }
    /// The value of the wrapper's box as the store keeps it.
    public static func _storedValue(_ stored: RealmProperty?) -> FirnCore.Value? {
        Value._storedValue(stored?.stored ?? Value._initial)
    }
}

/// A box that a query can name.
public protocol _QueriedBox {
    /// The type of the value.
    associatedtype Value
}

@available(*, deprecated)
extension RealmProperty: _QueriedBox {}

extension Query where T: _QueriedBox {
    /// The value in a `RealmProperty`.
    public var value: Query<T.Value> { Query<T.Value>(expression) }
}
