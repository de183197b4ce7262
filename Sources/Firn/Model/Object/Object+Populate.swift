import Foundation

/// What `Object.init(value:)` and `Realm.create(_:value:update:)` read property values from.
enum ValueSource {
    /// The usual kind of dictionary. Its values are found without making an `AnyHashable` of each name.
    case names([String: Any])
    case dictionary([AnyHashable: Any])
    case array([Any])
    case object(ObjectBase)
    /// An object as it was before the running migration. Properties that it lacks, because they were added or renamed,
    /// are read from its new form.
    case old(ObjectBase, new: ObjectBase)
    /// The children of an instance of a class or struct by their labels, with those of its superclasses. `of` is the
    /// instance if it is of a class.
    case mirror([String: Any], of: AnyObject?)

    init(_ any: Any, for info: ClassInfo) throws {
        guard let value = unwrapped(any) else { throw ValueFault("an object of \(info.name) can't be made from nil") }
        if type(of: value) == [String: Any].self, let names = value as? [String: Any] {
            self = .names(names)
        } else if let object = instance(value, of: ObjectBase.self) {
            try object.checkIsThere()
            guard object.isManaged || !object.isDynamic else { throw ValueFault(unmanagedDynamicText) }
            // As for other values below. An old object of a migration may have its values in the new form.
            let stored = object.classInfo.stored
            guard
                stored.isEmpty || stored.contains(where: { info.property(named: $0.name) != nil })
                    || object.currentForm !== object
            else {
                throw ValueFault(object, isNot: info.type)
            }
            self = .object(object)
        } else if let dictionary = instance(value, of: NSDictionary.self) {
            // The cast bridges the keys to Swift's types, so that a key can be found by a property's name.
            guard let entries = dictionary as? [AnyHashable: Any] else { throw ValueFault(value, isNot: info.type) }
            self = .dictionary(entries)
        } else if let array = instance(value, of: NSArray.self) {
            self = .array(array.map { $0 })
        } else if let dictionary = value as? [AnyHashable: Any] {
            self = .dictionary(dictionary)
        } else if let array = value as? [Any] {
            self = .array(array)
        } else {
            var children: [String: Any] = [:]
            var mirror: Mirror? = Mirror(reflecting: value)
            // A struct that is a value by itself, such as a UUID or a date, is not read as a set of properties.
            guard mirror?.displayStyle == .class || mirror?.displayStyle == .struct, !(value is any _MappingTarget)
            else {
                throw ValueFault(value, isNot: info.type)
            }
            while let level = mirror {
                for child in level.children {
                    guard var label = child.label else { continue }
                    if label.hasPrefix("_") { label.removeFirst() }
                    children[label] = child.value
                }
                mirror = level.superclassMirror
            }
            // If the value has properties, but none of the class's, it is probably a mistake.
            guard children.isEmpty || children.keys.contains(where: { info.property(named: $0) != nil }) else {
                throw ValueFault(value, isNot: info.type)
            }
            self = .mirror(children, of: isInstance(value) ? value as AnyObject : nil)
        }
        if case .array(let array) = self {
            let count = info.stored.count
            guard array.count <= count else {
                throw ValueFault(
                    "an array of \(array.count) values for \(info.name), which has \(count) properties; give at most that many, in their order"
                )
            }
        }
    }

    /// The source's value for a property, which may itself be nil. The outer nil means that the source has no value for
    /// it.
    func value(_ property: PropertyInfo, at position: Int) throws -> Any?? {
        switch self {
        case .names(let names): return names[property.name].map { .some($0) }
        case .dictionary(let dictionary): return dictionary[property.name].map { .some($0) }
        case .array(let array): return position < array.count ? .some(array[position]) : nil
        case .object(let object): return try Self.value(property, of: object)
        case .old(let object, let new): return try Self.value(property, of: object) ?? Self.value(property, of: new)
        case .mirror(let children, _): return children[property.name].map { .some($0) }
        }
    }

    private static func value(_ property: PropertyInfo, of object: ObjectBase) throws -> Any?? {
        guard let own = object.classInfo.property(named: property.name) else { return nil }
        // Code of the application that ran meanwhile may have deleted the object.
        try object.checkIsThere()
        let value = object.anyValue(own)
        // Such a property shows nil for an unknown stored value, so the copy gets nil.
        return .some(own.shape.hidesUnknown && !own.wrapper.takes(value) ? nil : value)
    }
}

extension ObjectBase {
    /// Sets the properties of this new object for which `any` has a value. Throws `ValueFault` if one does not fit.
    final func populate(from any: Any) throws {
        try Resolution.populate(self, from: any)
        try checkRequired(classInfo)
    }

    /// Sets a property of this unmanaged object, or the contents of its collection, from an untyped value.
    final func setUnmanaged(_ property: PropertyInfo, _ any: Any?) throws {
        if let any, property.shape.assign(any, at: address + property.valueOffset) { return }
        try property.wrapper.set(address + property.offset, any, of: self)
    }
}

extension _PropertyType {
    /// Assigns a value of exactly the property's type, without the generic calls that convert other values. False if
    /// the value is of another type, or if the property's type is not a common one.
    fileprivate func assign(_ any: Any, at memory: UnsafeMutableRawPointer) -> Bool {
        // `Stored` is compared with `swiftType`, because a type of the application may have the same layout in memory.
        func assign<T, Stored>(_ type: T.Type, _ store: (T) -> Stored) -> Bool {
            guard swiftType == Stored.self, Swift.type(of: any) == type, let value = any as? T else { return false }
            memory.assumingMemoryBound(to: Stored.self).pointee = store(value)
            return true
        }
        switch self.memory {
        case .bool: return assign(Bool.self) { $0 }
        case .int: return assign(Int.self) { $0 }
        case .double: return assign(Double.self) { $0 }
        case .string: return assign(String.self) { $0 }
        case .date: return assign(Date.self) { $0 }
        case .optionalInt: return assign(Int.self) { Optional($0) }
        case .optionalDouble: return assign(Double.self) { Optional($0) }
        case .optionalString: return assign(String.self) { Optional($0) }
        case .opaque, .int8, .int16, .int32, .float: return false
        }
    }
}
