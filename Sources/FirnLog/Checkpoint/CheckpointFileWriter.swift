import FirnBytes
import FirnStorage

/// Writes one file of a checkpoint, front to back. Only one thread at a time may use it. The file is not part of the
/// store until `Log.publish` names it in the manifest. A writer that is released before `finish` removes its file.
package final class CheckpointFileWriter {
    package let id: UInt64
    /// The offset in the mapping at which the file begins.
    package let start: Int
    /// The number of bytes of a file's header. The nodes begin behind it.
    package static let headerByteCount = CheckpointHeader.byteCount
    /// The number of bytes written so far, header included.
    package private(set) var byteCount = CheckpointHeader.byteCount
    let folder: StoreFolder
    private let file: any StorageFile
    private var isFinished = false
    /// The end of the bytes that the system has been asked to write to the disk.
    private var started = 0

    init(folder: StoreFolder, storeID: StoreID, id: UInt64, start: Int) throws(LogError) {
        precondition(
            start % ReservedMemory.alignment == 0, "Firn: a file of a checkpoint begins at a multiple of 64 KiB")
        self.folder = folder
        self.id = id
        self.start = start
        try folder.removeIfPresent(folder.checkpoint(id))
        file = try stored(folder.create(folder.checkpoint(id)))
        try stored(file.write(CheckpointHeader(storeID: storeID, id: id, start: UInt64(start)).encode(), at: 0))
    }

    deinit {
        file.close()
        // If this removal fails too, the file is still not part of the store, and the next opening removes it.
        if !isFinished { try? folder.removeIfPresent(folder.checkpoint(id)) }
    }

    /// Writes `bytes` behind those already written.
    package func append(_ bytes: UnsafeRawBufferPointer) throws(LogError) {
        try stored(file.write(bytes, at: byteCount))
        byteCount += bytes.count
        // Early writeback keeps the sync at the end short, so that it does not delay the syncs of commits.
        if byteCount - started >= Self.writebackByteCount {
            file.startWriteback(started..<byteCount)
            started = byteCount
        }
    }

    static let writebackByteCount = 64 << 10

    /// Writes the footer and makes the file durable.
    ///
    /// - Parameter earlier: the files of the mapping before this one.
    package func finish(
        version: UInt64, time: Int64, earlier: [Checkpoint.File], state: [UInt8]
    ) throws(LogError) -> Checkpoint {
        while byteCount % 64 != 0 {
            try withUnsafeBytes(of: (0, 0, 0, 0) as (Int64, Int64, Int64, Int64)) { (zeros) throws(LogError) in
                try append(zeros)
            }
        }
        let checkpoint = Checkpoint(
            version: version, time: time,
            files: earlier + [Checkpoint.File(id: id, start: start, byteCount: byteCount)], state: state)
        try stored(file.write(checkpoint.encodeFooter(), at: byteCount))
        try stored(file.sync())
        try stored(folder.sync(.checkpoints))
        isFinished = true
        return checkpoint
    }
}
