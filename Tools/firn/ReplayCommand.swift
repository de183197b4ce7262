import ArgumentParser
import FirnBytes
import FirnStorage

/// `firn replay STORE --to VERSION|DATE --output NEW`: makes a new store that holds the versions up to that.
struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay", abstract: "Makes a new store that ends with a version of another.",
        discussion: """
            The new store gets an identity of its own. The old one is only read, whether it is damaged or not. \
            If its log does not go back to version 1, the new store begins with its checkpoint: versions before \
            that are not available. A time means all of the day, minute, second or fraction with which it ends.

            Example: firn replay people.firn --to 2026-11-27T09:30 --output before.firn
            """)

    @OptionGroup var arguments: StoreArguments
    @Option(
        help: ArgumentHelp(
            "The last version that the new store holds: its number, or the last one of a time, \(Moment.help).",
            valueName: "version|date"))
    var to: VersionChoice
    @OptionGroup var new: NewStoreArguments

    func run() throws {
        Interrupts.postpone()
        try finish(with: arguments.key) { out in
            try Self.run(
                arguments.store, to: to, output: new.output, json: arguments.json, storage: PosixStorage.shared,
                randomness: SystemRandomness.shared, clock: SystemClock.shared, out)
        }
    }

    static func run(
        _ path: String, to choice: VersionChoice, output new: String, json: Bool, storage: any Storage,
        randomness: any Randomness,
        clock: any Clock, _ output: Output
    ) throws -> ToolError.Status {
        let store = try OpenedStore.open(path, storage: storage)
        try store.checkIsAuthentic()
        try storage.checkIsFree(new, outside: store.files)
        let to = try choice.number(in: store)
        guard to > 0 else {
            throw ToolError(
                .usage, "version 0 is the empty store before the first commit. Give --to a version from 1 on.")
        }
        let plan = try Plan(store, to: to, new)
        var maker = try StoreMaker(
            new, storage: storage, storeHigh: randomness.next() | 1, storeLow: randomness.next(), created: clock.now(),
            from: plan.checkpoint, sealing: try store.sealing(randomness), firstTime: plan.firstTime)
        do {
            var commits = CommitReader()
            var counts = ObjectCounts(
                firstVersion: plan.first, checkpoint: try plan.checkpoint.map { try ObjectCounts.CheckpointCounts($0) })
            var commit = CommitCounts(countsUpdates: false)
            var damage: Finding?
            var done = 0
            let summary = try LogWalk(store: store, from: plan.first).run { event in
                guard to >= plan.first else { return false }
                switch event {
                case .frame(let frame, let payload, let path):
                    guard frame.version <= to else { return false }
                    done += frame.frameByteCount
                    output.progress("replaying", done, of: plan.byteCount)
                    if frame.kind.isPart, frame.version >= plan.first { try maker.add(frame, payload) }
                    if frame.part == 0 { commit = CommitCounts(countsUpdates: false) }
                    damage = try commits.take(frame, payload: payload, path: path) { commit.add($0) }
                    if damage == nil, frame.kind.isPart, frame.isLast, frame.version >= plan.first,
                        let problem = counts.add(commit, version: frame.version, commits.schema)
                    {
                        damage = Finding(
                            kind: .damage, file: path, offset: Int(frame.offset),
                            text: "version \(frame.version): \(problem)")
                    }
                    return damage == nil && !(frame.version == to && frame.kind.isPart && frame.isLast)
                case .commit(let frame, _): return frame.version < to
                case .finding(let finding):
                    guard finding.kind == .damage else { return true }
                    damage = finding
                    return false
                case .segment, .resumed: return true
                }
            }
            if let damage {
                throw ToolError(
                    .damage, "\(damage)\n\(new) was not made. Versions up to \(summary.lastVersion) can be saved.")
            }
            try Interrupts.check()
            try maker.finish(version: to)
        } catch {
            maker.remove()
            throw error
        }
        output.clearProgress()
        let id = maker.manifest.storeID
        let begin = max(plan.first - 1, 1)
        if json {
            let facts: [(String, JSON)] = [
                ("store", .string(new)), ("id", .string(id)), ("firstVersion", .int(begin)), ("lastVersion", .int(to)),
                ("segments", .int(maker.manifest.segments.count)), ("bytes", .int(maker.byteCount)),
                ("checkpointBytes", .int(maker.checkpointByteCount)),
            ]
            try output.line(JSON.object(facts).text)
        } else {
            let versions = begin == to ? "version \(to)" : "versions \(begin) to \(to)"
            let checkpoint =
                plan.checkpoint == nil ? "" : " and a checkpoint of \(Amount.bytes(maker.checkpointByteCount))"
            try output.line(
                "\(DisplayText.line(new)) holds \(versions): \(Amount.bytes(maker.byteCount)) in "
                    + "\(Amount.of(maker.manifest.segments.count, one: "segment"))\(checkpoint), store \(id)")
        }
        return .fine
    }

    /// What the new store is made from, decided before anything is written.
    private struct Plan {
        /// The checkpoint that the new store begins with; nil if the log is all that it needs.
        private(set) var checkpoint: OpenedCheckpoint?
        /// The first version that is taken from the log.
        private(set) var first: UInt64 = 1
        /// The time of the version `first`.
        private(set) var firstTime: Int64?
        /// The number of bytes of the log that are replayed.
        let byteCount: Int

        /// Throws if the version is not available.
        ///
        /// - Parameter new: the new store's path, which the errors name.
        init(_ store: OpenedStore, to: UInt64, _ new: String) throws {
            let path = store.files.path
            var reach: Reach?
            if store.manifest.firstVersion == 1 {
                let found = try Reach(store, from: 1, to: to)
                guard found.version < to else {
                    byteCount = found.byteCount
                    return
                }
                reach = found
            }
            // The log does not go back to version 1, or it is damaged: the checkpoint may replace its beginning.
            if let entry = store.manifest.checkpoint, entry.version <= to {
                let opened = try Self.checked(store, new)
                let next = entry.version + 1
                guard to > entry.version else {
                    checkpoint = opened
                    first = next
                    byteCount = 0
                    return
                }
                guard store.manifest.firstVersion <= next else {
                    throw ToolError(
                        .damage,
                        "\(path): the log begins with version \(store.manifest.firstVersion), after the checkpoint.\n\(new) was not made. `--to \(entry.version)` saves the checkpoint."
                    )
                }
                let found = try Reach(store, from: next, to: to)
                if found.version >= to {
                    checkpoint = opened
                    first = next
                    firstTime = found.firstTime
                    byteCount = found.byteCount
                    return
                }
                reach = found
            }
            if let damage = reach?.damage {
                let last = reach?.version ?? 0
                throw ToolError(
                    .damage,
                    "\(damage)\n\(new) was not made. Versions up to \(last) are intact: `--to \(last)` saves them.")
            }
            if let reach {
                throw ToolError(.usage, "\(path) holds versions up to \(reach.version); there is no \(to).")
            }
            guard let entry = store.manifest.checkpoint else {
                throw ToolError(
                    .usage,
                    "\(path): the log begins with version \(store.manifest.firstVersion), and there is no checkpoint to replay it onto."
                )
            }
            throw ToolError(
                .usage,
                "\(path) begins with the checkpoint of version \(entry.version): versions from that one on are available, but not \(to)."
            )
        }

        /// The checkpoint, after every byte of it has been read and found intact.
        private static func checked(_ store: OpenedStore, _ new: String) throws -> OpenedCheckpoint {
            let opened = try store.openCheckpoint()
            var findings = opened.findings
            if let checkpoint = opened.checkpoint, findings.isEmpty {
                var scan = CheckpointScan(checkpoint)
                try scan.run { _ in }
                findings += scan.findings
                if findings.isEmpty {
                    var check = CheckpointCheck(checkpoint)
                    try check.run()
                    findings += check.findings
                }
                if findings.isEmpty { return checkpoint }
            }
            throw ToolError(
                .damage,
                findings.map(\.description).joined(separator: "\n")
                    + "\n\(new) was not made: it would begin with this checkpoint.")
        }
    }

    /// How far the log can be read.
    private struct Reach {
        let version: UInt64
        /// The time of the first version.
        private(set) var firstTime: Int64?
        private(set) var byteCount = 0
        private(set) var damage: Finding?

        init(_ store: OpenedStore, from: UInt64, to: UInt64) throws {
            var bytes = 0
            var damage =
                store.isSalvaged ? nil : store.findings.first { $0.kind == .damage && $0.file != store.files.manifest }
            var firstTime: Int64?
            let summary = try LogWalk(store: store, from: from).run { event in
                switch event {
                case .frame(let frame, _, _):
                    bytes += frame.frameByteCount
                    if frame.kind.isPart, frame.version == from, frame.part == 0 { firstTime = frame.time }
                case .commit(let frame, _): return frame.version < to
                case .finding(let finding): if finding.kind == .damage { damage = damage ?? finding }
                case .segment, .resumed: break
                }
                return true
            }
            version = summary.lastVersion
            byteCount = bytes
            self.firstTime = firstTime
            self.damage = damage
        }
    }
}
