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
///        │ garbage, bytes        │ schema (SchemaCoding) │   of nodes in the space that the version does not reach
///        └───────────────────────┴───────────────────────┘
/// ```
struct StoredVersion {
    var root: Int
    var stamp: UInt64
    var garbage: Int
    var schema: Schema

    func encode() -> [UInt8] {
        var writer = ByteWriter()
        writer.append(UInt64(root))
        writer.append(stamp)
        writer.append(UInt64(garbage))
        writer.append(SchemaCoding.encode(schema))
        return writer.array()
    }

    static func decode(_ bytes: [UInt8]) throws(BytesError) -> StoredVersion {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(BytesError) in
                var reader = ByteReader(bytes)
                let root = try reader.readUInt64()
                let stamp = try reader.readUInt64()
                let garbage = try reader.readUInt64()
                return StoredVersion(
                    root: Int(truncatingIfNeeded: root), stamp: stamp, garbage: Int(truncatingIfNeeded: garbage),
                    schema: try SchemaCoding.decode(reader.readBytes(reader.remaining)))
            }
        }
        return try result.get()
    }
}

/// A version that a store begins with, as it lies in a checkpoint.
struct StoredStart {
    let checkpoint: Checkpoint
    let space: NodeSpace
    let stored: StoredVersion

    init(
        _ checkpoint: Checkpoint, _ log: Log, _ options: StoreOptions, _ heldFiles: HeldFiles
    ) throws(StoreError) {
        self.checkpoint = checkpoint
        (space, stored) = try NodeSpace.open(checkpoint, log, options) { heldFiles.release($0) }
        heldFiles.retain(checkpoint.files.map(\.id))
    }
}

extension NodeSpace {
    /// Opens the files of a checkpoint, and checks the node of the root.
    static func open(
        _ checkpoint: Checkpoint, _ log: Log, _ options: StoreOptions,
        onRelease: @escaping @Sendable ([UInt64]) -> Void
    ) throws(StoreError) -> (space: NodeSpace, version: StoredVersion) {
        let last = checkpoint.files[checkpoint.files.count - 1]
        let version: StoredVersion
        do throws(BytesError) { version = try StoredVersion.decode(checkpoint.state) } catch {
            throw StoreError(
                .damage,
                "checkpoint \(checkpoint.id) of \(log.options.folder) cannot be read: \(error); run `firn verify`")
        }
        let space: NodeSpace
        do {
            space = try NodeSpace(
                byteCount: roomFor(last.start + last.byteCount), log: log, onDamage: options.onDamage,
                onRelease: onRelease)
        } catch { throw StoreError(LogError(error)) }
        for file in checkpoint.files { try space.add(file, log, options) }
        if let damage = space.tryTouch(UInt(bitPattern: space.base) + UInt(version.root)) {
            throw StoreError(.damage, damage.description)
        }
        return (space, version)
    }

    /// How much a space reserves that begins with so many bytes: what later checkpoints may add before everything is written anew.
    static func roomFor(_ byteCount: Int) -> Int { 2 * byteCount + (256 << 20) }

    func add(_ entry: Checkpoint.File, _ log: Log, _ options: StoreOptions) throws(StoreError) {
        do throws(LogError) {
            let file = try log.openCheckpointFile(entry)
            do throws(StorageError) { try add(entry, file, byMapping: options.readsByMapping) } catch {
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
