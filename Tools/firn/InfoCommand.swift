import ArgumentParser
import FirnBytes
import FirnStorage

/// `firn info STORE`: shows what a store is and what it holds.
struct InfoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info",
        abstract: "Shows what a store is and holds: identity, segments, checkpoint, sizes, classes.",
        discussion: """
            Reads the complete log, and the checkpoint, once. Without the key of an encrypted store, it shows its \
            identity, its sizes and its version.

            Example: firn info people.firn
            """)

    @OptionGroup var arguments: StoreArguments

    func run() throws {
        try finish(with: arguments.key) { output in
            try Self.run(arguments.store, json: arguments.json, storage: PosixStorage.shared, output)
        }
    }

    struct Segment {
        var header: SegmentHeader
        var path: String
        var byteCount: Int
        var isSealed: Bool
        var commits = 0
        var first: (version: UInt64, time: Int64)?
        var last: (version: UInt64, time: Int64)?
    }

    static func run(
        _ path: String, json: Bool, storage: any Storage, now: Int64 = SystemClock.shared.now(), _ output: Output
    ) throws -> ToolError.Status {
        if let sealed = try SealedStore.at(path, storage: storage) {
            try output.line(json ? sealed.json.text : sealed.text)
            return .fine
        }
        let store = try OpenedStore.open(path, storage: storage)
        var findings = store.findings
        let checkpoint = try Checkpoint(store, &findings)
        var segments: [Segment] = []
        var commits = CommitReader()
        var counts = ObjectCounts(firstVersion: store.manifest.firstVersion, checkpoint: checkpoint?.objectCounts)
        var commit = CommitCounts(countsUpdates: false)
        var stored = 0
        var raw = 0
        let summary = try LogWalk(store: store).run { event in
            switch event {
            case .segment(let header, let path):
                let size = try size(of: path, storage)
                let entry = store.manifest.segments.first { $0.number == header.segment }
                segments.append(
                    Segment(header: header, path: path, byteCount: size, isSealed: entry?.seal != nil))
            case .frame(let frame, let payload, let path):
                if frame.kind.isPart {
                    if frame.part == 0 { commit = CommitCounts(countsUpdates: false) }
                    stored += Int(frame.storedCount)
                    raw += Int(frame.rawCount)
                }
                if let finding = try commits.take(frame, payload: payload, path: path, { commit.add($0) }) {
                    findings.append(finding)
                    counts.forget()
                }
            case .commit(let frame, let path):
                if let problem = counts.add(commit, version: frame.version, commits.schema) {
                    findings.append(Finding(kind: .damage, file: path, offset: Int(frame.offset), text: problem))
                }
                segments[segments.count - 1].commits += 1
                let moment = (frame.version, frame.time)
                if segments[segments.count - 1].first == nil { segments[segments.count - 1].first = moment }
                segments[segments.count - 1].last = moment
            case .resumed: counts.forget()
            case .finding(let finding): findings.append(finding)
            }
            return true
        }
        counts.finish(lastVersion: summary.lastVersion)
        let facts = Facts(
            store: store, openers: try store.openers(), checkpoint: checkpoint, segments: segments, summary: summary,
            schema: commits.schema ?? checkpoint?.opened.schema, counts: counts, stored: stored, raw: raw, now: now)
        try output.line(json ? facts.json.text : facts.text)
        try output.flush()
        return output.report(findings, in: store)
    }

    /// The live checkpoint, and what its files hold.
    struct Checkpoint {
        let opened: OpenedCheckpoint
        private(set) var objectCounts: ObjectCounts.CheckpointCounts?
        let sizes: PropertySizes
        let nodes: [NodeKind: Int]

        /// Nil if there is no checkpoint, or it can't be read.
        init?(_ store: OpenedStore, _ findings: inout [Finding]) throws {
            let opened = try store.openCheckpoint()
            findings += opened.findings
            guard let checkpoint = opened.checkpoint else { return nil }
            self.opened = checkpoint
            var scan = CheckpointScan(checkpoint)
            try scan.run { _ in }
            nodes = scan.counts
            findings += scan.findings
            var objectCounts: ObjectCounts.CheckpointCounts?
            let sizes = PropertySizes()
            let finding = try checkpoint.finding {
                objectCounts = try ObjectCounts.CheckpointCounts(checkpoint)
                try ReferenceWalk(checkpoint, sizes.add).run()
            }
            self.objectCounts = objectCounts
            self.sizes = sizes
            // If opening or the scan has already reported damage, this finding would repeat it.
            if let finding, scan.findings.isEmpty, opened.findings.isEmpty { findings.append(finding) }
        }

        var text: [String] {
            let footer = opened.footer
            var lines = [
                "checkpoint    version \(footer.version), \(TimeText.milliseconds(footer.time)); \(Amount.bytes(opened.byteCount)) in "
                    + "\(Amount.of(opened.files.count, one: "file")), about \(Amount.bytes(Int(clamping: footer.garbage))) of it garbage"
                    + (footer.holes.isEmpty ? "" : ", \(Amount.bytes(footer.holeByteCount)) in holes")
            ]
            for file in opened.files {
                lines.append("  \(StoreFiles.checkpointName(file.entry.id))  \(Amount.bytes(file.byteCount))")
            }
            let counts = NodeKind.allCases.compactMap { kind in
                nodes[kind].map { Amount.of($0, one: kind.name.one, many: kind.name.many) }
            }
            if !counts.isEmpty { lines.append("  " + counts.joined(separator: ", ")) }
            return lines
        }

        var json: JSON {
            let footer = opened.footer
            let files = opened.files.map { file in
                JSON.object([
                    ("name", .string(StoreFiles.checkpointName(file.entry.id))), ("bytes", .int(file.byteCount)),
                    ("start", .int(file.entry.start)),
                ])
            }
            let nodes = NodeKind.allCases.map { ("\($0)", JSON.int(self.nodes[$0] ?? 0)) }
            return .object([
                ("id", .int(opened.entry.id)), ("version", .int(footer.version)),
                ("time", .string(TimeText.milliseconds(footer.time))), ("bytes", .int(opened.byteCount)),
                ("garbageBytes", .int(footer.garbage)), ("holeBytes", .int(footer.holeByteCount)),
                ("files", .array(files)),
                ("nodes", .object(nodes)),
            ])
        }
    }

    private static func size(of path: String, _ storage: any Storage) throws(ToolError) -> Int {
        try stored(storage.status(path))?.byteCount ?? 0
    }

    /// Everything that the command shows.
    struct Facts {
        let store: OpenedStore
        let openers: [StoreOpener]
        let checkpoint: Checkpoint?
        let segments: [Segment]
        let summary: LogWalk.Summary
        let schema: DecodedSchema?
        let counts: ObjectCounts
        let stored: Int
        let raw: Int
        /// The clock's time, in nanoseconds since 1970.
        let now: Int64

        var fileBytes: Int { segments.reduce(checkpoint?.opened.byteCount ?? 0) { $0 + $1.byteCount } }
        var lastTime: Int64? {
            let times = [segments.last { $0.last != nil }?.last?.time, checkpoint?.opened.footer.time]
            return times.compactMap(\.self).max()
        }

        /// By how many whole seconds the last version's time is ahead of the clock.
        var secondsAhead: Int64 {
            guard let lastTime, lastTime > now else { return 0 }
            let (ahead, overflowed) = lastTime.subtractingReportingOverflow(now)
            return (overflowed ? .max : ahead) / 1_000_000_000
        }

        var use: String {
            guard store.hasWriter else { return "not open for writing" }
            return "open for writing"
                + (store.page.map { $0.writerProcess > 0 ? " (process \($0.writerProcess))" : "" } ?? "")
        }

        var text: String {
            let manifest = store.manifest
            var lines = [
                "store         \(DisplayText.line(store.files.path))", "id            \(manifest.storeID)",
                "format        \(FormatNumbers.format)",
                "created       \(TimeText.milliseconds(manifest.created))",
                "epoch         \(manifest.epoch), generation \(manifest.generation) of the manifest",
            ]
            if let encryption = manifest.encryption {
                lines.append("encrypted     with \(encryption.wrapped.algorithm.name)")
            }
            lines.append("use           \(use)")
            lines += openers.map { "  " + $0.text }
            lines += [
                "last version  \(summary.lastVersion)"
                    + (lastTime.map { ", \(TimeText.milliseconds($0))" } ?? "")
                    + (summary.durable < summary.lastVersion
                        ? "; known to be durable: \(summary.durable)" : ""),
                "sizes         \(Amount.bytes(fileBytes)) in files; changes \(Amount.bytes(stored)) stored, \(Amount.bytes(raw)) raw"
                    + (stored > 0 ? ", ratio \(Amount.fixed(Double(raw) / Double(stored)))" : ""),
            ]
            if secondsAhead > 0 {
                lines.append(
                    "clock         \(secondsAhead) s behind the last version's time: it was ahead when that was committed, or is wrong now"
                )
            }
            if let checkpoint { lines += checkpoint.text }
            lines.append("segments")
            for segment in segments {
                var line = "  \(StoreFiles.segmentName(segment.header.segment))  \(Amount.bytes(segment.byteCount))  "
                if let first = segment.first, let last = segment.last {
                    line += "versions \(first.version) to \(last.version)  \(TimeText.milliseconds(first.time)) to "
                    line += TimeText.milliseconds(last.time)
                } else {
                    line += "no version"
                }
                lines.append(line + (segment.isSealed ? "  sealed" : ""))
            }
            lines.append(
                "classes" + (checkpoint == nil ? "" : ", and the bytes of their properties in the checkpoint")
                    + (counts.areKnown ? "" : " (the numbers of objects are not known: commits are missing)"))
            for (number, table) in (schema?.tables ?? []).enumerated() where !table.isRemoved {
                let amount = counts.areKnown ? "  \(Amount.of(counts.counts[number] ?? 0, one: "object"))" : ""
                lines.append("  \(DisplayText.line(table.name))\(amount)\(table.isEmbedded ? "  embedded" : "")")
                for (index, column) in table.columns.enumerated() where !column.isRemoved {
                    let extra = table.primaryKey == index ? ", primary key" : column.isIndexed ? ", indexed" : ""
                    let size = checkpoint?.sizes[number, index].map { "  \($0.text)" } ?? ""
                    let name = DisplayText.line("\(column.name): \(column.typeName(in: schema!))\(extra)")
                    lines.append("    " + name + size)
                }
            }
            return lines.joined(separator: "\n")
        }

        var json: JSON {
            let manifest = store.manifest
            let segments = self.segments.map { segment in
                JSON.object([
                    ("name", .string(StoreFiles.segmentName(segment.header.segment))),
                    ("bytes", .int(segment.byteCount)),
                    ("epoch", .int(segment.header.epoch)), ("sealed", .bool(segment.isSealed)),
                    ("versions", .int(segment.commits)),
                    ("firstVersion", segment.first.map { .int($0.version) } ?? .null),
                    ("lastVersion", segment.last.map { .int($0.version) } ?? .null),
                    ("firstTime", segment.first.map { .string(TimeText.milliseconds($0.time)) } ?? .null),
                    ("lastTime", segment.last.map { .string(TimeText.milliseconds($0.time)) } ?? .null),
                ])
            }
            return .object([
                ("store", .string(store.files.path)), ("id", .string(manifest.storeID)),
                ("format", .int(FormatNumbers.format)), ("created", .string(TimeText.milliseconds(manifest.created))),
                ("epoch", .int(manifest.epoch)), ("generation", .int(manifest.generation)),
                ("openForWriting", .bool(store.hasWriter)),
                ("openers", .array(openers.map(\.json))), ("lastVersion", .int(summary.lastVersion)),
                ("lastTime", lastTime.map { .string(TimeText.milliseconds($0)) } ?? .null),
                ("secondsAheadOfClock", .int(secondsAhead)),
                ("durableVersion", .int(summary.durable)), ("fileBytes", .int(fileBytes)),
                ("storedBytes", .int(stored)),
                ("rawBytes", .int(raw)),
                ("ratio", stored > 0 ? .number(Amount.fixed(Double(raw) / Double(stored))) : .null),
                ("checkpoint", checkpoint?.json ?? .null), ("segments", .array(segments)), ("classes", .array(classes)),
            ])
        }

        private var classes: [JSON] {
            guard let schema else { return [] }
            return schema.tables.enumerated().filter { !$0.element.isRemoved }.map { number, table in
                let columns = table.columns.enumerated().filter { !$0.element.isRemoved }.map { index, column in
                    let size = checkpoint?.sizes[number, index]
                    return JSON.object([
                        ("name", .string(column.name)), ("type", .string(column.typeName(in: schema))),
                        ("primaryKey", .bool(table.primaryKey == index)), ("indexed", .bool(column.isIndexed)),
                        ("bytes", size.map { .int($0.values) } ?? .null),
                        ("indexBytes", size.map { .int($0.index) } ?? .null),
                        ("backlinkBytes", size.map { .int($0.backlinks) } ?? .null),
                    ])
                }
                return .object([
                    ("name", .string(table.name)), ("embedded", .bool(table.isEmbedded)),
                    ("objects", counts.areKnown ? .int(counts.counts[number] ?? 0) : .null),
                    ("properties", .array(columns)),
                ])
            }
        }
    }
}
