import FirnCore
import FirnStorage

/// The state of a running migration: the store's transaction, and the two realms whose objects the block sees. The
/// **old** one is frozen and shows the version before, through classes made from its schema. The **new** one is live,
/// belongs to the block's thread, and shows the transaction's state; no opener ever gets it.
///
/// Objects that the block has kept also keep this, so it releases everything when the block has returned.
final class MigrationRun: @unchecked Sendable {
    private struct Running {
        let store: SharedStore
        let transaction: WriteTransaction
        let configuration: Realm.Configuration
        let infos: [ClassInfo]
        let callSite: CallSite
        var plan: MigrationPlan
        let old: _RealmInstance
        var new: _RealmInstance
        var enumerations = 0
        var copies = MigrationCopies()
    }
    private let thread = currentThreadID()
    // Used on the block's thread only. Old objects, which refer to this, may be read on other threads.
    private var state: Running?

    init(
        store: SharedStore, transaction: WriteTransaction, plan: MigrationPlan, infos: [ClassInfo],
        configuration: Realm.Configuration, at callSite: CallSite
    ) throws(StoreError) {
        // The block may capture a variable that keeps old objects. If these kept the block, nothing would be freed.
        var configuration = configuration
        configuration.migrationBlock = nil
        let old = _RealmInstance(
            shared: store, configuration: configuration,
            schema: SchemaBinding(stored: transaction.resolvedSchema.schema), scheduler: nil,
            pin: transaction.base, at: callSite)
        try transaction.changeSchema(to: plan.interim)
        let new = MigrationRun.makeNew(
            store, transaction: transaction, infos: infos, configuration: configuration, at: callSite)
        state = Running(
            store: store, transaction: transaction, configuration: configuration, infos: infos, callSite: callSite,
            plan: plan, old: old, new: new)
        old.migration = self
        new.migration = self
        new.enter(transaction, async: false)
    }

    private static func makeNew(
        _ store: SharedStore, transaction: WriteTransaction, infos: [ClassInfo],
        configuration: Realm.Configuration, at callSite: CallSite
    ) -> _RealmInstance {
        let schema = SchemaBinding(infos, transaction.resolvedSchema.schema, era: -1)
        return _RealmInstance(
            shared: store, configuration: configuration, schema: schema, scheduler: .current, pin: nil, at: callSite)
    }

    /// Ends the realm of the new objects, and deletes the objects that are left without a parent. The old objects can
    /// still be read.
    func end() -> MigrationPlan {
        let running = running
        running.new.migrationEnds()
        state = nil
        let tables = running.plan.becomingEmbedded
        if !tables.isEmpty {
            let orphans = Orphans(
                transaction: running.transaction, final: running.plan.final, tables: tables, copies: running.copies)
            orphans.delete()
        }
        return running.plan
    }

    /// The state of the run. Stops the program on another thread, and after the block has returned.
    private var running: Running {
        guard thread == currentThreadID() else {
            stopProgram("a migration was used on another thread than its block's.")
        }
        guard let state else { stopProgram("a migration was used after its block had returned.") }
        return state
    }

    var old: _RealmInstance { running.old }
    var new: _RealmInstance { running.new }

    /// This run if the caller is on its block's thread and the block has not returned; otherwise nil.
    var ifRunningHere: MigrationRun? { thread == currentThreadID() && state != nil ? self : nil }

    /// The new form of an old object; nil if it was deleted, or if the realm does not have its class.
    ///
    /// - Parameter type: the class that is meant if several show the object's table.
    func new(of object: ObjectBase, as type: ObjectBase.Type? = nil) -> ObjectBase? {
        let new = running.new
        guard var binding = new.schema.table(TableBinding.of(object._row).table), has(binding, object._row.key) else {
            return nil
        }
        if let type, let wanted = new.schema.table(of: type, ifNumbered: binding.table) { binding = wanted }
        return new.accessor(binding, object._row.key)
    }

    private func has(_ binding: TableBinding, _ key: Int64) -> Bool {
        let transaction = running.transaction
        return transaction.recordingDamage { transaction.table(binding.table).find(key) != nil }
    }

    /// Calls `block` with each object of a class, old and new. Ends early if damage is met, which the commit throws.
    func enumerate(_ typeName: String, _ block: MigrationObjectEnumerateBlock) {
        let (old, new, transaction) = (running.old, running.new, running.transaction)
        guard let before = old.schema.table(named: typeName), let table = old.table(before) else { return }
        let after = new.schema.table(named: typeName)
        state?.enumerations += 1
        defer { state?.enumerations -= 1 }
        var position = 0
        while position < table.count {
            let keys = transaction.recordingDamage {
                let (leaf, row) = table.location(at: position)
                return (row..<leaf.count).map { leaf.key($0) }
            }
            for key in keys {
                let isThere = after.map { has($0, key) } ?? false
                if transaction.hasMetDamage { return }
                block(old.dynamicAccessor(before, key), isThere ? after.map { new.dynamicAccessor($0, key) } : nil)
            }
            if transaction.hasMetDamage || keys.isEmpty { return }
            position += keys.count
        }
    }

    func deleteData(_ typeName: String) -> Bool {
        let (old, new, transaction) = (running.old, running.new, running.transaction)
        if let id = transaction.resolvedSchema.schema.table(named: typeName) {
            transaction.deleteAll(id)
            if new.schema.table(id) == nil { state?.plan.remove(id) }
        }
        return old.schema.table(named: typeName) != nil
    }

    /// Notes that a parent gets a copy of an object.
    func noteCopy(_ copy: ObjectBase, of id: TableID, key: Int64) {
        if running.plan.becomingEmbedded.contains(id) { state?.copies.note(copy, of: id, key) }
    }

    /// Notes that an object contains itself. Returns false if its class does not become embedded.
    func noteSelfContaining(_ id: TableID, key: Int64) -> Bool {
        guard running.plan.becomingEmbedded.contains(id) else { return false }
        state?.plan.noteSelfContaining(id, key: key)
        return true
    }

    /// Notes that an instance has got a row. It may be a copy that was noted.
    func noteRow(_ object: ObjectBase, in id: TableID, key: Int64) { state?.copies.locate(object, in: id, key) }

    /// Lets objects of a class have the same primary key until the block has returned. Called when a primary key is
    /// set, or when an object is created with a key that is taken. O(objects), the first time.
    func freeKeys(of id: TableID) {
        let running = running
        guard running.transaction.resolvedSchema.schema[id].primaryKey != nil else { return }
        state?.plan.freeKeys(of: id)
        change(running.transaction) { stopProgram("the primary key of a class can't be freed: \($0).") }
    }

    /// Gives the transaction the plan's interim schema. Damage that is met stays in the transaction, whose commit
    /// throws it.
    private func change(_ transaction: WriteTransaction, orStop stop: (String) -> Never) {
        guard let plan = state?.plan, !transaction.hasMetDamage else { return }
        do throws(StoreError) { try transaction.changeSchema(to: plan.interim) } catch {
            if !transaction.hasMetDamage { stop(error.description) }
        }
    }

    func rename(_ typeName: String, from oldName: String, to newName: String) {
        func stop(_ reason: String) -> Never {
            stopProgram(
                "renameProperty(onType: \"\(typeName)\", from: \"\(oldName)\", to: \"\(newName)\"): \(reason).")
        }
        let running = running
        let transaction = running.transaction
        if running.enumerations > 0 { stop("it can't be called in enumerateObjects") }
        do { try state?.plan.rename(typeName, from: oldName, to: newName) } catch { stop(error.text) }
        if let id = transaction.base.snapshot.schema.table(named: typeName), transaction.hasCreated(id) {
            stop("the migration has created objects of the class already; rename its properties first")
        }
        running.new.migrationEnds()
        change(transaction, orStop: stop)
        let new = MigrationRun.makeNew(
            running.store, transaction: transaction, infos: running.infos, configuration: running.configuration,
            at: running.callSite)
        state?.new = new
        new.migration = self
        new.enter(transaction, async: false)
    }
}

extension _RealmInstance {
    /// Ends the realm of a migration's new objects. Objects that are left can only be released.
    fileprivate func migrationEnds() {
        releaseTransaction()
        endForGood()
    }
}
