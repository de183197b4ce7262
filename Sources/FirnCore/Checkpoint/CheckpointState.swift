import FirnBytes
import FirnLog
import FirnStorage

/// What a checkpoint's foot says to FirnCore: its `state`.
///
/// ```
/// byte   0                       8
///        ┌───────────────────────┬───────────────────────┐
///        │ place of the root     │ stamp                 │   in its space; the highest of any node
///     16 ├───────────────────────┼───────────────────────┤
///        │ garbage, bytes; bit   │ holes (with bit 63)   │   of nodes outside of holes that the version does not reach
///        │ 63: holes follow      │ schema (SchemaCoding) │
///        └───────────────────────┴───────────────────────┘
/// holes: count (varint), then for each the distance from the end of the one before (from 0 for the first) and its length, both in units of 32 bytes (varints)
/// ```
///
/// A **hole** is a run of dead nodes with whole blocks of 4 KiB in it, which the system may have got back: what lies there is not to be read. Its ends are nodes' ends.
struct CheckpointState {
    var root: Int
    var stamp: UInt64
    var garbage: Int
    /// Places in the space, ascending and apart from each other.
    var holes: [Range<Int>] = []
    var schema: StoreSchema

    private static let holesBit: UInt64 = 1 << 63

    func encode() -> [UInt8] {
        var writer = ByteWriter()
        writer.append(UInt64(root))
        writer.append(stamp)
        writer.append(UInt64(garbage) | (holes.isEmpty ? 0 : Self.holesBit))
        if !holes.isEmpty {
            writer.appendVarint(UInt64(holes.count))
            var end = 0
            for hole in holes {
                writer.appendVarint(UInt64((hole.lowerBound - end) / OnDiskNode.unit))
                writer.appendVarint(UInt64(hole.count / OnDiskNode.unit))
                end = hole.upperBound
            }
        }
        writer.append(SchemaCoding.encode(schema))
        return writer.array()
    }

    static func decode(_ bytes: [UInt8]) throws(BytesError) -> CheckpointState {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(BytesError) in
                var reader = ByteReader(bytes)
                let root = try reader.readUInt64()
                let stamp = try reader.readUInt64()
                let garbage = try reader.readUInt64()
                let holes = garbage & holesBit == 0 ? [] : try decodeHoles(&reader)
                guard root <= LogLimits.checkpointByteCount, stamp <= LogLimits.number,
                    garbage & ~holesBit <= LogLimits.checkpointByteCount
                else { throw BytesError(.invalid("a root at \(root) of stamp \(stamp)"), offset: 0) }
                let schema = try SchemaCoding.decode(reader.readBytes(reader.remaining))
                if let fault = schema.fault { throw BytesError(.invalid(fault), offset: reader.offset) }
                return CheckpointState(
                    root: Int(root), stamp: stamp, garbage: Int(garbage & ~holesBit), holes: holes, schema: schema)
            }
        }
        return try result.get()
    }

    /// What a checkpoint's foot says.
    static func read(_ checkpoint: Checkpoint, _ log: Log) throws(StoreError) -> CheckpointState {
        do throws(BytesError) { return try decode(checkpoint.state) } catch {
            throw StoreError(
                .damage,
                "checkpoint \(checkpoint.id) of \(log.options.folder) cannot be read: \(error); run `firn verify`")
        }
    }

    private static func decodeHoles(_ reader: inout ByteReader) throws(BytesError) -> [Range<Int>] {
        let count = try reader.readCount(limit: reader.remaining / 2)
        var holes: [Range<Int>] = []
        holes.reserveCapacity(count)
        var end = 0
        for _ in 0..<count {
            // More than there are addresses must not overflow.
            let start = end + Int(min(try reader.readVarint(), 1 << 42)) * OnDiskNode.unit
            end = start + Int(min(try reader.readVarint(), 1 << 42)) * OnDiskNode.unit
            guard end > start, end <= 2 * LogLimits.checkpointByteCount else {
                throw BytesError(.invalid("a hole from \(start) to \(end)"), offset: reader.offset)
            }
            holes.append(start..<end)
        }
        return holes
    }
}

/// A version that a store begins with, as it lies in a checkpoint.
struct CheckpointBase {
    let checkpoint: Checkpoint
    let mapping: CheckpointMapping
    let stored: CheckpointState

    init(
        _ checkpoint: Checkpoint, _ log: Log, _ options: StoreOptions, _ fileReferences: CheckpointFileReferences
    ) throws(StoreError) {
        self.checkpoint = checkpoint
        (mapping, stored) = try CheckpointMapping.open(checkpoint, log, options, fileReferences)
    }
}

extension CheckpointMapping {
    /// Opens the files of a checkpoint, and checks the node of the root.
    static func open(
        _ checkpoint: Checkpoint, _ log: Log, _ options: StoreOptions, _ fileReferences: CheckpointFileReferences
    ) throws(StoreError) -> (mapping: CheckpointMapping, version: CheckpointState) {
        let last = checkpoint.files[checkpoint.files.count - 1]
        let version = try CheckpointState.read(checkpoint, log)
        func isInFile(_ hole: Range<Int>) -> Bool {
            checkpoint.files.contains {
                $0.nodes.contains(hole.lowerBound) && hole.upperBound <= $0.nodes.upperBound
            }
        }
        guard version.holes.allSatisfy(isInFile) else {
            throw StoreError(
                .damage,
                "checkpoint \(checkpoint.id) of \(log.options.folder) lists a hole outside of its files; run `firn verify`"
            )
        }
        let reference = ResolvedSchema(version.schema)
        let mapping: CheckpointMapping
        do {
            mapping = try CheckpointMapping(
                byteCount: roomFor(last.start + last.byteCount), holes: version.holes, log: log,
                fileReferences: fileReferences, onDamage: options.onDamage)
        } catch { throw StoreError(LogError(error)) }
        let origin = Origin(reference, stamp: version.stamp, isOpened: true)
        for file in checkpoint.files { try mapping.add(file, log, options, origin) }
        if let damage = mapping.openRoot(at: version.root) {
            throw StoreError(.damage, damage.description)
        }
        return (mapping, version)
    }

    /// How much a space reserves that begins with so many bytes: what later checkpoints may add before everything is written anew. Addresses cost nothing.
    static func roomFor(_ byteCount: Int) -> Int { 8 * byteCount + (1 << 30) }

    func add(
        _ entry: Checkpoint.File, _ log: Log, _ options: StoreOptions, _ origin: Origin
    ) throws(StoreError) {
        do throws(LogError) {
            let file = try log.openCheckpointFile(entry)
            do throws(StorageError) { try add(entry, file, origin, byMapping: options.readsByMapping) } catch {
                throw LogError(error)
            }
        } catch {
            throw StoreError(error)
        }
        if options.log?.verify.includes(entry.byteCount) == true, let damage = verify(entry) {
            throw StoreError(.damage, damage.description)
        }
    }
}
