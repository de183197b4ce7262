import FirnCore
import Foundation

extension Map: _PersistableCollection {
    /// The wrapper holds the map; nil until the first access to the map.
    public typealias _Stored = Map?

    /// The shape of a map property with these values.
    public static var _propertyType: _PropertyType { Value._elementPropertyType().of(.map, Map.self) }

    /// Copies the entries of `value` into the property's map. Assigning a map to itself leaves it as it is. A managed
    /// map needs a write transaction, or the program stops.
    public static func _replaceCollection(
        of object: ObjectBase, _ column: Int32, _ stored: inout Map?, with value: Map
    ) {
        let map = _collection(of: object, column, &stored)
        if !map.isAssignedToItself(value) { map.assign(value.entries.map { ($0.key._keyText, $0.value) }) }
    }

    /// Converts an untyped dictionary to an unmanaged map; empty for nil. Throws `ValueFault` if `any` is not a
    /// dictionary, or if a key or value does not fit.
    public static func _fromAny(_ any: Any?) throws -> Map {
        let map = Map()
        try map.assign(any)
        return map
    }
}

extension Map: PersistedCollection {
    func assign(_ any: Any?) throws { assign(try Map.pairs(of: any)) }

    private static func pairs(of any: Any?) throws -> [(key: String, value: Value)] {
        try anyEntries(of: any, as: Map.self).map { key, element in
            do { return (key, try Value._fromAny(element)) } catch let fault as ValueFault {
                throw fault.inside("[\"\(key)\"]")
            }
        }
    }

    static func elements(_ any: Any?, _ realm: _RealmInstance) throws -> [FirnCore.Value] {
        try pairs(of: any).map { .map([.init(key: $0.key, value: $0.value._element(for: realm))]) }
    }

    static func isElements(_ any: Any) -> Bool { Firn.entries(any, of: Value.self) != nil }

    var linkedElements: [LinkedElement] {
        entries.map { LinkedElement(key: $0.key._keyText, object: Value._any($0.value) as? ObjectBase) }
    }

    func elements(
        for realm: _RealmInstance, _ link: (ObjectBase) throws -> FirnCore.Value
    ) throws -> [FirnCore.Value] {
        try entries.map { entry in
            let value = try (entry.value as? AnyRealmValue)?.stored(link) ?? entry.value._element(for: realm)
            return .map([.init(key: entry.key._keyText, value: value)])
        }
    }

    func mixedObjects() throws -> [ObjectBase] { try (values as? [AnyRealmValue])?.flatMap { try $0.objects } ?? [] }
}

/// An element of a collection of objects.
struct LinkedElement {
    /// The key in a map; nil in other collections.
    var key: String?
    /// The object; nil only for a map's key without an object.
    var object: ObjectBase?

    /// The element as the store keeps it. `link` gives the key of the object in the store.
    func value(_ link: (ObjectBase) throws -> Int64) rethrows -> Value {
        let value = try object.map { Value.link(try link($0)) } ?? .null
        return key.map { .map([.init(key: $0, value: value)]) } ?? value
    }
}

/// The entries of an untyped dictionary or map; none for nil. Throws `ValueFault` if `any` is neither, or if a key is
/// not allowed.
func anyEntries(of any: Any?, as type: Any.Type) throws -> [(key: String, value: Any?)] {
    guard let any = unwrapped(any) else { return [] }
    let pairs: [(key: Any, value: Any?)]
    switch any {
    case let map as any UntypedMap: pairs = map.untypedEntries
    case _ where isInstance(any):
        guard let dictionary = instance(any, of: NSDictionary.self) else { throw ValueFault(any, isNot: type) }
        pairs = dictionary.map { ($0.key, $0.value) }
    case let elements as [LinkedElement]: pairs = elements.map { ($0.key as Any, $0.object) }
    case let elements as [MixedElement]: pairs = elements.map { ($0.key as Any, $0.mixed) }
    case let dictionary as [AnyHashable: Any]: pairs = dictionary.map { ($0.key.base, $0.value) }
    default: throw ValueFault(any, isNot: type)
    }
    return try pairs.map { key, value in
        guard let text = key as? String ?? String._convert(key) else {
            throw ValueFault("a map's keys are strings, but one is \(ValueFault.text(key))")
        }
        if let fault = MapKeyBytes.fault(in: text) { throw ValueFault(fault.text) }
        return (text, value)
    }
}

/// A map with keys and values of any type.
protocol UntypedMap {
    var untypedEntries: [(key: Any, value: Any?)] { get }
    /// The entries with values of the map's type.
    var typedEntries: [(key: String, value: Any)] { get }
}

extension Map: UntypedMap {
    var untypedEntries: [(key: Any, value: Any?)] { entries.map { ($0.key, Value._any($0.value)) } }
    var typedEntries: [(key: String, value: Any)] { entries.map { ("\($0.key)", $0.value) } }
}

extension Map: Equatable {
    /// Managed maps are equal if they are the same map of the same row in one realm, O(1). Unmanaged maps are equal if
    /// their entries are equal, O(n). A managed map and an unmanaged map are never equal.
    public static func == (a: Map, b: Map) -> Bool {
        if a === b || a.isSameManaged(as: b) { return true }
        guard a.location == nil, b.location == nil, a.unmanaged.count == b.unmanaged.count else { return false }
        return a.unmanaged.allSatisfy { key, value in b.unmanaged[key].map { $0.isSameElement(as: value) } ?? false }
    }
}

extension Map: DescribedValue {
    /// The type and the first 100 entries as text. Stops the program on the wrong thread.
    public var description: String { describe(depth: 0) }

    func describe(depth: Int) -> String {
        describe(depth: depth, count) {
            entries.prefix(100).map { entry in
                "\t[\(entry.key._keyText)]: \(indented(describeValue(Value._any(entry.value), depth: depth + 1)))"
            }
        }
    }
}

extension Map: ExpressibleByDictionaryLiteral {
    /// An unmanaged map of the entries. Stops the program if a key is not allowed. If a key occurs several times, its
    /// last value is kept.
    public convenience init(dictionaryLiteral elements: (Key, Value)...) {
        self.init()
        for (key, value) in elements { updateValue(value, forKey: key) }
    }
}

extension Map: Decodable where Key: Decodable, Value: Decodable {
    /// An unmanaged map, decoded from a dictionary.
    ///
    /// - Throws: `DecodingError.dataCorrupted` if a key is not allowed, and what the decoder or a value throws.
    public convenience init(from decoder: any Decoder) throws {
        self.init()
        let entries = try decoder.singleValueContainer().decode([String: Value].self)
        for (key, value) in entries {
            if let fault = MapKeyBytes.fault(in: key) {
                throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: fault.text))
            }
            updateValue(value, forKey: Key._key(key))
        }
    }
}

extension Map: Encodable where Value: Encodable {
    /// Encodes the entries as a dictionary.
    ///
    /// - Throws: `EncodingError.invalidValue` if Swift considers two keys equal, because a dictionary can't have both.
    ///   Such keys are "é" as one character, and "e" with a combining accent. Also throws what the encoder or a value
    ///   throws.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        var entries: [String: Value] = [:]
        for entry in self where entries.updateValue(entry.value, forKey: entry.key._keyText) != nil {
            throw EncodingError.invalidValue(
                self,
                .init(
                    codingPath: encoder.codingPath,
                    debugDescription: "the keys that read \"\(entry.key._keyText)\" are equal as Swift strings"))
        }
        try container.encode(entries)
    }
}
