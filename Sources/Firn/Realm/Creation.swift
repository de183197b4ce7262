import FirnCore
import Foundation

/// One call of `add` or `create`: enters objects into the store, each once however they link to each other, and without recursion along links.
///
/// An object gets its row first, with all values but its links and lists; those are set once every object that they lead to has a row. So cycles need no care.
final class Creation {
    // Unretained: both outlive the call, or the transaction that this is kept for, and counting them would cost more than a column.
    unowned(unsafe) let realm: RealmInstance
    unowned(unsafe) let transaction: WriteTransaction
    let policy: Realm.UpdatePolicy
    /// Links and lists that are yet to be set.
    private var pending: [Pending] = []
    /// What `create` has made of the objects it was given, so that each is copied once.
    private var copies: [ObjectIdentifier: ObjectBase] = [:]
    private var isWorking = false

    private struct Pending {
        let table: TableBinding
        let key: Int64
        let property: PropertyInfo
        let content: Content
        let isUpdate: Bool
    }
    private enum Content {
        case link(ObjectBase)
        case collection(any PersistedCollection, ObjectBase)
    }

    init(_ realm: RealmInstance, _ policy: Realm.UpdatePolicy, _ what: @autoclosure () -> String) {
        self.realm = realm
        self.policy = policy
        transaction = realm.writing(what())
    }

    // MARK: Reading

    /// The object with a primary key. Damage that is met is the transaction's to throw.
    func firstKey(_ binding: TableBinding, _ value: Value) -> Int64? {
        transaction.noting { transaction.table(binding.table).firstKey(primaryKey: value) }
    }

    /// What a cell holds. Damage that is met is the transaction's to throw.
    private func value(_ binding: TableBinding, _ column: Int, _ key: Int64) -> Value? {
        transaction.noting { transaction.table(binding.table).value(column, of: key) }
    }

    /// Throws the damage that the transaction has met.
    func checkFaults() throws {
        if let fault = transaction.fault { throw Realm.Error(fault, realm.configuration.fileURL) }
    }

    // MARK: Adding

    /// Enters what the caller of `add` named.
    func addRoot(_ object: ObjectBase) throws {
        try checkPolicy(type(of: object))
        _ = try add(object)
    }

    /// Throws where objects of a class without a primary key are to be updated. Nested ones are created then.
    func checkPolicy(_ type: ObjectBase.Type) throws {
        if policy != .error, realm.binding(of: type).info.primaryKey == nil {
            throw Realm.Error(
                .invalidInput, "update: .\(policy) needs a primary key, which \(type.className()) does not have.")
        }
    }

    /// Enters an unmanaged object and all that it reaches; gives its key.
    func add(_ object: ObjectBase) throws -> Int64 {
        let key = try enter(object)
        try work()
        return key
    }

    private func work() throws {
        // The elements of a list may be added by a creation of their own; the outermost call works all off.
        guard !isWorking else { return }
        isWorking = true
        defer { isWorking = false }
        while let next = pending.popLast() {
            switch next.content {
            case .link(let target):
                let key = try enter(target)
                let column = next.table.column(next.property)
                if next.isUpdate, policy == .modified,
                    value(next.table, column, next.key) == .link(key)
                {
                    continue
                }
                transaction.setLink(next.table.table, column, next.key, to: key)
            case .collection(let collection, let owner):
                let values = try elements(collection, next)
                let column = next.table.column(next.property)
                let old = value(next.table, column, next.key)
                if !(next.isUpdate && policy == .modified && old == .list(values)),
                    !(values.isEmpty && old == .list([]) && !next.isUpdate)
                {
                    transaction.set(next.table.table, column, next.key, .list(values))
                }
                collection.adopt(owner._row, next.property)
            }
        }
    }

    private func elements(_ collection: any PersistedCollection, _ next: Pending) throws -> [Value] {
        guard next.property.isLink else { return collection.elements(for: realm) }
        return try collection.objects.map { .link(try enter($0)) }
    }

    /// Gives an unmanaged object its row; one of this realm has it.
    private func enter(_ object: ObjectBase) throws -> Int64 {
        if object.isManaged {
            let other = RealmInstance.of(object._row)
            let name = type(of: object).className()
            guard other === realm else {
                fatalError(
                    "Firn: an object of \(name) belongs to another realm, or is frozen. Copy it with create(_:value:), or thaw it."
                )
            }
            guard realm.isThere(object) else {
                fatalError("Firn: an object of \(name) was deleted, so it can't be added or linked to.")
            }
            return object._row.key
        }
        let binding = realm.binding(of: type(of: object))
        let info = binding.info
        if !info.required.isEmpty { try object.checkRequired(info) }
        if let primaryKey = info.primaryKey, policy != .error {
            let value = primaryKey.wrapper.storeValue(object.address + primaryKey.offset) ?? .null
            if let key = firstKey(binding, value) {
                update(binding, key, from: object)
                finish(object, binding, key, isUpdate: true)
                return key
            }
        }
        var row = transaction.beginRow(binding.table)
        let address = object.address
        for step in binding.fills { fill(&row, step, address) }
        do throws(StoreError) { try transaction.endRow(row) } catch {
            guard error.code == .primaryKeyTaken else { throw Realm.Error(error, realm.configuration.fileURL) }
            throw ValueFault(
                existing: info, info.primaryKey.flatMap { $0.wrapper.storeValue(address + $0.offset) } ?? .null)
        }
        finish(object, binding, row.key, isUpdate: false)
        return row.key
    }

    /// Fills a cell from an unmanaged object's memory. Links and collections wait.
    @inline(__always)
    private func fill(_ row: inout FreshRow, _ step: TableBinding.Fill, _ object: UnsafeMutableRawPointer) {
        let value = object + step.valueOffset
        let column = step.column
        switch step.memory {
        case .int: transaction.fill(row, column, fixed: value.load(as: Int64.self))
        case .bool: transaction.fill(row, column, fixed: value.load(as: UInt8.self) & 1)
        case .int8: transaction.fill(row, column, fixed: Int64(value.load(as: Int8.self)))
        case .int16: transaction.fill(row, column, fixed: Int64(value.load(as: Int16.self)))
        case .int32: transaction.fill(row, column, fixed: Int64(value.load(as: Int32.self)))
        case .float: transaction.fill(row, column, fixed: value.load(as: Float.self))
        case .double: transaction.fill(row, column, fixed: value.load(as: Double.self))
        case .date: transaction.fill(row, column, fixed: Timestamp(value.load(as: Date.self)))
        case .string: fill(&row, column, value.assumingMemoryBound(to: String.self).pointee)
        case .optionalString:
            if let text = value.assumingMemoryBound(to: String?.self).pointee {
                fill(&row, column, text)
            } else {
                transaction.fillNull(row, column)
            }
        case .optionalInt:
            if let number = value.load(as: Int?.self) {
                transaction.fill(row, column, fixed: Int64(number))
            } else {
                transaction.fillNull(row, column)
            }
        case .optionalDouble:
            if let number = value.load(as: Double?.self) {
                transaction.fill(row, column, fixed: number)
            } else {
                transaction.fillNull(row, column)
            }
        case .opaque:
            let property = step.property
            if let value = property.wrapper.storeValue(object + property.offset) {
                transaction.fill(&row, column, value)
            }
        }
    }

    @inline(__always)
    private func fill(_ row: inout FreshRow, _ column: Int, _ text: String) {
        checkLength(text.utf8.count)
        let done: Void? = text.utf8.withContiguousStorageIfAvailable { bytes in
            transaction.fill(&row, column, bytes: UnsafeRawBufferPointer(bytes))
        }
        if done == nil {
            let bytes = Array(text.utf8)
            bytes.withUnsafeBytes { transaction.fill(&row, column, bytes: $0) }
        }
    }

    /// Makes the instance the accessor of its row, and notes its links and lists.
    private func finish(_ object: ObjectBase, _ binding: TableBinding, _ key: Int64, isUpdate: Bool) {
        let address = object.address
        if !binding.references.isEmpty {
            for step in binding.references {
                // Of a link without a target and of a collection that was never asked for, the reference is nil.
                if !isUpdate, (address + step.valueOffset).load(as: UInt.self) == 0 { continue }
                let property = step.property
                let place = address + property.offset
                if property.isCollection {
                    if let collection = property.wrapper.madeCollection(place) {
                        pending.append(
                            Pending(
                                table: binding, key: key, property: property, content: .collection(collection, object),
                                isUpdate: isUpdate))
                    }
                } else if property.isLink {
                    if let target = property.wrapper.any(place, of: object) as? ObjectBase {
                        pending.append(
                            Pending(
                                table: binding, key: key, property: property, content: .link(target), isUpdate: isUpdate
                            ))
                    } else if isUpdate, !(policy == .modified && isNil(binding, property, key)) {
                        transaction.setLink(binding.table, binding.column(property), key, to: -1)
                    }
                    property.wrapper.dropLink(place)
                }
            }
        }
        realm.adopt(object, binding, _Row(core: realm.core, key: key, table: binding.address))
    }

    private func isNil(_ binding: TableBinding, _ property: PropertyInfo, _ key: Int64) -> Bool {
        let value = value(binding, binding.column(property), key)
        return value == .null || value == .link(-1)
    }

    /// Sets an existing row's values to an unmanaged object's.
    private func update(_ binding: TableBinding, _ key: Int64, from object: ObjectBase) {
        for property in binding.info.stored where !property.isPrimaryKey && !property.isCollection && !property.isLink {
            guard let value = property.wrapper.storeValue(object.address + property.offset) else { continue }
            set(binding, property, key, value)
        }
    }

    private func set(_ binding: TableBinding, _ property: PropertyInfo, _ key: Int64, _ value: Value) {
        let column = binding.column(property)
        if policy == .modified, self.value(binding, column, key) == value { return }
        transaction.set(binding.table, column, key, value)
    }

    // MARK: Creating

    /// The managed object that `any` describes: a new one, or an updated one.
    func create(_ type: ObjectBase.Type, _ any: Any) throws -> ObjectBase {
        try checkPolicy(type)
        let object = try resolve(type, any, isTop: true)
        _ = try add(object)
        return object
    }

    /// What `any` stands for: an object of this realm as it is, an updated one, or a new unmanaged one that is yet to be added.
    private func resolve(_ type: ObjectBase.Type, _ any: Any, isTop: Bool) throws -> ObjectBase {
        let source = unwrapped(any) as? ObjectBase
        if let source, ObjectIdentifier(Swift.type(of: source)) == ObjectIdentifier(type) {
            if source.isManaged, RealmInstance.of(source._row) === realm, !isTop || policy != .error { return source }
            if let copy = copies[ObjectIdentifier(source)] { return copy }
        }
        let info = realm.binding(of: type).info
        let values = try ValueSource(any, for: info)
        if let existing = try existing(info, values) {
            if let source { copies[ObjectIdentifier(source)] = existing }
            try update(existing, info, values)
            return existing
        }
        let object = type.init()
        if let source { copies[ObjectIdentifier(source)] = object }
        if let defaults = type.defaultPropertyValues() { try populate(object, info, .dictionary(defaults)) }
        try populate(object, info, values)
        return object
    }

    /// The object that is to be updated instead of made.
    func existing(_ info: ClassInfo, _ values: ValueSource) throws -> ObjectBase? {
        guard policy != .error, let primaryKey = info.primaryKey,
            let any = values.value(primaryKey, at: primaryKey.number)
        else { return nil }
        let value: Value?
        do {
            try primaryKey.checkRequired(any)
            value = try primaryKey.wrapper.storeValue(from: any)
        } catch let fault as ValueFault {
            throw fault.inside(primaryKey.name)
        }
        let binding = realm.binding(of: info.type)
        guard let value, let key = firstKey(binding, value) else { return nil }
        return realm.accessor(binding, key)
    }

    private func populate(_ object: ObjectBase, _ info: ClassInfo, _ values: ValueSource) throws {
        for (position, property) in info.stored.enumerated() {
            guard let value = values.value(property, at: position) else { continue }
            do {
                try property.checkRequired(value)
                try object.setUnmanaged(property, try content(property, value))
            } catch let fault as ValueFault {
                throw fault.inside(property.name)
            }
        }
    }

    private func update(_ object: ObjectBase, _ info: ClassInfo, _ values: ValueSource) throws {
        let binding = realm.binding(of: info.type)
        let key = object._row.key
        for (position, property) in info.stored.enumerated() where !property.isPrimaryKey {
            guard let value = values.value(property, at: position) else { continue }
            do {
                try property.checkRequired(value)
                let content = try content(property, value)
                if property.isCollection {
                    let elements = try property.wrapper.elements(content, realm)
                    set(binding, property, key, .list(elements))
                } else if property.isLink {
                    // A nil link is read as null, whatever it is written as.
                    set(binding, property, key, try (content as? ObjectBase).map { .link(try add($0)) } ?? .null)
                } else if let value = try property.wrapper.storeValue(from: content) {
                    set(binding, property, key, value)
                }
            } catch let fault as ValueFault { throw fault.inside(property.name) }
        }
    }

    /// A property's value with its objects resolved.
    private func content(_ property: PropertyInfo, _ any: Any?) throws -> Any? {
        guard property.isLink, let target = property.shape.target, let value = unwrapped(any) else { return any }
        guard property.isCollection else { return try resolve(target, value, isTop: false) }
        guard let sequence = value as? any Sequence, !(value is String) else {
            throw ValueFault(value, isNo: [ObjectBase].self)
        }
        return try anyElements(of: sequence).enumerated().map { index, element in
            do { return try resolve(target, element, isTop: false) } catch let fault as ValueFault {
                throw fault.inside("[\(index)]")
            }
        }
    }
}

/// Stops the program where a string or data value is too long to be stored.
func checkLength(_ byteCount: Int) {
    if byteCount > Limits.valueByteCount {
        fatalError(
            "Firn: a value of \(byteCount) bytes was to be stored; at most \(Limits.valueByteCount) are possible. Keep it in a file, and store its path."
        )
    }
}
