import ArgumentParser
import FirnBytes
import FirnStorage

/// `firn diff STORE V1 V2`: how two versions differ.
struct DiffCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff", abstract: "Shows how two versions differ, object by object, whatever happened in between.",
        discussion: """
            An object that was inserted and deleted in between is not shown, nor is a value that was changed and \
            changed back. Of a collection that was edited in place, the edits of each version are shown; of one that \
            was assigned, the elements before and after. If VERSION1 is the newer one, the difference is shown the \
            other way round. The log must hold the versions between the two.

            Example: firn diff people.firn 2026-11-01 2026-11-27 --type Person
            """)

    @OptionGroup var arguments: StoreArguments
    @Argument(help: ArgumentHelp("A version: its number, or the last one of a time.", valueName: "version1"))
    var first: VersionChoice
    @Argument(help: ArgumentHelp("The other version; the newest one if it is left out.", valueName: "version2"))
    var second: VersionChoice?
    @OptionGroup var chosen: ChoiceArguments

    func run() throws {
        try finish(with: arguments.key) { output in
            try Self.run(
                arguments.store, first: first, second: second, choice: chosen.choice, json: arguments.json,
                storage: PosixStorage.shared,
                output: output)
        }
    }

    /// - Parameter byteMax: the memory for changes; a larger difference takes several passes over the log.
    static func run(
        _ path: String, first: VersionChoice, second: VersionChoice?, choice: ObjectChoice = .all, json: Bool,
        storage: any Storage, byteMax: Int = 256 << 20, output: Output
    ) throws -> ToolError.Status {
        let store = try OpenedStore.open(path, storage: storage)
        let filter = try ObjectFilter(choice, in: store, isJSON: json)
        let last = try store.lastVersion()
        let (from, to) = (try first.number(in: store), try second?.number(in: store) ?? last)
        let range = min(from, to)...max(from, to)
        let oldest = store.manifest.firstVersion - 1
        guard range.lowerBound >= oldest else {
            throw ToolError(
                .usage,
                "\(path): the log begins with version \(oldest + 1), so nothing is known of changes after version \(range.lowerBound)."
            )
        }
        guard range.upperBound <= last else {
            throw ToolError(.usage, "\(path) holds versions up to \(last); there is no \(range.upperBound).")
        }
        var findings = store.findings
        var counts: [ChangedObject.Change: Int] = [:]
        var lower: ChangedObject.Identity? = ChangedObject.Identity(table: 0, key: 0)
        while let start = lower {
            let pass = try Pass(store: store, range: range, changes: NetChanges(from: start, filter, byteMax: byteMax))
            for finding in pass.findings where !findings.contains(finding) { findings.append(finding) }
            // A difference that leaves out a damaged version would be wrong.
            if pass.findings.contains(where: { $0.kind == .damage }) { break }
            let names = try PrimaryKeys(
                store, before: range.upperBound + 1, of: pass.changes.unnamed(in: pass.schema), isJSON: json)
            let objects: [ChangedObject]
            do throws(Damage) {
                objects = try pass.changes.result(names, pass.schema, isReversed: from > to, isJSON: json)
            } catch {
                throw ToolError(.damage, "\(path): the changes do not fit each other: \(error)")
            }
            for object in objects {
                counts[object.change, default: 0] += 1
                try object.write(to: output, pass.schema, isJSON: json)
            }
            lower = pass.changes.upper
        }
        let isComplete = lower == nil
        if json {
            let changes = [ChangedObject.Change.inserted, .updated, .deleted]
            try output.line(
                JSON.object(
                    [
                        ("kind", .string("summary")), ("from", .int(from)), ("to", .int(to)),
                        ("complete", .bool(isComplete)),
                    ]
                        + changes.map { ($0.rawValue, .int(counts[$0] ?? 0)) }
                ).text)
        } else if isComplete {
            let words = [ChangedObject.Change.inserted, .updated, .deleted].compactMap { change in
                counts[change].map { "\($0) \(change.rawValue)" }
            }
            try output.line(
                "versions \(from) and \(to): " + (words.isEmpty ? "no difference" : words.joined(separator: ", ")))
        }
        try output.flush()
        return output.report(findings, in: store)
    }

    /// One walk over the log between the versions.
    private struct Pass {
        private(set) var changes: NetChanges
        private(set) var schema: DecodedSchema?
        private(set) var findings: [Finding] = []

        init(store: OpenedStore, range: ClosedRange<UInt64>, changes: NetChanges) throws {
            var changes = changes
            var found: [Finding] = []
            var commits = CommitReader()
            _ = try LogWalk(store: store, from: range.lowerBound + 1).run { event in
                switch event {
                case .frame(let frame, let payload, let path):
                    guard !frame.kind.isPart || frame.version <= range.upperBound else { return false }
                    let isWanted = frame.kind.isPart && frame.version > range.lowerBound
                    let finding = try commits.take(frame, payload: payload, path: path) { block in
                        if isWanted { try changes.add(block, version: frame.version) }
                    }
                    if let finding, isWanted { found.append(finding) }
                case .commit(let frame, _): return frame.version < range.upperBound
                case .finding(let finding): found.append(finding)
                case .segment, .resumed: break
                }
                return true
            }
            self.changes = changes
            schema = commits.schema
            findings = found
        }
    }
}
