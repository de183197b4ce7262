import FirnCore
import FirnQuery
import FirnStorage
import Foundation

/// Values by a path of names, with Objective-C's collection operators. Each name is a property's name, or an operator
/// that follows a collection. Here "the values" are the values that the rest of the path gives for the elements:
///
/// ```
/// @count                               the number of elements
/// @min @max                            the smallest or largest value; nil and NaN are passed over
/// @sum @avg                            the sum or average; nil is passed over, and NaN if a value is a decimal
/// @unionOfObjects                      the values without nil; @distinctUnionOfObjects gives each once
/// @unionOfArrays                       the values' elements without nil; @distinctUnionOfArrays gives each once
/// ```
enum KeyPathValue {
    /// The value that a path leads to from an object or a collection; nil if `any` is nil. Throws `ValueFault` if a
    /// name is unknown.
    ///
    /// - Parameter keepsMixed: whether a mixed property at the end of the path gives an `AnyRealmValue`.
    static func of(_ any: Any?, _ path: ArraySlice<KeyPathName>, keepsMixed: Bool = false) throws -> Any? {
        guard let part = path.first, let value = unwrapped(any) else { return unwrapped(any) }
        let (name, rest) = (part.text, path.dropFirst())
        if let object = (value as? any _QueriedObject)?._root {
            let property = try object.existingProperty(named: name)
            let value = object.anyValue(property)
            if keepsMixed, rest.isEmpty, property.isMixed, !property.isCollection {
                return try AnyRealmValue(untyped: value)
            }
            return try of(value, rest, keepsMixed: keepsMixed)
        }
        if let map = value as? any UntypedMap, !part.isOperator {
            let entry = map.untypedEntries.first { "\($0.key)".utf8.elementsEqual(name.utf8) }
            return try of(entry?.value, rest, keepsMixed: keepsMixed)
        }
        guard let elements = elements(of: value) else {
            if name == "self", !part.isOperator { return try of(value, rest, keepsMixed: keepsMixed) }
            throw ValueFault("\"\(name)\" follows a value of type \(type(of: value)), which has no properties")
        }
        guard part.isOperator else {
            if name == "self" { return try of(elements.map { unwrapped($0) }, rest, keepsMixed: keepsMixed) }
            let values = try elements.map { try of($0, path, keepsMixed: keepsMixed) }
            // An array without nil is returned as `[Any]`, because it can be cast to more types than `[Any?]`.
            let found = values.compactMap(\.self)
            return found.count == values.count ? found : values
        }
        return try result(of: name, elements, rest)
    }

    static func elements(of value: Any) -> [Any?]? {
        if let map = value as? any UntypedMap { return map.untypedEntries.map(\.value) }
        guard let sequence = value as? any Sequence, !(value is String), !(value is Data) else { return nil }
        return anyElements(of: sequence)
    }

    private static func result(of name: String, _ elements: [Any?], _ rest: ArraySlice<KeyPathName>) throws -> Any? {
        if name == "@count" {
            if rest.isEmpty { return NSNumber(value: elements.count) }
            throw ValueFault("nothing can follow @count")
        }
        let path = rest == [KeyPathName("self")] ? [] : rest
        let values = try elements.map { try of($0, path) }.compactMap { unwrapped($0) }
        switch name {
        case "@min", "@max", "@sum", "@avg": return try aggregate(named: name, values).flatMap(plain)
        case "@unionOfObjects": return values
        case "@distinctUnionOfObjects": return distinct(values)
        case "@unionOfArrays", "@distinctUnionOfArrays":
            let all = values.flatMap { self.elements(of: $0) ?? [$0] }.compactMap { unwrapped($0) }
            return name == "@unionOfArrays" ? all : distinct(all)
        default:
            throw ValueFault(
                "\"\(name)\" is not an operator; @count, @min, @max, @sum, @avg, @unionOfObjects, @distinctUnionOfObjects, @unionOfArrays and @distinctUnionOfArrays are"
            )
        }
    }

    /// Keeps the first of several equal values. Values that are not `Hashable` are all kept.
    private static func distinct(_ values: [Any]) -> [Any] {
        var seen: Set<AnyHashable> = []
        return values.filter { value in (value as? AnyHashable).map { seen.insert($0).inserted } ?? true }
    }

    /// An aggregate of a property of the objects in an unmanaged collection, or of values; nil if there are none. If
    /// the path leads through collections, all their elements count. Throws `ValueFault` if a name is unknown, or if a
    /// value does not suit the aggregate.
    static func aggregate(
        _ aggregate: PropertyPath.Aggregate, of elements: some Sequence, _ path: [KeyPathName]
    ) throws -> Value? {
        // Collections inside mixed values are values that no aggregate takes.
        func flat(_ any: Any?) -> [Any] {
            if let held = dynamicObject(in: any)?.held { return [held.value] }
            guard let value = unwrapped(any) else { return [] }
            return self.elements(of: value)?.flatMap(flat) ?? [value]
        }
        let path = path == [KeyPathName("self")] ? [] : path
        return try self.aggregate(
            aggregate, try elements.flatMap { flat(path.isEmpty ? $0 : try of($0, path[...], keepsMixed: true)) })
    }

    /// An aggregate of values that are not nil. Throws `ValueFault` if a value that is not mixed does not suit the
    /// aggregate. Mixed values that do not suit it are skipped, as queries skip them.
    static func aggregate(_ aggregate: PropertyPath.Aggregate, _ values: [Any]) throws -> Value? {
        var accumulator = Accumulator(.mixed, for: aggregate)
        for any in values {
            let value = try stored(any, aggregate)
            guard value.isNumber || value.isDate && !accumulator.needsSum || any is AnyRealmValue else {
                throw ValueFault("\(aggregate.keyword) needs numbers\(accumulator.needsSum ? "" : " or dates")")
            }
            accumulator.add(value)
        }
        let result = accumulator.result(aggregate)
        return result == .null ? nil : result
    }

    private static func stored(_ any: Any, _ aggregate: PropertyPath.Aggregate) throws -> Value {
        // Objects in mixed values, and collections in them, suit no aggregate.
        if let mixed = any as? AnyRealmValue {
            switch mixed {
            case .list, .dictionary: return .null
            default: return AnyRealmValue._storeValue(mixed) ?? .null
            }
        }
        guard let value = AnyRealmValue._storeValue(try AnyRealmValue(untyped: any)) else {
            throw ValueFault("\(aggregate.keyword) of objects is not possible; name one of their properties")
        }
        return value
    }

    /// What an operator of a key path computes. Unlike other aggregates, `@min` and `@max` take any values that have an
    /// order.
    private static func aggregate(named name: String, _ values: [Any]) throws -> Value? {
        switch name {
        case "@sum": return try aggregate(.sum, values)
        case "@avg": return try aggregate(.average, values)
        default:
            let aggregate: PropertyPath.Aggregate = name == "@min" ? .min : .max
            let found = try values.map { try stored($0, aggregate) }.filter { $0 != .null && !$0.isNaN }
            return name == "@min" ? found.min(by: Value.precedes) : found.max(by: Value.precedes)
        }
    }

    /// The result of an aggregate, in the form that untyped access returns.
    private static func plain(_ value: Value) -> Any? {
        switch value {
        case .int(let number): NSNumber(value: number)
        case .float(let number): NSNumber(value: number)
        case .double(let number): NSNumber(value: number)
        case .decimal(let number): Decimal128(number)
        case .date(let date): Date(_raw: date)
        case .string(let text): text
        case .bool(let value): NSNumber(value: value)
        case .uuid(let bytes): UUID(_raw: bytes)
        case .objectID(let bytes): ObjectId(_raw: bytes)
        case .data(let bytes): Data(bytes)
        default: nil
        }
    }

    /// The value that a path given as text leads to. Stops the program if a name is unknown.
    static func of(_ any: Any, path: String, _ what: @autoclosure () -> String) -> Any? {
        of(any, names: PropertyPath.names(in: path)[...], path: path, what())
    }

    /// The value that the first names of a path lead to. Stops the program if a name is unknown.
    fileprivate static func of(
        _ any: Any, names: ArraySlice<KeyPathName>, path: String, _ what: @autoclosure () -> String
    ) -> Any? {
        do { return try of(any, names) } catch {
            stopProgram("\(what()).value(forKeyPath: \"\(path.prefix(200))\"): \(error)")
        }
    }
}

extension Value {
    fileprivate var isDate: Bool { if case .date = self { true } else { false } }
    fileprivate var isNumber: Bool {
        switch self {
        case .int, .float, .double, .decimal: true
        default: false
        }
    }
    var isNaN: Bool {
        switch self {
        case .float(let number): number.isNaN
        case .double(let number): number.isNaN
        case .decimal(let number): number.isNaN
        default: false
        }
    }
}

extension RealmCollection {
    /// The values of a property of all elements, in their order: an array, in which a nil value stays nil. The key
    /// `self` gives the elements themselves. O(n), and the name is looked up for each element.
    ///
    /// Stops the program if an element has no such property, and on the wrong thread.
    public func value(forKey key: String) -> Any? { KeyPathValue.of(self, path: key, "\(Self.self)") }

    /// The value that names joined by dots lead to: `dogs.value(forKeyPath: "@max.age")`, `"owner.name"`, `"@count"`.
    ///
    /// After a collection, a name gives an array with each element's value. An operator gives a single result for all
    /// elements:
    ///
    /// - `@count`: the number of elements;
    /// - `@min` and `@max` of values of any type but objects, which pass over nil and NaN;
    /// - `@sum` and `@avg` of numbers, which pass over nil. A NaN makes the result NaN; if a number is a decimal, NaNs
    ///   are passed over instead;
    /// - `@unionOfObjects` and `@unionOfArrays`;
    /// - `@distinctUnionOfObjects` and `@distinctUnionOfArrays`, which give each value once.
    ///
    /// Numbers are returned as `NSNumber`. O(n); the typed aggregates, such as `max(ofProperty:)`, are much faster.
    ///
    /// Stops the program if a name is unknown, if a value does not suit the operator, and on the wrong thread.
    public func value(forKeyPath keyPath: String) -> Any? { KeyPathValue.of(self, path: keyPath, "\(Self.self)") }

    /// Sets a property of all elements, which must be objects, to an untyped value, which is converted to the
    /// property's type. O(n).
    ///
    /// Stops the program if the elements are not objects, and outside a write transaction if they are managed. Also
    /// stops it in all cases in which setting the property by its name does.
    public func setValue(_ value: Any?, forKey key: String) {
        for element in Array(self) {
            guard let object = (element as? any _QueriedObject)?._root else {
                stopProgram("\(Self.self).setValue(_:forKey:): only objects have properties.")
            }
            object[key] = value
        }
    }
}

extension RealmKeyedCollection {
    /// The value that names joined by dots lead to. The first name is a key of the map, or an operator over its values
    /// as in `RealmCollection.value(forKeyPath:)`. The other names continue from there. Stops the program in the same
    /// cases as that function.
    public func value(forKeyPath keyPath: String) -> Any? { KeyPathValue.of(self, path: keyPath, "\(Self.self)") }
}

extension ObjectBase {
    /// The value that names joined by dots lead to: `person.value(forKeyPath: "dogs.@avg.age")`. Nil if a link on the
    /// path is nil. An operator follows a collection: see `RealmCollection.value(forKeyPath:)`, which stops the program
    /// for the same reasons.
    public final func value(forKeyPath keyPath: String) -> Any? { KeyPathValue.of(self, path: keyPath, classInfo.name) }

    /// Sets the property that names joined by dots lead to, through links, to an untyped value, which is converted to
    /// the property's type: `dog.setValue("Ann", forKeyPath: "owner.name")`. Does nothing if a link on the path is nil.
    ///
    /// Stops the program if a name is unknown or leads through a collection. Also stops it in all cases in which
    /// setting the property by its name does.
    public final func setValue(_ value: Any?, forKeyPath keyPath: String) {
        let names = PropertyPath.names(in: keyPath)
        guard names.count > 1 else { return self[names[0].text] = value }
        guard let owner = KeyPathValue.of(self, names: names.dropLast(), path: keyPath, classInfo.name) else { return }
        guard let object = instance(owner, of: ObjectBase.self) else {
            stopProgram(
                "\(classInfo.name).setValue(_:forKeyPath: \"\(keyPath.prefix(200))\"): only links can stand before the last name."
            )
        }
        object[names[names.count - 1].text] = value
    }

    /// The property with a name in Swift, or with a name in the store; nil if there is none.
    final func property(named name: String) -> PropertyInfo? {
        let info = classInfo
        return info.property(named: name) ?? info.stored.first { $0.columnName == name }
    }

    /// The property with a name in Swift, or with a name in the store. Throws if there is none.
    final func existingProperty(named name: String) throws(ValueFault) -> PropertyInfo {
        guard let property = property(named: name) else { throw ValueFault(classInfo.missingPropertyText(name)) }
        return property
    }
}
