public import FirnCore
import FirnStorage

// An object as a property's value: `Dog?` is a link. `Dog` compiles too, so that opening can report that a link must
// be optional.
extension ObjectBase: _Persistable, _OptionalPersistable, RealmCollectionValue, _RealmCollectionValueInsideOptional {
    /// What the wrapper holds: the linked object, or nil.
    public typealias _Stored = ObjectBase?
    /// What the wrapper of an optional link holds: the linked object, or nil.
    public typealias _OptionalStored = ObjectBase?

    /// A link that is not optional, which opening a realm refuses with `.schemaMismatch`.
    public static var _propertyType: _PropertyType { _PropertyType(.link, target: self, swiftType: self) }
    /// A link to objects of this class.
    public static var _optionalPropertyType: _PropertyType {
        _PropertyType(.link, isNullable: true, target: self, swiftType: self)
    }
    /// An unmanaged link starts as nil.
    public static var _initial: ObjectBase? { nil }
    /// An unmanaged link starts as nil.
    @inlinable public static var _optionalInitial: ObjectBase? { nil }
    /// True: a blank link is nil, which owns nothing.
    public static var _blankOwnsNothing: Bool { true }
}

extension ObjectBase {
    /// The linked object. Stops the program if there is none: a link is always optional.
    public static func _unwrap(_ stored: ObjectBase?) -> Self {
        guard let stored else { stopForRequiredLink(self) }
        return unsafeDowncast(stored, to: Self.self)
    }
    /// The linked object; nil if there is none.
    @inlinable @inline(__always)
    public static func _unwrapOptional(_ stored: ObjectBase?) -> Self? {
        guard let stored else { return nil }
        return unsafeDowncast(stored, to: Self.self)
    }
    // These are not in a protocol extension, because `Self` would be `ObjectBase` there.
    /// The linked object.
    public static func _anyStored(_ stored: ObjectBase?) -> Any? { stored }
    /// An untyped value as an object of this class. Throws `ValueFault` for nil and for anything else.
    public static func _storedFromAny(_ any: Any?) throws -> ObjectBase? {
        guard let object = try _optionalStoredFromAny(any) else { throw ValueFault("nil is not an object of \(self)") }
        return object
    }
    /// Nil: a link is not stored as a value.
    public static func _storedValue(_ stored: ObjectBase?) -> Value? { nil }
    /// The linked object; nil if there is none.
    public static func _anyOptionalStored(_ stored: ObjectBase?) -> Any? { stored }
    /// An untyped value as an object of this class; nil for nil and `NSNull`. Throws `ValueFault` for anything else.
    public static func _optionalStoredFromAny(_ any: Any?) throws -> ObjectBase? {
        guard let any = unwrapped(any) else { return nil }
        // A value that only describes an object has been made an object before this is called (`Resolution`).
        guard let object = bareInstance(any, of: ObjectBase.self),
            ObjectIdentifier(type(of: object)) == ObjectIdentifier(self)
        else {
            throw ValueFault(any, isNot: self)
        }
        return object
    }
    /// Null for nil; Swift's nil for an object, which has no value to store.
    public static func _optionalStoredValue(_ stored: ObjectBase?) -> Value? { stored == nil ? .null : nil }
    /// The accessor of the object that an element links to.
    public static func _anyFromElement(_ value: Value, _ realm: _RealmInstance) -> Any? {
        switch value {
        case .link(let key), .typedLink(_, let key): return realm.accessor(self, key)
        default: stopForUnknownValue("\(value)", self)
        }
    }
    /// Stops the program: an object is not a collection.
    public static func _frozenCollection(of object: ObjectBase, _ column: Int32) -> Self {
        stopProgram("\(Self.self) is not a collection.")
    }
    /// Stops the program: an object is not a collection.
    public static func _collection(of object: ObjectBase, _ column: Int32, _ stored: inout ObjectBase?) -> Self {
        stopProgram("\(Self.self) is not a collection.")
    }
}

private func stopForRequiredLink(_ type: ObjectBase.Type) -> Never {
    stopProgram("a link is always optional; declare the property as \(type)? instead of \(type).")
}

extension _Persistable where Self: ObjectBase {
    /// The object as the wrapper holds it.
    public static func _wrap(_ value: Self) -> ObjectBase? { value }
    /// The linked object of a current row. Stops the program if there is none.
    public static func _get(_ row: _Row, _ column: Int) -> Self { _unwrap(_getOptional(row, column)) }
    /// Sets a managed object's link.
    public static func _set(_ object: ObjectBase, column: Int32, value: Self) {
        _setOptional(object, column: column, value: value)
    }
    /// The object itself.
    public static func _any(_ value: Self) -> Any? { value }
    /// An untyped value as an object of this class. Throws `ValueFault` for nil and for anything else.
    public static func _fromAny(_ any: Any?) throws -> Self {
        _unwrap(try _storedFromAny(any))
    }
    /// Nil: a link is not stored as a value.
    public static func _storeValue(_ value: Self) -> Value? { nil }
}

extension _OptionalPersistable where Self: ObjectBase {
    /// The object itself.
    @inlinable @inline(__always)
    public static func _wrapOptional(_ value: Self?) -> ObjectBase? { value }
    /// The linked object of a current row; nil if the link is nil.
    @inlinable
    public static func _getOptional(_ row: _Row, _ column: Int) -> Self? {
        let key = row.leafView.load(column, row.row, as: Int64.self)
        return key < 0 ? nil : _linked(row, key)
    }
    /// Sets a managed object's link. An unmanaged target is added to the realm. A target in another realm, or an
    /// embedded object that has a parent, stops the program. An embedded object that the link led to is deleted.
    public static func _setOptional(_ object: ObjectBase, column: Int32, value: Self?) {
        object.setLink(value, to: Self.self, column: _BoundColumn.number(column))
    }
    /// An object that records which of its properties are read.
    public static func _tracedOptional(by tracer: _KeyPathTracer) -> Self?? { .some(tracer.linked(Self.self) as? Self) }
    /// The object itself.
    public static func _anyOptional(_ value: Self?) -> Any? { value }
    /// An untyped value as an object of this class; nil for nil and `NSNull`. Throws `ValueFault` for an object of
    /// another class, even of a subclass.
    public static func _optionalFromAny(_ any: Any?) throws -> Self? {
        _unwrapOptional(try _optionalStoredFromAny(any))
    }
    /// Null for nil; Swift's nil for an object, which has no value to store.
    public static func _optionalStoreValue(_ value: Self?) -> Value? { value == nil ? .null : nil }

    /// The accessor of a linked object.
    @usableFromInline @inline(never)
    static func _linked(_ row: _Row, _ key: Int64) -> Self? { _RealmInstance.of(row).accessor(Self.self, key) }
}

extension RealmCollectionValue where Self: ObjectBase {
    /// The accessor of the object that an element links to.
    public static func _fromElement(_ value: Value, _ realm: _RealmInstance) -> Self {
        switch value {
        case .link(let key): return realm.accessor(Self.self, key)
        case .typedLink(_, let key) where !Firn.isDynamic(Self.self): return realm.accessor(Self.self, key)
        default:
            // An element of a sorted collection of values is not a link to `Self`.
            if Firn.isDynamic(Self.self), let element = DynamicObject.showing(value, realm) as? Self { return element }
            stopForUnknownValue("\(value)", Self.self)
        }
    }
    /// The element as the store keeps it: the object's key. An unmanaged object is added to the realm first. An
    /// embedded object that has a parent stops the program.
    public func _element(for realm: _RealmInstance) -> Value { .link(realm.linkKey(of: self, as: Self.self)) }
    /// The object's key, if the object is one of the realm.
    public func _existingElement(in realm: _RealmInstance) -> Value? {
        isManaged && _RealmInstance.of(_row) === realm ? .link(_row.key) : nil
    }
    /// The instance, which identifies the object in an unmanaged set.
    public var _member: _SetMember { .instance(ObjectIdentifier(self)) }
    /// The object's row, which identifies a managed object in an unmanaged set; nil if the object is unmanaged.
    public var _rowMember: _SetMember? {
        isManaged ? .row(_row.core.map { UnsafeRawPointer($0) }, _row.table, _row.key) : nil
    }
    /// The element's type: a link that is not optional.
    public static func _elementPropertyType() -> _PropertyType { _propertyType }
}

extension _RealmCollectionValueInsideOptional where Self: ObjectBase {
    /// The accessor of the object that an element links to; nil for null.
    public static func _fromOptionalElement(_ value: Value, _ realm: _RealmInstance) -> Self? {
        value == .null ? nil : _fromElement(value, realm)
    }
    /// The element's type: an optional link, which opening refuses, because lists hold no nil objects.
    public static func _optionalElementPropertyType() -> _PropertyType { _optionalPropertyType }
}
