extension List: _PersistableCollection {
    /// The wrapper holds the list; nil until the first access to the list.
    public typealias _Stored = List?

    /// The shape of a list property with these elements.
    public static var _propertyType: _PropertyType { Element._elementPropertyType().of(.list, List.self) }

    /// Copies the elements of `value` into the property's list. Assigning a list to itself leaves it as it is. A
    /// managed list needs a write transaction, or the program stops.
    public static func _replaceCollection(
        of object: ObjectBase, _ column: Int32, _ stored: inout List?, with value: List
    ) {
        let list = _collection(of: object, column, &stored)
        if !list.isAssignedToItself(value) { list.assign(Array(value)) }
    }

    /// Converts an untyped sequence to an unmanaged list; empty for nil. Throws `ValueFault` if `any` is not a
    /// sequence, or if an element does not fit.
    public static func _fromAny(_ any: Any?) throws -> List { try unmanaged(any) }
}

extension List: ElementCollection {
    func assign(_ values: [Element]) {
        guard location != nil else { return elements = values }
        replaceSubrange(0..., with: values)
    }

    var current: [Element] { location == nil ? elements : Array(self) }
}

extension List: Equatable {
    /// Managed lists are equal if they are the same list of the same row in one realm, O(1). Unmanaged lists are equal
    /// if their elements are equal, O(n): texts by their UTF-8 bytes, objects by their rows. A managed list and an
    /// unmanaged list are never equal.
    public static func == (a: List, b: List) -> Bool {
        if a === b || a.isSameManaged(as: b) { return true }
        return a.location == nil && b.location == nil
            && a.elements.elementsEqual(b.elements) { $0.isSameElement(as: $1) }
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
        try encodeElements(to: encoder)
    }
}
