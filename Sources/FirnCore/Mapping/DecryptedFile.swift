import FirnLog
import FirnStorage

/// A checkpoint file of an encrypted store that a mapping reads. What changes in it is guarded by the mapping's lock.
final class DecryptedFile: @unchecked Sendable {
    private let file: CheckpointFileReader
    private let memory: DecryptedMemory
    private let number: UInt64
    private let byteCount: Int
    /// The pages of the mapping in which nodes of the file are kept. Nodes that have to be kept are not counted.
    private var pages: BitSet
    /// The blocks that lie in the mapping.
    private var blocks: BitSet

    /// - Parameter byteCount: the number of bytes of the file before its footer, without encryption.
    init(_ file: CheckpointFileReader, byteCount: Int, _ memory: DecryptedMemory) {
        self.file = file
        self.memory = memory
        self.byteCount = byteCount
        number = memory.beginFile()
        pages = BitSet(count: byteCount / ReservedMemory.pageByteCount + 1)
        blocks = BitSet(count: byteCount / DecryptedMemory.blockByteCount + 1)
    }

    /// The file is not read any more, and its nodes are not kept any more.
    func end() {
        memory.endFile(number)
        discard(0..<byteCount)
    }

    /// The nodes in some whole pages are not kept any more.
    func discard(_ range: Range<Int>) {
        let pages = Self.pages(range)
        memory.release(self.pages.count(in: pages) * ReservedMemory.pageByteCount)
        self.pages.remove(pages)
    }

    /// The pages that a range overlaps.
    private static func pages(_ range: Range<Int>) -> Range<Int> {
        let size = ReservedMemory.pageByteCount
        return range.lowerBound / size..<(range.upperBound + size - 1) / size
    }

    /// Decrypts the blocks that a range overlaps to their addresses in the mapping, as far as they are not there.
    ///
    /// - Parameters:
    ///   - base: the address of the file in the mapping.
    ///   - isUnused: whether nothing of a range of the file is used in the mapping.
    /// - Returns: false if something of a block is used, or if the block would pass the limit.
    func decrypt(
        _ range: Range<Int>, to base: UnsafeMutableRawPointer, where isUnused: (Range<Int>) -> Bool
    ) throws(LogError) -> Bool {
        let size = DecryptedMemory.blockByteCount
        for block in range.lowerBound / size...(range.upperBound - 1) / size where !blocks.contains(block) {
            let bytes = block * size..<min((block + 1) * size, byteCount)
            guard isUnused(bytes), keep(bytes, isRequired: false) else { return false }
            let target = UnsafeMutableRawBufferPointer(start: base + bytes.lowerBound, count: bytes.count)
            do throws(LogError) { try file.read(unit: block, into: target) } catch {
                discard(bytes)
                throw error
            }
            blocks.insert(block)
        }
        return true
    }

    /// Copies a range of the file to `target`.
    func copy(_ range: Range<Int>, to target: UnsafeMutableRawPointer) throws(LogError) {
        let size = DecryptedMemory.blockByteCount
        var start = range.lowerBound
        while start < range.upperBound {
            let block = start / size
            let end = min(range.upperBound, (block + 1) * size)
            try memory.copy(
                start - block * size..<end - block * size, of: block, min(size, byteCount - block * size), in: file,
                number: number, to: target + (start - range.lowerBound))
            start = end
        }
    }

    /// Decides whether a node can be kept, and counts it if so.
    ///
    /// - Parameter isRequired: whether the node has to be kept. Then it does not count against the limit.
    func keep(_ range: Range<Int>, isRequired: Bool) -> Bool {
        if isRequired { return true }
        let pages = Self.pages(range)
        let added = (pages.count - self.pages.count(in: pages)) * ReservedMemory.pageByteCount
        guard added == 0 || memory.keep(added) else { return false }
        self.pages.insert(pages)
        return true
    }
}
