import Foundation
import FirnCore

// What the inlined accessors call where the short way is not open.
extension ObjectBase {
    /// The property of a column, as messages name it.
    private final func name(_ column: Int) -> String {
        let binding = TableBinding.of(_row)
        return "\(binding.info.name).\(binding.property(column: column).name)"
    }

    /// The transaction, and the row that is written; stops the program where it can't be. Nil where the transaction has met damage, so that nothing is written.
    @inline(__always)
    private final func beginSet(_ column: Int) -> (WriteTransaction, TableBinding)? {
        let realm = RealmInstance.of(_row)
        let transaction = realm.writing("set \(name(column))")
        guard let row = realm.locateForChange(_row, in: transaction) else { return nil }
        _row = row
        let binding = TableBinding.of(_row)
        if binding.info.primaryKey.map({ binding.column($0) }) == column {
            fatalError(
                "Firn: \(name(column)) is the primary key, which can't be changed once the object is managed. Create another object."
            )
        }
        return (transaction, binding)
    }

    /// Sets a value of any type but links and collections.
    final func set(_ value: Value, column: Int) {
        guard let (transaction, binding) = beginSet(column) else { return }
        if case .data(let bytes) = value { checkLength(bytes.count) }
        if case .null = value, binding.property(column: column).isRequired { stopForRequired(column) }
        transaction.set(binding.table, column, _row.key, value)
    }

    @inline(never)
    private final func stopForRequired(_ column: Int) -> Never {
        fatalError("Firn: \(name(column)) can't be set to nil, because requiredProperties() names it.")
    }

    final func set(_ text: String, column: Int) {
        guard let (transaction, binding) = beginSet(column) else { return }
        checkLength(text.utf8.count)
        let key = _row.key
        let done: Void? = text.utf8.withContiguousStorageIfAvailable { bytes in
            transaction.set(binding.table, column, key, bytes: UnsafeRawBufferPointer(bytes))
        }
        if done == nil { transaction.set(binding.table, column, key, .string(text)) }
    }

    final func set(_ data: Data, column: Int) {
        guard let (transaction, binding) = beginSet(column) else { return }
        checkLength(data.count)
        data.withUnsafeBytes { transaction.set(binding.table, column, _row.key, bytes: $0) }
    }

    /// Sets a link, which leads to objects of `type`.
    final func setLink(_ target: ObjectBase?, to type: ObjectBase.Type, column: Int) {
        guard let (transaction, binding) = beginSet(column) else { return }
        let key = target.map { RealmInstance.of(_row).linkKey(of: $0, as: type) } ?? -1
        transaction.setLink(binding.table, column, _row.key, to: key)
    }

    // MARK: By name

    /// The value of a property by its name: numbers as `NSNumber`, collections as they are. Setting converts as `init(value:)` does.
    ///
    /// A name that the class does not have stops the program, as does setting the primary key of a managed object.
    public final subscript(key: String) -> Any? {
        get { anyValue(property(key)) }
        set {
            do { try setAny(property(key), newValue) } catch {
                fatalError("Firn: \(type(of: self))[\"\(key)\"]: \(error)")
            }
        }
    }

    /// The value of a property by its name.
    public final func value(forKey key: String) -> Any? { self[key] }

    /// Sets a property by its name.
    public final func setValue(_ value: Any?, forKey key: String) { self[key] = value }

    private final func property(_ name: String) -> PropertyInfo {
        let info = classInfo
        guard let property = info.property(named: name) ?? info.stored.first(where: { $0.columnName == name }) else {
            fatalError("Firn: \(info.lacks(name)).")
        }
        return property
    }

    /// A property's value as untyped access gives it.
    final func anyValue(_ property: PropertyInfo) -> Any? {
        let place = address + property.offset
        if property.isCollection || property.isLinkingObjects || !isManaged {
            return property.wrapper.any(place, of: self)
        }
        if !_row.isCurrent { _row = _relocate(_row) }
        let binding = TableBinding.of(_row)
        let realm = RealmInstance.of(_row)
        guard
            let value = realm.table(binding)?.value(
                binding.column(property), Leaf(Node(_row.leaf.unsafelyUnwrapped)), _row.row)
        else { return nil }
        if case .link(let key) = value, let target = property.shape.target {
            return key < 0 ? nil : realm.accessor(target, key)
        }
        return property.wrapper.any(from: value, realm)
    }

    private final func setAny(_ property: PropertyInfo, _ any: Any?) throws {
        guard isManaged, !property.isCollection else {
            return try setUnmanaged(property, try Resolution.content(property, any))
        }
        if property.isLinkingObjects {
            throw ValueFault("backlinks follow from the links to the object and can't be set")
        }
        let column = TableBinding.of(_row).column(property)
        if property.isLink {
            guard let target = property.shape.target else { return }
            guard let value = unwrapped(any) else { return setLink(nil, to: target, column: column) }
            if let object = value as? ObjectBase, type(of: object) == target {
                return setLink(object, to: target, column: column)
            }
            let realm = RealmInstance.of(_row)
            _ = realm.writing("set \(name(column))")
            setLink(try ObjectInserter.create(target, value, in: realm, .error), to: target, column: column)
        } else {
            guard let value = try property.wrapper.storeValue(from: any) else { return }
            set(value, column: column)
        }
    }
}
