import FirnCore

extension Resolution {
    /// The source that a value is copied from, and the class of the copy. A row's accessors come and go, so a row is
    /// identified by its realm, table and key.
    struct Source: Hashable {
        let type: ObjectIdentifier
        let owner: ObjectIdentifier
        var table: UnsafeRawPointer?
        var key: Int64 = -1

        /// Nil for plain values. Instances of any class may form cycles, those of the application's own classes too.
        init?(_ values: ValueSource, as type: ObjectBase.Type) {
            switch values {
            case .object(let object), .old(let object, _): self.init(object, as: type)
            case .mirror(_, let instance?): self.init(instance, as: type)
            case .mirror, .names, .dictionary, .array: return nil
            }
        }

        private init(_ source: AnyObject, as type: ObjectBase.Type) {
            self.type = ObjectIdentifier(type)
            if let object = source as? ObjectBase, object.isManaged {
                owner = ObjectIdentifier(_RealmInstance.of(object._row))
                table = object._row.table
                key = object._row.key
            } else {
                owner = ObjectIdentifier(source)
            }
        }
    }

    /// A new object, before the given values are set in it.
    struct Fresh {
        let object: ObjectBase
        let defaults: [AnyHashable: Any]?

        init(_ type: ObjectBase.Type) {
            object = type.init()
            defaults = type.defaultPropertyValues()
        }

        /// The primary key that a new object has; nil if it has none, or if the key is required and nil.
        func primaryKey(_ property: PropertyInfo) throws -> Value? {
            guard let any = defaults?[property.name] else {
                let value = property.wrapper.storeValue(object.address + property.offset)
                return value == .null && property.isRequired ? nil : value
            }
            do {
                return try property.requiredValue(from: any)
            } catch let fault as ValueFault {
                throw fault.inside(property.name)
            }
        }
    }
}
