import FirnCore

/// A `Persisted` wrapper of unknown value type, which is reached by its address in an object.
protocol AnyPersisted {
    /// The property's type.
    static var shape: _PropertyType { get }
    /// The options with which the property is declared.
    static func options(_ wrapper: UnsafeMutableRawPointer) -> _PersistedOptions
    /// The value of an unmanaged object, or the collection of any object; nil if the value is nil.
    static func any(_ wrapper: UnsafeMutableRawPointer, of object: ObjectBase) -> Any?
    /// Sets the value of an unmanaged object, or replaces the elements of any object's collection.
    static func set(_ wrapper: UnsafeMutableRawPointer, _ value: Any?, of object: ObjectBase) throws
    /// The unmanaged value as the store keeps it; nil if it consists of objects.
    static func storeValue(_ wrapper: UnsafeMutableRawPointer) -> Value?
    /// The mixed value of an unmanaged object; nil if the property is of another type.
    static func mixed(_ wrapper: UnsafeMutableRawPointer) -> AnyRealmValue?
    /// Releases an unmanaged link or mixed value when the object becomes managed.
    static func releaseLink(_ wrapper: UnsafeMutableRawPointer)
    /// Turns the wrapper into an accessor's wrapper, and releases whatever it held.
    static func clear(_ wrapper: UnsafeMutableRawPointer)
    /// The collection that the wrapper has made; nil if the collection was never read.
    static func existingCollection(_ wrapper: UnsafeMutableRawPointer) -> (any PersistedCollection)?
    /// The box that the wrapper has made; nil if the box was never read.
    static func existingBox(_ wrapper: UnsafeMutableRawPointer) -> (any PropertyBox)?
    /// A new instance of a managed object's collection; nil for backlinks.
    static func managedCollection(of object: ObjectBase, _ column: Int32) -> (any PersistedCollection)?
    /// The offset of the unmanaged value in the wrapper.
    static var valueOffset: Int { get }
    /// The wrapper's size in bytes.
    static var byteCount: Int { get }
    /// The wrapper's alignment in bytes.
    static var alignment: Int { get }
    /// Whether an accessor's wrapper owns nothing.
    static var blankOwnsNothing: Bool { get }
    /// Turns the wrapper into an accessor's wrapper, without releasing what it held.
    static func writeBlank(_ wrapper: UnsafeMutableRawPointer)
    /// The elements for a collection, converted from an untyped sequence.
    static func elements(_ any: Any?, _ realm: _RealmInstance) throws -> [Value]
    /// Whether `any` is an array whose elements a collection can hold without conversion.
    static func isElements(_ any: Any) -> Bool
    /// What a property without an initial value holds, as untyped access returns it.
    static var initialAny: Any? { get }
    /// Whether the property takes an untyped value without turning it into nil.
    static func takes(_ any: Any?) -> Bool
    /// A value read from the store, as untyped access returns it; nil for null.
    static func any(from value: Value, _ realm: _RealmInstance) -> Any?
    /// An untyped value as the store keeps it; nil for objects and collections.
    static func storeValue(from any: Any?) throws -> Value?
}

/// A collection that belongs to a property.
protocol PersistedCollection: AnyObject {
    /// Replaces the elements of the collection, managed or not.
    func assign(_ any: Any?) throws
    /// The elements, converted from an untyped sequence.
    static func elements(_ any: Any?, _ realm: _RealmInstance) throws -> [Value]
    /// Whether `any` is an array whose elements the collection can hold without conversion.
    static func isElements(_ any: Any) -> Bool
    /// The elements, if they are objects.
    var linkedElements: [LinkedElement] { get }
    /// Whether reading the collection would stop the program.
    var isInvalidated: Bool { get }
    /// The elements as the store of `realm` keeps them. `link` returns the link to an object in a mixed value.
    func elements(for realm: _RealmInstance, _ link: (ObjectBase) throws -> Value) throws -> [Value]
    /// The objects in the elements, if these are mixed values.
    func mixedObjects() throws -> [ObjectBase]
    /// Makes this instance the collection of a managed row.
    func adopt(_ row: _Row, _ property: PropertyInfo)
}

extension Persisted: AnyPersisted {
    static var shape: _PropertyType { Value._propertyType }

    /// The wrapper at an address.
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
        return Value._anyStored(wrapper.pointee._stored)
    }

    static func set(_ wrapper: UnsafeMutableRawPointer, _ value: Any?, of object: ObjectBase) throws {
        let wrapper = at(wrapper)
        if Value._isCollection {
            let collection = Value._collection(of: object, wrapper.pointee._column, &wrapper.pointee._stored)
            // A cast to a class costs little; one to a protocol searches for the conformance each time.
            if let collection = (collection as? CollectionBase)?.persisted { return try collection.assign(value) }
            guard let box = collection as? any PropertyBox else {
                throw ValueFault("backlinks follow from the links to the object and can't be set")
            }
            try box.assign(value)
        } else {
            wrapper.pointee._stored = try Value._storedFromAny(value)
        }
    }

    static func storeValue(_ wrapper: UnsafeMutableRawPointer) -> FirnCore.Value? {
        Value._storedValue(at(wrapper).pointee._stored)
    }

    static func mixed(_ wrapper: UnsafeMutableRawPointer) -> AnyRealmValue? {
        at(wrapper).pointee._stored as? AnyRealmValue ?? existingBox(wrapper)?.mixed
    }

    static func releaseLink(_ wrapper: UnsafeMutableRawPointer) {
        if shape.collection == .none && (shape.type == .link || shape.type == .mixed) {
            at(wrapper).pointee._stored = Value._blank
        }
    }

    static func clear(_ wrapper: UnsafeMutableRawPointer) { at(wrapper).pointee._stored = Value._blank }

    static func existingCollection(_ wrapper: UnsafeMutableRawPointer) -> (any PersistedCollection)? {
        (at(wrapper).pointee._stored as? CollectionBase)?.persisted
    }

    static func existingBox(_ wrapper: UnsafeMutableRawPointer) -> (any PropertyBox)? {
        at(wrapper).pointee._stored as? any PropertyBox
    }

    static func managedCollection(of object: ObjectBase, _ column: Int32) -> (any PersistedCollection)? {
        (Value._frozenCollection(of: object, column) as? CollectionBase)?.persisted
    }

    static var valueOffset: Int {
        guard let offset = MemoryLayout<Persisted>.offset(of: \Persisted._stored) else {
            preconditionFailure("Firn: \(Persisted.self) has no stored value")
        }
        return offset
    }

    static var byteCount: Int { MemoryLayout<Persisted>.size }

    static var alignment: Int { MemoryLayout<Persisted>.alignment }

    static var blankOwnsNothing: Bool { Value._blankOwnsNothing }

    static func writeBlank(_ wrapper: UnsafeMutableRawPointer) {
        (wrapper + valueOffset).initializeMemory(as: Value._Stored.self, to: Value._blank)
    }

    static func elements(_ any: Any?, _ realm: _RealmInstance) throws -> [FirnCore.Value] {
        guard let type = Value.self as? any PersistedCollection.Type else { throw ValueFault("backlinks can't be set") }
        return try type.elements(any, realm)
    }

    static func isElements(_ any: Any) -> Bool {
        (Value.self as? any PersistedCollection.Type)?.isElements(any) ?? false
    }

    static var initialAny: Any? { Value._anyStored(Value._initial) }

    static func takes(_ any: Any?) -> Bool {
        guard let stored = try? Value._storedFromAny(any) else { return false }
        return unwrapped(any) == nil || Value._storedValue(stored) != .null
    }

    static func any(from value: FirnCore.Value, _ realm: _RealmInstance) -> Any? {
        if value == .null { return nil }
        let contents = (Value.self as? any PropertyBox.Type)?.contents ?? Value.self
        guard let type = contents as? any RealmCollectionValue.Type else { return nil }
        return type._anyFromElement(value, realm)
    }

    static func storeValue(from any: Any?) throws -> FirnCore.Value? {
        Value._storedValue(try Value._storedFromAny(any))
    }
}
