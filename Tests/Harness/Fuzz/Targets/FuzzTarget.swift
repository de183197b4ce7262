import FirnBytes
import FirnCore
import FirnLog
import FirnQuery
import FirnRealmFile
import FirnStorage
import FirnTestSupport
import FirnTool
import ForgedStores
import RealmDump

/// A part of a store that is forged.
///
/// Each target makes a store from its input, with valid checksums, and then opens, reads, writes and closes it.
/// Whatever the input is, the run must end, and either succeed or throw.
public enum FuzzTarget: String, CaseIterable, Sendable {
    /// The file `manifest`.
    case manifest
    /// The open segment.
    case segment
    /// Frames after an intact segment, given as fields: see `Forging.appendFrames`.
    case frame
    /// The parts of one commit after an intact segment.
    case changeset
    /// Changes to the nodes of a checkpoint, and to its footer: see `Patches`.
    case checkpoint
    #if Encryption
        /// The same as `changeset` and `checkpoint` in a store with a key. The last bit of a checkpoint's input says
        /// whether all that is decrypted stays in memory.
        case keyedChangeset = "changeset-key"
        case keyedCheckpoint = "checkpoint-key"
    #endif
    /// Changes to the shared page while a process has the store open: see `Patches`.
    case page
    /// Changes to any file of a store, at any offset.
    case store
    /// The same, read by the `firn` command, which has a reader of its own.
    case tool
    /// A text that the command reads: JSON lines, CSV, the names of types, a query, or what `realm2json`
    /// writes. The first byte says which.
    case text
    /// A file of Realm: it is read as a whole, and imported by the command.
    case realmFile = "realm-file"

    /// The folder of its inputs in Tests/Harness/Fuzz/Corpus. The targets with a key take those of the others.
    public var corpus: String {
        switch self {
        #if Encryption
            case .keyedChangeset: return FuzzTarget.changeset.rawValue
            case .keyedCheckpoint: return FuzzTarget.checkpoint.rawValue
        #endif
        default: return rawValue
        }
    }

    /// Runs the target on an input.
    public func run(_ input: [UInt8]) {
        do {
            if self == .page { return try Self.runPage(input) }
            if self == .text { return Self.runText(input) }
            if self == .realmFile { return Self.runRealmFile(input) }
            if self == .tool {
                return Program.inspect(
                    BaseStore.folder, recoveringTo: "/new", storage: try storage(for: input), clock: ManualClock())
            }
            try Exercise.run(try storage(for: input), options(for: input))
        } catch {
            // Making the storage does not depend on the input.
            fatalError("\(error)")
        }
    }

    private func options(for input: [UInt8]) -> StoreOptions {
        switch self {
        #if Encryption
            case .keyedChangeset: return KeyedStore.options()
            case .keyedCheckpoint:
                return KeyedStore.options(decryptedByteCount: (input.last ?? 0) & 1 == 0 ? nil : 0)
        #endif
        default: return BaseStore.options()
        }
    }

    /// The checkpoint of the base store with an input's changes, and the manifest that names it.
    private func forgedCheckpoint(_ input: [UInt8]) -> (bytes: [UInt8], manifest: [UInt8]) {
        var (bytes, manifest) = (BaseStore.made.checkpoint, BaseStore.made.manifest)
        Patches(input).applyToNodes(of: &bytes)
        Forging.sealCheckpoint(&bytes, in: &manifest)
        return (bytes, manifest)
    }

    /// The store that an input describes.
    public func storage(for input: [UInt8]) throws -> MemoryStorage {
        let base = BaseStore.made
        switch self {
        case .manifest:
            var bytes = input
            Forging.sealManifest(&bytes)
            return try base.storage(replacing: [BaseStore.folder + "/manifest": bytes])
        case .segment:
            var bytes = input
            Forging.sealSegment(&bytes, from: 0)
            return try base.storage(replacing: [base.segmentPath: bytes])
        case .frame:
            return try base.storage(replacing: [base.segmentPath: Forging.appendFrames(input, to: base.segment)])
        case .changeset:
            return try base.storage(appendingCommit: input)
        case .checkpoint:
            let (bytes, manifest) = forgedCheckpoint(input)
            return try base.storage(replacing: [
                base.checkpointPath: bytes, BaseStore.folder + "/manifest": manifest,
            ])
        #if Encryption
            case .keyedChangeset: return try KeyedStore.storage(commits: Forging.commits(of: base.segment) + [input])
            case .keyedCheckpoint: return try KeyedStore.storage(checkpoint: forgedCheckpoint(input).bytes)
        #endif
        case .page, .text, .realmFile: return try base.storage(replacing: [:])
        case .store, .tool:
            var files = base.files
            Patches(input).apply(to: &files, order: files.keys.sorted())
            var manifest = files[BaseStore.folder + "/manifest"]!
            Forging.sealManifest(&manifest)
            var checkpoint = files[base.checkpointPath]!
            Forging.sealCheckpoint(&checkpoint, in: &manifest)
            var segment = files[base.segmentPath]!
            Forging.sealSegment(&segment, from: 0)
            files[BaseStore.folder + "/manifest"] = manifest
            files[base.checkpointPath] = checkpoint
            files[base.segmentPath] = segment
            return try base.storage(replacing: files)
        }
    }

    /// The inputs with which fuzzing begins.
    public var seeds: [[UInt8]] {
        let base = BaseStore.made
        switch self {
        case .manifest: return [base.manifest]
        case .segment: return [base.segment]
        case .frame: return [[2, 1, 0, 0, 4, 0, 1, 2, 3, 4]]
        case .changeset: return Forging.commits(of: base.segment)
        #if Encryption
            case .keyedChangeset: return Forging.commits(of: base.segment)
            case .keyedCheckpoint: return FuzzTarget.checkpoint.seeds
        #endif
        case .text:
            return [
                "\u{0}{\"id\":1,\"a\":[1.5,null],\"m\":{\"$date\":\"2026-01-01T00:00:00Z\"}}\n{\"id\":2,\"s\":\"\\u00e9\"}\n",
                "\u{1}id,name,x\r\n1,\"a\"\"b\",2.5\r\n,,true\n", "\u{2}a: int?, b: list<link<T>>, c: map<uuid>",
                "\u{3}ANY friends.name BEGINSWITH[c] 'a' AND score BETWEEN {1, 2} SORT(id DESC) LIMIT(3)",
            ].map { Array($0.utf8) } + [
                Array(
                    "\u{4}[{\"name\":\"class_A\",\"primaryKey\":\"i\",\"properties\":[{\"name\":\"i\",\"type\":\"int\"},{\"name\":\"l\",\"type\":\"object\",\"objectType\":\"class_A\",\"isArray\":true},{\"name\":\"m\",\"type\":\"mixed\"}]}]"
                        .utf8) + [0xFF]
                    + Array(
                        "{\"class_A\":[{\"_key\":0,\"i\":1,\"l\":{\"table\":\"class_A\",\"keys\":[3]},\"m\":{\"$date\":{\"$numberLong\":\"5\"}}},{\"_key\":3,\"i\":2,\"l\":[]}]\n}\n"
                            .utf8)
            ]
        case .realmFile:
            let samples = ["past-v9", "past-v23", "decimals-v24", "interned-v9", "real-swift_default-v5-v20"]
            return samples.compactMap { try? RealmSample(name: $0).file() }
        case .checkpoint, .page, .store, .tool: return [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]
        }
    }

    private static func runRealmFile(_ input: [UInt8]) {
        let storage = MemoryStorage()
        Exercise.attempt {
            let made = try storage.open("/read.realm", .create)
            try made.write(input, at: 0)
            let file = try RealmFile(made, path: "/read.realm")
            for type in file.classes { Exercise.attempt { try file.check(type) } }
        }
        Program.importRealmFile(input, into: "/new", storage: storage, clock: ManualClock())
    }

    private static func runText(_ input: [UInt8]) {
        let text = Array(input.dropFirst())
        switch input.first ?? 0 {
        case 2: Program.readTypes(String(decoding: text, as: UTF8.self))
        case 3:
            let schema = BaseStore.schema
            let snapshot = BaseStore.pinned.snapshot
            Exercise.attempt {
                let stages = try QueryPipeline.stages(parsing: String(decoding: text, as: UTF8.self))
                let query = try QueryPipeline(stages, table: BaseStore.person, schema: schema)
                _ = query.run(in: snapshot).count
                _ = query.explain(in: snapshot)
            }
        case 4:
            // The schema, a byte that UTF-8 does not have, and the objects.
            let schema = text.prefix { $0 != 0xFF }
            Program.importRealm(
                Array(text.dropFirst(schema.count + 1)), schema: Array(schema), into: "/new", storage: MemoryStorage(),
                clock: ManualClock())
        case let kind:
            Program.importText(text, isCSV: kind == 1, into: "/new", storage: MemoryStorage(), clock: ManualClock())
        }
    }

    /// Changes the shared page while a process has the store open. Then another process opens it, and both write.
    private static func runPage(_ input: [UInt8]) throws {
        let storage = try BaseStore.made.storage(replacing: [:])
        let options = BaseStore.options()
        let first = try Store(options, storage: storage, clock: ManualClock(), randomness: SeededRandomness(seed: 1))
        let page = try storage.sharedMemory(BaseStore.folder + "/shared", byteCount: 4096)
        let header = Array(page.bytes[..<32])
        Patches(input).apply(toPage: page.bytes)
        // Opening read-only waits for seconds until the page's header is valid, so it is only tried with an intact one.
        let isHeaderIntact = header.elementsEqual(page.bytes[..<32])
        Exercise.attempt {
            let second = try Store(
                options, storage: storage, clock: ManualClock(), randomness: SeededRandomness(seed: 2))
            try? second.catchUp()
            _ = second.otherProcesses
            try Exercise.write(second)
            try second.close()
        }
        if isHeaderIntact {
            Exercise.attempt {
                var options = options
                options.log?.access = .readOnly
                let reader = try Store(
                    options, storage: storage, clock: ManualClock(), randomness: SeededRandomness(seed: 2))
                try reader.close()
            }
        }
        Exercise.attempt { try Exercise.write(first) }
        Exercise.attempt { _ = try first.compact() }
        Exercise.attempt { try first.close() }
        try Exercise.run(storage)
    }
}
