import FirnCore

extension Realm {
    /// Which changes are made to an object whose primary key exists.
    public enum UpdatePolicy: Int, Sendable {
        /// None: that is an error, which stops the program.
        case error = 1
        /// Properties whose values differ are set.
        case modified = 3
        /// All properties are set, and observers are told of all.
        case all = 2
    }

    // MARK: Adding

    /// Makes an unmanaged object, and the unmanaged objects it links to, managed by this realm. The instance stays the same, and so do its lists.
    /// Does nothing for an object that this realm manages.
    ///
    /// Stops the program where the object is another realm's or deleted, where its primary key exists and `update` is
    /// `.error`, and where a link leads to an instance of a subclass, which has a table of its own. With `.all` and
    /// `.modified` a list that was never asked for counts as empty.
    public func add(_ object: Object, update: UpdatePolicy = .error) {
        let creation = instance.adding(update)
        do { try creation.addRoot(object) } catch { fatalError("Firn: add(_:): \(error)") }
    }

    /// Adds each object of a sequence, in the transaction that runs when the sequence gives it.
    public func add<S: Sequence>(_ objects: S, update: UpdatePolicy = .error) where S.Element: Object {
        _ = instance.writing("add objects")
        for object in objects {
            do { try instance.adding(update).addRoot(object) } catch { fatalError("Firn: add(_:): \(error)") }
        }
    }

    /// As `add(_:update:)`.
    ///
    /// - Throws: `Realm.Error` with `.invalidInput` for all that `add(_:update:)` stops at: the primary key exists and `update` is `.error`, the class has
    ///   none and `update` is not, a required property is nil, a value is too long, an object is another realm's or
    ///   deleted, a link leads to an instance of a subclass. Nothing is changed then.
    public func add(validating object: Object, update: UpdatePolicy = .error) throws {
        let creation = ObjectInserter(instance, update, "add an object")
        do {
            try creation.checkObject(object)
            try creation.addRoot(object)
        } catch let fault as ValueFault { throw fault.error(Swift.type(of: object)) }
    }

    // MARK: Creating

    /// Makes an object with values from a dictionary by property name, an array by property order, an object, or any class or struct by its
    /// properties' names. Absent properties take their initial values; if an object is updated they are left as they are.
    /// An absent primary key is the one that a new object has, so with `.all` and `.modified` the object with that key
    /// is updated.
    ///
    /// Stops the program where a value fits not its property; `create(_:validating:update:)` throws instead.
    @discardableResult
    public func create<T: Object>(_ type: T.Type, value: Any = [String: Any](), update: UpdatePolicy = .error) -> T {
        do { return unsafeDowncast(try ObjectInserter.create(type, value, in: instance, update), to: T.self) } catch {
            fatalError("Firn: create(\(type).self): \(error)")
        }
    }

    /// As `create(_:value:update:)`.
    ///
    /// - Throws: `Realm.Error` with `.invalidInput`, naming the property, where a value does not fit, is too long, or is nil for a required property; where
    ///   the primary key exists and `update` is `.error`, and where the class has none and `update` is not. Nothing is changed then.
    @discardableResult
    public func create<T: Object>(_ type: T.Type, validating value: Any, update: UpdatePolicy = .error) throws -> T {
        do {
            let object = try ObjectInserter.create(type, value, in: instance, update, isValidating: true)
            return unsafeDowncast(object, to: T.self)
        } catch let fault as ValueFault { throw fault.error(type) }
    }

    // MARK: Deleting

    /// Deletes an object. Links to it become nil, lists lose it, its accessors become invalid.
    public func delete(_ object: ObjectBase) {
        let transaction = instance.writing("delete an object")
        let (table, key) = instance.place(of: object, to: "delete")
        transaction.delete(table, key)
    }

    /// Deletes each object of a sequence, as it stands when this is called.
    public func delete<S: Sequence>(_ objects: S) where S.Element: ObjectBase {
        _ = instance.writing("delete objects")
        let places = objects.map { instance.place(of: $0, to: "delete") }
        // The sequence may have ended the transaction that ran before it.
        let transaction = instance.writing("delete objects")
        for (table, key) in places
        where transaction.noting({ transaction.table(table).find(key) != nil }) { transaction.delete(table, key) }
    }

    /// Deletes all objects of the realm's classes.
    public func deleteAll() {
        let transaction = instance.writing("delete all objects")
        for binding in instance.schema.tables { transaction.deleteAll(binding.table) }
    }

    // MARK: Finding

    /// All objects of a class, live and in the order of their creation. O(1).
    public func objects<T: Object>(_ type: T.Type) -> Results<T> {
        instance.check()
        return Results(.table(instance, instance.binding(of: type)))
    }

    /// The object with a primary key; nil where there is none. O(log n).
    public func object<T: Object, Key>(ofType type: T.Type, forPrimaryKey key: Key) -> T? {
        instance.check()
        let binding = instance.binding(of: type)
        guard let property = binding.info.primaryKey else {
            fatalError(
                "Firn: the class \(binding.info.name) has no primary key to find objects by. Declare one with @Persisted(primaryKey: true)."
            )
        }
        guard let table = instance.table(binding) else { return nil }
        let found: Int64?
        if let key = key as? Int, !property.isNullable, property.shape.type == .int {
            found = table.firstKey(primaryKeyInt: Int64(key))
        } else {
            do {
                guard let value = try property.wrapper.storeValue(from: key), value != .null || property.isNullable
                else { return nil }
                found = table.firstKey(primaryKey: value)
            } catch { fatalError("Firn: object(ofType: \(type).self, forPrimaryKey:): \(error)") }
        }
        guard let found, let place = table.find(found) else { return nil }
        return unsafeDowncast(instance.accessor(binding, place.leaf, place.row, key: found), to: T.self)
    }
}

extension RealmInstance {
    /// The tool of the running transaction for adding objects, kept from call to call. Stops the program outside of a transaction.
    func adding(_ policy: Realm.UpdatePolicy) -> ObjectInserter {
        _ = writing("add an object")
        if let adding, adding.policy == policy { return adding }
        let creation = ObjectInserter(self, policy, "add an object")
        adding = creation
        return creation
    }

    /// Where one of this realm's own objects lies; stops the program for any other.
    func place(of object: ObjectBase, to what: String) -> (TableID, Int64) {
        let name = Swift.type(of: object).className()
        guard object.isManaged else {
            fatalError("Firn: can't \(what) an object of \(name) that is unmanaged. Add it to the realm first.")
        }
        guard object._row.core == core || RealmInstance.of(object._row) === self else {
            fatalError(
                "Firn: can't \(what) an object of \(name) that belongs to another realm, or is frozen. Use the realm that manages it (object.realm), or thaw it."
            )
        }
        guard isThere(object) else {
            fatalError("Firn: can't \(what) an object of \(name) that was deleted already.")
        }
        return (TableBinding.of(object._row).table, object._row.key)
    }

    /// Whether one of this realm's objects is there, for what changes it: a transaction that has met damage says yes, as it changes nothing any more.
    func isThere(_ object: ObjectBase) -> Bool {
        guard let transaction else { return RealmInstance.isValid(object._row) }
        return transaction.noting { RealmInstance.isValid(object._row) } || transaction.hasFault
    }

    /// The key of an object that is linked to; an unmanaged one is added first. Stops the program where it is not of
    /// the class that the links lead to.
    func linkKey(of object: ObjectBase, as target: ObjectBase.Type) -> Int64 {
        if ObjectIdentifier(Swift.type(of: object)) != ObjectIdentifier(target) {
            fatalError("Firn: \(ValueFault(object, isNoTargetOf: target))")
        }
        if object.isManaged { return place(of: object, to: "link to").1 }
        let creation = ObjectInserter(self, .error, "add a linked object")
        do { return try creation.add(object) } catch {
            fatalError("Firn: adding a linked object of \(Swift.type(of: object)): \(error)")
        }
    }
}
