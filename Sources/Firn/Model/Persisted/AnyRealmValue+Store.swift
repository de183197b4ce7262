import FirnCore
import Foundation

/// The stored form of a mixed value: links name the object's table, and nested collections contain other values.
extension AnyRealmValue {
    /// The value as the store keeps it. `link` returns the link to an object.
    ///
    /// - Throws: what `link` throws, and `ValueFault` if an object is an embedded one, or if collections are nested too
    ///   deep. Collections that contain themselves are nested too deep.
    func stored(_ link: (ObjectBase) throws -> Value) throws -> Value { try stored(0, link) }

    private func stored(_ depth: Int, _ link: (ObjectBase) throws -> Value) throws -> Value {
        switch self {
        case .none: return .null
        case .int(let value): return .int(Int64(value))
        case .bool(let value): return .bool(value)
        case .float(let value): return .float(value)
        case .double(let value): return .double(value)
        case .string(let value): return .string(value)
        case .data(let value): return value._value
        case .date(let value): return value._value
        case .object(let value):
            try AnyRealmValue.check(value)
            return try value.currentForm.map(link) ?? .null
        case .objectId(let value): return value._value
        case .decimal128(let value): return value._value
        case .uuid(let value): return value._value
        case .list(let list):
            try AnyRealmValue.check(depth)
            return .list(try Array(list).map { try $0.stored(depth + 1, link) })
        case .dictionary(let map):
            try AnyRealmValue.check(depth)
            return .map(
                of: try map.entries.map { .init(key: $0.key, value: try $0.value.stored(depth + 1, link)) })
        }
    }

    private static func check(_ depth: Int) throws {
        guard depth < Limits.nesting else {
            throw ValueFault("a mixed value has collections that are nested more than \(Limits.nesting) levels deep")
        }
    }

    /// Throws if an object is an embedded one, which only its parent links to.
    private static func check(_ object: Object) throws {
        guard object.classInfo.isEmbedded else { return }
        throw ValueFault("a mixed value can't lead to an embedded object of \(object.modelType.className())")
    }

    /// The objects in the value. Throws `ValueFault` for the same reasons as `stored`.
    var objects: [ObjectBase] {
        get throws {
            var objects: [ObjectBase] = []
            _ = try stored { object in
                objects.append(object)
                return .null
            }
            return objects
        }
    }

    /// The same value with each object replaced.
    func replacingObjects(_ replace: (Object) throws -> Object) throws -> AnyRealmValue {
        try replacingObjects(0, replace)
    }

    private func replacingObjects(_ depth: Int, _ replace: (Object) throws -> Object) throws -> AnyRealmValue {
        switch self {
        case .object(let object):
            try AnyRealmValue.check(object)
            return try (object.currentForm as? Object).map { .object(try replace($0)) } ?? .none
        case .list(let list):
            try AnyRealmValue.check(depth)
            return .fromArray(try Array(list).map { try $0.replacingObjects(depth + 1, replace) })
        case .dictionary(let map):
            try AnyRealmValue.check(depth)
            let result = Map<String, AnyRealmValue>()
            for entry in map.entries {
                result[entry.key] = try entry.value.replacingObjects(depth + 1, replace)
            }
            return .dictionary(result)
        default: return self
        }
    }

    /// Converts a stored value. With `nest`, its location, a collection is live; without a location, a collection is
    /// unmanaged. A link to a class that the realm does not have becomes `.none`.
    init(_ value: Value, _ realm: _RealmInstance, at nest: @autoclosure () -> NestedLocation?) {
        switch value {
        case .null, .link, .set: self = .none
        case .bool(let value): self = .bool(value)
        case .int(let value): self = .int(Int(value))
        case .float(let value): self = .float(value)
        case .double(let value): self = .double(value)
        case .string(let value): self = .string(value)
        case .data(let value): self = .data(Data(value))
        case .date(let value): self = .date(Date(_raw: value))
        case .objectID(let value): self = .objectId(ObjectId(value))
        case .uuid(let value): self = .uuid(UUID(_raw: value))
        case .decimal(let value): self = .decimal128(Decimal128(value))
        case .typedLink(let table, let key):
            // The store may have a class that this realm was opened without.
            let binding = realm.schema.table(table)
            self = (binding.map { realm.accessor($0, key) } as? Object).map { .object($0) } ?? .none
        case .list(let elements):
            if let nest = nest() {
                self = .list(List(nested: nest))
            } else {
                self = .fromArray(elements.map { AnyRealmValue($0, realm, at: nil) })
            }
        case .map(let entries):
            if let nest = nest() {
                self = .dictionary(Map(nested: nest))
            } else {
                let map = Map<String, AnyRealmValue>()
                map.assign(entries.map { ($0.key, AnyRealmValue($0.value, realm, at: nil)) })
                self = .dictionary(map)
            }
        }
    }

    /// An untyped value as a mixed one. It may be of any type that a property can have, an array, or a dictionary with
    /// strings as keys. Throws `ValueFault` for anything else.
    init(untyped any: Any?, depth: Int = 0) throws {
        guard let any = unwrapped(any) else {
            self = .none
            return
        }
        if isInstance(any), let value = try AnyRealmValue(instance: any) {
            self = value
            return
        }
        switch any {
        case let value as AnyRealmValue: self = value
        case let value as String: self = .string(value)
        case let value as Decimal128: self = .decimal128(value)
        case let value as any _Scalar: self = try AnyRealmValue(scalar: value)
        case let value as any _MappedValue: self = try AnyRealmValue(untyped: value._mapped as Any)
        case _ where AnyRealmValue.isDictionary(any):
            try AnyRealmValue.check(depth)
            let map = Map<String, AnyRealmValue>()
            map.assign(
                try anyEntries(of: any, as: Map<String, AnyRealmValue>.self).map {
                    ($0.key, try AnyRealmValue(untyped: $0.value, depth: depth + 1))
                })
            self = .dictionary(map)
        case let value as any Sequence:
            try AnyRealmValue.check(depth)
            self = .fromArray(try anyElements(of: value).map { try AnyRealmValue(untyped: $0, depth: depth + 1) })
        default:
            guard let number = integer(any) else { throw ValueFault(any, isNot: AnyRealmValue.self) }
            self = .int(Int(number))
        }
    }

    /// Converts an instance of one of the classes below; nil for any other class.
    private init?(instance: Any) throws {
        switch instance {
        case let value as Object: self = .object(value)
        case let value as List<AnyRealmValue>: self = .list(value)
        case let value as Map<String, AnyRealmValue>: self = .dictionary(value)
        case let value as NSNumber: self = try AnyRealmValue(number: value)
        case let value as NSString: self = .string(value as String)
        case let value as NSData: self = .data(value as Data)
        default: return nil
        }
    }

    private static func isDictionary(_ any: Any) -> Bool {
        isInstance(any) ? any is NSDictionary || any is any UntypedMap : any is [AnyHashable: Any]
    }

    /// Converts a number of Foundation. A Boolean is recognised by its identity, because all Booleans share two
    /// instances.
    private init(number: NSNumber) throws {
        if number === NSNumber(value: true) || number === NSNumber(value: false) {
            self = .bool(number.boolValue)
        } else if number.objCType.pointee == 0x66 {
            self = .float(number.floatValue)
        } else if let value = floating(number) {
            self = .double(value)
        } else if let value = integer(number) {
            self = .int(Int(value))
        } else {
            throw ValueFault(number, isNot: AnyRealmValue.self)
        }
    }

    /// A value of one of the types that a property can have.
    private init(scalar: some _Scalar) throws {
        switch scalar._value {
        case .bool(let value): self = .bool(value)
        case .int(let value): self = .int(Int(value))
        case .float(let value): self = .float(value)
        case .double(let value): self = .double(value)
        case .string(let value): self = .string(value)
        case .data(let value): self = .data(Data(value))
        case .objectID(let value): self = .objectId(ObjectId(value))
        case .uuid(let value): self = .uuid(UUID(_raw: value))
        case .decimal(let value): self = .decimal128(Decimal128(value))
        case .date(let value): self = .date(Date(_raw: value))
        default: throw ValueFault(scalar, isNot: AnyRealmValue.self)
        }
    }
}
