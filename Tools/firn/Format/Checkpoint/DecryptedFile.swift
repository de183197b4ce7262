import FirnBytes
import FirnCrypto
import FirnStorage

/// A checkpoint's file of an encrypted store, read as if it were not encrypted: header and nodes at their offsets, and
/// the footer behind them.
final class DecryptedFile: StorageFile, @unchecked Sendable {
    let path: String
    private let file: any StorageFile
    private let cipher: FileCipher
    /// The bytes of header and nodes, and the footer. The footer is empty if it is not authentic.
    private let textByteCount: Int
    private let footer: [UInt8]
    /// The block that was read last, and its number. The tool reads a file from one thread at a time.
    private var block: (number: Int, bytes: [UInt8]) = (-1, [])

    /// The first 8 bytes of the file's salt.
    let salt: UInt64

    /// Nil if the file is not an encrypted one, or its end is damaged.
    ///
    /// - Parameter textByteCount: the bytes of header and nodes, if they are known. The footer is then not read.
    init?(_ file: any StorageFile, _ keys: StoreKeys, textByteCount known: Int? = nil) throws(StorageError) {
        path = file.path
        self.file = file
        let size = try file.size()
        let start = try file.read(SealedParts.headerByteCount, at: 0)
        guard let cipher = start.withUnsafeBytes({ SealedParts.cipher($0, keys) }) else { return nil }
        self.cipher = cipher
        salt = start.withUnsafeBytes { Fields($0).u64(CheckpointHeader.byteCount) }
        if let known {
            textByteCount = known
            footer = []
            return
        }
        let tail = try file.read(8, at: max(0, size - 8))
        guard tail.count == 8 else { return nil }
        let byteCount = Int(tail.withUnsafeBytes { Fields($0).u32(0) })
        let blocks = size - byteCount - SealedParts.headerByteCount
        guard byteCount > SealedParts.footerAddedByteCount, byteCount <= FormatNumbers.payloadByteCount * 32, blocks > 0
        else { return nil }
        let stride = SealedParts.blockByteCount + SealedParts.addedByteCount
        let count = (blocks + stride - 1) / stride
        textByteCount = blocks - count * SealedParts.addedByteCount
        let footer = try file.read(byteCount, at: size - byteCount)
        let isIntact = footer.withUnsafeBytes { bytes in
            bytes.count == byteCount && Fields(bytes).u32(byteCount - 4) == Fields(bytes).crc(to: byteCount - 4)
                && UnsafeRawBufferPointer(
                    rebasing: bytes[byteCount - SealedParts.footerAddedByteCount + SealSize.total..<byteCount - 8]
                ).isAllZero
        }
        guard isIntact else { return nil }
        let sealed = footer.dropLast(SealedParts.footerAddedByteCount - SealSize.total)
        let text = Array(sealed).withUnsafeBytes {
            SealedParts.open(
                $0, cipher, authenticating: SealedParts.data(count, byteCount - SealedParts.footerAddedByteCount))
        }
        guard let text else { return nil }
        self.footer = text
    }

    func isNamed() throws(StorageError) -> Bool { try file.isNamed() }

    func size() throws(StorageError) -> Int { textByteCount + footer.count }

    /// Reads what is decrypted. A block that is not authentic reads as zeros, which no node consists of.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(StorageError) -> Int {
        var done = 0
        while done < buffer.count, offset + done < textByteCount + footer.count {
            let at = offset + done
            let piece: ArraySlice<UInt8>
            if at >= textByteCount {
                piece = footer[(at - textByteCount)...]
            } else {
                let number = at / SealedParts.blockByteCount
                if block.number != number { block = (number, try read(block: number)) }
                piece = block.bytes[(at % SealedParts.blockByteCount)...]
            }
            let count = min(piece.count, buffer.count - done)
            UnsafeMutableRawBufferPointer(rebasing: buffer[done..<done + count]).copyBytes(from: piece.prefix(count))
            done += count
        }
        return done
    }

    private func read(block number: Int) throws(StorageError) -> [UInt8] {
        let start = number * SealedParts.blockByteCount
        let count = min(SealedParts.blockByteCount, textByteCount - start)
        let offset =
            SealedParts.headerByteCount + number * (SealedParts.blockByteCount + SealedParts.addedByteCount)
        let sealed = try file.read(count + SealedParts.addedByteCount, at: offset)
        let text = sealed.withUnsafeBytes { bytes -> [UInt8]? in
            guard bytes.count == count + SealedParts.addedByteCount,
                UnsafeRawBufferPointer(rebasing: bytes[(count + SealSize.total)...]).isAllZero
            else { return nil }
            return SealedParts.open(
                UnsafeRawBufferPointer(rebasing: bytes[..<(count + SealSize.total)]), cipher,
                authenticating: SealedParts.data(number, count))
        }
        return text ?? [UInt8](repeating: 0, count: count)
    }

    func close() { file.close() }

    // The tool writes to no file of a store.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(StorageError) { throw refusal("write") }
    func sync() throws(StorageError) { throw refusal("sync") }
    func startWriteback(_ range: Range<Int>) {}
    func truncate(to byteCount: Int) throws(StorageError) { throw refusal("truncate") }
    func deallocate(_ range: Range<Int>) throws(StorageError) -> Bool { throw refusal("punch") }
    func map(_ range: Range<Int>) throws(StorageError) -> any MappedRegion { throw refusal("map") }

    private func refusal(_ operation: String) -> StorageError {
        StorageError(.notWritable, operation: operation, path: path)
    }
}
