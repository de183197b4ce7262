import FirnBytes
import FirnCrypto
import FirnStorage

/// A segment's bytes, read through a window, so that memory stays the same however long the file is.
final class SegmentFile {
    enum Item {
        /// A frame whose header, payload and padding are right, and which belongs here.
        case frame(FrameHeader)
        /// Not a good frame: the reason, and the header if that is intact.
        case bad(String, FrameHeader?)
        /// The file ends here.
        case end
        /// Nothing but zeros from here to the file's end.
        case zeros
    }

    let path: String
    /// The file's length, or the greatest possible length of a file if the file is longer.
    let fileByteCount: Int
    /// Whether the file is longer than any segment can be.
    let isTooLong: Bool
    /// The number of bytes that are read: `fileByteCount`, or less if the manifest says so.
    private(set) var byteCount: Int
    private let file: any StorageFile
    private var window: UnsafeMutableRawBufferPointer
    /// Holds the decrypted payload that `payload` returned last.
    private var decrypted = UnsafeMutableRawBufferPointer.allocate(byteCount: 0, alignment: 16)
    private var windowStart = 0
    private var windowCount = 0
    /// A range that is known to be zero, so that a long run of zeros is read only once.
    private var knownZeros = 0..<0

    /// The cipher of an encrypted segment, and the offset of its first frame.
    private var cipher: FileCipher?
    private var start = SegmentHeader.byteCount
    /// The frame that was read last: the offsets at which it begins and ends, its decrypted payload, and its tag.
    private var opened = (offset: -1, end: -1, payload: [UInt8](), tag: [UInt8]())

    /// Several times the longest part, so that few frames are read twice.
    private static let windowByteCount = 4 << 20

    /// Opens a segment or, with `keys`, a checkpoint's file of an encrypted store.
    init(_ path: String, _ storage: any Storage, keys: StoreKeys? = nil) throws(StorageError) {
        self.path = path
        let file = try storage.open(path, .read)
        self.file = try keys.flatMap { keys throws(StorageError) in try DecryptedFile(file, keys) } ?? file
        let size = try self.file.size()
        isTooLong = size > FormatNumbers.fileByteCount
        fileByteCount = min(size, FormatNumbers.fileByteCount)
        byteCount = fileByteCount
        window = .allocate(byteCount: Self.windowByteCount, alignment: 64)
    }

    deinit {
        window.deallocate()
        decrypted.deallocate()
        file.close()
    }

    /// The header of the segment at a path; nil if there is none.
    static func header(_ path: String, _ storage: any Storage) throws(StorageError) -> SegmentHeader? {
        let segment = try SegmentFile(path, storage)
        let start = try segment.bytes(at: 0, count: SegmentHeader.byteCount)
        return try? SegmentHeader.read(start)
    }

    /// Prepares reading the frames behind the segment's header. Returns what is wrong with the segment's encryption, if
    /// anything is.
    func unlock(_ header: SegmentHeader, _ keys: StoreKeys?) throws(StorageError) -> String? {
        start = header.end
        guard header.hasSalt == (keys != nil) else {
            return header.hasSalt ? "it is encrypted, and the store is not" : "the store is encrypted, and it is not"
        }
        guard let keys else { return nil }
        cipher = SealedParts.cipher(try bytes(at: 0, count: SealedParts.headerByteCount), keys)
        return cipher == nil ? "the salt behind the segment's header is damaged" : nil
    }

    /// The first 8 bytes of the tag of the frame that was read last; 0 if there is none.
    var endTag: UInt64 { opened.tag.isEmpty ? 0 : opened.tag.withUnsafeBytes { Fields($0).u64(0) } }

    /// From now on, nothing behind the first `count` bytes is read.
    func limit(to count: Int) { byteCount = min(byteCount, count) }

    /// Up to `count` bytes from `offset` on, as many as there are. Valid until the next call.
    func bytes(at offset: Int, count: Int) throws(StorageError) -> UnsafeRawBufferPointer {
        let wanted = max(0, min(count, byteCount - offset))
        if offset < windowStart || offset + wanted > windowStart + windowCount {
            if wanted > window.count {
                window.deallocate()
                window = .allocate(byteCount: wanted, alignment: 64)
            }
            windowStart = offset
            windowCount = 0
            let target = UnsafeMutableRawBufferPointer(
                rebasing: window[..<max(0, min(window.count, byteCount - offset))])
            windowCount = try file.read(into: target, at: offset)
        }
        let start = min(offset - windowStart, windowCount)
        return UnsafeRawBufferPointer(rebasing: window[start..<min(start + wanted, windowCount)])
    }

    /// How many more bytes of payloads the search behind a break compares with their checksums. Frames there may
    /// overlap, and each may claim the rest of the file.
    private lazy var searchBudget = 4 * byteCount + (64 << 20)

    /// Like `item`, but for offsets behind a break. Once the search budget is used up, every frame counts as bad.
    func itemBehind(at position: Int, of header: SegmentHeader) throws(StorageError) -> Item {
        // The frame before an encrypted frame is not known here, so each frame is tried with many tags.
        let triesTags = cipher != nil && position != start && position != opened.end
        let item = try item(at: position, of: header, checksPayload: searchBudget > 0)
        switch item {
        case .bad(_, let frame?): spend(frame.frameByteCount * (triesTags ? Self.tagCount : 1))
        case .frame(let frame) where triesTags: spend(frame.frameByteCount * Self.tagCount)
        default: break
        }
        return item
    }

    /// The most tags that a frame is tried with.
    private static let tagCount = FormatNumbers.alignment + 1

    private func spend(_ byteCount: Int) {
        searchBudget -= min(byteCount, max(searchBudget, 0))
    }

    /// The frame at `offset`, a multiple of 64.
    func item(at offset: Int, of header: SegmentHeader, checksPayload: Bool = true) throws(StorageError) -> Item {
        guard offset < byteCount else { return .end }
        let start = try bytes(at: offset, count: FrameHeader.byteCount)
        let found: FrameHeader
        do throws(Damage) { found = try FrameHeader.read(start) } catch {
            if start.isAllZero, try nextNonzero(from: offset) == nil { return .zeros }
            return .bad(error.text, nil)
        }
        guard found.storeHigh == header.storeHigh else { return .bad("the frame is another store's", nil) }
        guard found.segment == header.segment, found.offset == UInt64(offset) else {
            return .bad("the frame belongs to segment \(found.segment), byte \(found.offset)", nil)
        }
        guard found.epoch == header.epoch else {
            return .bad("the frame is of epoch \(found.epoch), but the segment of \(header.epoch)", nil)
        }
        guard checksPayload else {
            return .bad("the frame was not checked, since too many behind the break are bad", found)
        }
        let frame = try bytes(at: offset, count: found.frameByteCount)
        guard frame.count == found.frameByteCount else { return .bad("the file ends within the frame", found) }
        let end = FrameHeader.byteCount + Int(found.storedCount)
        guard CRC32C.checksum(UnsafeRawBufferPointer(rebasing: frame[FrameHeader.byteCount..<end])) == found.payloadCRC
        else { return .bad("the checksum of the frame's payload is wrong", found) }
        guard UnsafeRawBufferPointer(rebasing: frame[end...]).isAllZero else {
            return .bad("the padding behind the frame's payload is not zero", found)
        }
        guard found.isEncrypted == (cipher != nil) else {
            return .bad(found.isEncrypted ? "the frame is encrypted" : "the frame is not encrypted", found)
        }
        if let cipher, try !open(found, frame: [UInt8](frame[..<end]), cipher) {
            return .bad("the frame was not written by somebody with the store's key", found)
        }
        return .frame(found)
    }

    /// Decrypts a frame. Returns false if it is not authentic, or does not follow the frame before it.
    ///
    /// A frame is authenticated with the tag of the frame before it. Behind a break that frame is not known. Its tag
    /// then ends somewhere in the last 64 bytes before this frame, if it is intact.
    private func open(_ header: FrameHeader, frame: [UInt8], _ cipher: FileCipher) throws(StorageError) -> Bool {
        let offset = Int(header.offset)
        var tags: [[UInt8]] = []
        if offset == start {
            tags = [[UInt8](repeating: 0, count: SealSize.tag)]
        } else if offset == opened.end {
            tags = [opened.tag]
        } else {
            let from = max(start, offset - FormatNumbers.alignment - SealSize.tag)
            let before = [UInt8](try bytes(at: from, count: offset - from))
            for end in stride(from: before.count, through: SealSize.tag, by: -1) {
                tags.append(Array(before[(end - SealSize.tag)..<end]))
            }
        }
        let sealed = frame[FrameHeader.byteCount...]
        for tag in tags {
            let data = Array(frame[..<68]) + frame[72..<76] + tag
            let text = Array(sealed).withUnsafeBytes { SealedParts.open($0, cipher, authenticating: data) }
            guard let text else { continue }
            opened = (offset, header.end, text, Array(sealed.suffix(SealSize.tag)))
            return true
        }
        return false
    }

    /// The stored payload of a frame that `item` found good, decrypted. Valid until the next call.
    func payload(of frame: FrameHeader) throws(StorageError) -> UnsafeRawBufferPointer {
        guard cipher != nil else {
            return try bytes(at: Int(frame.offset) + FrameHeader.byteCount, count: Int(frame.storedCount))
        }
        // The window holds the frame no longer than this, too.
        if decrypted.count < opened.payload.count {
            decrypted.deallocate()
            decrypted = .allocate(byteCount: opened.payload.count, alignment: 16)
        }
        decrypted.copyBytes(from: opened.payload)
        return UnsafeRawBufferPointer(rebasing: decrypted[..<opened.payload.count])
    }

    /// The next offset behind `offset` at which a frame may begin; nil if only zeros follow.
    func nextCandidate(behind offset: Int) throws(StorageError) -> Int? {
        let next = offset + FormatNumbers.alignment
        guard let nonzero = try nextNonzero(from: next) else { return nil }
        return max(next, nonzero & ~(FormatNumbers.alignment - 1))
    }

    /// The first offset from `offset` on of a byte that is not zero; nil if there is none.
    func nextNonzero(from offset: Int) throws(StorageError) -> Int? {
        var offset = offset
        if knownZeros.contains(offset) { offset = knownZeros.upperBound }
        let start = offset
        while offset < byteCount {
            // A piece that is much shorter than the window, so that a search through damage seldom reads anything
            // twice.
            let piece = try bytes(at: offset, count: min(Self.windowByteCount / 64, byteCount - offset))
            if piece.isEmpty { break }
            if piece.isAllZero {
                offset += piece.count
                continue
            }
            let position = offset + (piece.firstIndex { $0 != 0 } ?? 0)
            if position > start { knownZeros = start..<position }
            return position
        }
        if offset > start { knownZeros = start..<offset }
        return nil
    }
}
