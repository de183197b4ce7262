import ArgumentParser
import FirnStorage

/// `firn replay STORE --to VERSION --output NEW`: a new store that holds the versions up to one.
struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay", abstract: "Makes a new store that ends with a version of another.",
        discussion: "The new store has an identity of its own. The other one is only read, damaged or not.")

    @OptionGroup var arguments: StoreArguments
    @Option(help: "The last version that the new store holds.")
    var to: UInt64
    @Option(help: "The new store's folder; nothing may bear the name yet.", completion: .directory)
    var output: String

    func run() throws {
        try finish { out in
            try Self.run(
                arguments.store, to: to, output: output, json: arguments.json, storage: PosixStorage.shared,
                randomness: SystemRandomness.shared, clock: SystemClock.shared, out)
        }
    }

    static func run(
        _ path: String, to: UInt64, output new: String, json: Bool, storage: any Storage, randomness: any Randomness,
        clock: any Clock, _ output: Output
    ) throws -> ToolError.Status {
        let store = try OpenedStore.open(path, storage: storage)
        guard try stored({ () throws(StorageError) in try storage.status(new) }) == nil else {
            throw ToolError(.usage, "\(new) exists. Give --output a name that nothing bears yet.")
        }
        let first = store.manifest.segments[0].firstVersion
        guard first == 1 else {
            throw ToolError(
                .usage,
                "\(path): the log begins with version \(first), so there is nothing that it could be replayed onto.")
        }
        let last = try lastVersion(store, to: to)
        guard last.version >= to else {
            if let damage = last.damage {
                throw ToolError(
                    .damage,
                    "\(damage)\n\(new) was not made. Versions up to \(last.version) are whole: `--to \(last.version)` saves them."
                )
            }
            throw ToolError(.usage, "\(path) holds versions up to \(last.version); there is no \(to).")
        }
        var maker = try StoreMaker(
            new, storage: storage, storeHigh: randomness.next() | 1, storeLow: randomness.next(), created: clock.now())
        do {
            var commits = CommitReader()
            var damage: Finding?
            var done = 0
            let summary = try LogWalk(store: store).run { event in
                switch event {
                case .frame(let frame, let payload, let path):
                    guard frame.version <= to else { return false }
                    done += frame.frameByteCount
                    output.progress("replaying", done, of: last.bytes)
                    if frame.kind.isPart { try maker.add(frame, payload) }
                    damage = try commits.take(frame, payload, path: path) { _ in }
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
            try maker.finish(version: to)
        } catch {
            maker.remove()
            throw error
        }
        output.clearProgress()
        let id = maker.manifest.storeID
        if json {
            let facts: [(String, JSON)] = [
                ("store", .string(new)), ("id", .string(id)), ("lastVersion", .int(to)),
                ("segments", .int(maker.manifest.segments.count)), ("bytes", .int(maker.byteCount)),
            ]
            try output.line(JSON.object(facts).text)
        } else {
            try output.line(
                "\(new) holds versions 1 to \(to): \(Amount.bytes(maker.byteCount)) in "
                    + "\(Amount.of(maker.manifest.segments.count, "segment")), store \(id)")
        }
        return .fine
    }

    /// Whether the log can be read to a version, before anything is made.
    private static func lastVersion(
        _ store: OpenedStore, to: UInt64
    ) throws -> (version: UInt64, bytes: Int, damage: Finding?) {
        var bytes = 0
        var damage =
            store.isSalvaged ? nil : store.findings.first { $0.kind == .damage && $0.file != store.files.manifest }
        let summary = try LogWalk(store: store).run { event in
            switch event {
            case .frame(let frame, _, _): bytes += frame.frameByteCount
            case .commit(let frame, _): return frame.version < to
            case .finding(let finding): if finding.kind == .damage { damage = damage ?? finding }
            case .segment, .resumed: break
            }
            return true
        }
        return (summary.lastVersion, bytes, damage)
    }
}
