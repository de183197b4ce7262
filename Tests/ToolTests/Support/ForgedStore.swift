import FirnCore
import FirnStorage
import FirnTestSupport
import ForgedStores
import Testing

@testable import FirnTool

/// A store with right checksums and chosen contents, and the subcommands that are run on it.
struct ForgedStore {
    var manifest: [UInt8]
    var segment: [UInt8]
    var checkpoint: [UInt8]
    /// All files before they were forged, by path.
    private let files: [String: [UInt8]]

    private static let manifestPath = BaseStore.folder + "/manifest"
    private var segmentPath: String { files.keys.filter { $0.hasSuffix(".segment") }.max()! }
    private var checkpointPath: String { files.keys.filter { $0.hasSuffix(".checkpoint") }.max()! }

    /// The store that the fuzzer forges: nodes of every kind, a checkpoint of version 4, versions 5 to 8.
    init() { self.init(BaseStore.made.files) }

    private init(_ files: [String: [UInt8]]) {
        self.files = files
        manifest = files[Self.manifestPath]!
        segment = []
        checkpoint = []
        segment = files[segmentPath]!
        checkpoint = files[checkpointPath]!
    }

    /// A store of three objects: a checkpoint of version 2, and version 3 in the log.
    static let small: ForgedStore = {
        do {
            var made = try CompactedStore(schema: CheckpointDamageTests.schema, people: 0)
            try made.commit { transaction in
                for id in 0..<3 {
                    try SampleStore.add(
                        transaction, table: TableID(0), values: [0: .int(Int64(id)), 1: .string("note \(id)")])
                    transaction.edit(TableID(0), column: 2, key: Int64(id)) { $0.append(.string("word")) }
                }
            }
            _ = try made.compact(wholly: true)
            try made.commit { $0.set(TableID(0), column: 1, key: 0, to: .string("changed")) }
            try made.store.close()
            var files: [String: [UInt8]] = [:]
            for path in try made.sample.files() + made.checkpointFiles() + [SampleStore.path + "/shared"] {
                files[path] = try made.sample.bytes(path)
            }
            return ForgedStore(files)
        } catch {
            fatalError("the small store cannot be made: \(error)")
        }
    }()

    var page: [UInt8] { files[BaseStore.folder + "/shared"]! }

    /// The store with a manifest, or without one.
    func storage(hasManifest: Bool = true, page: [UInt8]? = nil) throws -> MemoryStorage {
        let storage = MemoryStorage()
        for folder in ["", "/log", "/checkpoint"] { try storage.createFolder(BaseStore.folder + folder) }
        var files = files
        files[segmentPath] = segment
        files[checkpointPath] = checkpoint
        files[Self.manifestPath] = hasManifest ? manifest : nil
        if let page { files[BaseStore.folder + "/shared"] = page }
        for (path, bytes) in files {
            let file = try storage.open(path, .create)
            defer { file.close() }
            try bytes.withUnsafeBytes { try file.write($0, at: 0) }
        }
        return storage
    }

    // MARK: Forging

    mutating func sealManifest() { Forging.sealManifest(&manifest) }
    mutating func sealSegment() { Forging.sealSegment(&segment, from: 0) }
    mutating func sealCheckpoint() { Forging.sealCheckpoint(&checkpoint, in: &manifest) }

    /// The offset of the checkpoint's footer.
    var footer: Int { checkpoint.count - Int(Forging.get(checkpoint, offset: checkpoint.count - 8, UInt32.self)) }
    /// The offset of the footer's state: root, stamp, garbage, schema.
    var state: Int { footer + 48 + 24 * Int(Forging.get(checkpoint, offset: footer + 40, UInt32.self)) }

    func nodes(_ kind: NodeKind) -> [Range<Int>] {
        Forging.nodes(of: checkpoint).filter { checkpoint[$0.lowerBound + 16] & 0x3F == kind.rawValue }
    }

    /// Appends nodes, and returns their positions. `sealCheckpoint` enters their checksums and positions.
    mutating func append(_ nodes: [[UInt8]]) -> [Int] {
        let footer = footer
        var tail = Array(checkpoint[footer...])
        var end = Forging.nodes(of: checkpoint).last?.upperBound ?? 64
        var bytes = Array(checkpoint[..<end])
        var positions: [Int] = []
        for node in nodes {
            positions.append(end)
            bytes += node
            end += node.count
        }
        bytes += [UInt8](repeating: 0, count: -bytes.count & 63)
        Forging.put(UInt64(bytes.count), into: &tail, offset: 32)
        let last = 48 + 24 * (Int(Forging.get(tail, offset: 40, UInt32.self)) - 1)
        Forging.put(
            UInt64(bytes.count) - Forging.get(tail, offset: last + 8, UInt64.self), into: &tail, offset: last + 16)
        checkpoint = bytes + tail
        return positions
    }

    /// A node's header and an empty payload.
    static func node(_ kind: NodeKind, byteCount: Int, form: UInt8 = 0, width: Int = 0, count: Int, capacity: Int = 0)
        -> [UInt8]
    {
        var bytes = [UInt8](repeating: 0, count: (byteCount + 31) & ~31)
        Forging.put(UInt64(1), into: &bytes, offset: 0)
        bytes[16] = kind.rawValue + 64
        bytes[17] = form
        Forging.put(UInt16(width), into: &bytes, offset: 18)
        Forging.put(UInt32(count), into: &bytes, offset: 20)
        Forging.put(UInt32(capacity), into: &bytes, offset: 24)
        Forging.put(UInt32(bytes.count), into: &bytes, offset: 28)
        return bytes
    }

    /// A part of a commit in the form that `Forging.appendCommit` takes.
    static func part(_ payload: [UInt8]) -> [UInt8] {
        [UInt8(payload.count & 255), UInt8(payload.count >> 8 & 255), UInt8(payload.count >> 16)] + payload
    }

    /// A block of a changeset.
    static func block(_ kind: UInt8, _ body: [UInt8], flags: UInt8 = 0) -> [UInt8] {
        var bytes: [UInt8] = [kind, flags, 0, 0, 0, 0]
        Forging.put(UInt32(body.count), into: &bytes, offset: 2)
        return bytes + body
    }

    // MARK: Running

    /// Runs each subcommand, with text and with JSON as its output. None traps, and each that fails says why.
    @discardableResult
    static func run(
        _ storage: MemoryStorage, _ name: String, shows: [UInt64] = [5, 6, 7, 8, 9], replays: [UInt64] = [4, 8, .max]
    ) throws -> (verify: Run, all: [Run]) {
        let verify = try Run.verify(storage)
        var runs = [verify, try Run.verify(storage, json: true)]
        for json in [false, true] {
            runs += [try Run.info(storage, json: json), try Run.log(storage, json: json)]
            for version in shows { runs.append(try Run.show(storage, version, json: json)) }
        }
        runs.append(try Run.log(storage, from: .max, to: .max))
        for version in replays {
            let new = "/new of \(version)"
            let run = try Run.replay(storage, to: version, output: new)
            runs.append(run)
            guard run.status == .fine else {
                #expect(try storage.status(new) == nil, "\(name): \(new) was left behind")
                continue
            }
            #expect(try Run.verify(storage, path: new).status == .fine, "\(name): replay has made a damaged store")
            try storage.removeAll(new)
        }
        for run in runs where run.status != .fine {
            #expect(!(run.out + run.error).isEmpty, "\(name): \(run.status), without a message")
        }
        return (verify, runs)
    }
}

extension MemoryStorage {
    /// Removes a store that a test has made.
    func removeAll(_ path: String) throws {
        if try status(path)?.kind == .folder { for name in try list(path) { try removeAll(path + "/" + name) } }
        try remove(path)
    }
}
