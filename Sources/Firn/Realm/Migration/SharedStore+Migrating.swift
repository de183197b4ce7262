import FirnCore
import FirnStorage

/// Adapts a store to the classes that it is opened with. Either their tables are added, or the store is migrated, with
/// the migration block if there is one.
extension SharedStore {
    /// The error for classes and a store that do not fit each other.
    func mismatch(_ heading: String, lines: [String], configuration: Realm.Configuration) -> Realm.Error {
        Realm.Error(
            .schemaMismatch, ([heading] + lines.map { "- \($0)" }).joined(separator: "\n"),
            fileURL: configuration.fileURL)
    }

    /// A schema that the store had in an era (`Instances.era`): an era ends with each migration that no open realm
    /// survives.
    struct FoundSchema {
        let schema: StoreSchema
        let era: Int
    }

    /// Adapts the store to the classes. Starts again if another thread or process changes the schema meanwhile.
    func migrate(
        _ infos: [ClassInfo], configuration: Realm.Configuration, scheduler: Scheduler, at callSite: CallSite
    ) throws -> FoundSchema {
        while true {
            // The era is read first, so that a schema from before a migration is never taken for one from after it.
            let era = instances.withLock { $0.era }
            let current = FoundSchema(schema: store.schema, era: era)
            if let found = try migrate(
                infos, configuration: configuration, scheduler: scheduler, from: current, at: callSite)
            {
                return found
            }
        }
    }

    /// One attempt of `migrate`. Returns nil if the schema had changed before this process could write.
    private func migrate(
        _ infos: [ClassInfo], configuration: Realm.Configuration, scheduler: Scheduler, from found: FoundSchema,
        at callSite: CallSite
    ) throws -> FoundSchema? {
        let current = found.schema
        let isNew = current.tables.isEmpty
        let plan = SchemaPlan(infos, version: configuration.schemaVersion, on: current)
        if !isNew, configuration.deleteRealmIfMigrationNeeded, plan.needsMigration(to: configuration.schemaVersion) {
            // Nothing is deleted for classes that can't be stored.
            if let fault = SchemaPlan.limitFault(of: infos) {
                throw mismatch("The classes can't be stored:", lines: [fault.text], configuration: configuration)
            }
            throw Realm.Error(
                .alreadyOpen,
                "The store has to be deleted, as deleteRealmIfMigrationNeeded says, but this process has it open. Release all its realms, objects, collections and observers first.",
                fileURL: configuration.fileURL)
        }
        guard isNew || configuration.schemaVersion >= current.version else {
            throw Realm.Error(
                .schemaMismatch,
                "The store's schema version is \(current.version), the configuration's \(configuration.schemaVersion). Set schemaVersion to at least \(current.version).",
                fileURL: configuration.fileURL)
        }
        if !isNew, configuration.schemaVersion == current.version, !plan.differences.isEmpty {
            throw mismatch(
                "The store differs from the classes. Raise Configuration.schemaVersion above \(current.version) to migrate it:",
                lines: plan.differences, configuration: configuration)
        }
        guard plan.changesAnything else { return found }
        if configuration.readOnly {
            // A missing index only makes reading slower, but a missing class or property can't be read.
            guard infos.allSatisfy({ current.table(named: $0.name) != nil }), plan.differences.isEmpty else {
                throw mismatch(
                    "The store does not have all of these classes and their properties, and a read-only realm can't add them:",
                    lines: infos.map(\.name), configuration: configuration)
            }
            return found
        }
        let block = isNew || configuration.schemaVersion == current.version ? nil : configuration.migrationBlock
        let difference = plan.schema.breaks(current)
        if let error = otherProcessError(difference, configuration) { throw error }
        guard !isWritten(here: scheduler) else {
            throw Realm.Error(
                .fail,
                "The realm can't be opened with classes that the store lacks while this thread, queue or actor is in a write transaction of it, because opening would wait for that transaction. Open it first.",
                fileURL: configuration.fileURL)
        }
        makeWay(here: scheduler)
        let start = SystemClock.shared.monotonic()
        var era = found.era
        let changed: StoreSchema?
        if difference != nil || block != nil {
            let migration = try beginMigration(difference ?? "it has a migrationBlock", configuration)
            let result = Result {
                try change(plan, infos: infos, from: current, block: block, configuration: configuration, at: callSite)
            }
            era = end(migration)
            changed = try result.get()
        } else {
            changed = try change(
                plan, infos: infos, from: current, block: nil, configuration: configuration, at: callSite)
        }
        guard let changed else { return nil }
        if !isNew, configuration.schemaVersion != current.version {
            monitor.migrated(
                from: current.version, to: configuration.schemaVersion,
                nanoseconds: SystemClock.shared.monotonic() - start)
        }
        return FoundSchema(schema: changed, era: era)
    }

    /// The error if other processes have the store open and could not go on after the migration; nil if there is no
    /// such process.
    private func otherProcessError(_ difference: String?, _ configuration: Realm.Configuration) -> Realm.Error? {
        guard let difference, let other = store.otherProcesses.first else { return nil }
        return Realm.Error(
            .alreadyOpen,
            "The store can't be migrated (\(difference)) while process \(other.processID) has it open, because that process could not go on. Close it there.",
            fileURL: configuration.fileURL)
    }

    /// Changes the schema, with a migration block if there is one. Returns the store's new schema; nil if the schema
    /// had changed before this process could write.
    private func change(
        _ plan: SchemaPlan, infos: [ClassInfo], from current: StoreSchema, block: MigrationBlock?,
        configuration: Realm.Configuration, at callSite: CallSite
    ) throws -> StoreSchema? {
        var schema = plan.schema
        var faults: [String] = []
        var refusal: Realm.Error?
        do throws(StoreError) {
            let transaction = try store.beginWrite(replacing: .none, at: callSite)
            guard transaction.resolvedSchema.schema == current else {
                transaction.cancel()
                return nil
            }
            do throws(StoreError) {
                if let block {
                    let plan = try run(
                        block, transaction: transaction, infos: infos, from: current, configuration: configuration,
                        at: callSite)
                    schema = plan.final
                    try transaction.changeSchema(to: schema)
                    faults = transaction.recordingDamage { plan.faults(in: transaction) }
                } else {
                    try transaction.changeSchema(to: schema)
                    faults = transaction.recordingDamage { SchemaPlan.objectFaults(in: transaction, from: current) }
                }
            } catch {
                // Objects that the block has kept may keep the transaction in memory, but it must not keep the write
                // lock.
                transaction.cancel()
                throw error
            }
            // After damage the faults mean nothing, and the commit throws the damage.
            if transaction.hasMetDamage { faults = [] }
            // The block may have made changes that were not known when it began.
            refusal = otherProcessError(schema.breaks(current), configuration)
            if faults.isEmpty, refusal == nil { try transaction.commit() } else { transaction.cancel() }
        } catch {
            throw Realm.Error(error, configuration.fileURL)
        }
        if let refusal { throw refusal }
        guard faults.isEmpty else {
            throw mismatch(
                "The store can't be migrated, because its objects do not fit the classes. Nothing was changed. Open it with the previous classes, and change the objects:",
                lines: faults, configuration: configuration)
        }
        return schema
    }

    /// Runs a migration block in a transaction. Returns the plan, with the schema that the store is to have.
    private func run(
        _ block: MigrationBlock, transaction: WriteTransaction, infos: [ClassInfo], from current: StoreSchema,
        configuration: Realm.Configuration, at callSite: CallSite
    ) throws(StoreError) -> MigrationPlan {
        let plan = MigrationPlan(infos, version: configuration.schemaVersion, on: current)
        let run = try MigrationRun(
            store: self, transaction: transaction, plan: plan, infos: infos, configuration: configuration, at: callSite)
        LockRank.expectNone("the migration block is called")
        block(Migration(run), current.version)
        return run.end()
    }

    // MARK: Migrations that no open realm survives

    /// Waits for a migration that another thread runs.
    func waitForMigration(_ configuration: Realm.Configuration) throws {
        while let migration = instances.withLock({ $0.migration }) {
            guard migration.thread != currentThreadID() else {
                throw Realm.Error(
                    .alreadyOpen,
                    "The realm was opened by code that its own migration calls: the migration block, or onDamage. Use the migration's objects there.",
                    fileURL: configuration.fileURL)
            }
            migration.wait()
        }
    }

    /// Begins a migration that removes or changes something. Throws if this process has realms or objects of the store.
    /// They could not go on, because accessors read rows as their classes were when the realm was opened. No realm is
    /// opened until the migration ends.
    private func beginMigration(_ difference: String, _ configuration: Realm.Configuration) throws -> Opening {
        let own = Opening()
        while true {
            try waitForMigration(configuration)
            var met: [_RealmInstance] = []
            let begun: Bool? = instances.withLock { instances in
                met = instances.all()
                // A realm whose thread has ended can only be released, so it does not prevent the migration.
                guard met.allSatisfy({ $0.hasEnded.load(ordering: .acquiring) }) else { return nil }
                guard instances.migration == nil else { return false }
                instances.migration = own
                return true
            }
            guard let begun else {
                throw Realm.Error(
                    .alreadyOpen,
                    "The store can't be migrated (\(difference)) while this process has it open, because its realms could not go on. Release all its realms, objects, collections and observers first.",
                    fileURL: configuration.fileURL)
            }
            if begun { return own }
        }
    }

    /// Ends a migration. Returns the era that begins.
    private func end(_ migration: Opening) -> Int {
        let (schemas, era) = instances.withLock { instances in
            instances.migration = nil
            instances.era += 1
            defer { instances.schemas = LinearMap() }
            return (instances.schemas, instances.era)
        }
        withExtendedLifetime(schemas) {}
        migration.end()
        return era
    }
}
