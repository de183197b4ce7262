public import CFirn
import FirnStorage

/// Makes a property of an `Object` one that Firn stores.
///
/// ```swift
/// class Person: Object {
///     @Persisted(primaryKey: true) var id: Int
///     @Persisted(indexed: true) var name = ""
///     @Persisted var dog: Dog?
///     @Persisted var friends: List<Person>
/// }
/// ```
///
/// The type may be:
///
/// - `Bool`, or `Int` or an integer of 8 to 64 bits;
/// - `Float`, `Double` or `Decimal128`;
/// - `String`, `Data`, `Date`, `ObjectId` or `UUID`;
/// - a `PersistableEnum` or a `CustomPersistable`;
/// - an optional of one of these;
/// - an `AnyRealmValue`;
/// - an optional subclass of `Object` or `EmbeddedObject` (a link);
/// - a `List`, `MutableSet`, `Map` or `LinkingObjects`.
///
/// While the object is unmanaged, the value lies in the wrapper. Once the object is managed, it is read from the store
/// at each access: a few nanoseconds for a number. A property without an initial value starts with 0, false, nil, or an
/// empty string or collection. A date is then the start of 1970, an `ObjectId` or `UUID` is a new one, and an enum is
/// its first case.
///
/// A string or data value has at most 16 MiB; storing a longer one stops the program. A `Date` is stored to the
/// nanosecond, so a date within 100 days of 2001 is rounded to nanoseconds. NaN is stored as the start of 1970. A date
/// beyond 2^63 seconds, infinity included, is stored as the latest or earliest date that can be stored. Reading returns
/// the date that is stored, and queries convert the dates that they compare with in the same way.
///
/// A managed property may be read only on the thread, queue or actor of the object's realm, unless it is frozen. It
/// may be set only there, in a write transaction. Anything else stops the program (`Realm` says what is checked when).
/// Setting a property marks it as changed for observers, whatever its value was. A primary key can't be set once the
/// object is managed.
@frozen
@propertyWrapper
public struct Persisted<Value: _Persistable> {
    /// A `_BoundColumn` once the object is managed. It is the first field: `TableBinding` writes it by the wrapper's
    /// offset, without knowing `Value`.
    @usableFromInline var _column: Int32
    @usableFromInline let _options: _PersistedOptions
    @usableFromInline var _stored: Value._Stored

    @inlinable @inline(__always)
    init(_options: _PersistedOptions, _stored: Value._Stored) {
        _column = _BoundColumn.none
        self._options = _options
        self._stored = _stored
    }

    /// A property that starts with its type's zero, empty or nil value.
    @inlinable @inline(__always)
    public init() { self.init(_options: [], _stored: Value._initial) }

    // The value is not an autoclosure, because an initialiser could then not set the property before `super.init()`. A
    // property with an option can't be set there anyway, so the initialisers with options take an autoclosure.
    /// A property with an initial value. It is computed for each unmanaged object. For managed ones it is computed only
    /// if the class also has properties that Firn does not store, or if its initialiser makes other objects.
    @inlinable @inline(__always)
    public init(wrappedValue: Value) { self.init(_options: [], _stored: Value._wrap(wrappedValue)) }

    /// Not available: `@Persisted` works on properties of `Object` subclasses only.
    @available(*, unavailable, message: "@Persisted works on properties of Object subclasses only")
    public var wrappedValue: Value {
        get { stopProgram("@Persisted works on properties of Object subclasses only.") }
        set { stopProgram("@Persisted works on properties of Object subclasses only.") }
    }

    /// The value of the property. The compiler calls this for each access to the property.
    public static subscript<Owner: ObjectBase>(
        _enclosingInstance object: Owner,
        wrapped _: ReferenceWritableKeyPath<Owner, Value>,
        storage storage: ReferenceWritableKeyPath<Owner, Persisted<Value>>
    ) -> Value {
        @inlinable @inline(__always) get {
            // The bits of a `_BoundColumn` are numbers here, to keep this code small: each helper that is inlined here
            // counts. If the code is small, the compiler inlines it into the application's function, where the object
            // is not even retained. An ignored property's value stays in the wrapper.
            if object._row.leaf != nil, object[keyPath: storage]._column != -1 {
                if Value._isCollection {
                    // Threads may share a frozen object, so its wrappers are not even borrowed for writing.
                    if object._row.isFrozen {
                        return Value._frozenCollection(of: object, object[keyPath: storage]._column)
                    }
                    return Value._collection(
                        of: object, object[keyPath: storage]._column, &object[keyPath: storage]._stored)
                }
                if !object._row.isCurrent {
                    object._row = _relocate(object._row, reading: object[keyPath: storage]._column)
                }
                if Value._mayBeRequired, object[keyPath: storage]._column & 0x4000_0000 != 0 {
                    return Value._getRequired(object._row, Int(object[keyPath: storage]._column & 0x3FFF_FFFF))
                }
                return Value._get(object._row, Int(object[keyPath: storage]._column & 0x3FFF_FFFF))
            }
            if object._row.core != nil, let traced = object[keyPath: storage]._traced(object) { return traced }
            if Value._isCollection {
                if object._row.leaf != nil, object._row.isFrozen {
                    return Value._unwrap(object[keyPath: storage]._stored)
                }
                return Value._collection(
                    of: object, object[keyPath: storage]._column, &object[keyPath: storage]._stored)
            }
            return Value._unwrap(object[keyPath: storage]._stored)
        }
        @inlinable @inline(__always) set {
            if Value._isCollection {
                Value._replaceCollection(
                    of: object, object[keyPath: storage]._column, &object[keyPath: storage]._stored, with: newValue)
                return
            }
            // As in the getter, the compiler inlines this into the application's function only if it is small.
            if object._row.leaf != nil {
                if Value._store(object._row, column: object[keyPath: storage]._column, value: newValue) { return }
                if object[keyPath: storage]._column != -1 {
                    return Value._set(object, column: object[keyPath: storage]._column, value: newValue)
                }
            }
            object[keyPath: storage]._stored = Value._wrap(newValue)
        }
    }

    /// Records in the object's tracer that this property was read, and continues the trace behind a link. Nil if no
    /// tracer made the object.
    @usableFromInline @inline(never)
    func _traced(_ object: ObjectBase) -> Value? {
        guard object._row.leaf == nil else { return nil }
        let tracer = _KeyPathTracer.of(object)
        guard tracer.record(object, bound: _column) else { return nil }
        return Value._traced(by: tracer)
    }
}

/// The options with which a property is declared.
@frozen
public struct _PersistedOptions: OptionSet, Sendable {
    /// The bits: 1 for `primaryKey`, 2 for `indexed`.
    public let rawValue: UInt8
    /// The options with the given bits.
    @inlinable @inline(__always) public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// The property is the class's primary key.
    @inlinable public static var primaryKey: _PersistedOptions { @inline(__always) get { .init(rawValue: 1) } }
    /// The property has an index.
    @inlinable public static var indexed: _PersistedOptions { @inline(__always) get { .init(rawValue: 2) } }
}

extension Persisted where Value: _PrimaryKey {
    /// The class's primary key. It is unique and indexed, so that an object is found by it in O(log n). It can't be
    /// changed once the object is managed. With `false`, the property is an ordinary one. A class with two primary keys
    /// is refused: opening throws `.schemaMismatch`.
    @inlinable @inline(__always)
    public init(primaryKey: Bool) { self.init(_options: primaryKey ? .primaryKey : [], _stored: Value._initial) }

    /// The class's primary key with an initial value, which is computed for each unmanaged object. With `false`, the
    /// property is an ordinary one.
    @inlinable @inline(__always)
    public init(wrappedValue: @autoclosure () -> Value, primaryKey: Bool) {
        self.init(
            _options: primaryKey ? .primaryKey : [],
            _stored: firn_is_making_accessor() ? Value._initial : Value._wrap(wrappedValue()))
    }
}

extension Persisted where Value: _Indexable {
    /// A property with an index. A query for a value or a range finds each of its objects in O(log n), if that costs
    /// less than looking at all objects. Adding, changing or deleting an object costs O(log n) more. With `false`, the
    /// property is an ordinary one.
    @inlinable @inline(__always)
    public init(indexed: Bool) { self.init(_options: indexed ? .indexed : [], _stored: Value._initial) }

    /// An indexed property with an initial value, which is computed for each unmanaged object. With `false`, the
    /// property is an ordinary one.
    @inlinable @inline(__always)
    public init(wrappedValue: @autoclosure () -> Value, indexed: Bool) {
        self.init(
            _options: indexed ? .indexed : [],
            _stored: firn_is_making_accessor() ? Value._initial : Value._wrap(wrappedValue()))
    }
}
