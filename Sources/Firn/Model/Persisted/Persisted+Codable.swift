// A class that conforms to `Codable` gets `init(from:)` and `encode(to:)` from the compiler, which code the wrappers.
//
// ```swift
// class Dog: Object, Codable {
//     @Persisted(primaryKey: true) var id: Int
//     @Persisted var name: String
//     @Persisted var owner: Person?
// }
// let dog = try JSONDecoder().decode(Dog.self, from: json)          // unmanaged
// ```

extension Persisted: Decodable where Value: Decodable {
    /// Decodes the property of an unmanaged object like its value: as a single value of the decoder. The decoder's
    /// strategies for dates and data apply. If the property is optional, null and an absent key give nil. Throws what
    /// the decoder throws.
    public init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer().decode(Value.self)
        self.init(_options: [], _stored: Value._wrap(value))
    }
}

extension Persisted: Encodable where Value: Encodable {
    /// Encodes the property of an unmanaged object in the same way as its value.
    ///
    /// The wrapper alone can't read a managed object. To encode one, write its class's `encode(to:)`, or encode an
    /// unmanaged copy, such as `Dog(value: dog)`.
    ///
    /// - Throws: `EncodingError.invalidValue` if the object is managed, and what the encoder throws.
    public func encode(to encoder: any Encoder) throws {
        guard _column == _BoundColumn.none || _column == _BoundColumn.ignored else {
            throw EncodingError.invalidValue(
                self,
                .init(
                    codingPath: encoder.codingPath,
                    debugDescription:
                        "a managed object can't be encoded by the code that the compiler makes; write encode(to:) for its class, or encode an unmanaged copy"
                ))
        }
        var container = encoder.singleValueContainer()
        try container.encode(Value._unwrap(_stored))
    }
}

extension KeyedDecodingContainer {
    /// Decodes an optional property: nil for null, and if there is no such key. Throws what the decoder throws.
    public func decode<Value: _Persistable & Decodable & ExpressibleByNilLiteral>(
        _ type: Persisted<Value>.Type, forKey key: Key
    ) throws -> Persisted<Value> {
        guard contains(key), try !decodeNil(forKey: key) else { return Persisted(wrappedValue: nil) }
        return try Persisted(from: superDecoder(forKey: key))
    }

    /// Decodes a box: an empty one for null, and if there is no such key. Throws what the decoder throws.
    @available(*, deprecated)
    public func decode<Value: RealmPropertyType & Decodable>(
        _ type: Persisted<RealmProperty<Value>>.Type, forKey key: Key
    ) throws -> Persisted<RealmProperty<Value>> {
        guard contains(key), try !decodeNil(forKey: key) else { return Persisted() }
        return try Persisted(from: superDecoder(forKey: key))
    }
}

extension Results: Encodable where Element: Encodable {
    /// Encodes the elements as an array. Throws what the encoder or an element throws.
    public func encode(to encoder: any Encoder) throws {
        try encodeElements(to: encoder)
    }
}

extension LinkingObjects: Encodable where Element: Encodable {
    /// Encodes the elements as an array. Throws what the encoder or an element throws.
    public func encode(to encoder: any Encoder) throws {
        try encodeElements(to: encoder)
    }
}

extension Sequence where Element: Encodable {
    func encodeElements(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        for element in self { try container.encode(element) }
    }
}
