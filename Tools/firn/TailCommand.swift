import ArgumentParser
import FirnStorage

/// `firn tail STORE`: follows what is written to a store.
struct TailCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tail", abstract: "Follows a store: shows what each new version changes, as it is committed.",
        discussion: """
            Begins with the next version, or with --from. Ends when it is interrupted. With --json, each line is one \
            changed object, with its version; the line with "complete" comes after a version's objects, also if none \
            of them was chosen. A program that has read the line of version V goes on with --from V+1. A version is \
            shown once its transaction is over for the readers of the store, which may be before it is on the disk.

            Example: firn tail people.firn --json --from 1201 | my-indexer
            """)

    @OptionGroup var arguments: StoreArguments
    @Option(help: "The first version to show.")
    var from: UInt64?
    @Flag(inversion: .prefixedNo, help: "Wait for new versions; otherwise end with the newest one.")
    var follow = true
    @OptionGroup var chosen: ChoiceArguments

    func run() throws {
        try finish(with: arguments.key) { output in
            try Self.run(
                arguments.store, from: from, choice: chosen.choice, json: arguments.json, storage: PosixStorage.shared,
                output: output
            ) {
                if follow { sleepThread(nanoseconds: Self.interval) }
                return follow
            }
        }
    }

    /// The time between two looks for new versions, in nanoseconds.
    private static let interval: Int64 = 50_000_000

    /// - Parameter wait: called when all versions have been shown; returns whether to look for new ones.
    static func run(
        _ path: String, from: UInt64?, choice: ObjectChoice = .all, json: Bool, storage: any Storage,
        output: Output, _ wait: () throws -> Bool
    ) throws -> ToolError.Status {
        var store = try OpenedStore.open(path, storage: storage)
        try store.checkIsAuthentic()
        let filter = try ObjectFilter(choice, in: store, isJSON: json)
        let first = try from.map { max($0, 1) } ?? store.lastVersion() + 1
        let follower = try Follower(store: store, next: first, filter: filter, isJSON: json, output: output)
        while true {
            let findings = try follower.read(store)
            try output.flush()
            if findings.contains(where: { $0.kind == .damage }) {
                // If the store has changed, a writer that started or a compaction that ended may have replaced what was
                // read.
                guard store.hasChanged() else { return output.report(findings, in: store) }
            } else if try !wait() {
                return .fine
            }
            store = try OpenedStore.open(path, storage: storage, patience: .max)
            try store.checkIsAuthentic()
        }
    }

    /// The state of a command that has shown all versions before `next`.
    private final class Follower {
        private var next: UInt64
        private let isJSON: Bool
        private let names: FollowedKeys
        private let output: Output
        private var collector: ChangeCollector
        private var commits = CommitReader()
        private var position: LogWalk.Position?

        init(store: OpenedStore, next: UInt64, filter: ObjectFilter, isJSON: Bool, output: Output) throws {
            self.next = next
            self.isJSON = isJSON
            self.output = output
            names = try FollowedKeys(store, before: next, filter, isJSON: isJSON)
            collector = ChangeCollector(isJSON: isJSON, names: names, output: output)
            collector.filter = filter
        }

        /// Shows the versions from `next` on. Returns what is wrong with the log.
        func read(_ store: OpenedStore) throws -> [Finding] {
            let oldest = store.manifest.firstVersion
            guard next >= oldest else {
                let missing = next == oldest - 1 ? "version \(next) is" : "versions \(next) to \(oldest - 1) are"
                throw ToolError(
                    .usage,
                    "\(store.files.path): \(missing) no longer in the log. What is there begins with --from \(oldest).")
            }
            try names.update(store)
            var findings: [Finding] = []
            let summary = try LogWalk(store: store, from: next, position: position).run { event in
                switch event {
                case .frame(let frame, let payload, let path):
                    if let finding = try take(frame, payload: payload, path: path) { findings.append(finding) }
                case .commit(let frame, _): try complete(frame)
                case .finding(let finding): findings.append(finding)
                case .segment, .resumed: break
                }
                return findings.allSatisfy { $0.kind != .damage }
            }
            position = summary.end
            return findings
        }

        private func take(_ frame: FrameHeader, payload: UnsafeRawBufferPointer, path: String) throws -> Finding? {
            let isWanted = frame.kind.isPart && frame.version >= next
            if isWanted, frame.part == 0 { collector.begin(version: frame.version, time: frame.time) }
            collector.schema = commits.schema
            return try commits.take(frame, payload: payload, path: path) { block in
                guard isWanted else { return }
                names.note(block, collector.schema)
                try collector.add(block)
            }
        }

        private func complete(_ frame: FrameHeader) throws {
            guard frame.version >= next else { return }
            try collector.flush()
            if isJSON {
                try output.line(
                    JSON.object([
                        ("version", .int(frame.version)), ("time", .string(TimeText.milliseconds(frame.time))),
                        ("nanoseconds", .int(frame.time)), ("complete", .bool(true)),
                    ]).text)
            }
            next = frame.version + 1
        }
    }
}
