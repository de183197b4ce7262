public import FirnCore
import FirnStorage

/// The type of a property that holds a `List`, `MutableSet` or `Map`. The property's wrapper makes the collection at
/// the first access.
public protocol _PersistableCollection: CollectionBase, _Persistable where _Stored == Self? {}

extension _PersistableCollection {
    /// Nil: the collection is made at the first access.
    @inlinable public static var _initial: Self? { @inline(__always) get { nil } }
    /// True: the collection is made at the first access.
    public static var _blankOwnsNothing: Bool { true }
    /// The collection itself.
    @inlinable @inline(__always) public static func _wrap(_ value: Self) -> Self? { value }
    /// The collection that the wrapper holds, or an empty one.
    public static func _unwrap(_ stored: Self?) -> Self { stored ?? Self(at: nil) }
    /// Stops the program: a collection is read through its object, never from a row.
    public static func _get(_ row: _Row, _ column: Int) -> Self {
        stopProgram("a collection is never read from a row.")
    }
    /// Stops the program: the elements of a collection are replaced one by one.
    public static func _set(_ object: ObjectBase, column: Int32, value: Self) {
        stopProgram("a collection is never replaced as a whole.")
    }

    /// True.
    @inlinable public static var _isCollection: Bool { @inline(__always) get { true } }

    /// The collection of a property. The first call makes it and keeps it in `stored`.
    @inlinable @inline(__always)
    public static func _collection(of object: ObjectBase, _ column: Int32, _ stored: inout Self?) -> Self {
        if let collection = stored { return collection }
        return _make(object, column: column, stored: &stored)
    }

    @usableFromInline @inline(never)
    static func _make(_ object: ObjectBase, column: Int32, stored: inout Self?) -> Self {
        let collection =
            object.isManaged && column != _BoundColumn.ignored ? _frozenCollection(of: object, column) : Self(at: nil)
        stored = collection
        return collection
    }

    /// The collection of a managed object. Each call makes a new one.
    public static func _frozenCollection(of object: ObjectBase, _ column: Int32) -> Self {
        let property = TableBinding.of(object._row).property(column: _BoundColumn.number(column))
        return Self(at: CollectionLocation(object._row, property))
    }

    /// A collection whose element, if it is an object, records which of its properties are read.
    public static func _traced(by tracer: _KeyPathTracer) -> Self? { tracer.collection(Self.self) }

    /// The collection itself.
    public static func _any(_ value: Self) -> Any? { value }
    /// Nil: the elements are stored one by one.
    public static func _storeValue(_ value: Self) -> Value? { nil }
    /// Nil: the elements are stored one by one.
    public static func _storedValue(_ stored: Self?) -> Value? { nil }
}

/// A `List` or `MutableSet` with elements of a known type: what both do in the same way with untyped values.
protocol ElementCollection: PersistedCollection, RealmCollection {
    /// Replaces the contents by `values`, which may be this collection's own.
    func assign(_ values: [Element])
    /// The current elements, as an array.
    var current: [Element] { get }
    init(at location: CollectionLocation?)
}

extension ElementCollection {
    func assign(_ any: Any?) throws { assign(try Self.elements(of: any)) }

    /// Converts an untyped sequence to elements; none for nil. Throws `ValueFault` if `any` is not a sequence, or if an
    /// element does not fit.
    static func elements(of any: Any?) throws -> [Element] {
        guard let any = unwrapped(any) else { return [] }
        // This is tested first, because the test after it makes a value of each element.
        if type(of: any) == [LinkedElement].self, let elements = any as? [LinkedElement] {
            return try elements.map { try Element._fromAny($0.object) }
        }
        if let elements = Firn.elements(any, of: Element.self) { return elements }
        if let elements = any as? [MixedElement] { return try elements.map { try Element._fromAny($0.mixed) } }
        guard let sequence = any as? any Sequence, !(any is String) else { throw ValueFault(any, isNot: Self.self) }
        var result: [Element] = []
        for (index, element) in anyElements(of: sequence).enumerated() {
            do { result.append(try Element._fromAny(element)) } catch let fault as ValueFault {
                throw fault.inside("[\(index)]")
            }
        }
        return result
    }

    static func isElements(_ any: Any) -> Bool { Firn.elements(any, of: Element.self) != nil }

    static func elements(_ any: Any?, _ realm: _RealmInstance) throws -> [Value] {
        try elements(of: any).map { $0._element(for: realm) }
    }

    var linkedElements: [LinkedElement] {
        current.map { LinkedElement(key: nil, object: Element._any($0) as? ObjectBase) }
    }

    func elements(for realm: _RealmInstance, _ link: (ObjectBase) throws -> Value) throws -> [Value] {
        if let values = mixedValues { return try values.map { try $0.stored(link) } }
        return current.map { $0._element(for: realm) }
    }

    func mixedObjects() throws -> [ObjectBase] {
        try mixedValues?.flatMap { try $0.objects } ?? []
    }

    /// The elements, if they are mixed values.
    private var mixedValues: [AnyRealmValue]? {
        Element.self == AnyRealmValue.self ? current as? [AnyRealmValue] : nil
    }

    /// An unmanaged collection with the elements of an untyped sequence.
    static func unmanaged(_ any: Any?) throws -> Self {
        let collection = Self(at: nil)
        try collection.assign(any)
        return collection
    }
}

/// The elements of any sequence.
func anyElements(of sequence: any Sequence) -> [Any] {
    // The usual types come first, because the compiler knows their elements.
    if type(of: sequence) == [Any].self, let array = sequence as? [Any] { return array }
    if type(of: sequence) == [[String: Any]].self, let array = sequence as? [[String: Any]] {
        return array.map { $0 as Any }
    }
    func list(_ sequence: some Sequence) -> [Any] { sequence.map { $0 as Any } }
    return list(sequence)
}
