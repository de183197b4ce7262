import FirnBytes
import FirnLog
import FirnStorage

/// The `state` in a checkpoint's footer, which only FirnCore interprets.
///
/// ```
/// byte   0                       8
///        ┌───────────────────────┬───────────────────────┐
///        │ offset of the root    │ stamp                 │   in the mapping; the highest of any node
///     16 ├───────────────────────┼───────────────────────┤
///        │ garbage, bytes; bit   │ holes (with bit 63)   │   of nodes outside of holes that the version does not reach
///        │ 63: holes follow      │ schema (SchemaCoding) │
///        └───────────────────────┴───────────────────────┘
/// holes: count (varint), then for each the distance from the end of the one before (from 0 for the first)
///        and its length, both in units of 32 bytes (varints)
/// ```
///
/// A **hole** is a run of dead nodes that contains whole blocks of 4 KiB, or of 16 KiB in an encrypted store. These
/// blocks may have been punched, so nothing in a hole may be read. A hole begins and ends where nodes begin and end.
struct CheckpointState {
    var root: Int
    var stamp: UInt64
    var garbage: Int
    /// Disjoint ranges of offsets in the mapping, in ascending order.
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

    static func decode(_ bytes: [UInt8]) throws(Damage) -> CheckpointState {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(Damage) in
                var reader = ByteReader(bytes)
                let root = try reader.readUInt64()
                let stamp = try reader.readUInt64()
                let garbage = try reader.readUInt64()
                let holes = garbage & holesBit == 0 ? [] : try decodeHoles(&reader)
                guard root <= LogLimits.checkpointByteCount, stamp <= LogLimits.number,
                    garbage & ~holesBit <= LogLimits.checkpointByteCount
                else { throw Damage("a root at \(root) of stamp \(stamp)", at: 0) }
                let schema = try SchemaCoding.decode(reader.readBytes(reader.remaining))
                if let fault = schema.fault { throw Damage(fault.text, at: reader.offset) }
                return CheckpointState(
                    root: Int(root), stamp: stamp, garbage: Int(garbage & ~holesBit), holes: holes, schema: schema)
            }
        }
        return try result.get()
    }

    /// Reads the state in a checkpoint's footer.
    static func read(_ checkpoint: Checkpoint, _ log: Log) throws(StoreError) -> CheckpointState {
        do throws(Damage) { return try decode(checkpoint.state) } catch {
            throw StoreError(
                .damage,
                "checkpoint \(checkpoint.id) of \(log.options.folder) cannot be read: \(error); run `firn verify`")
        }
    }

    private static func decodeHoles(_ reader: inout ByteReader) throws(Damage) -> [Range<Int>] {
        let count = try reader.readCount(limit: reader.remaining / 2)
        var holes: [Range<Int>] = []
        holes.reserveCapacity(count)
        var end = 0
        for _ in 0..<count {
            // A number above any address must not overflow.
            let start = end + Int(min(try reader.readVarint(), 1 << 42)) * OnDiskNode.unit
            end = start + Int(min(try reader.readVarint(), 1 << 42)) * OnDiskNode.unit
            guard end > start, end <= 2 * LogLimits.checkpointByteCount else {
                throw Damage("a hole from \(start) to \(end)", at: reader.offset)
            }
            holes.append(start..<end)
        }
        return holes
    }
}

/// The version in a checkpoint from which a store begins.
struct CheckpointBase {
    let checkpoint: Checkpoint
    let mapping: CheckpointMapping
    let state: CheckpointState

    init(
        checkpoint: Checkpoint, log: Log, reading: CheckpointReading, fileReferences: CheckpointFileReferences
    ) throws(StoreError) {
        self.checkpoint = checkpoint
        (mapping, state) = try CheckpointMapping.open(
            checkpoint, log: log, reading: reading, fileReferences: fileReferences)
    }
}

extension CheckpointMapping {
    /// Opens the files of a checkpoint and validates its root.
    static func open(
        _ checkpoint: Checkpoint, log: Log, reading: CheckpointReading, fileReferences: CheckpointFileReferences
    ) throws(StoreError) -> (mapping: CheckpointMapping, version: CheckpointState) {
        let last = checkpoint.ownFile
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
        let resolvedSchema = ResolvedSchema(version.schema)
        let mapping: CheckpointMapping
        do {
            mapping = try CheckpointMapping(
                byteCount: reservedByteCount(for: last.start + last.byteCount), holes: version.holes, log: log,
                fileReferences: fileReferences, onDamage: reading.onDamage)
        } catch { throw StoreError(error) }
        let origin = Origin(resolvedSchema, stamp: version.stamp, isOpened: true)
        for file in checkpoint.files { try mapping.add(file, log: log, reading: reading, origin: origin) }
        if let damage = mapping.openRoot(at: version.root) {
            throw StoreError(.damage, damage.description)
        }
        return (mapping, version)
    }

    /// Returns how many bytes of addresses a mapping that begins with `byteCount` bytes reserves. They are enough for
    /// what later checkpoints may add before everything is written again. Addresses cost nothing.
    static func reservedByteCount(for byteCount: Int) -> Int { 8 * byteCount + (1 << 30) }

    func add(
        _ entry: Checkpoint.File, log: Log, reading: CheckpointReading, origin: Origin
    ) throws(StoreError) {
        let file = try logged(log.openCheckpointFile(entry))
        do throws(StorageError) { try add(entry, file: file, origin: origin, reading) } catch {
            throw StoreError(error)
        }
        if log.options.verify.includes(entry.byteCount), let damage = verify(entry) {
            throw StoreError(.damage, damage.description)
        }
    }
}
