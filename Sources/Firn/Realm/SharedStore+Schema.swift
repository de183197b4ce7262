import FirnCore
import FirnStorage

/// The classes that a store is opened with.
extension SharedStore {
    /// The tables of the configuration's classes, which are added to the store, or changed in it, if needed. The
    /// caller is on `scheduler`.
    func schema(
        for configuration: Realm.Configuration, _ scheduler: Scheduler, at callSite: CallSite
    ) throws -> SchemaBinding {
        let types = configuration.classes
        let key = types.map(ObjectIdentifier.init).sorted()
        try waitForMigration(configuration)
        if let known = instances.withLock({ $0.schemas[key] }), known.version == configuration.schemaVersion {
            return known
        }
        let infos = types.map { ClassInfo.of($0) }
        let faults = SchemaPlan.faults(of: infos)
        guard faults.isEmpty else {
            throw mismatch("The classes can't be stored:", lines: faults, configuration: configuration)
        }
        for info in infos where info.isEmpty(among: infos) {
            monitor.found(emptyClass: info.name)
        }
        let found = try migrate(infos, configuration: configuration, scheduler: scheduler, at: callSite)
        try storing(configuration.fileURL, store.waitUntilSchemaIsPublished())
        return enter(SchemaBinding(infos, found.schema, era: found.era), for: key)
    }

    /// Keeps a schema for all openers with the same classes. If another thread was first, its schema is used:
    /// otherwise one thread might get two realms.
    private func enter(_ schema: SchemaBinding, for key: [ObjectIdentifier]) -> SchemaBinding {
        let (entered, old) = instances.withLock { instances -> (SchemaBinding, SchemaBinding?) in
            let known = instances.schemas[key]
            if let known, known.version == schema.version, known.era == schema.era { return (known, nil) }
            guard instances.mayUse(schema) else { return (schema, nil) }
            instances.schemas[key] = schema
            return (schema, known)
        }
        withExtendedLifetime(old) {}
        return entered
    }
}
