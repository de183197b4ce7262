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

            Example: firn recover people.firn --output people-recovered.firn
            """)

    @OptionGroup var arguments: StoreArguments
    @OptionGroup var new: NewStoreArguments

    func run() throws {
        Interrupts.postpone()
        try finish { out in
            try Self.run(
                arguments.store, output: new.output, json: arguments.json, storage: PosixStorage.shared,
                clock: SystemClock.shared, out)
        }
    }

    /// - Parameter byteMax: how much of what the log has changed is held in memory.
    static func run(
        _ path: String, output new: String, json: Bool, storage: any Storage, clock: any Clock,
        byteMax: Int = 256 << 20, _ output: Output
    ) throws -> ToolError.Status {
        let store = try OpenedStore.openDamaged(path, storage: storage)
        guard !(new + "/").hasPrefix(store.files.path + "/") else {
            throw ToolError(.usage, "\(new) lies in the damaged store. Give --output a folder elsewhere.")
        }
        try storage.checkIsFree(new)
        let log = try SalvageLog(store)
        var found = store.findings
        let base = try SalvageSource.choose(store, log, &found)
        guard let schema = log.schema ?? base?.schema else {
            throw ToolError(
                .damage, "\(path): no schema can be read, neither in the log nor in a checkpoint. \(new) was not made.")
        }
        let salvage = Salvage(log, base, newer(schema, base?.schema), byteMax: byteMax)
        try SalvageWriter.write(salvage, to: new, storage: storage, clock: clock)
        var report = salvage.report
        for finding in found { report.add(finding) }
        for finding in report.findings { output.warn("firn: \(finding)") }
        let version = max(log.lastVersion, base?.version ?? 0)
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

    /// The schema that has more: tables and columns are only ever added, or marked as removed.
    private static func newer(_ a: DecodedSchema, _ b: DecodedSchema?) -> DecodedSchema {
        guard let b else { return a }
        func size(_ schema: DecodedSchema) -> Int {
            schema.tables.reduce(schema.tables.count) { $0 + $1.columns.count }
        }
        return size(b) > size(a) ? b : a
    }
}

/// Where a recovery begins.
enum SalvageSource {
    /// The checkpoint from which most can be recovered; nil to begin with the empty store before version 1.
    ///
    /// The best is one that is intact itself, and has all versions behind it in the log. Otherwise it is the newest one
    /// that can be opened.
    ///
    /// - Parameter found: gets what is wrong with checkpoints that the manifest lists.
    static func choose(_ store: OpenedStore, _ log: SalvageLog, _ found: inout [Finding]) throws -> SalvageBase? {
        func isContinued(_ version: UInt64) -> Bool {
            log.firstVersion <= version + 1 && log.lost.allSatisfy { $0.upperBound <= version }
        }
        if let listed = store.manifest.checkpoint { found += try store.open(listed).findings }
        var newest: SalvageBase?
        for entry in try store.checkpointsThatExist() {
            let opened = try store.open(entry)
            guard let checkpoint = opened.checkpoint else { continue }
            let base = try SalvageBase(checkpoint)
            newest = newest ?? base
            guard isContinued(base.version), opened.findings.isEmpty else { continue }
            var check = CheckpointCheck(checkpoint)
            try check.run()
            if check.findings.isEmpty { return base }
        }
        if log.firstVersion == 1, log.lost.isEmpty, log.lastVersion > 0 { return nil }
        return newest
    }
}
