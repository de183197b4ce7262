import FirnCore

/// The checks of `add(validating:)` and `create(_:validating:)` before they change anything. Where adding and creating
/// would stop the program, these throw.
extension ObjectInserter {
    /// Throws if writing an object that `create` has resolved, or writing the changes that belong to it, would stop the
    /// program.
    func check(_ object: ObjectBase, _ changes: [Resolution.Change]) throws {
        var objects = [object]
        for change in changes {
            switch change.content {
            case .value(let value): try checkLength(value, of: change.property)
            case .link(let target): objects.append(target)
            case .objects(let elements): objects += elements.compactMap(\.object)
            case .mixed(let value):
                try checkLength(try value.stored { _ in .null }, of: change.property)
                objects += try value.objects
            case .mixedElements(let elements):
                for element in elements {
                    try checkLength(try element.stored { _ in .null }, of: change.property)
                    objects += try element.mixed.objects
                }
            }
        }
        try check(objects)
    }

    /// Throws if an object that is to be added, or one that it reaches, can't be added.
    func checkObject(_ object: ObjectBase) throws {
        try policy.check(realm.checkedBinding(of: object.modelType).info)
        try check([object])
    }

    /// Checks objects and everything that they reach.
    private func check(_ roots: [ObjectBase]) throws {
        try realm.checkDamage()
        var seen: Set<ObjectIdentifier> = []
        var embedded: Set<ObjectIdentifier> = []
        var keys: Set<PrimaryKey> = []
        // All objects are kept to the end, because a type of the application may make objects here. After an object is
        // freed, another one can get its address.
        var objects = roots
        var next = 0
        while next < objects.count {
            let object = objects[next]
            next += 1
            guard seen.insert(ObjectIdentifier(object)).inserted else { continue }
            guard !object.isManaged else {
                try object.checkIsThere()
                guard _RealmInstance.of(object._row) === realm else {
                    throw ValueFault(
                        "an object of \(object.classInfo.name) belongs to another realm, or is frozen; copy it with create(_:value:), or thaw it"
                    )
                }
                continue
            }
            let binding = try realm.checkedBinding(of: type(of: object))
            try checkKey(object, binding: binding, keys: &keys)
            if !binding.info.required.isEmpty { try object.checkRequired(binding.info) }
            for property in binding.info.stored {
                let wrapper = object.address + property.offset
                let collection = property.isCollection ? property.wrapper.existingCollection(wrapper) : nil
                if property.isLink {
                    var targets = collection?.linkedElements.compactMap(\.object) ?? []
                    if let target = property.wrapper.any(wrapper, of: object) as? ObjectBase { targets.append(target) }
                    for target in targets {
                        try property.checkClass(of: target)
                        // An embedded object has one parent.
                        if property.isOwner,
                            target.isManaged || !embedded.insert(ObjectIdentifier(target)).inserted
                        {
                            throw ValueFault(hasParent: target).inside(property.name)
                        }
                    }
                    objects += targets
                } else if property.isMixed {
                    if let collection {
                        objects += try collection.mixedObjects()
                        for value in try collection.elements(for: realm, { _ in .null }) {
                            try checkLength(value, of: property)
                        }
                    } else if let value = property.wrapper.mixed(wrapper) {
                        objects += try value.objects
                        try checkLength(try value.stored { _ in .null }, of: property)
                    }
                } else if property.shape.type == .string || property.shape.type == .data
                    || property.shape.collection == .map
                {
                    let values =
                        try collection?.elements(for: realm, { _ in .null }) ?? property.wrapper.storeValue(wrapper).map
                    { [$0] } ?? []
                    for value in values { try checkLength(value, of: property) }
                }
            }
        }
        try realm.checkDamage()
    }

    /// Throws if another object has the unmanaged object's primary key, and the policy forbids it.
    private func checkKey(_ object: ObjectBase, binding: TableBinding, keys: inout Set<PrimaryKey>) throws {
        guard let primaryKey = binding.info.primaryKey,
            let value = primaryKey.wrapper.storeValue(object.address + primaryKey.offset),
            value != .null || primaryKey.isNullable
        else { return }
        // Looked up whatever the policy is, so that damage is met before anything is written.
        let key = PrimaryKey(binding, primaryKey, value: value)
        let exists = key.find(in: transaction) != nil
        let isNew = keys.insert(key).inserted
        // In a migration, primary keys need be unique only when its block has returned.
        if policy == .error, exists || !isNew, realm.migration == nil {
            throw ValueFault(existing: binding.info, value)
        }
    }

    /// Throws if a string or data value is too long to be stored.
    private func checkLength(_ value: Value, of property: PropertyInfo) throws {
        let count: Int
        // A mixed value is stored as a whole.
        if property.isMixed, value.mixedByteCount > Limits.valueByteCount {
            throw ValueFault(
                "a mixed value of \(value.mixedByteCount) bytes is too long; at most \(Limits.valueByteCount) are possible"
            ).inside(property.name)
        }
        switch value {
        case .string(let text): count = text.utf8.count
        case .data(let bytes): count = bytes.count
        case .list(let values), .set(let values):
            for value in values { try checkLength(value, of: property) }
            return
        case .map(let entries):
            for entry in entries {
                try checkLength(.string(entry.key), of: property)
                try checkLength(entry.value, of: property)
            }
            return
        default: return
        }
        if count > Limits.valueByteCount {
            throw ValueFault("a value of \(count) bytes is too long; at most \(Limits.valueByteCount) are possible")
                .inside(
                    property.name)
        }
    }
}

extension Value {
    /// About how many bytes a mixed value takes.
    fileprivate var mixedByteCount: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .data(let bytes): bytes.count
        case .list(let elements), .set(let elements): elements.reduce(0) { $0 + $1.mixedByteCount + 4 }
        case .map(let entries): entries.reduce(0) { $0 + $1.key.utf8.count + $1.value.mixedByteCount + 8 }
        default: 16
        }
    }
}

extension _RealmInstance {
    /// Throws the damage that the running transaction has met.
    func checkDamage() throws {
        if let damage = transaction?.metDamage { throw Realm.Error(damage, configuration.fileURL) }
    }

    /// The table binding of a class. Throws if the realm does not have the class.
    func checkedBinding(of type: ObjectBase.Type) throws -> TableBinding {
        guard let binding = schema.table(of: type) else {
            throw ValueFault(
                type == DynamicObject.self
                    ? unmanagedDynamicText
                    : "the realm has no class \(type.className()); add it to Configuration.objectTypes")
        }
        return binding
    }
}

extension Realm.UpdatePolicy {
    /// Throws if objects of a class without a primary key are to be updated. Nested objects of such a class are created
    /// instead.
    func check(_ info: ClassInfo) throws {
        if self != .error, info.primaryKey == nil {
            throw Realm.Error(
                .invalidInput, "update: .\(self) needs a primary key, which \(info.name) does not have.")
        }
    }
}

extension PropertyInfo {
    /// Throws if an object is of another class than the property's links lead to.
    @inline(__always)
    func checkClass(of object: ObjectBase) throws {
        guard let target = shape.target, ObjectIdentifier(object.modelType) != ObjectIdentifier(target) else { return }
        throw ValueFault(object, isNoTargetOf: target).inside(name)
    }

    /// Throws if `any` is nil and the property must not be nil.
    func checkRequired(_ any: Any?) throws {
        if isRequired, unwrapped(any) == nil { throw PropertyInfo.missingValueFault }
    }

    /// A given value in its stored form; nil for objects and collections. Throws if the value does not fit the
    /// property, or if it is nil and the property must not be nil.
    func requiredValue(from any: Any?) throws -> Value? {
        let value = try wrapper.storeValue(from: any)
        if isRequired, value == .null { throw PropertyInfo.missingValueFault }
        return value
    }

    fileprivate static var missingValueFault: ValueFault {
        ValueFault("requiredProperties() names it, so it can't be nil")
    }
}

extension ObjectBase {
    /// Throws if this object is managed and has been deleted.
    final func checkIsThere() throws {
        guard isManaged, !_RealmInstance.of(_row).isThere(self) else { return }
        throw ValueFault("an object of \(classInfo.name) was deleted, so it can't be added, copied or linked to")
    }

    /// Throws if a required property of this unmanaged object is nil.
    final func checkRequired(_ info: ClassInfo) throws {
        for property in info.required where property.wrapper.storeValue(address + property.offset) == .null {
            throw PropertyInfo.missingValueFault.inside(property.name)
        }
    }
}
