import ArgumentParser
import FirnBytes
import FirnStorage

/// `firn verify STORE`: reads every byte and reports what is wrong.
struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Checks every byte of a store.",
        discussion: """
            Checks both generations of the manifest, each segment's header, each frame's checksums, chain and \
            padding, that versions and times go forward, and that preallocated space is zero. In a checkpoint it \
            checks headers, footers, each node's checksum, position and shape, that each reference leads to a node \
            of the right kind, and the counts of all trees. --deep also decompresses and decodes every value: that \
            each block of the log can be read and fits the versions before it, and that the keys, values, indexes \
            and links of a checkpoint are in order. That finds what a wrong program has written, which no checksum \
            shows, and takes several times as long. Exits with 1 if there is damage. A torn tail, which no durable \
            mark covers, is not damage.

            Example: firn verify people.firn --deep
            """)

    @OptionGroup var arguments: StoreArguments
    @Flag(help: "Also decode every value, and check each index and link.")
    var deep = false

    func run() throws {
        try finish(with: arguments.key) { output in
            try Self.run(
                arguments.store, deep: deep, json: arguments.json, storage: PosixStorage.shared, output)
        }
    }

    static func run(
        _ path: String, deep: Bool, json: Bool, storage: any Storage, _ output: Output
    ) throws -> ToolError.Status {
        var attempt = 0
        while true {
            attempt += 1
            let store = try OpenedStore.open(path, storage: storage)
            var verification = Verification(store: store, isDeep: deep, output: output)
            try verification.run()
            // A writer that started or ended meanwhile may have cut or replaced the files that were being read.
            if verification.isDamaged, attempt < 4, store.hasChanged() { continue }
            for finding in verification.findings {
                try output.line(json ? verification.json(finding).text : finding.description)
            }
            try output.line(json ? verification.json.text : verification.text)
            try output.flush()
            return verification.isDamaged ? .damage : .fine
        }
    }
}

/// One run over all bytes of a store.
struct Verification {
    let store: OpenedStore
    /// Whether values are decoded, too.
    let isDeep: Bool
    let output: Output
    /// Findings beyond this number are counted but not listed.
    static let findingMax = 10_000

    private(set) var findings: [Finding] = []
    private(set) var damageCount = 0
    private var frames = 0
    private var blocks = 0
    private var nodes = 0
    private var versions = 0
    private var bytesRead = 0
    private var files = 0
    private var summary = LogWalk.Summary()
    /// How much of the checkpoints' files has been read.
    private var checkpointDone = 0
    private var progress: (_ checkpointDone: Int) -> Void = { _ in }
    /// Bytes of all segments and of all checkpoints' files.
    private var total = 0
    /// The names of the files of all checkpoints; nil if they can't be known.
    private var checkpointNames: Set<String>? = []

    var isDamaged: Bool { damageCount > 0 }

    init(store: OpenedStore, isDeep: Bool, output: Output) {
        self.store = store
        self.isDeep = isDeep
        self.output = output
    }

    private mutating func add(_ finding: Finding) {
        if finding.kind == .damage { damageCount += 1 }
        list(finding)
    }

    private mutating func list(_ finding: Finding) {
        if findings.count < Self.findingMax { findings.append(finding) }
    }

    mutating func run() throws {
        for finding in store.findings { add(finding) }
        files += 1 + store.manifest.segments.count
        for segment in store.manifest.segments {
            let path = store.files.segment(segment.number)
            let size = try stored(store.files.storage.status(path))?.byteCount ?? 0
            total += min(size, FormatNumbers.fileByteCount)
        }
        let opened = try store.openCheckpoint()
        for finding in opened.findings { add(finding) }
        var names: Set<String> = []
        var areNamesKnown = opened.checkpoint != nil || store.manifest.checkpoint == nil
        if let checkpoint = opened.checkpoint {
            total += checkpoint.byteCount
            names.formUnion(checkpoint.files.map { StoreFiles.checkpointName($0.entry.id) })
        }
        // The earlier checkpoints are opened one after the other, since each keeps files open and uses memory.
        for entry in store.manifest.earlier {
            let opened = try store.open(entry)
            for finding in opened.findings { add(finding) }
            guard let checkpoint = opened.checkpoint else {
                areNamesKnown = false
                continue
            }
            total += checkpoint.byteCount
            names.formUnion(checkpoint.files.map { StoreFiles.checkpointName($0.entry.id) })
        }
        files += names.count
        checkpointNames = areNamesKnown ? names : nil
        bytesRead = total
        var checkpointCounts: ObjectCounts.CheckpointCounts?
        // What can't be read of the checkpoint is reported below.
        if let checkpoint = opened.checkpoint, isDeep {
            _ = try checkpoint.finding { checkpointCounts = try ObjectCounts.CheckpointCounts(checkpoint) }
        }
        // The log is read at the same time as the checkpoints.
        let log = LogVerification.Run(store, isDeep: isDeep, checkpointCounts)
        progress = { [output, total] done in output.progress("verifying", done + log.byteCount, of: total) }
        defer { progress = { _ in } }
        do {
            try verifyCheckpoints(opened.checkpoint)
        } catch {
            // Waits for the thread, which would go on reading.
            _ = try? log.end { _ in }
            throw error
        }
        let (done, show) = (checkpointDone, progress)
        let found = try log.end { _ in show(done) }
        for finding in found.findings { list(finding) }
        damageCount += found.damageCount
        (frames, blocks, versions, summary) = (found.frames, found.blocks, found.versions, found.summary)
        output.clearProgress()
        try verifyReserve()
        try verifyNames()
    }

    // MARK: The checkpoints

    private mutating func verifyCheckpoints(_ live: OpenedCheckpoint?) throws {
        if let live { try verify(live) }
        for entry in store.manifest.earlier {
            // What is wrong with its files was reported when all were opened.
            if let checkpoint = try store.open(entry).checkpoint { try verify(checkpoint) }
        }
    }

    /// Reads each node of the checkpoint's files and then, if all are intact, follows the references.
    private mutating func verify(_ checkpoint: OpenedCheckpoint) throws {
        var scan = CheckpointScan(checkpoint)
        var done = checkpointDone
        let progress = progress
        try scan.run { count in
            done += count
            progress(done)
        }
        checkpointDone = done
        nodes += scan.nodeCount
        for finding in scan.findings { add(finding) }
        guard scan.findings.isEmpty, checkpoint.files.allSatisfy({ $0.file != nil }) else { return }
        guard isDeep else {
            if let finding = try checkpoint.finding({ try ReferenceWalk(checkpoint).run() }) { add(finding) }
            return
        }
        var check = CheckpointCheck(checkpoint)
        try check.run()
        for finding in check.findings { add(finding) }
    }

    // MARK: The other files

    /// The reserve holds no data, so its contents are not checked.
    private mutating func verifyReserve() throws {
        let path = store.files.reserve
        guard let status = try stored(store.files.storage.status(path)) else {
            return
        }
        files += 1
        if status.kind != .file { add(Finding(kind: .note, file: path, offset: nil, text: "it is not a file")) }
    }

    /// Reports everything in the folders that is not part of the store.
    private mutating func verifyNames() throws {
        let files = store.files
        func list(_ path: String) throws(ToolError) -> [String] {
            try stored(files.storage.status(path)?.kind == .folder ? files.storage.list(path) : []).sorted()
        }
        for name in try list(files.path) where !StoreFiles.names.contains(name) {
            let text =
                switch name {
                case "manifest.new": "a manifest that never replaced the current one; the next change replaces it"
                case "copying": "left over from the writing of this copy; the next opening removes it"
                default: "not part of the store"
                }
            add(Finding(kind: .note, file: files.path + "/" + name, offset: nil, text: text))
        }
        let listed = Set(store.manifest.segments.map { StoreFiles.segmentName($0.number) })
        for name in try list(files.log) where !listed.contains(name) {
            add(
                Finding(
                    kind: .note, file: files.log + "/" + name, offset: nil,
                    text: "not listed by the manifest, so not part of the store"))
        }
        guard let checkpointNames else { return }
        for name in try list(files.checkpoints) where !checkpointNames.contains(name) {
            add(
                Finding(
                    kind: .note, file: files.checkpoints + "/" + name, offset: nil,
                    text: "not needed by the checkpoint that the manifest names, so not part of the store"))
        }
    }

    // MARK: The result

    var text: String {
        let read =
            "\(Amount.bytes(bytesRead)) in \(Amount.of(files, one: "file")), \(Amount.of(frames, one: "frame")), "
            + Amount.of(versions, one: "version") + (isDeep ? ", \(Amount.of(blocks, one: "block"))" : "")
            + (store.manifest.checkpoint == nil ? "" : ", \(Amount.of(nodes, one: "node"))")
        let writerNote = store.hasWriter ? "; a process writes to it, so it was read up to the published version" : ""
        if damageCount == 0 { return "no damage: \(read), last version \(summary.lastVersion)\(writerNote)" }
        let more = damageCount > Self.findingMax ? " (\(Self.findingMax) are listed)" : ""
        let advice = "`firn recover STORE --output NEW` makes a new store of everything that can still be read"
        return "\(Amount.of(damageCount, one: "finding")) of damage\(more): \(read)\(writerNote). \(advice)"
    }

    func json(_ finding: Finding) -> JSON {
        .object([
            ("kind", .string(finding.kind.rawValue)), ("file", .string(finding.file)),
            ("offset", finding.offset.map { .int($0) } ?? .null), ("what", .string(finding.text)),
        ])
    }

    var json: JSON {
        .object([
            ("kind", .string("summary")), ("damaged", .int(damageCount)), ("tornTail", .bool(summary.tornTail != nil)),
            ("lastVersion", .int(summary.lastVersion)), ("durableVersion", .int(summary.durable)),
            ("versions", .int(versions)), ("frames", .int(frames)),
            ("blocks", isDeep ? .int(blocks) : .null), ("deep", .bool(isDeep)), ("nodes", .int(nodes)),
            ("files", .int(files)),
            ("bytes", .int(bytesRead)), ("openForWriting", .bool(store.hasWriter)),
        ])
    }
}
