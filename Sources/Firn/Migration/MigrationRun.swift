import FirnCore
import FirnStorage
import Foundation

/// What runs a migration block: the store's transaction, and the two realms whose objects the block sees. The **old**
/// one is frozen and shows the version before, through classes made from its schema. The **new** one is live, belongs
/// to the block's thread, and shows the transaction's state; no opener ever gets it.
final class MigrationRun: @unchecked Sendable {
    // Old objects may be read on any thread, and refer to this. All but `thread` is used on that thread only.
    private let thread = currentThreadID()
    private let store: SharedStore
    private let transaction: WriteTransaction
    private let configuration: Realm.Configuration
    private let infos: [ClassInfo]
    private let callSite: CallSite
    private(set) var plan: MigrationPlan
    private var shown: (old: _RealmInstance, new: _RealmInstance)?
    private var enumerations = 0

    init(
        _ store: SharedStore, _ transaction: WriteTransaction, _ plan: MigrationPlan, _ infos: [ClassInfo],
        _ configuration: Realm.Configuration, at callSite: CallSite
    ) throws(StoreError) {
        self.store = store
        self.transaction = transaction
        self.plan = plan
        self.infos = infos
        self.configuration = configuration
        self.callSite = callSite
        let old = _RealmInstance(
            store, configuration, SchemaBinding(stored: transaction.resolvedSchema.schema), scheduler: nil,
            pin: transaction.base, at: callSite)
        old.migration = self
        try transaction.changeSchema(to: plan.interim)
        shown = (old, makeNew())
    }

    private func makeNew() -> _RealmInstance {
        let new = _RealmInstance(
            store, configuration, SchemaBinding(infos, plan.interim, era: -1), scheduler: .current, pin: nil,
            at: callSite)
        new.migration = self
        new.enter(transaction, async: false)
        return new
    }

    var old: _RealmInstance { running.old }
    var new: _RealmInstance { running.new }

    private var running: (old: _RealmInstance, new: _RealmInstance) {
        guard thread == currentThreadID() else {
            fatalError("Firn: a migration was used on another thread than its block's.")
        }
        guard let shown else { fatalError("Firn: a migration was used after its block had returned.") }
        return shown
    }

    /// Ends the realm of the new objects. The old ones can still be read.
    func end() {
        shown?.new.migrationEnds()
        shown = nil
    }

    /// The form that an old object has in the running migration; nil on other threads, and if it was deleted.
    func new(of object: DynamicObject) -> ObjectBase? {
        guard thread == currentThreadID(), let new = shown?.new,
            let binding = new.schema.table(TableBinding.of(object._row).table), has(binding, object._row.key)
        else { return nil }
        return new.accessor(binding, object._row.key)
    }

    private func has(_ binding: TableBinding, _ key: Int64) -> Bool {
        transaction.recordingDamage { transaction.table(binding.table).find(key) != nil }
    }

    func enumerate(_ typeName: String, _ block: MigrationObjectEnumerateBlock) {
        let (old, new) = running
        guard let before = old.schema.table(named: typeName) else { return }
        let after = new.schema.table(named: typeName)
        enumerations += 1
        defer { enumerations -= 1 }
        for object in Results<DynamicObject>(.table(old, before)) {
            let isThere = after.map { has($0, object._row.key) } ?? false
            block(object, isThere ? after.map { new.dynamicAccessor($0, object._row.key) } : nil)
        }
    }

    func deleteData(_ typeName: String) -> Bool {
        let new = running.new
        guard let id = transaction.resolvedSchema.schema.table(named: typeName) else { return false }
        transaction.deleteAll(id)
        if new.schema.table(id) == nil { plan.remove(id) }
        return true
    }

    func rename(_ typeName: String, _ oldName: String, _ newName: String) {
        let new = running.new
        func stop(_ reason: String) -> Never {
            fatalError(
                "Firn: renameProperty(onType: \"\(typeName)\", from: \"\(oldName)\", to: \"\(newName)\"): \(reason).")
        }
        if enumerations > 0 { stop("it can't be called in enumerateObjects") }
        do { try plan.rename(typeName, oldName, newName) } catch { stop(error.description) }
        new.migrationEnds()
        // Damage that is met is noted in the transaction, whose commit throws it.
        ignoringError { () throws(StoreError) in try transaction.changeSchema(to: plan.interim) }
        shown?.new = makeNew()
    }
}

extension _RealmInstance {
    /// Ends the realm of a migration's new objects: those that are left can only be released.
    fileprivate func migrationEnds() {
        releaseTransaction()
        endForGood()
    }

    /// Whether a class's primary key may be changed: in a migration that changes which property is the primary key.
    func mayChangePrimaryKey(of binding: TableBinding) -> Bool {
        guard migration != nil, let transaction else { return false }
        return transaction.resolvedSchema.schema[binding.table].primaryKey == nil
    }
}
