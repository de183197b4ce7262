import ArgumentParser
import FirnBytes
import FirnStorage

/// `firn verify STORE`: reads every byte and says what is wrong.
struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Checks every byte of a store.",
        discussion: """
            Checks both generations of the manifest, each segment's head, each frame's checksums, chain and padding, that \
            versions and times go forward, that every part decompresses and every block in it decodes, and that room filled \
            ahead is zero. Of a checkpoint: heads, feet, each node's checksum and place, and that the nodes make up the tables \
            of its schema: references, keys, counts, values. Exits with 1 where there is damage; a torn tail, which no durable mark covers, is none.
            """)

    @OptionGroup var arguments: StoreArguments

    func run() throws {
        try finish { output in
            try Self.run(arguments.store, json: arguments.json, storage: PosixStorage.shared, output)
        }
    }

    static func run(
        _ path: String, json: Bool, storage: any Storage, _ output: Output
    ) throws -> ToolError.Status {
        var attempt = 0
        while true {
            attempt += 1
            let store = try OpenedStore.open(path, storage: storage)
            var verification = Verification(store: store, output: output)
            try verification.run()
            // A writer that came or went meanwhile may have cut or replaced what was being read.
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
    let output: Output
    /// More than so many are counted and not listed.
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
    /// Bytes of all segments and of the checkpoint's files.
    private var total = 0
    /// What the log builds on can't be read whole.
    private var isCheckpointDamaged = false
    /// Names of the checkpoint's files; nil where they can't be known.
    private var checkpointNames: Set<String>? = []

    var isDamaged: Bool { damageCount > 0 }

    init(store: OpenedStore, output: Output) {
        self.store = store
        self.output = output
    }

    private mutating func add(_ finding: Finding) {
        if finding.kind == .damage { damageCount += 1 }
        if findings.count < Self.findingMax { findings.append(finding) }
    }

    mutating func run() throws {
        for finding in store.findings { add(finding) }
        files += 1 + store.manifest.segments.count
        for segment in store.manifest.segments {
            let path = store.files.segment(segment.number)
            let size = try stored { () throws(StorageError) in try store.files.storage.status(path) }?.byteCount ?? 0
            total += min(size, FormatNumbers.fileByteCount)
        }
        let opened = try store.openCheckpoint()
        for finding in opened.findings { add(finding) }
        if let space = opened.space {
            total += space.byteCount
            files += space.files.count
            checkpointNames = Set(space.files.map { StoreFiles.checkpointName($0.entry.id) })
        } else if store.manifest.checkpoint != nil {
            checkpointNames = nil
        }
        // One after the other, as each has files open, and memory.
        for entry in store.manifest.earlier {
            let opened = try store.open(entry)
            for finding in opened.findings { add(finding) }
            guard let space = opened.space else {
                checkpointNames = nil
                continue
            }
            total += space.byteCount
            checkpointNames?.formUnion(space.files.map { StoreFiles.checkpointName($0.entry.id) })
        }
        bytesRead = total
        var read = try opened.space.map { try verify($0) } ?? 0
        for entry in store.manifest.earlier {
            // What is wrong with its files was found above.
            if let space = try store.open(entry).space { read += try verify(space) }
        }
        isCheckpointDamaged = damageCount > store.findings.count { $0.kind == .damage }
        var beginning: ObjectCounts.Beginning?
        // What could not be read of it has been found by now.
        if let space = opened.space { _ = try space.finding { beginning = try ObjectCounts.Beginning(space) } }
        try verifyLog(beginning, done: read)
        output.clearProgress()
        try verifyReserve()
        try verifyNames()
    }

    // MARK: The checkpoint

    /// Reads each node of its files, and then, where all are whole, follows the references. Returns the bytes read.
    private mutating func verify(_ space: CheckpointSpace) throws -> Int {
        var scan = CheckpointScan(space)
        var done = 0
        let (output, total) = (output, total)
        try scan.run { count in
            done += count
            output.progress("verifying", done, of: total)
        }
        nodes += scan.nodeCount
        for finding in scan.findings { add(finding) }
        guard scan.findings.isEmpty, space.files.allSatisfy({ $0.file != nil }) else { return done }
        var check = CheckpointCheck(space)
        try check.run()
        for finding in check.findings { add(finding) }
        return done
    }

    // MARK: The log

    private mutating func verifyLog(_ beginning: ObjectCounts.Beginning?, done: Int) throws {
        var commits = CommitReader()
        var counts = ObjectCounts(firstVersion: store.manifest.firstVersion, beginning: beginning)
        var commit = CommitCounts(countsUpdates: false)
        var done = done
        let total = total
        var this = self
        summary = try LogWalk(store: store, goesOn: true).run { event in
            switch event {
            case .segment: break
            case .frame(let frame, let payload, let path):
                this.frames += 1
                done += frame.frameByteCount
                this.output.progress("verifying", done, of: total)
                if frame.kind.isPart, frame.part == 0 { commit = CommitCounts(countsUpdates: false) }
                let finding = try commits.take(frame, payload, path: path) { block in
                    this.blocks += 1
                    commit.add(block)
                }
                if let finding {
                    this.add(finding)
                    counts.forget()
                }
            case .commit(let frame, let path):
                this.versions += 1
                if let problem = counts.add(commit, version: frame.version, commits.schema) {
                    this.add(Finding(.damage, path, Int(frame.offset), "version \(frame.version): \(problem)"))
                }
            case .resumed:
                commits.forgetSchema()
                counts.forget()
            case .finding(let finding): this.add(finding)
            }
            return true
        }
        let found = summary
        self = this
        summary = found
    }

    // MARK: The other files

    /// The room kept for a full disk holds no data: whatever is in it is fine.
    private mutating func verifyReserve() throws {
        let path = store.files.reserve
        guard let status = try stored({ () throws(StorageError) in try store.files.storage.status(path) }) else {
            return
        }
        files += 1
        if status.kind != .file { add(Finding(.note, path, nil, "it is no file")) }
    }

    /// Everything in the folders is known.
    private mutating func verifyNames() throws {
        let files = store.files
        func list(_ path: String) throws(ToolError) -> [String] {
            try stored { () throws(StorageError) in
                try files.storage.status(path)?.kind == .folder ? try files.storage.list(path) : []
            }.sorted()
        }
        for name in try list(files.path) where !StoreFiles.names.contains(name) {
            let text =
                switch name {
                case "manifest.new": "a manifest that was never put in place; the next change replaces it"
                case "copying": "left from the writing of the copy that this is; the next opening removes it"
                default: "not of the store"
                }
            add(Finding(.note, files.path + "/" + name, nil, text))
        }
        let listed = Set(store.manifest.segments.map { StoreFiles.segmentName($0.number) })
        for name in try list(files.log) where !listed.contains(name) {
            add(Finding(.note, files.log + "/" + name, nil, "not listed by the manifest, so no part of the store"))
        }
        guard let checkpointNames else { return }
        for name in try list(files.checkpoints) where !checkpointNames.contains(name) {
            add(
                Finding(
                    .note, files.checkpoints + "/" + name, nil,
                    "not needed by the checkpoint that the manifest names, so no part of the store"))
        }
    }

    // MARK: What it came to

    var text: String {
        let read =
            "\(Amount.bytes(bytesRead)) in \(Amount.of(files, "file")), \(Amount.of(frames, "frame")), "
            + "\(Amount.of(versions, "version")), \(Amount.of(blocks, "block"))"
            + (store.manifest.checkpoint == nil ? "" : ", \(Amount.of(nodes, "node"))")
        let beside = store.hasWriter ? "; a process writes to it, so it was read up to the version published" : ""
        if damageCount == 0 { return "no damage: \(read), last version \(summary.lastVersion)\(beside)" }
        let more = damageCount > Self.findingMax ? " (\(Self.findingMax) are listed)" : ""
        let first = store.manifest.firstVersion
        let advice =
            isCheckpointDamaged && first > 1
            ? "The log begins with version \(first), so nothing can be saved without the checkpoint"
            : "`firn replay --to VERSION --output NEW` saves the versions before the damage"
        return "\(Amount.of(damageCount, "place")) damaged\(more): \(read)\(beside). \(advice)"
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
            ("versions", .int(versions)), ("frames", .int(frames)), ("blocks", .int(blocks)), ("nodes", .int(nodes)),
            ("files", .int(files)),
            ("bytes", .int(bytesRead)), ("openForWriting", .bool(store.hasWriter)),
        ])
    }
}
