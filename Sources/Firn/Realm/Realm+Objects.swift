import FirnCore
import FirnStorage

extension Realm {
    /// What to do with an object whose primary key exists already.
    public enum UpdatePolicy: Int, Sendable {
        /// It is an error: it stops the program, or is thrown by the `validating:` functions.
        case error = 1
        /// The properties whose values differ are set; observers are called for these only.
        case modified = 3
        /// All properties are set, and observers are called for all of them.
        case all = 2
    }

    // MARK: Adding

    /// Makes an unmanaged object, and the unmanaged objects that it links to, managed by this realm.
    ///
    /// ```swift
    /// let dog = Dog(value: ["name": "Rex"])
    /// try realm.write { realm.add(dog, update: .modified) }
    /// ```
    ///
    /// The instance stays the same, and so do its lists. An object that this realm manages is left alone. Linked
    /// objects are added with the same policy, or created if their class has no primary key, each once, however they
    /// link to each other. With `.all` and `.modified` a list that was never read counts as empty.
    ///
    /// Cost: O(log n) for each object, and for each of its indexed properties.
    ///
    /// Stops the program outside a write transaction, and on the wrong thread. Also stops it if:
    ///
    /// - the object belongs to another realm, is frozen or was deleted;
    /// - its primary key exists and `update` is `.error`;
    /// - `update` is another policy and the class has no primary key;
    /// - a required property is nil;
    /// - a string or data value has more than 16 MiB;
    /// - the realm does not have the class;
    /// - a link leads to an instance of a subclass, which has its own table.
    ///
    /// `add(validating:update:)` throws instead.
    public func add(_ object: Object, update: UpdatePolicy = .error) {
        let inserter = instance.inserter(update)
        do { try inserter.addRoot(object) } catch { stopProgram("add(_:): \(error)") }
    }

    /// Adds each object of a sequence with `add(_:update:)`, at the same cost for each. Stops the program for the same
    /// reasons.
    ///
    /// An object is added to the transaction that is running when the sequence returns it.
    public func add<S: Sequence>(_ objects: S, update: UpdatePolicy = .error) where S.Element: Object {
        _ = instance.writing("add objects")
        for object in objects {
            do { try instance.inserter(update).addRoot(object) } catch { stopProgram("add(_:): \(error)") }
        }
    }

    /// Makes an unmanaged object managed by this realm: `add(_:update:)`, for an object that may be wrong.
    ///
    /// Cost: as `add(_:update:)`, and a walk over all objects that are to be added. Stops the program outside a write
    /// transaction.
    ///
    /// - Throws: `Realm.Error`; nothing is changed then. The code is `.invalidDatabase` if the transaction has met
    ///   damage, and `.invalidInput` if:
    ///   - the primary key exists and `update` is `.error`;
    ///   - the class has no primary key and `update` is another policy;
    ///   - a required property is nil;
    ///   - a value is too long;
    ///   - an object belongs to another realm, is frozen or was deleted;
    ///   - the realm does not have the class of an object;
    ///   - a link leads to an instance of a subclass.
    public func add(validating object: Object, update: UpdatePolicy = .error) throws {
        let inserter = ObjectInserter(realm: instance, policy: update, "add an object")
        do {
            try inserter.checkObject(object)
            try inserter.addRoot(object)
        } catch let fault as ValueFault { throw fault.error(Swift.type(of: object)) }
    }

    // MARK: Creating

    /// Creates an object from a value, or updates the object with its primary key.
    ///
    /// ```swift
    /// try realm.write {
    ///     let dog = realm.create(Dog.self, value: ["name": "Rex", "owner": ["name": "Ann"]] as [String: Any])
    ///     realm.create(Dog.self, value: ["id": dog.id, "age": 4] as [String: Any], update: .modified)
    /// }
    /// ```
    ///
    /// The value is a dictionary by property name, an array by property order, an object, or any class or struct by its
    /// property names. Values are converted as by `Object.init(value:)`. The value itself stays unmanaged, and linked
    /// values are created or updated with the same policy. Objects of this realm are linked, and objects of other
    /// realms are copied. With `.all` and `.modified` an object of this realm is returned as it is. If the object is
    /// created, properties without a value take their initial values; if it is updated, they are left alone. If the
    /// value has no primary key, the key of a new object is used. So with `.all` and `.modified` the object with that
    /// key is updated. Values for linked and embedded objects may lie within each other to any depth. Collections in a
    /// mixed value may lie within each other at most 100 levels deep.
    ///
    /// Cost: O(log n) for each object, and for each of its indexed properties.
    ///
    /// Stops the program outside a write transaction. Also stops it if:
    ///
    /// - a value does not fit its property, is too long, or is nil for a required property;
    /// - the primary key exists and `update` is `.error`;
    /// - `update` is another policy and the class has no primary key;
    /// - the realm does not have the class.
    ///
    /// `create(_:validating:update:)` throws instead.
    @discardableResult
    public func create<T: Object>(_ type: T.Type, value: Any = [String: Any](), update: UpdatePolicy = .error) -> T {
        do {
            return unsafeDowncast(try ObjectInserter.create(type, any: value, in: instance, policy: update), to: T.self)
        } catch {
            stopProgram("create(\(type).self): \(error)")
        }
    }

    /// Creates or updates an object: `create(_:value:update:)`, for data that may be wrong.
    ///
    /// ```swift
    /// try realm.write { try realm.create(Dog.self, validating: json, update: .modified) }
    /// ```
    ///
    /// Cost: as `create(_:value:update:)`. Stops the program outside a write transaction, and on the wrong thread.
    ///
    /// - Throws: `Realm.Error`; nothing is changed then. The code is `.invalidDatabase` if the transaction has met
    ///   damage, and `.invalidInput` if:
    ///   - a value does not fit its property, is too long, or is nil for a required property, which the message names;
    ///   - the primary key exists and `update` is `.error`;
    ///   - the class has no primary key and `update` is another policy;
    ///   - the realm does not have the class.
    @discardableResult
    public func create<T: Object>(_ type: T.Type, validating value: Any, update: UpdatePolicy = .error) throws -> T {
        do {
            let object = try ObjectInserter.create(type, any: value, in: instance, policy: update, isValidating: true)
            return unsafeDowncast(object, to: T.self)
        } catch let fault as ValueFault { throw fault.error(type) }
    }

    // MARK: Deleting

    /// Deletes an object. Links to it become nil, lists lose it, and its accessors become invalid.
    ///
    /// Cost: O(log n) for the object and for each of its indexed properties, and the removal of every link to it and
    /// from it. Stops the program outside a write transaction, and if the object is unmanaged, frozen, deleted
    /// already or belongs to another realm.
    public func delete(_ object: ObjectBase) {
        let transaction = instance.writing("delete an object")
        let (table, key) = instance.location(of: object, to: "delete")
        transaction.delete(table, key)
    }

    /// Deletes each object of a sequence. The sequence is read before anything is deleted, so it may be results of this
    /// realm or a list.
    ///
    /// ```swift
    /// try realm.write { realm.delete(realm.objects(Dog.self).where { $0.age > 20 }) }
    /// ```
    ///
    /// Cost: as `delete(_:)` for each object, but a list, set or map that has many of them is searched only once per
    /// 4,096 objects. Stops the program outside a write transaction, and if one of the objects is unmanaged, frozen,
    /// deleted already or belongs to another realm. The same object may occur more than once.
    public func delete<S: Sequence>(_ objects: S) where S.Element: ObjectBase {
        _ = instance.writing("delete objects")
        let rows = objects.map { instance.location(of: $0, to: "delete") }
        // The sequence may have ended the transaction that ran before it was read.
        let transaction = instance.writing("delete objects")
        var rest = rows[...]
        while let table = rest.first?.table {
            let part = rest.prefix { $0.table == table }
            transaction.delete(table, part.map(\.key))
            rest = rest.dropFirst(part.count)
        }
    }

    /// Deletes the objects that a map leads to: `realm.delete(shop.staff)`. The map keeps their keys, with nil as the
    /// values. Costs what deleting the objects of a sequence costs, and stops the program for the same reasons.
    public func delete<M: RealmKeyedCollection>(_ map: M) where M.Value: _OptionalProtocol, M.Value.Wrapped: Object {
        delete(map.values.compactMap { $0 as? M.Value.Wrapped })
    }

    /// Deletes all objects of the realm's classes, at the cost of deleting each of them. The classes stay. Stops the
    /// program outside a write transaction, and on the wrong thread.
    public func deleteAll() {
        let transaction = instance.writing("delete all objects")
        for binding in instance.schema.tables { transaction.deleteAll(binding.table) }
    }

    // MARK: Finding

    /// All objects of a class, or all of them as projections, live and in the order of their creation. O(1).
    ///
    /// Subclasses have tables of their own: their objects are not among them. Stops the program if the realm does not
    /// have the class, and on the wrong thread.
    public func objects<T: RealmFetchable>(_ type: T.Type) -> Results<T> {
        instance.check()
        return Results(.table(instance, instance.binding(of: type._rootType)))
    }

    /// The object with this primary key; nil if there is none. O(log n).
    ///
    /// ```swift
    /// let dog = realm.object(ofType: Dog.self, forPrimaryKey: id)
    /// ```
    ///
    /// If the primary key is optional, nil finds the object whose key is nil. Stops the program if the class has no
    /// primary key, if the realm does not have the class, and on the wrong thread. Also stops it if the key is not of
    /// the primary key's type, or is nil and that type is not optional.
    @inlinable
    public func object<T: Object, Key>(ofType type: T.Type, forPrimaryKey key: Key) -> T? {
        // Where this is inlined, the compiler evaluates the comparison.
        let object = Key.self == Int.self ? _object(type, unsafeBitCast(key, to: Int.self)) : _object(type, any: key)
        return object.map { unsafeDowncast($0, to: T.self) }
    }

    @usableFromInline
    func _object(_ type: ObjectBase.Type, _ key: Int) -> ObjectBase? {
        instance.check()
        return instance.uncountedBinding(of: type)._withUnsafeGuaranteedRef { instance.object($0, key) }
    }

    @usableFromInline
    func _object(_ type: ObjectBase.Type, any key: Any) -> ObjectBase? {
        instance.check()
        let binding = instance.binding(of: type)
        if let key = key as? Int { return instance.object(binding, key) }
        return instance.object(binding, any: key)
    }
}

extension _RealmInstance {
    /// The object with an integer primary key.
    @inline(never)
    fileprivate func object(_ binding: TableBinding, _ key: Int) -> ObjectBase? {
        // The first read pins the version that it reads.
        if core.pointee.root == 0 { _ = snapshot }
        let root = core.pointee.root
        guard root != 0, binding.integerKeyColumn >= 0, migration == nil else { return object(binding, any: key) }
        let trees = TableTrees(root: root, binding.table)
        guard let found = trees.firstKey(primaryKeyInt: Int64(key), column: binding.integerKeyColumn) else {
            return nil
        }
        if let location = lastLeaf.find(found, table: binding.address, generation: core.pointee.generation) {
            return accessor(binding, leaf: location.leaf, row: location.row, key: found)
        }
        guard let location = trees.find(found) else { return nil }
        // Many threads read frozen instances, so these remember nothing.
        if !isFrozen {
            lastLeaf = LastLeaf(leaf: location.leaf, table: binding.address, generation: core.pointee.generation)
        }
        return accessor(binding, leaf: location.leaf, row: location.row, key: found)
    }

    /// The object with a primary key of any type.
    fileprivate func object(_ binding: TableBinding, any key: Any) -> ObjectBase? {
        guard let property = binding.info.primaryKey else {
            stopProgram(
                "the class \(binding.info.name) has no primary key to find objects by. Declare one with @Persisted(primaryKey: true)."
            )
        }
        guard let table = table(binding) else { return nil }
        do {
            guard let value = try property.wrapper.storeValue(from: key), value != .null || property.isNullable,
                let found = table.key(ofPrimaryKey: value, column: binding.column(property)),
                let row = table.find(found)
            else { return nil }
            return accessor(binding, leaf: row.leaf, row: row.row, key: found)
        } catch { stopProgram("object(ofType: \(binding.info.type).self, forPrimaryKey:): \(error)") }
    }

    /// The running transaction's inserter of objects, kept from call to call. Stops the program outside a
    /// transaction.
    func inserter(_ policy: Realm.UpdatePolicy) -> ObjectInserter {
        _ = writing("add an object")
        if let inserter = running?.inserter, inserter.policy == policy { return inserter }
        let made = ObjectInserter(realm: self, policy: policy, "add an object")
        running?.inserter = made
        return made
    }

    /// The table and key of one of this realm's own objects; stops the program for any other object.
    func location(of object: ObjectBase, to what: String) -> (table: TableID, key: Int64) {
        let name = object.modelType.className()
        guard object.isManaged else {
            stopProgram("can't \(what) an object of \(name) that is unmanaged. Add it to the realm first.")
        }
        guard object._row.core == core || _RealmInstance.of(object._row) === self else {
            stopProgram(
                "can't \(what) an object of \(name) that belongs to another realm, or is frozen. Use the realm that manages it (object.realm), or thaw it."
            )
        }
        guard isThere(object) else {
            stopProgram("can't \(what) an object of \(name) that was deleted already.")
        }
        return (TableBinding.of(object._row).table, object._row.key)
    }

    /// Whether one of this realm's objects exists, for code that changes it. True once the transaction has met
    /// damage, because nothing is changed any more then.
    func isThere(_ object: ObjectBase) -> Bool {
        guard let transaction else { return _RealmInstance.isValid(object._row) }
        return transaction.recordingDamage { _RealmInstance.isValid(object._row) } || transaction.hasMetDamage
    }

    /// The key of an object that is to be linked to; an unmanaged one is added first. Stops the program if the object
    /// is not of the class that the links lead to, or is an embedded object that has a parent. An object of a class
    /// that a migration makes embedded is copied.
    ///
    /// - Parameter link: the link that is to be set, which may lead to the embedded object already; nil for an element.
    func linkKey(
        of object: ObjectBase, as target: ObjectBase.Type, from link: (owner: ObjectBase, column: Int)? = nil
    ) -> Int64 {
        // A collection of dynamic objects has checked the class.
        if ObjectIdentifier(object.modelType) != ObjectIdentifier(target),
            ObjectIdentifier(target) != ObjectIdentifier(DynamicObject.self),
            binding(of: target, showing: object) == nil
        {
            stopProgram("\(ValueFault(object, isNoTargetOf: target))")
        }
        if object.isManaged {
            let key = location(of: object, to: "link to").1
            let binding = TableBinding.of(object._row)
            guard binding.info.isEmbedded, link.map({ $0.owner.linkedKey($0.column) }) != key else { return key }
            if binding.isEmbedded { stopProgram("\(ValueFault(hasParent: object))") }
            // A migration makes the class embedded, so each parent gets an object of its own.
        }
        let inserter = ObjectInserter(realm: self, policy: .error, "add a linked object")
        do { return try inserter.add(object.isManaged ? Resolution.copy(object) : object) } catch {
            stopProgram("adding a linked object of \(Swift.type(of: object)): \(error)")
        }
    }
}
