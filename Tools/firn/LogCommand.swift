import ArgumentParser
import FirnStorage

/// `firn log STORE [--from V] [--to V]`: one line for each version.
struct LogCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log", abstract: "Lists versions: when, how large, how many objects of which class changed.",
        discussion: """
            Example: firn log people.firn --since 2026-11-27 --type Person
            """)

    @OptionGroup var arguments: StoreArguments
    @OptionGroup var range: RangeArguments
    @OptionGroup var chosen: ChoiceArguments

    func run() throws {
        try finish(with: arguments.key) { output in
            try Self.run(
                arguments.store, from: range.from, to: range.to ?? .max, since: range.since, choice: chosen.choice,
                json: arguments.json,
                storage: PosixStorage.shared, output: output)
        }
    }

    /// One version, as the command lists it.
    struct Entry {
        var version: UInt64
        var time: Int64
        var parts: Int
        var stored: Int
        var raw: Int
        var counts: CommitCounts

        func text(_ schema: DecodedSchema?) -> String {
            var changes: [String] = []
            for (table, change) in counts.tables.sorted(by: { $0.key < $1.key }) {
                var words: [String] = []
                if change.inserted > 0 { words.append("+\(change.inserted)") }
                if !change.updatedKeys.isEmpty {
                    words.append("~\(change.updatedKeys.count)\(counts.isAtLeast ? "…" : "")")
                }
                if change.deleted > 0 { words.append("-\(change.deleted)") }
                if !words.isEmpty {
                    changes.append("\(schema?.shownName(table) ?? "table \(table)") \(words.joined(separator: " "))")
                }
            }
            if counts.changesSchema { changes.insert("schema", at: 0) }
            if counts.lacksOldValues { changes.append("old values not logged") }
            return "\(version)  \(TimeText.milliseconds(time))  \(Amount.of(parts, one: "part"))  "
                + "\(Amount.bytes(stored)) stored, \(Amount.bytes(raw)) raw  "
                + (changes.isEmpty ? "nothing changed" : changes.joined(separator: ", "))
        }

        func json(_ schema: DecodedSchema?) -> JSON {
            let classes = counts.tables.sorted { $0.key < $1.key }.map { table, change in
                JSON.object([
                    ("class", .string(schema?.name(table) ?? "table \(table)")), ("inserted", .int(change.inserted)),
                    ("updated", .int(change.updatedKeys.count)), ("deleted", .int(change.deleted)),
                ])
            }
            return .object(
                [
                    ("version", .int(version)), ("time", .string(TimeText.milliseconds(time))),
                    ("nanoseconds", .int(time)),
                    ("parts", .int(parts)), ("storedBytes", .int(stored)), ("rawBytes", .int(raw)),
                    ("schemaChanged", .bool(counts.changesSchema)), ("updatedIsAtLeast", .bool(counts.isAtLeast)),
                    ("classes", .array(classes)),
                ] + (counts.lacksOldValues ? [ChangedObject.oldNotLogged] : []))
        }
    }

    static func run(
        _ path: String, from: UInt64, to: UInt64, since: Moment? = nil, choice: ObjectChoice = .all, json: Bool,
        storage: any Storage, output: Output
    ) throws -> ToolError.Status {
        let store = try OpenedStore.open(path, storage: storage)
        let first = store.manifest.firstVersion
        guard to >= first else {
            throw ToolError(.usage, "\(path): the log begins with version \(first); there is none up to \(to).")
        }
        let filter = try ObjectFilter(choice, in: store, isJSON: json)
        let since = since?.nanoseconds ?? .min
        var findings = store.findings
        var commits = CommitReader()
        var entry: Entry?
        let summary = try LogWalk(store: store, from: from).run { event in
            switch event {
            case .frame(let frame, let payload, let path):
                if frame.kind.isPart, frame.part == 0 {
                    entry = Entry(
                        version: frame.version, time: frame.time, parts: 0, stored: 0, raw: 0,
                        counts: CommitCounts(countsUpdates: true, filter))
                }
                if frame.kind.isPart, frame.version > to { return false }
                if frame.kind.isPart {
                    entry?.parts += 1
                    entry?.stored += Int(frame.storedCount)
                    entry?.raw += Int(frame.rawCount)
                    if frame.kind == .schema { entry?.counts.changesSchema = true }
                }
                if let finding = try commits.take(frame, payload: payload, path: path, { entry?.counts.add($0) }) {
                    findings.append(finding)
                }
            case .commit(let frame, _):
                if let entry, frame.version >= from, frame.time >= since, filter.isAll || !entry.counts.isEmpty {
                    try output.line(json ? entry.json(commits.schema).text : entry.text(commits.schema))
                }
                return frame.version < to
            case .finding(let finding): findings.append(finding)
            case .segment, .resumed: break
            }
            return true
        }
        try output.flush()
        if !summary.wasStopped, !summary.isDamaged, from > summary.lastVersion, from > 1 {
            throw ToolError(
                .usage, "\(path): the last version is \(summary.lastVersion); there is none from \(from) on.")
        }
        return output.report(findings, in: store)
    }
}
