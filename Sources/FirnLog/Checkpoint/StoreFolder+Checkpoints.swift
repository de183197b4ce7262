import FirnBytes
import FirnStorage

extension StoreFolder {
    /// Reads the footer of the checkpoint that a manifest names, and checks it. Nodes are validated when they are
    /// first reached.
    func readCheckpoint(_ entry: Manifest.Checkpoint) throws(LogError) -> Checkpoint {
        let path = path(of: checkpoint(entry.id))
        let file: any StorageFile
        do throws(StorageError) { file = try open(checkpoint(entry.id), .read) } catch {
            guard error.code == .notFound else { throw LogError(error) }
            throw LogError(.damage, path: path, detail: "the manifest lists it, but it is missing")
        }
        defer { file.close() }
        let size = try stored(file.size())
        guard size == entry.byteCount else {
            throw LogError(
                .damage, path: path, offset: min(size, Int(entry.byteCount)),
                detail: "the file has \(size) bytes, but the manifest says \(entry.byteCount)")
        }
        guard size >= CheckpointHeader.byteCount + 8 else {
            throw LogError(.damage, path: path, offset: 0, detail: "the file of \(size) bytes is too short")
        }
        let cipher = isEncrypted ? try readHeader(file).cipher : nil
        let last = try read(file, at: size - 8, count: 8)
        let length = Int(last.withUnsafeBytes { UInt32(littleEndian: $0.loadUnaligned(as: UInt32.self)) })
        let crc = last.withUnsafeBytes { UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: 4, as: UInt32.self)) }
        guard length % 64 == 0, length <= min(size - CheckpointHeader.byteCount, LogLimits.footerByteCount),
            crc == entry.crc,
            var checkpoint = decode(
                footer: try read(file, at: size - length, count: length), at: size - length, cipher),
            checkpoint.id == entry.id, checkpoint.version == entry.version,
            checkpoint.listedSalt == entry.salt
        else {
            throw LogError(.damage, path: path, offset: max(0, size - 64), detail: "the checkpoint's footer is damaged")
        }
        checkpoint.end = (entry.byteCount, entry.crc)
        return checkpoint
    }

    /// Decodes a footer that begins at `offset`; nil if it is damaged.
    private func decode(footer: [UInt8], at offset: Int, _ cipher: SealingCipher?) -> Checkpoint? {
        guard let cipher else {
            let checkpoint = footer.withUnsafeBytes { Checkpoint.decode(footer: $0) }
            return checkpoint?.ownByteCount == offset ? checkpoint : nil
        }
        // The footer is authenticated with the number of blocks before it, which follows from its offset.
        let blockCount =
            (offset - CheckpointHeader.encryptedByteCount + CheckpointBlocks.stride - 1) / CheckpointBlocks.stride
        guard let text = CheckpointBlocks.open(footer: footer, behind: blockCount, cipher),
            let checkpoint = text.withUnsafeBytes({ Checkpoint.decode(footer: $0, isEncrypted: true) }),
            CheckpointBlocks.end(checkpoint.ownByteCount) == offset
        else { return nil }
        return checkpoint
    }

    /// Reads the header of an encrypted store's checkpoint file, and makes its cipher.
    private func readHeader(
        _ file: any StorageFile
    ) throws(LogError) -> (bytes: [UInt8], salt: FileSalt, cipher: SealingCipher) {
        let bytes = try read(file, at: 0, count: CheckpointHeader.encryptedByteCount)
        let salt = bytes.withUnsafeBytes {
            FileSalt(UnsafeRawBufferPointer(rebasing: $0[CheckpointHeader.byteCount...]))
        }
        let storeID = bytes.withUnsafeBytes { bytes in
            StoreID(
                high: UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)),
                low: UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self)))
        }
        guard let salt, let cipher = bytes.withUnsafeBytes({ keyRing?.cipher(salt, header: $0, of: storeID) }) else {
            throw LogError(.damage, path: file.path, offset: 0, detail: "the file's header is damaged")
        }
        return (bytes, salt, cipher)
    }

    /// Every checkpoint that a manifest lists, the live one last.
    func readCheckpoints(_ manifest: Manifest) throws(LogError) -> [Checkpoint] {
        var result: [Checkpoint] = []
        for entry in manifest.earlier { result.append(try readCheckpoint(entry)) }
        if let live = manifest.checkpoint { result.append(try readCheckpoint(live)) }
        return result
    }

    /// Opens a checkpoint file for reading, and checks its header.
    func openCheckpointFile(_ entry: Checkpoint.File, _ storeID: StoreID) throws(LogError) -> CheckpointFileReader {
        let path = path(of: checkpoint(entry.id))
        let file = try stored(openToRead(checkpoint(entry.id)))
        let size = try stored(file.size())
        let end = isEncrypted ? CheckpointBlocks.end(entry.byteCount) : entry.byteCount
        guard size > end else {
            throw LogError(
                .damage, path: path, offset: size,
                detail: "the file has \(size) bytes, but the checkpoint needs \(end) of it and its footer")
        }
        var header = CheckpointHeader(storeID: storeID, id: entry.id, start: UInt64(entry.start))
        var cipher: SealingCipher?
        let bytes: [UInt8]
        if isEncrypted {
            (bytes, header.salt, cipher) = try readHeader(file)
        } else {
            bytes = try read(file, at: 0, count: CheckpointHeader.byteCount)
        }
        guard bytes == header.encode(), header.salt?.identity ?? 0 == entry.saltIdentity else {
            throw LogError(.damage, path: path, offset: 0, detail: "the file's header is not that of this checkpoint")
        }
        return CheckpointFileReader(file, cipher: cipher)
    }

    private func read(_ file: any StorageFile, at offset: Int, count: Int) throws(LogError) -> [UInt8] {
        let bytes = try stored(file.read(count, at: offset))
        guard bytes.count == count else {
            throw LogError(.damage, path: file.path, offset: offset + bytes.count, detail: "the file ends early")
        }
        return bytes
    }

    /// The ids of the files in the folder `checkpoint`. There are none if the folder is missing: a copy of the store
    /// that somebody made may have left it out because it was empty.
    func checkpointIDs() throws(LogError) -> [UInt64] {
        try stored(exists(.checkpoints) ? folder(.checkpoints).list() : []).compactMap(Self.checkpointID)
    }
}
