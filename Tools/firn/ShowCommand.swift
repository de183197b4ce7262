import ArgumentParser
import FirnStorage

/// `firn show STORE VERSION`: what a version changed, object by object.
struct ShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Shows what a version changed: each object, each property, old and new.",
        discussion: """
            Long values are shortened; --json gives them in full: the version on the first line, then one object \
            per line. An object with very many changes, or in a very large version, may be shown in several pieces.

            Example: firn show people.firn 1203 --type Person
            """)

    @OptionGroup var arguments: StoreArguments
    @Argument(help: "The version's number, as `firn log` lists it.")
    var version: UInt64
    @OptionGroup var chosen: ChoiceArguments

    func run() throws {
        try finish(with: arguments.key) { output in
            try Self.run(
                arguments.store, version: version, choice: chosen.choice, json: arguments.json,
                storage: PosixStorage.shared,
                output: output)
        }
    }

    static func run(
        _ path: String, version: UInt64, choice: ObjectChoice = .all, json: Bool, storage: any Storage,
        output: Output
    ) throws -> ToolError.Status {
        let store = try OpenedStore.open(path, storage: storage)
        let first = store.manifest.firstVersion
        guard version >= first else {
            throw ToolError(.usage, "\(path): the log begins with version \(first); there is no \(version).")
        }
        let filter = try ObjectFilter(choice, in: store, isJSON: json)
        let survey = try Survey(store: store, version: version, filter: filter)
        guard let entry = survey.entry else {
            if survey.findings.contains(where: { $0.kind == .damage }) {
                return output.report(survey.findings, in: store)
            }
            throw ToolError(.usage, "\(path) holds versions up to \(survey.lastVersion); there is no \(version).")
        }
        let names = try PrimaryKeys(store, before: version, of: survey.wanted, isJSON: json)
        var findings = survey.findings + names.findings
        try output.line(json ? entry.json(survey.schema).text : "version " + entry.text(survey.schema))
        var collector = ChangeCollector(isJSON: json, names: names, output: output)
        collector.filter = filter
        var commits = CommitReader()
        _ = try LogWalk(store: store, from: version).run { event in
            guard case .frame(let frame, let payload, let path) = event else { return true }
            let isWanted = frame.kind.isPart && frame.version == version
            let finding = try commits.take(frame, payload: payload, path: path) { block in
                if isWanted { try collector.add(block) }
            }
            collector.schema = commits.schema
            if let finding, isWanted, !findings.contains(finding) { findings.append(finding) }
            return !(isWanted && frame.isLast)
        }
        try collector.flush()
        try output.flush()
        return output.report(findings, in: store)
    }

    /// A first pass over the log: checks that the version is complete, and collects the objects that it changes.
    struct Survey {
        /// The version; nil if the log does not hold it completely.
        private(set) var entry: LogCommand.Entry?
        private(set) var schema: DecodedSchema?
        private(set) var lastVersion: UInt64 = 0
        private(set) var findings: [Finding]
        /// The objects, by table, whose primary keys are looked up in older versions. They have updates, edit scripts
        /// or further elements of a collection, or they were deleted and their old values were not logged.
        private(set) var wanted: [Int: Set<Int64>] = [:]

        /// At most this many objects are looked up, so that memory stays bounded.
        private static let wantedMax = 100_000

        init(store: OpenedStore, version: UInt64, filter: ObjectFilter) throws {
            findings = store.findings
            var commits = CommitReader()
            var entry = LogCommand.Entry(
                version: version, time: 0, parts: 0, stored: 0, raw: 0,
                counts: CommitCounts(countsUpdates: true, filter))
            var isWhole = false
            var wanted: [Int: Set<Int64>] = [:]
            var wantedCount = 0
            var found: [Finding] = []
            func want(_ table: Int, _ key: Int64) {
                guard filter.includes(table, key), wantedCount < Self.wantedMax,
                    wanted[table, default: []].insert(key).inserted
                else { return }
                wantedCount += 1
            }
            let summary = try LogWalk(store: store, from: version).run { event in
                switch event {
                case .frame(let frame, let payload, let path):
                    let isWanted = frame.kind.isPart && frame.version == version
                    if isWanted {
                        entry.time = frame.time
                        entry.parts += 1
                        entry.stored += Int(frame.storedCount)
                        entry.raw += Int(frame.rawCount)
                        if frame.kind == .schema { entry.counts.changesSchema = true }
                    }
                    let finding = try commits.take(frame, payload: payload, path: path) { block in
                        guard isWanted else { return }
                        entry.counts.add(block)
                        switch block {
                        case .update(let update):
                            for index in 0..<update.keys.count { want(update.table, update.keys[index]) }
                        case .script(let script): want(script.table, script.key)
                        case .delete(let rows) where !rows.hasOldValues:
                            for index in 0..<rows.keys.count { want(rows.table, rows.keys[index]) }
                        case .elements(let more): want(more.table, more.key)
                        default: break
                        }
                    }
                    if let finding, isWanted { found.append(finding) }
                case .commit(let frame, _):
                    if frame.version == version { isWhole = true }
                    return frame.version < version
                case .finding(let finding): found.append(finding)
                case .segment, .resumed: break
                }
                return true
            }
            lastVersion = summary.lastVersion
            findings += found
            schema = commits.schema
            if isWhole { self.entry = entry }
            self.wanted = wanted.filter { commits.schema?.tables.indices.contains($0.key) ?? false }
                .filter { commits.schema?.tables[$0.key].primaryKey != nil }
        }
    }
}
