import FirnCore

/// A `Persisted` wrapper whose value's type is not known: reached through a class's fields, by address.
protocol AnyPersisted {
    static var shape: _PropertyType { get }
    static func options(_ wrapper: UnsafeMutableRawPointer) -> _PersistedOptions
    /// The value of an unmanaged object, or the collection of any; nil where it is nil.
    static func any(_ wrapper: UnsafeMutableRawPointer, of object: ObjectBase) -> Any?
    /// Sets the value of an unmanaged object, or replaces the contents of any object's collection.
    static func set(_ wrapper: UnsafeMutableRawPointer, _ value: Any?, of object: ObjectBase) throws
    /// The unmanaged value as the store's; nil where it is made of objects.
    static func storeValue(_ wrapper: UnsafeMutableRawPointer) -> Value?
    /// Lets go of an unmanaged link when the object becomes managed.
    static func dropLink(_ wrapper: UnsafeMutableRawPointer)
    /// The collection that the wrapper has made so far.
    static func madeCollection(_ wrapper: UnsafeMutableRawPointer) -> (any PersistedCollection)?
    /// Where the unmanaged value lies in the wrapper.
    static var valueOffset: Int { get }
    /// The elements that an untyped sequence stands for, of a collection.
    static func elements(_ any: Any?, _ realm: RealmInstance) throws -> [Value]
    /// Whether `any` is an array of a collection's elements as they are.
    static func isElements(_ any: Any) -> Bool
    /// What a value read from the store is to untyped access.
    static func any(from value: Value, _ realm: RealmInstance) -> Any?
    /// The store's value that `any` stands for; nil for objects and collections.
    static func storeValue(from any: Any?) throws -> Value?
}

/// A collection that belongs to a property.
protocol PersistedCollection: AnyObject {
    /// Replaces what it holds, wherever it lies.
    func assign(_ any: Any?) throws
    /// The elements that an untyped sequence stands for.
    static func elements(_ any: Any?, _ realm: RealmInstance) throws -> [Value]
    /// Whether `any` is an array of elements as they are.
    static func isElements(_ any: Any) -> Bool
    /// The elements, where they are objects.
    var objects: [ObjectBase] { get }
    /// Whether reading it would stop the program.
    var isInvalidated: Bool { get }
    /// The elements for a store that `realm` writes to; objects are added first.
    func elements(for realm: RealmInstance) -> [Value]
    /// From now on it is the collection of a managed row.
    func adopt(_ row: _Row, _ property: PropertyInfo)
}

extension Persisted: AnyPersisted {
    static var shape: _PropertyType { Value._propertyType }

    private static func at(_ wrapper: UnsafeMutableRawPointer) -> UnsafeMutablePointer<Persisted> {
        wrapper.assumingMemoryBound(to: Persisted.self)
    }

    static func options(_ wrapper: UnsafeMutableRawPointer) -> _PersistedOptions { at(wrapper).pointee._options }

    static func any(_ wrapper: UnsafeMutableRawPointer, of object: ObjectBase) -> Any? {
        let wrapper = at(wrapper)
        if Value._isCollection {
            if object.isManaged, object._row.isFrozen {
                return Value._any(Value._frozenCollection(of: object, wrapper.pointee._column))
            }
            return Value._any(Value._collection(of: object, wrapper.pointee._column, &wrapper.pointee._stored))
        }
        return Value._any(Value._unwrap(wrapper.pointee._stored))
    }

    static func set(_ wrapper: UnsafeMutableRawPointer, _ value: Any?, of object: ObjectBase) throws {
        let wrapper = at(wrapper)
        if Value._isCollection {
            let collection = Value._collection(of: object, wrapper.pointee._column, &wrapper.pointee._stored)
            guard let collection = collection as? any PersistedCollection else {
                throw ValueFault("backlinks follow from the links to the object and can't be set")
            }
            try collection.assign(value)
        } else {
            wrapper.pointee._stored = Value._wrap(try Value._fromAny(value))
        }
    }

    static func storeValue(_ wrapper: UnsafeMutableRawPointer) -> FirnCore.Value? {
        Value._isCollection ? nil : Value._storeValue(Value._unwrap(at(wrapper).pointee._stored))
    }

    static func dropLink(_ wrapper: UnsafeMutableRawPointer) {
        if shape.collection == .none && shape.type == .link { at(wrapper).pointee._stored = Value._initial }
    }

    static func madeCollection(_ wrapper: UnsafeMutableRawPointer) -> (any PersistedCollection)? {
        at(wrapper).pointee._stored as? any PersistedCollection
    }

    static var valueOffset: Int {
        guard let offset = MemoryLayout<Persisted>.offset(of: \Persisted._stored) else {
            preconditionFailure("Firn: \(Persisted.self) has no stored value")
        }
        return offset
    }

    static func elements(_ any: Any?, _ realm: RealmInstance) throws -> [FirnCore.Value] {
        guard let type = Value.self as? any PersistedCollection.Type else { throw ValueFault("backlinks can't be set") }
        return try type.elements(any, realm)
    }

    static func isElements(_ any: Any) -> Bool {
        (Value.self as? any PersistedCollection.Type)?.isElements(any) ?? false
    }

    static func any(from value: FirnCore.Value, _ realm: RealmInstance) -> Any? {
        guard let type = Value.self as? any RealmCollectionValue.Type else { return nil }
        return type.any(from: value, realm)
    }

    static func storeValue(from any: Any?) throws -> FirnCore.Value? {
        Value._storeValue(try Value._fromAny(any))
    }
}

extension RealmCollectionValue {
    static func any(from value: Value, _ realm: RealmInstance) -> Any? { _any(_fromElement(value, realm)) }
}
