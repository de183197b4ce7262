import FirnCore
import FirnStorage
import Foundation

/// One call of `add` or `create`: writes objects to the store. Each object is written once, however the objects link to
/// each other, and links are not followed by recursion. The application's sequences and initialisers do not run here,
/// because they might end the transaction: `Resolution` has run them before.
///
/// An object gets its row first, with all values except its links and lists. These are set once every object that they
/// lead to has a row. So cycles need no special treatment.
final class ObjectInserter {
    // Unretained, because counting references would cost more than writing a column. Both outlive the call, or the
    // transaction for which this inserter is kept.
    unowned(unsafe) let realm: _RealmInstance
    unowned(unsafe) let transaction: WriteTransaction
    /// Keeps `transaction` in memory, whatever ends it.
    private let heldTransaction: WriteTransaction
    let policy: Realm.UpdatePolicy
    /// The links and lists to set, in the order in which the objects were entered. Those at indices below `next` are
    /// set. So if two instances have the same primary key, all properties get the values of the instance entered last.
    private var pending: [Pending] = []
    private var next = 0
    /// Whether `insertPending` is running. A call within it leaves the work to the outermost call.
    private var isInserting = false
    /// Whether the application's code has computed elements of a collection. That code may have deleted rows.
    private var hasCalledApplication = false

    private struct Pending {
        let table: TableBinding
        let key: Int64
        let property: PropertyInfo
        let content: Content
        let isUpdate: Bool
    }
    private enum Content {
        /// Nil for a link without a target.
        case link(ObjectBase?)
        case mixed(AnyRealmValue)
        /// The collection is nil if it was never read, and therefore empty.
        case collection((any PersistedCollection)?, ObjectBase)
    }

    init(realm: _RealmInstance, policy: Realm.UpdatePolicy, _ what: @autoclosure () -> String) {
        self.realm = realm
        self.policy = policy
        heldTransaction = realm.writing(what())
        transaction = heldTransaction
    }

    // MARK: Reading

    /// The value of a cell. If damage is met, the transaction's commit throws it.
    private func value(_ binding: TableBinding, column: Int, key: Int64) -> Value? {
        transaction.recordingDamage { transaction.table(binding.table).value(column, of: key) }
    }

    // MARK: Adding

    /// Inserts the object that was passed to `add`.
    func addRoot(_ object: ObjectBase) throws {
        if policy != .error { try policy.check(realm.binding(of: object.modelType).info) }
        _ = try add(object)
    }

    /// Inserts an unmanaged object and everything that it reaches; returns its key.
    func add(_ object: ObjectBase) throws -> Int64 {
        let key = try enter(object)
        try insertPending()
        return key
    }

    /// Sets the pending links and lists, and inserts the objects that they lead to.
    private func insertPending() throws {
        // The application's code may compute elements of a list, and call `add` on this inserter. The outermost call
        // sets everything that is pending.
        guard !isInserting else { return }
        isInserting = true
        defer {
            isInserting = false
            next = pending.count
            forgetPending()
        }
        while next < pending.count {
            let next = takePending()
            switch next.content {
            case .link(nil):
                if isGone(next) || policy == .modified && isNil(next.table, property: next.property, key: next.key) {
                    continue
                }
                transaction.setLink(next.table.table, column: next.table.column(next.property), key: next.key, to: -1)
            case .link(let target?):
                try next.property.checkClass(of: target)
                if isGone(next) {
                    if !next.property.isOwner { _ = try enter(target) }
                    continue
                }
                let column = next.table.column(next.property)
                let key =
                    next.property.isOwner
                    ? try enterEmbedded(
                        target, replacing: value(next.table, column: column, key: next.key)?.linkedKey, of: next)
                    : try enter(target)
                if isGone(next) { continue }
                if next.isUpdate, policy == .modified,
                    value(next.table, column: column, key: next.key) == .link(key)
                {
                    continue
                }
                transaction.setLink(next.table.table, column: column, key: next.key, to: key)
            case .mixed(let value):
                let stored = try value.stored(enterLinked)
                if isGone(next) { continue }
                set(next.table, property: next.property, key: next.key, to: stored, isUpdate: next.isUpdate)
            case .collection(let collection, let owner):
                let column = next.table.column(next.property)
                let old = value(next.table, column: column, key: next.key)
                let values = next.property.collectionValue(
                    try collection.map { try elements($0, next, replacing: old) } ?? [])
                // The collection of a new row is empty.
                if !isGone(next), !(next.isUpdate ? policy == .modified && old == values : old == values) {
                    transaction.set(next.table.table, column: column, key: next.key, to: values)
                }
                collection?.adopt(owner._row, next.property)
            }
        }
    }

    /// Returns the next pending link or list. Entries that are done are removed now and then, so that long chains of
    /// links need little memory.
    private func takePending() -> Pending {
        if next >= 1024, next * 2 >= pending.count { forgetPending() }
        next += 1
        return pending[next - 1]
    }

    /// Removes the entries that are done.
    private func forgetPending() {
        // This may release the last reference to an object, whose `deinit` may add another one. So nothing is accessed
        // then.
        let old = pending
        pending = Array(old[next...])
        next = 0
        withExtendedLifetime(old) {}
    }

    /// Whether the row of an embedded object is gone, because an object was added twice and the second addition took
    /// the row from its parent. Stops the program if the application's code has deleted the row.
    private func isGone(_ next: Pending) -> Bool {
        let mayLoseRow = next.table.info.isEmbedded && policy != .error
        guard mayLoseRow || hasCalledApplication else { return false }
        guard transaction.recordingDamage({ transaction.table(next.table.table).find(next.key) == nil }) else {
            return false
        }
        if !mayLoseRow { checkIsThere(realm.accessor(next.table, next.key)) }
        return true
    }

    /// The elements of a collection in their stored form. Objects get their rows.
    private func elements(
        _ collection: any PersistedCollection, _ next: Pending, replacing old: Value?
    ) throws -> [Value] {
        if next.property.shape.callsApplication { hasCalledApplication = true }
        guard next.property.isLink else { return try collection.elements(for: realm, enterLinked) }
        let existing = EmbeddedInPlace(next.property.isOwner ? old : nil)
        let elements = collection.linkedElements
        if next.property.isOwner, isGone(next) { return [] }
        return try elements.enumerated().map { index, element in
            try element.value { object in
                try next.property.checkClass(of: object)
                guard next.property.isOwner else { return try enter(object) }
                return try enterEmbedded(object, replacing: existing.object(at: index, orOf: element.key), of: next)
            }
        }
    }

    /// The link to an object in a mixed value. An unmanaged object gets its row.
    private func enterLinked(_ object: ObjectBase) throws -> Value {
        let key = try enter(object)
        return .typedLink(realm.binding(of: object.modelType).table, key)
    }

    /// Gives an embedded object its row. With `.modified` the object takes over the row of the object that it replaces,
    /// and that row gets the object's values.
    private func enterEmbedded(_ object: ObjectBase, replacing old: Int64?, of parent: Pending) throws -> Int64 {
        guard !object.isManaged else { throw ValueFault(hasParent: object).inside(parent.property.name) }
        guard parent.isUpdate, policy == .modified, let key = old else { return try enter(object) }
        let binding = realm.binding(of: type(of: object))
        if !binding.info.required.isEmpty { try object.checkRequired(binding.info) }
        update(binding, key, from: object)
        finish(object, binding: binding, key: key, isUpdate: true)
        return key
    }

    /// Gives an unmanaged object its row, and returns the row's key. A managed object of this realm has a row already.
    private func enter(_ object: ObjectBase) throws -> Int64 {
        if object.isManaged {
            guard _RealmInstance.of(object._row) === realm else {
                stopProgram(
                    "an object of \(type(of: object).className()) belongs to another realm, or is frozen. Copy it with create(_:value:), or thaw it."
                )
            }
            checkIsThere(object)
            return object._row.key
        }
        let binding = realm.binding(of: type(of: object))
        let info = binding.info
        if !info.required.isEmpty { try object.checkRequired(info) }
        if let primaryKey = info.primaryKey, policy != .error {
            let value = primaryKey.wrapper.storeValue(object.address + primaryKey.offset) ?? .null
            if let key = PrimaryKey(binding, primaryKey, value: value).find(in: transaction) {
                update(binding, key, from: object)
                finish(object, binding: binding, key: key, isUpdate: true)
                return key
            }
        }
        let address = object.address
        var row = transaction.beginRow(binding.table)
        for step in binding.fills { fill(&row, step: step, object: address) }
        do throws(StoreError) { try transaction.endRow(row) } catch {
            guard error.code == .primaryKeyTaken else { throw Realm.Error(error, realm.configuration.fileURL) }
            if let migration = realm.migration {
                migration.freeKeys(of: binding.table)
                return try enter(object)
            }
            throw ValueFault(
                existing: info, info.primaryKey.flatMap { $0.wrapper.storeValue(address + $0.offset) } ?? .null)
        }
        finish(object, binding: binding, key: row.key, isUpdate: false)
        return row.key
    }

    /// Fills a cell from an unmanaged object's memory. Links and collections are set later.
    @inline(__always)
    private func fill(_ row: inout FreshRow, step: TableBinding.Fill, object: UnsafeMutableRawPointer) {
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
        case .string: fill(&row, column: column, text: value.assumingMemoryBound(to: String.self).pointee)
        case .optionalString:
            if let text = value.assumingMemoryBound(to: String?.self).pointee {
                fill(&row, column: column, text: text)
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
        case .opaque: fillOpaque(&row, step: step, object: object)
        }
    }

    /// Fills a cell with a value that can't be read directly from the object's memory. None of the application's code
    /// runs, because the wrapper holds the value in its stored form.
    @inline(never)
    private func fillOpaque(_ row: inout FreshRow, step: TableBinding.Fill, object: UnsafeMutableRawPointer) {
        let property = step.property
        transaction.fill(
            &row, column: step.column, value: property.wrapper.storeValue(object + property.offset) ?? .null)
    }

    @inline(__always)
    private func fill(_ row: inout FreshRow, column: Int, text: String) {
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
    private func finish(_ object: ObjectBase, binding: TableBinding, key: Int64, isUpdate: Bool) {
        realm.migration?.ifRunningHere?.noteRow(object, in: binding.table, key: key)
        let address = object.address
        if !binding.references.isEmpty {
            for step in binding.references {
                if step.property.isMixed, !step.property.isCollection {
                    finishMixed(step.property, object: object, binding: binding, key: key, isUpdate: isUpdate)
                    continue
                }
                // The word is nil for a link without a target, and for a collection or a box (`shape.isBoxed`) that was
                // never read.
                if !isUpdate, (address + step.valueOffset).load(as: UInt.self) == 0 { continue }
                let property = step.property
                let wrapper = address + property.offset
                if property.isCollection {
                    let collection = property.wrapper.existingCollection(wrapper)
                    if isUpdate || collection != nil {
                        note(
                            .collection(collection, object), property: property, binding: binding, key: key,
                            isUpdate: isUpdate)
                    }
                } else if property.shape.isBoxed {
                    property.wrapper.existingBox(wrapper)?.adopt(
                        .unlocated(realm.core, key: key, table: binding.address), property)
                } else if property.isLink {
                    let target = property.wrapper.any(wrapper, of: object) as? ObjectBase
                    if isUpdate || target != nil {
                        note(.link(target), property: property, binding: binding, key: key, isUpdate: isUpdate)
                    }
                    property.wrapper.releaseLink(wrapper)
                }
            }
        }
        realm.adopt(object, binding: binding, row: .unlocated(realm.core, key: key, table: binding.address))
    }

    /// Notes a value to be set after everything that was noted earlier.
    private func note(
        _ content: Content, property: PropertyInfo, binding: TableBinding, key: Int64, isUpdate: Bool
    ) {
        pending.append(Pending(table: binding, key: key, property: property, content: content, isUpdate: isUpdate))
    }

    /// Notes a mixed value. In a new row, a mixed value without objects has already been written with the other values.
    private func finishMixed(
        _ property: PropertyInfo, object: ObjectBase, binding: TableBinding, key: Int64, isUpdate: Bool
    ) {
        let wrapper = object.address + property.offset
        if isUpdate || property.wrapper.storeValue(wrapper) == nil {
            // A box that was never read holds no value.
            note(
                .mixed(property.wrapper.mixed(wrapper) ?? .none), property: property, binding: binding, key: key,
                isUpdate: isUpdate)
        }
        if let box = property.wrapper.existingBox(wrapper) {
            box.adopt(.unlocated(realm.core, key: key, table: binding.address), property)
        } else {
            property.wrapper.releaseLink(wrapper)
        }
    }

    /// Whether a link is nil in the store.
    private func isNil(_ binding: TableBinding, property: PropertyInfo, key: Int64) -> Bool {
        let value = value(binding, column: binding.column(property), key: key)
        return value == .null || value == .link(-1)
    }

    /// Sets an existing row's values to those of an unmanaged object, except for the values that `finish` notes.
    private func update(_ binding: TableBinding, _ key: Int64, from object: ObjectBase) {
        // The application's code that computed an element of a collection may have deleted the row.
        if transaction.recordingDamage({ transaction.table(binding.table).find(key) == nil }) {
            checkIsThere(realm.accessor(binding, key))
        }
        for step in binding.fills where !step.property.isPrimaryKey && !step.property.isMixed {
            if let value = step.property.wrapper.storeValue(object.address + step.property.offset) {
                set(binding, property: step.property, key: key, to: value)
            }
        }
    }

    /// Sets a cell. In an update with `.modified`, it is set only if its value differs.
    private func set(
        _ binding: TableBinding, property: PropertyInfo, key: Int64, to value: Value, isUpdate: Bool = true
    ) {
        let column = binding.column(property)
        if isUpdate, policy == .modified, self.value(binding, column: column, key: key) == value { return }
        transaction.set(binding.table, column: column, key: key, to: value)
    }

    // MARK: Changing

    /// Makes the changes to existing objects that `create` has found.
    func apply(_ changes: [Resolution.Change]) throws {
        var last: ObjectBase?
        for change in changes {
            if change.object !== last {
                // An earlier change may have taken an embedded object from its parent.
                if change.object is EmbeddedObject, !realm.isThere(change.object) { continue }
                // The application's code has run since the object was found.
                checkIsThere(change.object)
            }
            last = change.object
            let binding = TableBinding.of(change.object._row)
            let key = change.object._row.key
            switch change.content {
            case .value(let value): set(binding, property: change.property, key: key, to: value)
            case .link(let target): set(binding, property: change.property, key: key, to: .link(try add(target)))
            case .mixed(let value): set(binding, property: change.property, key: key, to: try value.stored(addLinked))
            case .mixedElements(let elements):
                let values = try elements.map { try $0.stored(addLinked) }
                set(binding, property: change.property, key: key, to: change.property.collectionValue(values))
            case .objects(let elements):
                let links = try elements.map { try $0.value(add) }
                set(binding, property: change.property, key: key, to: change.property.collectionValue(links))
            }
        }
    }

    /// Adds an object, with everything that it reaches, and returns the link to it for a mixed value.
    private func addLinked(_ object: ObjectBase) throws -> Value {
        let key = try add(object)
        return .typedLink(realm.binding(of: object.modelType).table, key)
    }

    /// Stops the program if the object has been deleted.
    private func checkIsThere(_ object: ObjectBase) {
        do { try object.checkIsThere() } catch { stopProgram("\(error).") }
    }
}

extension TableView {
    /// The key of the object with a primary key; nil if there is none. In a migration that has set primary keys of the
    /// class, nothing enforces their uniqueness. Then this reads all objects.
    func key(ofPrimaryKey value: Value, column: Int) -> Int64? {
        guard schema.primaryKey == nil else { return firstKey(primaryKey: value) }
        var found: Int64?
        forEachLeaf { leaf, _ in
            for row in 0..<leaf.count where self.value(column, leaf: leaf, row: row) == value {
                found = leaf.key(row)
                return false
            }
            return true
        }
        return found
    }
}

/// What identifies an object for updates: its class's table and its primary key's value.
struct PrimaryKey: Hashable {
    let table: TableID
    let column: Int
    let value: Value

    init(_ binding: TableBinding, _ property: PropertyInfo, value: Value) {
        table = binding.table
        column = binding.column(property)
        self.value = value
    }

    /// The key of the object that has this primary key. If damage is met, the transaction's commit throws it.
    func find(in transaction: WriteTransaction) -> Int64? {
        transaction.recordingDamage { transaction.table(table).key(ofPrimaryKey: value, column: column) }
    }
}

/// Stops the program if a string or data value is too long to be stored.
func checkLength(_ byteCount: Int) {
    if byteCount > Limits.valueByteCount {
        stopProgram(
            "a value of \(byteCount) bytes is too long to be stored; at most \(Limits.valueByteCount) are possible. Keep it in a file, and store its path."
        )
    }
}
