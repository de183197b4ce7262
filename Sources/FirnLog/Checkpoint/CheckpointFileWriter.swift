import FirnBytes
import FirnStorage

/// Writes one file of a checkpoint, front to back. It belongs to one thread at a time. The file is no part of the store
/// until `Log.publish` names it in the manifest. If it was not finished, it is removed when the writer is released.
package final class CheckpointFileWriter {
    package let id: UInt64
    /// The offset in the mapping at which the file begins.
    package let start: Int
    /// The bytes of a file's header; its nodes begin behind them.
    package static let headerByteCount = CheckpointHeader.byteCount
    /// The bytes written so far, header included.
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
        // If even this fails, the file that is left is no part of the store, and the next opening removes it.
        if !isFinished { try? folder.removeIfPresent(folder.checkpoint(id)) }
    }

    /// Writes `bytes` behind those already written.
    package func append(_ bytes: UnsafeRawBufferPointer) throws(LogError) {
        try stored(file.write(bytes, at: byteCount))
        byteCount += bytes.count
        // So that the sync at the end is short and does not delay the syncs of commits.
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
