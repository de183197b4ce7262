import ArgumentParser
import FirnStorage

/// `firn info STORE`: what a store is and holds.
struct InfoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info", abstract: "Shows what a store is and holds: identity, segments, sizes, classes.",
        discussion: "Reads the whole log once.")

    @OptionGroup var arguments: StoreArguments

    func run() throws {
        try finish { output in
            try Self.run(arguments.store, json: arguments.json, storage: PosixStorage.shared, output)
        }
    }

    struct Segment {
        var head: SegmentHead
        var path: String
        var byteCount: Int
        var isSealed: Bool
        var commits = 0
        var first: (version: UInt64, time: Int64)?
        var last: (version: UInt64, time: Int64)?
    }

    static func run(
        _ path: String, json: Bool, storage: any Storage, _ output: Output
    ) throws -> ToolError.Status {
        let store = try OpenedStore.open(path, storage: storage)
        var findings = store.findings
        var segments: [Segment] = []
        var commits = CommitReader()
        var counts = ObjectCounts()
        var commit = CommitCounts(countsUpdates: false)
        var stored = 0
        var raw = 0
        let summary = try LogWalk(store: store).run { event in
            switch event {
            case .segment(let head, let path):
                let size = try size(of: path, storage)
                let entry = store.manifest.segments.first { $0.number == head.segment }
                segments.append(
                    Segment(head: head, path: path, byteCount: size, isSealed: entry?.seal != nil))
            case .frame(let frame, let payload, let path):
                if frame.kind.isPart {
                    if frame.part == 0 { commit = CommitCounts(countsUpdates: false) }
                    stored += Int(frame.storedCount)
                    raw += Int(frame.rawCount)
                }
                if let finding = try commits.take(frame, payload, path: path, { commit.add($0) }) {
                    findings.append(finding)
                    counts.forget()
                }
            case .commit(let frame, let path):
                if let problem = counts.add(commit, commits.schema) {
                    findings.append(Finding(.damage, path, Int(frame.offset), problem))
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
        let facts = Facts(
            store: store, segments: segments, summary: summary, schema: commits.schema, counts: counts, stored: stored,
            raw: raw)
        try output.line(json ? facts.json.text : facts.text)
        try output.flush()
        return output.report(findings, in: store)
    }

    private static func size(of path: String, _ storage: any Storage) throws(ToolError) -> Int {
        try stored { () throws(StorageError) in try storage.status(path) }?.byteCount ?? 0
    }

    /// All that is shown.
    struct Facts {
        let store: OpenedStore
        let segments: [Segment]
        let summary: LogWalk.Summary
        let schema: StoreSchema?
        let counts: ObjectCounts
        let stored: Int
        let raw: Int

        var fileBytes: Int { segments.reduce(0) { $0 + $1.byteCount } }
        var lastTime: Int64? { segments.last { $0.last != nil }?.last?.time }

        var use: String {
            guard store.hasWriter else { return "not open for writing" }
            return "open for writing"
                + (store.page.map { $0.writerProcess > 0 ? " (process \($0.writerProcess))" : "" } ?? "")
        }

        var text: String {
            let manifest = store.manifest
            var lines = [
                "store         \(store.files.path)", "id            \(manifest.storeID)",
                "format        \(FormatNumbers.format)",
                "created       \(TimeText.milliseconds(manifest.created))",
                "epoch         \(manifest.epoch), generation \(manifest.generation) of the manifest",
                "use           \(use)",
                "last version  \(summary.lastVersion)"
                    + (lastTime.map { ", \(TimeText.milliseconds($0))" } ?? "")
                    + (summary.durable < summary.lastVersion
                        ? "; known to be durable: \(summary.durable)" : ""),
                "sizes         \(Amount.bytes(fileBytes)) in files; changes \(Amount.bytes(stored)) stored, \(Amount.bytes(raw)) raw"
                    + (stored > 0 ? ", ratio \(Amount.fixed(Double(raw) / Double(stored)))" : ""),
                "segments",
            ]
            for segment in segments {
                var line = "  \(StoreFiles.segmentName(segment.head.segment))  \(Amount.bytes(segment.byteCount))  "
                if let first = segment.first, let last = segment.last {
                    line += "versions \(first.version) to \(last.version)  \(TimeText.milliseconds(first.time)) to "
                    line += TimeText.milliseconds(last.time)
                } else {
                    line += "no version"
                }
                lines.append(line + (segment.isSealed ? "  sealed" : ""))
            }
            lines.append("classes" + (counts.areKnown ? "" : " (how many objects is not known: commits are missing)"))
            for (number, table) in (schema?.tables ?? []).enumerated() where !table.isRemoved {
                let amount = counts.areKnown ? "  \(Amount.of(counts.counts[number] ?? 0, "object"))" : ""
                lines.append("  \(table.name)\(amount)\(table.isEmbedded ? "  embedded" : "")")
                for (place, column) in table.columns.enumerated() where !column.isRemoved {
                    let extra = table.primaryKey == place ? ", primary key" : column.isIndexed ? ", indexed" : ""
                    lines.append("    \(column.name): \(column.typeName(in: schema!))\(extra)")
                }
            }
            return lines.joined(separator: "\n")
        }

        var json: JSON {
            let manifest = store.manifest
            let segments = self.segments.map { segment in
                JSON.object([
                    ("name", .string(StoreFiles.segmentName(segment.head.segment))), ("bytes", .int(segment.byteCount)),
                    ("epoch", .int(segment.head.epoch)), ("sealed", .bool(segment.isSealed)),
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
                ("openForWriting", .bool(store.hasWriter)), ("lastVersion", .int(summary.lastVersion)),
                ("lastTime", lastTime.map { .string(TimeText.milliseconds($0)) } ?? .null),
                ("durableVersion", .int(summary.durable)), ("fileBytes", .int(fileBytes)),
                ("storedBytes", .int(stored)),
                ("rawBytes", .int(raw)),
                ("ratio", stored > 0 ? .number(Amount.fixed(Double(raw) / Double(stored))) : .null),
                ("segments", .array(segments)), ("classes", .array(classes)),
            ])
        }

        private var classes: [JSON] {
            guard let schema else { return [] }
            return schema.tables.enumerated().filter { !$0.element.isRemoved }.map { number, table in
                let columns = table.columns.enumerated().filter { !$0.element.isRemoved }.map { place, column in
                    JSON.object([
                        ("name", .string(column.name)), ("type", .string(column.typeName(in: schema))),
                        ("primaryKey", .bool(table.primaryKey == place)), ("indexed", .bool(column.isIndexed)),
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
