import ArgumentParser
import FirnBytes
import FirnStorage

/// `firn recover STORE --output NEW`: makes a new store of everything in a damaged one that can still be read.
struct RecoverCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recover", abstract: "Makes a new store of everything in a damaged one that can still be read.",
        discussion: """
            Takes every object, value and change whose checksum is right, from the checkpoint and the log together, \
            also if the manifest or segments are missing. Indexes are made anew. The new store holds the newest state \
            that can be put together, without its history; `firn replay` keeps the history, but only up to the damage. \
            What is lost is listed: a value that is lost is that of a new object, a link to a lost object is removed. \
            Nothing is made up otherwise. The damaged store is only read. Exits with 1 if anything is lost.

            The schema, which names classes and properties, is in each segment and each checkpoint. If the newest one \
            is lost all the same, give --schema-from another store of the same application, best a copy of this one.

            Example: firn recover people.firn --output people-recovered.firn
            """)

    @OptionGroup var arguments: StoreArguments
    @OptionGroup var new: NewStoreArguments
    @Option(
        name: .customLong("schema-from"),
        help: ArgumentHelp("The store that has the schema, if it is lost in the damaged one.", valueName: "path"))
    var schemaStore: String?

    func run() throws {
        Interrupts.postpone()
        try finish { out in
            try Self.run(
                arguments.store, output: new.output, schemaStore: schemaStore, json: arguments.json,
                storage: PosixStorage.shared, clock: SystemClock.shared, out)
        }
    }

    /// - Parameters:
    ///   - schemaStore: where the schema comes from if it is lost.
    ///   - byteMax: how much of what the log has changed is held in memory.
    static func run(
        _ path: String, output new: String, schemaStore: String? = nil, json: Bool, storage: any Storage,
        clock: any Clock, byteMax: Int = 256 << 20, _ output: Output
    ) throws -> ToolError.Status {
        let store = try OpenedStore.openDamaged(path, storage: storage)
        try storage.checkIsFree(new, outside: store.files)
        let log = try SalvageLog(store)
        var found = store.findings
        let sources = try SalvageSources(store: store, log: log, found: &found)
        var known = [log.schema, sources.schema].compactMap { $0 }.max { $0.size < $1.size }
        if let schemaStore {
            let given = try Self.schema(of: schemaStore, storage)
            guard given.extends(known ?? given) || known?.extends(given) == true else {
                throw ToolError(
                    .usage,
                    "\(schemaStore) has other classes or properties than what is left of the schema of \(path). Give --schema-from another copy of the store, or a store of the same release of the application."
                )
            }
            known = [known, given].compactMap { $0 }.max { $0.size < $1.size }
        }
        guard let schema = known else {
            throw ToolError(
                .damage,
                "\(path): no schema can be read, neither in the log nor in a checkpoint. \(new) was not made. If there is another store of the same application, such as an older copy, give it as --schema-from STORE."
            )
        }
        let salvage = Salvage(log: log, sources: sources, schema: schema, byteMax: byteMax)
        try SalvageWriter.write(salvage, to: new, storage: storage, clock: clock, output)
        var report = salvage.report
        for finding in found { report.add(finding) }
        for finding in report.findings { output.warn("firn: \(finding)") }
        let version = max(log.lastVersion, sources.newestVersion)
        if json {
            try output.line(
                JSON.object(
                    [("store", .string(new)), ("version", .int(version))]
                        + report.json(salvage.schema)
                ).text)
        } else {
            try output.line(
                "\(DisplayText.line(new)) holds \(report.isComplete ? "all" : "what is left") of version \(version):")
            for line in report.text(salvage.schema) { try output.line(line) }
        }
        try output.flush()
        return report.isComplete ? .fine : .damage
    }

    /// The schema of another store.
    private static func schema(of path: String, _ storage: any Storage) throws -> DecodedSchema {
        guard let schema = try OpenedStore.openDamaged(path, storage: storage).newestSchema() else {
            throw ToolError(.usage, "\(path) has no schema that can be read, which --schema-from needs.")
        }
        return schema
    }
}
