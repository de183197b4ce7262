import FirnBytes
import FirnStorage

/// A file of a checkpoint that is open for reading. Offsets are those without encryption.
package final class CheckpointFileReader: Sendable {
    /// The file, if it can be mapped: if the store is not encrypted.
    package var mappable: (any StorageFile)? { cipher == nil ? file : nil }
    package var path: String { file.path }
    private let file: any StorageFile
    private let cipher: SealingCipher?

    init(_ file: any StorageFile, cipher: SealingCipher?) {
        self.file = file
        self.cipher = cipher
    }

    /// The unit of reading, a power of two. A range that begins and ends with a unit is decrypted once.
    package var unitByteCount: Int { cipher == nil ? ReservedMemory.alignment : Self.encryptedUnitByteCount }
    /// The unit of reading an encrypted file.
    package static let encryptedUnitByteCount = CheckpointBlocks.textByteCount

    package var isEncrypted: Bool { cipher != nil }

    /// Reads one unit into `target`, which has its length.
    ///
    /// - Throws: `.damage` if the file ends before the unit does, or the unit is not authentic.
    package func read(unit: Int, into target: UnsafeMutableRawBufferPointer) throws(LogError) {
        guard let cipher else {
            let offset = unit * unitByteCount
            let count = try stored(file.read(into: target, at: offset))
            guard count == target.count else {
                throw LogError(.damage, path: path, offset: offset + count, detail: "the file ends early")
            }
            return
        }
        let offset = CheckpointBlocks.offset(of: unit)
        let block = try stored(file.read(target.count + CheckpointBlocks.addedByteCount, at: offset))
        let isAuthentic = block.withUnsafeBytes { block in
            block.count == target.count + CheckpointBlocks.addedByteCount
                && CheckpointBlocks.open(block, number: unit, cipher, into: target)
        }
        guard isAuthentic else {
            throw LogError(
                .damage, path: path, offset: offset,
                detail: "the block was not written by somebody with the store's key")
        }
    }

    package func close() { file.close() }
}
