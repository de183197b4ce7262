public import CFirn

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
/// While the object is unmanaged the value lies in the wrapper. Once the object is managed it is read from the store at each access: a few
/// nanoseconds for a number. A property without an initial value starts with 0, false, an empty string, nil or an empty collection.
///
/// A `Date` is stored to the nanosecond, so one within 100 days of 2001 is rounded to that. NaN is stored as the start of 1970, and what lies beyond 2^63 seconds,
/// infinity included, as the latest or earliest date that can be stored; what is read is what is stored, and queries convert what they compare with likewise.
///
/// Reading may be done on the thread, queue or actor of the object's realm only, writing only in a write transaction; anything else stops the program.
@frozen
@propertyWrapper
public struct Persisted<Value: _Persistable> {
    /// A `_BoundColumn` once the object is managed. It lies first: the object's binder writes it by the wrapper's offset, without knowing `Value`.
    @usableFromInline var _column: Int32
    @usableFromInline let _options: _PersistedOptions
    @usableFromInline var _stored: Value._Stored

    @inlinable @inline(__always)
    init(_options: _PersistedOptions, _stored: Value._Stored) {
        _column = 0
        self._options = _options
        self._stored = _stored
    }

    /// A property that starts with its type's zero, empty or nil value.
    @inlinable @inline(__always)
    public init() { self.init(_options: [], _stored: Value._initial) }

    /// A property with an initial value, computed for each unmanaged object and not for managed ones.
    @inlinable @inline(__always)
    public init(wrappedValue: @autoclosure () -> Value) {
        self.init(
            _options: [], _stored: firn_is_making_accessor() ? Value._initial : Value._wrap(wrappedValue()))
    }

    @available(*, unavailable, message: "@Persisted works on properties of Object subclasses only")
    public var wrappedValue: Value {
        get { fatalError("Firn: @Persisted works on properties of Object subclasses only.") }
        set { fatalError("Firn: @Persisted works on properties of Object subclasses only.") }
    }

    public static subscript<Owner: ObjectBase>(
        _enclosingInstance object: Owner,
        wrapped _: ReferenceWritableKeyPath<Owner, Value>,
        storage storage: ReferenceWritableKeyPath<Owner, Persisted<Value>>
    ) -> Value {
        @inlinable @inline(__always) get {
            // The bits of a _BoundColumn, in numbers: the compiler inlines this into the application's function, where
            // the object is then not even retained, if it is small, and it counts each helper that it has inlined here.
            // An ignored property's value stays in the wrapper.
            if object._row.leaf != nil, object[keyPath: storage]._column != -1 {
                if Value._isCollection {
                    // Threads may share a frozen object, so its wrappers are not even borrowed for writing.
                    if object._row.isFrozen {
                        return Value._frozenCollection(of: object, object[keyPath: storage]._column)
                    }
                    return Value._collection(
                        of: object, object[keyPath: storage]._column, &object[keyPath: storage]._stored)
                }
                if !object._row.isCurrent { object._row = _relocate(object._row) }
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
            } else if object._row.leaf != nil {
                let column = object[keyPath: storage]._column
                if !Value._store(object._row, column, newValue) {
                    if column == _BoundColumn.ignored {
                        object[keyPath: storage]._stored = Value._wrap(newValue)
                    } else {
                        Value._set(object, column, newValue)
                    }
                }
            } else {
                object[keyPath: storage]._stored = Value._wrap(newValue)
            }
        }
    }

    /// Tells the tracer that made the object that this property was asked for, and goes on tracing behind a link. Nil
    /// where the object was made by none.
    @usableFromInline @inline(never)
    func _traced(_ object: ObjectBase) -> Value? {
        guard object._row.leaf == nil else { return nil }
        let tracer = KeyPathTracer.of(object)
        tracer.record(object, bound: _column)
        return Value._traced(by: tracer)
    }
}

/// What a property declared itself to be.
@frozen
public struct _PersistedOptions: OptionSet, Sendable {
    public let rawValue: UInt8
    @inlinable @inline(__always) public init(rawValue: UInt8) { self.rawValue = rawValue }
    @inlinable public static var primaryKey: _PersistedOptions { @inline(__always) get { .init(rawValue: 1) } }
    @inlinable public static var indexed: _PersistedOptions { @inline(__always) get { .init(rawValue: 2) } }
}

extension Persisted where Value: _PrimaryKey {
    /// The class's primary key: unique, indexed, and not to be changed once the object is managed.
    @inlinable @inline(__always)
    public init(primaryKey: Bool) { self.init(_options: primaryKey ? .primaryKey : [], _stored: Value._initial) }

    /// The class's primary key with an initial value, which is computed for each unmanaged object.
    @inlinable @inline(__always)
    public init(wrappedValue: @autoclosure () -> Value, primaryKey: Bool) {
        self.init(
            _options: primaryKey ? .primaryKey : [],
            _stored: firn_is_making_accessor() ? Value._initial : Value._wrap(wrappedValue()))
    }
}

extension Persisted where Value: _Indexable {
    /// A property with an index: queries for equality and ranges need not look at each object, writes cost a little more.
    @inlinable @inline(__always)
    public init(indexed: Bool) { self.init(_options: indexed ? .indexed : [], _stored: Value._initial) }

    /// An indexed property with an initial value, which is computed for each unmanaged object.
    @inlinable @inline(__always)
    public init(wrappedValue: @autoclosure () -> Value, indexed: Bool) {
        self.init(
            _options: indexed ? .indexed : [],
            _stored: firn_is_making_accessor() ? Value._initial : Value._wrap(wrappedValue()))
    }
}
