import FirnCore

/// What `add(validating:)` and `create(_:validating:)` ask before they change anything: they throw what adding and creating stop at.
extension Creation {
    /// Throws what creating an object of `value` would find wrong.
    func checkValue(_ type: ObjectBase.Type, _ value: Any) throws {
        try checkFaults()
        try checkPolicy(type)
        if let source = unwrapped(value) as? ObjectBase { try checkIsThere(source) }
        let info = realm.binding(of: type).info
        let values = try ValueSource(value, for: info)
        let isUpdate = try existing(info, values) != nil
        let sample = type.init()
        var sources = [values]
        if !isUpdate, let defaults = type.defaultPropertyValues() { sources.insert(.dictionary(defaults), at: 0) }
        for source in sources { try sample.populate(info, from: source) }
        try check(sample, isWhole: !isUpdate, copies: true)
        try checkFaults()
    }

    /// Throws where an object that is to be added, or one that it reaches, can't be.
    func checkObject(_ object: ObjectBase) throws {
        try checkFaults()
        try checkPolicy(type(of: object))
        try check(object, isWhole: true, copies: false)
        try checkFaults()
    }

    /// - Parameters:
    ///   - isWhole: whether all of the object's values count, or only those that were given, for the update of an object.
    ///   - copies: whether another realm's objects are copied.
    private func check(_ root: ObjectBase, isWhole: Bool, copies: Bool) throws {
        var seen: Set<ObjectIdentifier> = []
        var keys: Set<Key> = []
        var next = [root]
        while let object = next.popLast() {
            guard seen.insert(ObjectIdentifier(object)).inserted else { continue }
            guard !object.isManaged else {
                try checkIsThere(object)
                guard copies || RealmInstance.of(object._row) === realm else {
                    throw ValueFault(
                        "an object of \(object.classInfo.name) belongs to another realm, or is frozen; copy it with create(_:value:), or thaw it"
                    )
                }
                continue
            }
            guard let binding = realm.schema.table(of: type(of: object)) else {
                throw ValueFault(
                    "the realm has no class \(object.classInfo.name); add it to Configuration.objectTypes")
            }
            let exists = try checkKey(object, binding, &keys)
            // Of an object within that is updated from a dictionary only the values count that are given.
            if !binding.info.required.isEmpty, object === root ? isWhole : !(exists && copies) {
                try object.checkRequired(binding.info)
            }
            for property in binding.info.stored {
                let place = object.address + property.offset
                let collection = property.isCollection ? property.wrapper.madeCollection(place) : nil
                if property.isLink {
                    next += collection?.objects ?? []
                    if let target = property.wrapper.any(place, of: object) as? ObjectBase { next.append(target) }
                } else if property.shape.type == .string || property.shape.type == .data {
                    let values =
                        collection?.elements(for: realm) ?? property.wrapper.storeValue(place).map { [$0] } ?? []
                    for value in values { try checkLength(value, of: property) }
                }
            }
        }
    }

    /// Whether an object with the unmanaged object's primary key exists; throws where it may not.
    private func checkKey(_ object: ObjectBase, _ binding: TableBinding, _ keys: inout Set<Key>) throws -> Bool {
        guard let primaryKey = binding.info.primaryKey,
            let value = primaryKey.wrapper.storeValue(object.address + primaryKey.offset),
            value != .null || primaryKey.isNullable
        else { return false }
        let exists = firstKey(binding, value) != nil
        let isNew = keys.insert(Key(table: binding.table, value: value)).inserted
        if policy == .error, exists || !isNew {
            throw ValueFault(existing: binding.info, value)
        }
        return exists
    }

    private func checkIsThere(_ object: ObjectBase) throws {
        if object.isInvalidated {
            throw ValueFault("an object of \(object.classInfo.name) was deleted, so it can't be added or linked to")
        }
    }

    private func checkLength(_ value: Value, of property: PropertyInfo) throws {
        let count: Int
        switch value {
        case .string(let text): count = text.utf8.count
        case .data(let bytes): count = bytes.count
        default: return
        }
        if count > Limits.valueByteCount {
            throw ValueFault("a value of \(count) bytes; at most \(Limits.valueByteCount) are possible").inside(
                property.name)
        }
    }

    private struct Key: Hashable {
        let table: TableID
        let value: Value
    }
}

extension PropertyInfo {
    /// Throws where `any` is nil and the property may not be.
    func checkRequired(_ any: Any?) throws {
        if isRequired, unwrapped(any) == nil { throw PropertyInfo.lack }
    }

    fileprivate static var lack: ValueFault { ValueFault("requiredProperties() names it, so it can't be nil") }
}

extension ObjectBase {
    /// Throws where a required property of this unmanaged object is nil.
    final func checkRequired(_ info: ClassInfo) throws {
        for property in info.required where property.wrapper.storeValue(address + property.offset) == .null {
            throw PropertyInfo.lack.inside(property.name)
        }
    }
}
