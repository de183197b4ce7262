public import FirnCore

extension List: _Persistable {
    /// The wrapper holds the list; nil until the list is first asked for.
    public typealias _Stored = List?

    /// The shape of the elements, as a list.
    public static var _propertyType: _PropertyType {
        var shape = Element._elementPropertyType()
        shape.collection = .list
        shape.swiftType = List.self
        shape.memory = .opaque
        return shape
    }
    /// Nil: the list is made when it is first asked for.
    @inlinable public static var _initial: List? { @inline(__always) get { nil } }
    /// True: the list is made when it is first used.
    public static var _initialOwnsNothing: Bool { true }
    /// The list itself.
    @inlinable @inline(__always) public static func _wrap(_ value: List) -> List? { value }
    /// The list that the wrapper holds, or an empty one.
    public static func _unwrap(_ stored: List?) -> List { stored ?? List() }
    /// Stops the program: a list is reached through its object.
    public static func _get(_ row: _Row, _ column: Int) -> List { fatalError("Firn: a list is never read from a row.") }
    /// Stops the program: the elements of a list are replaced one by one.
    public static func _set(_ object: ObjectBase, _ column: Int32, _ value: List) {
        fatalError("Firn: a list is never replaced as a whole.")
    }

    /// True.
    @inlinable public static var _isCollection: Bool { @inline(__always) get { true } }

    /// The list of a property, made and kept in `stored` at the first call.
    @inlinable @inline(__always)
    public static func _collection(of object: ObjectBase, _ column: Int32, _ stored: inout List?) -> List {
        if let list = stored { return list }
        return _make(object, column, &stored)
    }

    @usableFromInline @inline(never)
    static func _make(_ object: ObjectBase, _ column: Int32, _ stored: inout List?) -> List {
        guard object.isManaged, column != _BoundColumn.ignored else {
            let list = List()
            stored = list
            return list
        }
        let list = List(object._row, TableBinding.of(object._row).property(column: _BoundColumn.number(column)))
        stored = list
        return list
    }

    /// The list of a frozen object, made at each call.
    public static func _frozenCollection(of object: ObjectBase, _ column: Int32) -> List {
        List(object._row, TableBinding.of(object._row).property(column: _BoundColumn.number(column)))
    }

    /// Copies the elements of `value` into the property's list. Assigning a list to itself leaves it as it is. A
    /// managed list needs a write transaction, or the program stops.
    public static func _replaceCollection(
        of object: ObjectBase, _ column: Int32, _ stored: inout List?, with value: List
    ) {
        let list = _collection(of: object, column, &stored)
        list.assign(Array(value))
    }

    /// The list itself.
    public static func _any(_ value: List) -> Any? { value }
    /// An unmanaged list of the elements of a sequence; empty for nil. Throws `ValueFault` if `any` is not a
    /// sequence, or if an element does not fit.
    public static func _fromAny(_ any: Any?) throws -> List {
        let list = List()
        try list.assign(any)
        return list
    }
    /// Nil: the elements are stored one by one.
    public static func _storeValue(_ value: List) -> Value? { nil }
}

extension List: PersistedCollection {
    /// Replaces the contents by `values`, which may be this list's own.
    func assign(_ values: [Element]) { replaceSubrange(0..., with: values) }

    func assign(_ any: Any?) throws { assign(try List.elements(of: any)) }

    /// The elements that an untyped sequence stands for; none for nil. Throws `ValueFault` if `any` is not a sequence
    /// or if an element does not fit.
    static func elements(of any: Any?) throws -> [Element] {
        guard let any = unwrapped(any) else { return [] }
        if let elements = any as? [Element] { return elements }
        guard let sequence = any as? any Sequence, !(any is String) else {
            throw ValueFault(any, isNot: List.self)
        }
        var result: [Element] = []
        for (index, element) in anyElements(of: sequence).enumerated() {
            do { result.append(try Element._fromAny(element)) } catch let fault as ValueFault {
                throw fault.inside("[\(index)]")
            }
        }
        return result
    }

    static func isElements(_ any: Any) -> Bool { any is [Element] }

    static func elements(_ any: Any?, _ realm: _RealmInstance) throws -> [Value] {
        try elements(of: any).map { $0._element(for: realm) }
    }

    var objects: [ObjectBase] { elements.compactMap { $0 as? ObjectBase } }

    func elements(for realm: _RealmInstance) -> [Value] { Array(self).map { $0._element(for: realm) } }

    func adopt(_ row: _Row, _ property: PropertyInfo) {
        let location = CollectionLocation(row, property)
        location.retain()
        self.location = location
        elements = []
    }
}

/// The elements of any sequence.
func anyElements(of sequence: any Sequence) -> [Any] {
    func list(_ sequence: some Sequence) -> [Any] { sequence.map { $0 as Any } }
    return list(sequence)
}

extension List: Equatable {
    /// Managed lists are equal if they are the same list of the same row in one realm, O(1). Unmanaged lists are
    /// equal if their elements are, O(n). A managed list and an unmanaged one are never equal.
    public static func == (a: List, b: List) -> Bool {
        if a === b { return true }
        guard let x = a.location, let y = b.location else {
            return a.location == nil && b.location == nil && a.elements == b.elements
        }
        return x.row.core == y.row.core && x.row.table == y.row.table && x.row.key == y.row.key && x.column == y.column
    }
}

extension List: DescribedCollection {
    /// The type and the first 100 elements as text. Stops the program on the wrong thread.
    public var description: String { describe(depth: 0) }
}

extension List: ExpressibleByArrayLiteral {
    /// An unmanaged list of the elements.
    public convenience init(arrayLiteral elements: Element...) {
        self.init()
        self.elements = elements
    }
}

extension List: Decodable where Element: Decodable {
    /// An unmanaged list, decoded from an array. Throws what the decoder or an element throws.
    public convenience init(from decoder: any Decoder) throws {
        self.init()
        var container = try decoder.unkeyedContainer()
        while !container.isAtEnd { elements.append(try container.decode(Element.self)) }
    }
}

extension List: Encodable where Element: Encodable {
    /// Encodes the elements as an array. Throws what the encoder or an element throws.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        for element in self { try container.encode(element) }
    }
}
