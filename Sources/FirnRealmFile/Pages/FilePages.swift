import FirnStorage

/// The contents of a Realm file in memory, read and decrypted in groups when they are first needed.
///
/// All groups lie in one range of reserved addresses at their offsets in the decrypted file, so a node is found by its
/// offset. Nothing is mapped. So if another program cuts the file off, a read throws and the process goes on. Plain and
/// encrypted files are read in the same way.
///
/// `release` frees all groups once more than `limit` bytes are in use. Whoever holds pointers into the pages must not
/// use them after that, so it is called between batches of objects only.
///
/// One thread uses an object of this type.
final class FilePages {
    /// The bytes that are read together. In an encrypted file their pages share one page of IVs.
    static let groupByteCount = 64 * PageCipher.pageByteCount

    private let file: any StorageFile
    private let cipher: PageCipher?
    private let memory: ReservedMemory
    /// The bytes of the file, decrypted.
    let byteCount: Int
    /// One bit for each group that is in memory.
    private var loaded: [UInt64]
    private var loadedCount = 0
    private let limit: Int
    /// The number of calls to `release` that freed memory. A pointer is valid while this does not change.
    private(set) var generation = 0

    /// The first byte. Bytes that were not prepared can't be relied on.
    var base: UnsafeRawPointer { UnsafeRawPointer(memory.base) }

    /// - Parameter limit: how many bytes stay in memory between two batches.
    init(_ file: any StorageFile, cipher: PageCipher?, limit: Int) throws(RealmFileError) {
        self.file = file
        self.cipher = cipher
        self.limit = limit
        let size = try stored(file.size())
        byteCount = cipher == nil ? size : PageCipher.plainByteCount(of: size)
        // A group more, so that an empty file has memory, too.
        let reserved = byteCount + Self.groupByteCount
        memory = try stored(ReservedMemory(byteCount: reserved, alignment: ReservedMemory.alignment))
        try stored(memory.fill(length: memory.byteCount, at: 0))
        let groupCount = (byteCount + Self.groupByteCount - 1) / Self.groupByteCount
        loaded = [UInt64](repeating: 0, count: (groupCount + 63) / 64)
    }

    /// Makes sure that a range, which lies within the file, is in memory.
    @inline(__always)
    func prepare(_ offset: Int, _ count: Int) throws(RealmFileError) {
        let first = offset / Self.groupByteCount
        let last = (offset + max(count, 1) - 1) / Self.groupByteCount
        if first == last, isLoaded(first) { return }
        for group in first...last where !isLoaded(group) { try load(group) }
    }

    @inline(__always)
    private func isLoaded(_ group: Int) -> Bool { loaded[group >> 6] & 1 << UInt64(group & 63) != 0 }

    @inline(never)
    private func load(_ group: Int) throws(RealmFileError) {
        let start = group * Self.groupByteCount
        let count = min(Self.groupByteCount, byteCount - start)
        let target = UnsafeMutableRawBufferPointer(start: memory.base + start, count: count)
        if let cipher {
            try cipher.read(group: group, of: file, into: target)
        } else {
            try file.fill(target, at: start)
        }
        loaded[group >> 6] |= 1 << UInt64(group & 63)
        loadedCount += 1
    }

    /// Frees the memory of all groups if it is more than the limit.
    func release() {
        guard loadedCount * Self.groupByteCount > limit else { return }
        for (index, word) in loaded.enumerated() where word != 0 {
            for bit in 0..<64 where word & 1 << UInt64(bit) != 0 {
                let start = (index * 64 + bit) * Self.groupByteCount
                memory.discard(start..<start + Self.groupByteCount)
            }
            loaded[index] = 0
        }
        loadedCount = 0
        generation += 1
    }
}

extension StorageFile {
    /// Reads bytes that the file had when it was opened.
    func fill(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(RealmFileError) {
        guard try stored(read(into: buffer, at: offset)) == buffer.count else {
            throw RealmFileError(.truncated, detail: "it became shorter while it was read")
        }
    }
}
