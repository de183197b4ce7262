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
    /// The cipher of an encrypted store's file, the block that is not full yet, and how many blocks are written.
    private let cipher: SealingCipher?
    private let saltIdentity: UInt64
    private var pending = ByteWriter(capacity: 16)
    private var blockCount = 0
    private var isFinished = false
    /// The number of bytes in the file, and how many of them the system has been asked to write to the disk.
    private var written = 0
    private var started = 0

    init(folder: StoreFolder, storeID: StoreID, id: UInt64, start: Int) throws(LogError) {
        precondition(
            start % ReservedMemory.alignment == 0, "Firn: a file of a checkpoint begins at a multiple of 64 KiB")
        self.folder = folder
        self.id = id
        self.start = start
        try folder.removeIfPresent(folder.checkpoint(id))
        file = try stored(folder.create(folder.checkpoint(id)))
        let salt = folder.makeSalt()
        let header = CheckpointHeader(storeID: storeID, id: id, start: UInt64(start), salt: salt)
        cipher = folder.cipher(header)
        saltIdentity = salt?.identity ?? 0
        let bytes = header.encode()
        if cipher != nil { pending.append(Array(bytes[..<CheckpointHeader.byteCount])) }
        try write(bytes)
    }

    deinit {
        file.close()
        // If this removal fails too, the file is still not part of the store, and the next opening removes it.
        if !isFinished { try? folder.removeIfPresent(folder.checkpoint(id)) }
    }

    /// Writes `bytes` behind those already written.
    package func append(_ bytes: UnsafeRawBufferPointer) throws(LogError) {
        if let cipher { try append(bytes, cipher) } else { try write(bytes) }
        byteCount += bytes.count
    }

    private func write(_ bytes: UnsafeRawBufferPointer) throws(LogError) {
        try stored(file.write(bytes, at: written))
        written += bytes.count
        // Early writeback keeps the sync at the end short, so that it does not delay the syncs of commits.
        if written - started >= Self.writebackByteCount {
            file.startWriteback(started..<written)
            started = written
        }
    }

    private func write(_ bytes: [UInt8]) throws(LogError) {
        try bytes.withUnsafeBufferPointer { (bytes) throws(LogError) in try write(UnsafeRawBufferPointer(bytes)) }
    }

    /// Adds bytes to the pending block, and writes each block that is full.
    private func append(_ bytes: UnsafeRawBufferPointer, _ cipher: SealingCipher) throws(LogError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = rest.prefix(CheckpointBlocks.textByteCount - pending.count)
            pending.append(UnsafeRawBufferPointer(rebasing: part))
            rest = rest.dropFirst(part.count)
            if pending.count == CheckpointBlocks.textByteCount { try writePending(cipher) }
        }
    }

    private func writePending(_ cipher: SealingCipher) throws(LogError) {
        guard pending.count > 0 else { return }
        pending.appendZeros(CheckpointBlocks.addedByteCount)
        CheckpointBlocks.seal(pending.mutableBytes, number: blockCount, cipher)
        try write(pending.bytes)
        blockCount += 1
        pending.removeAll()
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
        var own = Checkpoint.File(id: id, start: start, byteCount: byteCount)
        own.saltIdentity = saltIdentity
        var checkpoint = Checkpoint(version: version, time: time, files: earlier + [own], state: state)
        var footer = checkpoint.encodeFooter(isEncrypted: cipher != nil)
        if let cipher {
            try writePending(cipher)
            footer = CheckpointBlocks.seal(footer: footer, behind: blockCount, cipher)
        }
        try write(footer)
        checkpoint.end = (UInt64(written), footer.suffix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) })
        try stored(file.sync())
        try stored(folder.sync(.checkpoints))
        isFinished = true
        return checkpoint
    }
}
