public import FirnCore

// An object as a property's value: `Dog?` is a link. `Dog` compiles, so that opening can say what is wrong with it.
extension Object: _Persistable, _OptionalPersistable {
    public typealias _Stored = ObjectBase?

    public static var _propertyType: _PropertyType { _PropertyType(.link, target: self, swiftType: self) }
    public static var _optionalPropertyType: _PropertyType {
        _PropertyType(.link, isNullable: true, target: self, swiftType: self)
    }
    public static var _initial: ObjectBase? { nil }
}

extension Object {
    public static func _unwrap(_ stored: ObjectBase?) -> Self {
        guard let stored else { stopForRequiredLink(self) }
        return unsafeDowncast(stored, to: Self.self)
    }
    public static func _frozenCollection(of object: ObjectBase, _ column: Int32) -> Self {
        fatalError("Firn: \(Self.self) is no collection.")
    }
    public static func _collection(of object: ObjectBase, _ column: Int32, _ stored: inout ObjectBase?) -> Self {
        fatalError("Firn: \(Self.self) is no collection.")
    }
}

private func stopForRequiredLink(_ type: Object.Type) -> Never {
    fatalError("Firn: a link is always optional; declare the property as \(type)? instead of \(type).")
}

extension _Persistable where Self: Object {
    public static func _wrap(_ value: Self) -> ObjectBase? { value }
    public static func _get(_ row: _Row, _ column: Int) -> Self { _unwrap(_getOptional(row, column)) }
    public static func _set(_ object: ObjectBase, _ column: Int32, _ value: Self) {
        _setOptional(object, column, value)
    }
    public static func _any(_ value: Self) -> Any? { value }
    public static func _fromAny(_ any: Any?) throws -> Self {
        guard let object = try _optionalFromAny(any) else { throw ValueFault("nil is no \(Self.self)") }
        return object
    }
    public static func _storeValue(_ value: Self) -> Value? { nil }
}

extension _OptionalPersistable where Self: Object {
    @inlinable
    public static func _getOptional(_ row: _Row, _ column: Int) -> Self? {
        let key = row.place.load(column, row.row, as: Int64.self)
        return key < 0 ? nil : _linked(row, key)
    }
    public static func _setOptional(_ object: ObjectBase, _ column: Int32, _ value: Self?) {
        object.setLink(value, to: Self.self, column: _BoundColumn.number(column))
    }
    public static func _tracedOptional(by tracer: KeyPathTracer) -> Self? { tracer.object(Self.self) as? Self }
    public static func _anyOptional(_ value: Self?) -> Any? { value }
    public static func _optionalFromAny(_ any: Any?) throws -> Self? {
        guard let any = unwrapped(any) else { return nil }
        // What describes an object was made one before (`Resolution`).
        guard let object = any as? Self, ObjectIdentifier(type(of: object)) == ObjectIdentifier(Self.self) else {
            throw ValueFault(any, isNo: Self.self)
        }
        return object
    }
    public static func _optionalStoreValue(_ value: Self?) -> Value? { value == nil ? .null : nil }

    /// The accessor of a linked object.
    @usableFromInline @inline(never)
    static func _linked(_ row: _Row, _ key: Int64) -> Self? { RealmInstance.of(row).accessor(Self.self, key) }
}

extension RealmCollectionValue where Self: Object {
    public static func _fromElement(_ value: Value, _ realm: RealmInstance) -> Self {
        switch value {
        case .link(let key), .typedLink(_, let key): return realm.accessor(Self.self, key)
        default: stopForStrangeValue(value, Self.self)
        }
    }
    public func _element(for realm: RealmInstance) -> Value { .link(realm.linkKey(of: self, as: Self.self)) }
    public static func _elementPropertyType() -> _PropertyType { _propertyType }
}

extension _RealmCollectionValueInsideOptional where Self: Object {
    public static func _fromOptionalElement(_ value: Value, _ realm: RealmInstance) -> Self? {
        value == .null ? nil : _fromElement(value, realm)
    }
    public static func _optionalElementPropertyType() -> _PropertyType { _optionalPropertyType }
}
