import ArgumentParser
import FirnBytes
import FirnStorage

/// `firn history STORE CLASS KEY`: one object's past.
struct HistoryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history", abstract: "Shows one object's past: each version that changed it, old and new values.",
        discussion: """
            The object is named by its primary key. If it was deleted and another object got the same primary key, \
            both are shown. An object without a primary key is named by --object and the number that the other \
            subcommands show after #. Versions before the log's first one are not shown; `firn info` tells which that \
            is.

            Example: firn history people.firn Person "Anna" --since 2026-11-01
            """)

    @OptionGroup var arguments: StoreArguments
    @Argument(help: "The object's class.")
    var type: String
    @Argument(help: "The object's primary key.")
    var key: String?
    @Option(help: ArgumentHelp("The object's number, instead of its primary key.", valueName: "number"))
    var object: Int64?
    @OptionGroup var range: RangeArguments

    func validate() throws {
        if (key == nil) == (object == nil) {
            throw ValidationError("Give the object's primary key, or --object and its number.")
        }
    }

    func run() throws {
        try finish(with: arguments.key) { output in
            let name = key.map(ObjectChoice.Name.primaryKey) ?? .number(object ?? 0)
            return try Self.run(
                arguments.store, choice: .object(type: type, name), from: range.from, to: range.to ?? .max,
                since: range.since,
                json: arguments.json, storage: PosixStorage.shared, output: output)
        }
    }

    static func run(
        _ path: String, choice: ObjectChoice, from: UInt64 = 1, to: UInt64 = .max, since: Moment? = nil, json: Bool,
        storage: any Storage, output: Output
    ) throws -> ToolError.Status {
        let store = try OpenedStore.open(path, storage: storage)
        let filter = try ObjectFilter(choice, in: store, isJSON: json)
        let since = since?.nanoseconds ?? .min
        var findings = store.findings
        var collector = ChangeCollector(
            isJSON: json, names: try names(filter, store: store, json: json), output: output)
        collector.filter = filter
        var commits = CommitReader()
        _ = try LogWalk(store: store, from: from).run { event in
            switch event {
            case .frame(let frame, let payload, let path):
                if frame.kind.isPart, frame.part == 0 {
                    guard frame.version <= to else { return false }
                    collector.begin(version: frame.version, time: frame.time)
                }
                let isWanted = frame.kind.isPart && frame.version >= from && frame.time >= since
                collector.schema = commits.schema
                let finding = try commits.take(frame, payload: payload, path: path) { block in
                    if isWanted { try collector.add(block) }
                }
                if let finding { findings.append(finding) }
            case .commit(let frame, _):
                try collector.flush()
                return frame.version < to
            case .finding(let finding): findings.append(finding)
            case .segment, .resumed: break
            }
            return true
        }
        try collector.flush()
        try output.flush()
        if collector.writtenCount == 0 {
            output.warn(
                "firn: these versions have no change of the object. The log begins with version \(store.manifest.firstVersion)."
            )
        }
        return output.report(findings, in: store)
    }

    /// The primary keys of the chosen objects. The search has found them already, unless the user gave an object's
    /// number.
    private static func names(_ filter: ObjectFilter, store: OpenedStore, json: Bool) throws -> any ObjectNames {
        guard filter.names.isEmpty, let table = filter.table, let keys = filter.keys else { return filter }
        return try PrimaryKeys(store, before: .max, of: [table: keys], isJSON: json)
    }
}

extension ObjectFilter: ObjectNames {
    subscript(table: Int, key: Int64) -> JSON? { includes(table: table) ? names[key] : nil }
}
