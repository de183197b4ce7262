import FirnStorage
import Foundation
import FirnCore

// The slow paths of the inlined accessors in `Persisted`, and access by name.
extension ObjectBase {
    /// The property of a column, for messages.
    private final func name(_ column: Int) -> String {
        let binding = TableBinding.of(_row)
        return "\(binding.info.name).\(binding.property(column: column).name)"
    }

    /// Begins a write to a cell: finds the running transaction, and finds the row again if it has moved.
    ///
    /// Stops the program outside a write transaction, on the wrong thread, and if the row is gone. Also stops it if the
    /// column is the primary key, except in a migration. Returns nil if the transaction has met damage: nothing is
    /// written then.
    @inline(__always)
    private final func beginSet(_ column: Int) -> (WriteTransaction, TableBinding)? {
        let realm = _RealmInstance.of(_row)
        let transaction = realm.writing("set \(name(column))")
        guard let row = realm.locateForChange(_row, in: transaction) else { return nil }
        _row = row
        let binding = TableBinding.of(_row)
        if binding.info.primaryKey.map({ binding.column($0) }) == column {
            guard let migration = realm.migration else {
                stopProgram(
                    "\(name(column)) is the primary key, which can't be changed once the object is managed. Create another object."
                )
            }
            migration.freeKeys(of: binding.table)
        }
        return (transaction, binding)
    }

    /// Sets a value of a fixed-width type from the bytes that the column stores.
    final func set(fixed bytes: UnsafeRawBufferPointer, column: Int) {
        guard let (transaction, binding) = beginSet(column) else { return }
        transaction.set(binding.table, column: column, key: _row.key, fixed: bytes)
    }

    /// Sets a value of any type except links and collections, for access by name.
    final func setStored(_ value: Value, column: Int) {
        if value == .null { return setNull(column: column) }
        guard let (transaction, binding) = beginSet(column) else { return }
        if case .data(let bytes) = value { checkLength(bytes.count) }
        transaction.set(binding.table, column: column, key: _row.key, to: value)
    }

    /// Sets a property to nil. Stops the program if `requiredProperties()` names it.
    final func setNull(column: Int) {
        guard let (transaction, binding) = beginSet(column) else { return }
        if binding.property(column: column).isRequired { stopForRequired(column) }
        transaction.setNull(binding.table, column: column, key: _row.key)
    }

    @inline(never)
    private final func stopForRequired(_ column: Int) -> Never {
        stopProgram("\(name(column)) can't be set to nil, because requiredProperties() names it.")
    }

    /// Sets a string, without copying it first if its UTF-8 bytes are contiguous.
    final func set(_ text: String, column: Int) {
        guard let (transaction, binding) = beginSet(column) else { return }
        checkLength(text.utf8.count)
        let key = _row.key
        let done: Void? = text.utf8.withContiguousStorageIfAvailable { bytes in
            transaction.set(binding.table, column: column, key: key, bytes: UnsafeRawBufferPointer(bytes))
        }
        if done == nil { transaction.set(binding.table, column: column, key: key, to: .string(text)) }
    }

    /// Sets data, without copying it first.
    final func set(_ data: Data, column: Int) {
        guard let (transaction, binding) = beginSet(column) else { return }
        checkLength(data.count)
        data.withUnsafeBytes { transaction.set(binding.table, column: column, key: _row.key, bytes: $0) }
    }

    /// Sets a link. Its targets are objects of exactly the class `type`; an unmanaged target is added to the realm
    /// first. A managed embedded object has a parent, so only the link that already leads to the object can be set to
    /// it.
    final func setLink(_ target: ObjectBase?, to type: ObjectBase.Type, column: Int) {
        guard let (transaction, binding) = beginSet(column) else { return }
        let key = target.map { _RealmInstance.of(_row).linkKey(of: $0, as: type, from: (self, column)) } ?? -1
        transaction.setLink(binding.table, column: column, key: _row.key, to: key)
    }

    // MARK: By name

    /// The value of the property with this name, or with this stored name.
    ///
    /// Reading returns numbers, Booleans included, as `NSNumber`, an enum as its raw value, a linked object as an
    /// object, and a collection as itself. Setting converts as `Object.init(value:)` does: a dictionary for a link
    /// creates an object, and a sequence replaces the elements of a list.
    ///
    /// ```swift
    /// let dog = realm.objects(Dog.self)[0]
    /// print(dog["name"] as? String ?? "", dog["age"] as! Int)
    /// try realm.write { dog["owner"] = ["name": "Ann"] }
    /// ```
    ///
    /// Both stop the program if the class has no property of that name. Setting also stops it if the value does not
    /// fit, or if the property holds backlinks. Setting a property of a managed object stops it outside a write
    /// transaction. Except in a migration, setting its primary key stops the program, too. Both also stop it if a
    /// managed object is gone, and on the wrong thread. Access by name is slower than a typed property, since the name
    /// is looked up in a dictionary and the value is boxed.
    public final subscript(key: String) -> Any? {
        get {
            if key == "self", let heldValue { return heldValue.any }
            return anyValue(property(key))
        }
        set {
            do { try setAny(property(key), newValue) } catch {
                stopProgram("\(type(of: self))[\"\(key)\"]: \(error)")
            }
        }
    }

    /// The value of the property with this name: the same as `self[key]`, which stops the program for the same reasons.
    public final func value(forKey key: String) -> Any? { self[key] }

    /// Sets the property with this name: the same as `self[key] = value`, which stops the program for the same reasons.
    public final func setValue(_ value: Any?, forKey key: String) { self[key] = value }

    /// The property with a name. Stops the program if there is none.
    private final func property(_ name: String) -> PropertyInfo {
        guard let property = property(named: name) else {
            if heldValue != nil {
                stopProgram(
                    "an element of a collection of values has no property \"\(name)\". Its value is element[\"self\"], which is replaced in the collection."
                )
            }
            stopProgram("\(classInfo.missingPropertyText(name)).")
        }
        return property
    }

    /// The value of a property as untyped access returns it.
    final func anyValue(_ property: PropertyInfo) -> Any? {
        if isDynamic { return dynamicValue(property) }
        let wrapper = address + property.offset
        if property.isCollection || property.isLinkingObjects || !isManaged {
            return property.wrapper.any(wrapper, of: self)
        }
        if !_row.isCurrent { _row = _relocate(_row, reading: property) }
        let binding = TableBinding.of(_row)
        let realm = _RealmInstance.of(_row)
        guard
            let value = realm.table(binding)?.value(
                binding.column(property), leaf: Leaf(Node(_row.leaf.unsafelyUnwrapped)), row: _row.row)
        else { return nil }
        if property.isMixed { return AnyRealmValue._any(AnyRealmValue._get(_row, binding.column(property))) }
        if case .link(let key) = value, let target = property.shape.target {
            return key < 0 ? nil : realm.accessor(target, key)
        }
        if value == .null, property.shape.showsNewObject { return property.wrapper.initialAny }
        return property.wrapper.any(from: value, realm)
    }

    /// Sets a property from an untyped value. Throws `ValueFault` if the value does not fit.
    private final func setAny(_ property: PropertyInfo, _ any: Any?) throws {
        if property.isCollection, let collection = instance(any, of: CollectionBase.self),
            instance(anyValue(property), of: CollectionBase.self)?.isAssignedToItself(collection) == true
        {
            return
        }
        guard isManaged else { return try setUnmanaged(property, try Resolution.content(property, any)) }
        if property.isLinkingObjects {
            throw ValueFault("backlinks follow from the links to the object and can't be set")
        }
        let column = TableBinding.of(_row).column(property)
        if property.isCollection {
            let content = try Resolution.content(property, any)
            try property.wrapper.managedCollection(of: self, Int32(column))?.assign(content)
            return
        }
        if property.isLink {
            guard let target = property.shape.target else { return }
            // Embedded objects are copied, even if only the running migration makes their class embedded.
            let any = property.isOwner ? typed(any) : linkTarget(any, as: target)
            guard let value = unwrapped(storedObject(any)) else { return setLink(nil, to: target, column: column) }
            if let object = instance(value, of: ObjectBase.self),
                type(of: object) == target || _RealmInstance.of(_row).binding(of: target, showing: object) != nil
            {
                return setLink(object, to: target, column: column)
            }
            if property.isOwner {
                return setLink(try Resolution.content(property, value) as? ObjectBase, to: target, column: column)
            }
            let realm = _RealmInstance.of(_row)
            _ = realm.writing("set \(name(column))")
            setLink(
                try ObjectInserter.create(target, any: value, in: realm, policy: .error), to: target, column: column)
        } else if property.isMixed {
            set(mixed: try AnyRealmValue(untyped: any), column: column)
        } else {
            guard let value = try property.wrapper.storeValue(from: any) else { return }
            setStored(value, column: column)
        }
    }
}
