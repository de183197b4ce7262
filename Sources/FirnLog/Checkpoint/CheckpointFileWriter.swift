import FirnBytes
import FirnStorage

/// Writes one file of a checkpoint, front to back. It belongs to one thread at a time. Until `Log.publish` names it in the manifest the file is nothing to the store; one that is not
/// finished is removed when the writer goes.
public final class CheckpointFileWriter {
    public let id: UInt64
    /// Where in the space the file begins.
    public let start: Int
    /// Bytes of a file's head, behind which its nodes begin.
    public static let headByteCount = CheckpointHeader.byteCount
    /// Bytes written so far, the head included.
    public private(set) var byteCount = CheckpointHeader.byteCount
    let folder: StoreFolder
    private let file: any StorageFile
    private var isFinished = false
    /// Bytes that the system has been asked to write out.
    private var started = 0

    init(folder: StoreFolder, storeID: StoreID, id: UInt64, start: Int) throws(LogError) {
        precondition(start % ReservedMemory.alignment == 0, "a file of a checkpoint begins at a multiple of 64 KiB")
        self.folder = folder
        self.id = id
        self.start = start
        let path = folder.checkpoint(id)
        try folder.removeIfPresent(path)
        file = try stored { () throws(StorageError) in try folder.create(path) }
        try write(CheckpointHeader(storeID: storeID, id: id, start: UInt64(start)).encode(), at: 0)
    }

    deinit {
        file.close()
        // What stays where even this fails is no part of the store, and the next opening removes it.
        if !isFinished { try? folder.removeIfPresent(folder.checkpoint(id)) }
    }

    /// Writes `bytes` behind what was written.
    public func append(_ bytes: UnsafeRawBufferPointer) throws(LogError) {
        do throws(StorageError) {
            try file.write(bytes, at: byteCount)
        } catch {
            throw LogError(error)
        }
        byteCount += bytes.count
        // So that the sync at the end is short, and does not stand in the way of commits'.
        if byteCount - started >= Self.writebackByteCount {
            file.startWriteback(started..<byteCount)
            started = byteCount
        }
    }

    static let writebackByteCount = 64 << 10

    private func write(_ bytes: [UInt8], at offset: Int) throws(LogError) {
        do {
            try bytes.withUnsafeBytes { try file.write($0, at: offset) }
        } catch {
            throw LogError(error as! StorageError)
        }
    }

    /// Writes the foot and makes the file durable.
    ///
    /// - Parameter earlier: the files of the space that lie before this one.
    public func finish(
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
        try write(checkpoint.encodeFooter(), at: byteCount)
        try stored { () throws(StorageError) in
            try file.sync()
            try folder.storage.syncFolder(folder.checkpoints)
        }
        isFinished = true
        return checkpoint
    }
}
