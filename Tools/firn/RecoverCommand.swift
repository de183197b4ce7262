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
        try finish(with: arguments.key) { out in
            try Self.run(
                arguments.store, output: new.output, schemaStore: schemaStore, json: arguments.json,
                storage: PosixStorage.shared, clock: SystemClock.shared, out)
        }
    }

    /// - Parameters:
    ///   - schemaStore: the path of another store, whose schema is used if this store's is lost or lacks something.
    ///   - byteMax: how much of what the log has changed is held in memory.
    static func run(
        _ path: String, output new: String, schemaStore: String? = nil, json: Bool, storage: any Storage,
        clock: any Clock, byteMax: Int = 256 << 20, _ output: Output
    ) throws -> ToolError.Status {
        let run = RecoverRun(
            path: path, new: new, schemaStore: schemaStore, byteMax: byteMax, storage: storage, clock: clock)
        let report = try run.run(output)
        for finding in report.findings { output.warn("firn: \(finding)") }
        if json {
            try output.line(
                JSON.object([("store", .string(new)), ("version", .int(report.version))] + report.json).text)
        } else {
            let what = report.isComplete ? "all" : "what is left"
            try output.line("\(DisplayText.line(new)) holds \(what) of version \(report.version):")
            for line in report.text { try output.line(line) }
        }
        try output.flush()
        return report.isComplete ? .fine : .damage
    }
}
