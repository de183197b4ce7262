import CFirn
import FirnLog

/// A checkpoint file of an encrypted store that a mapping reads. What changes in it is guarded by the mapping's lock.
final class DecryptedFile: @unchecked Sendable {
    private let file: CheckpointFileReader
    private let memory: DecryptedMemory
    private let number: UInt64
    private let byteCount: Int
    /// The pages of the mapping in which nodes of the file are kept.
    private var pages: BitSet
    /// The bytes of these pages that count against the limit.
    private var keptByteCount = 0

    /// The unit of memory, in bytes.
    private static let pageByteCount = Int(firn_page_byte_count())

    /// - Parameter byteCount: the number of bytes of the file before its footer, without encryption.
    init(_ file: CheckpointFileReader, byteCount: Int, _ memory: DecryptedMemory) {
        self.file = file
        self.memory = memory
        self.byteCount = byteCount
        number = memory.beginFile()
        pages = BitSet(count: byteCount / Self.pageByteCount + 1)
    }

    /// The file is not read any more, and its nodes are not kept any more.
    func end() {
        memory.endFile(number)
        memory.release(keptByteCount)
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
        let pages = range.lowerBound / Self.pageByteCount..<(range.upperBound - 1) / Self.pageByteCount + 1
        let added = (pages.count - self.pages.count(in: pages)) * Self.pageByteCount
        if !isRequired, added > 0 {
            guard memory.keep(added) else { return false }
            keptByteCount += added
        }
        self.pages.insert(pages)
        return true
    }
}
