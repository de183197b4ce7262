import FirnBytes
import FirnCrypto
import FirnStorage

/// Copies a file of a checkpoint to another store. Nodes and footer do not name a store, so they are copied unchanged,
/// behind a header of the new store. In an encrypted store they are encrypted anew, and the footer names the new salts.
struct CheckpointCopy {
    /// A file that was copied.
    struct Copied {
        let byteCount: Int
        let footerCRC: UInt32
        /// The first 8 bytes of its salt; 0 without encryption.
        let salt: UInt64
        let id: UInt64
    }

    let source: OpenedCheckpoint.File
    let storeHigh: UInt64
    let storeLow: UInt64
    let sealing: StoreSealing?
    /// The files of the mapping that were copied before.
    let before: [Copied]

    /// Writes and syncs the copy.
    func write(to files: StoreFiles) throws -> Copied {
        guard let from = source.file else { throw ToolError(.damage, "\(source.path) can't be read") }
        let file = try files.storage.open(files.checkpoint(source.entry.id), .create)
        defer { file.close() }
        var header = ByteWriter(capacity: CheckpointHeader.byteCount)
        CheckpointHeader(
            storeHigh: storeHigh, storeLow: storeLow, id: source.entry.id, start: UInt64(source.entry.start)
        ).write(to: &header, hasSalt: sealing != nil)
        let copied =
            if let sealing {
                try write(encrypting: from, behind: &header, sealing, to: file)
            } else {
                try write(copying: from, behind: header.bytes, to: file)
            }
        try file.sync()
        return copied
    }

    private func write(
        copying from: any StorageFile, behind header: UnsafeRawBufferPointer, to file: any StorageFile
    ) throws -> Copied {
        try file.write(header, at: 0)
        var piece = [UInt8](repeating: 0, count: 1 << 20)
        var offset = CheckpointHeader.byteCount
        while offset < source.byteCount {
            try Interrupts.check()
            let count = try piece.withUnsafeMutableBytes { buffer in
                let wanted = min(buffer.count, source.byteCount - offset)
                let count = try from.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), at: offset)
                try file.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: offset)
                return count
            }
            guard count > 0 else { throw ToolError(.damage, "\(source.path) ends early, at byte \(offset)") }
            offset += count
        }
        return Copied(byteCount: offset, footerCRC: 0, salt: 0, id: source.entry.id)
    }

    /// Writes the blocks and the footer as the format describes them for encrypted files.
    private func write(
        encrypting from: any StorageFile, behind header: inout ByteWriter, _ sealing: StoreSealing,
        to file: any StorageFile
    ) throws -> Copied {
        let start = header.array()
        let cipher = sealing.addSalt(to: &header)
        let salt = Fields(header.bytes).u64(CheckpointHeader.byteCount)
        try file.write(header.bytes, at: 0)
        var written = header.count
        var offset = 0
        var number = 0
        while offset < source.entry.byteCount {
            try Interrupts.check()
            var block = try bytes(of: from, offset, min(SealedParts.blockByteCount, source.entry.byteCount - offset))
            // The first block begins with the header, which is the new store's.
            if offset == 0 { block.replaceSubrange(..<CheckpointHeader.byteCount, with: start) }
            let data = SealedParts.data(number, block.count)
            let sealed = sealing.seal(block, cipher, authenticating: data) + [0, 0, 0, 0]
            try file.write(sealed, at: written)
            written += sealed.count
            offset += block.count
            number += 1
        }
        let text = try footer(bytes(of: from, offset, source.byteCount - offset), salt: salt)
        var footer = ByteWriter(capacity: text.count + SealedParts.footerAddedByteCount)
        footer.append(sealing.seal(text, cipher, authenticating: SealedParts.data(number, text.count)))
        footer.appendZeros(28)
        footer.append(UInt32(text.count + SealedParts.footerAddedByteCount))
        let crc = CRC32C.checksum(footer.bytes)
        footer.append(crc)
        try file.write(footer.bytes, at: written)
        return Copied(byteCount: written + footer.count, footerCRC: crc, salt: salt, id: source.entry.id)
    }

    private func bytes(of file: any StorageFile, _ offset: Int, _ count: Int) throws -> [UInt8] {
        let bytes = try file.read(count, at: offset)
        guard bytes.count == count else {
            throw ToolError(.damage, "\(source.path) ends early, at byte \(offset + bytes.count)")
        }
        return bytes
    }

    /// A footer with the salts of the files that were copied. A file that the checkpoint has dropped since keeps the
    /// salt that it had.
    private func footer(_ text: [UInt8], salt: UInt64) throws -> [UInt8] {
        var text = text
        let count = text.withUnsafeBytes { Int(Fields($0).u32(40)) }
        guard text.count >= CheckpointFooter.headerByteCount + count * CheckpointFooter.encryptedFileByteCount + 8
        else {
            throw ToolError(.damage, "\(source.path) has a damaged footer")
        }
        text.withUnsafeMutableBytes { bytes in
            for index in 0..<count {
                let at = CheckpointFooter.headerByteCount + index * CheckpointFooter.encryptedFileByteCount
                let id = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self))
                let found = id == source.entry.id ? salt : before.first { $0.id == id }?.salt
                guard let found else { continue }
                bytes.storeBytes(of: found.littleEndian, toByteOffset: at + 24, as: UInt64.self)
            }
            let crc = CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count - 4)]))
            bytes.storeBytes(of: crc.littleEndian, toByteOffset: bytes.count - 4, as: UInt32.self)
        }
        return text
    }
}
