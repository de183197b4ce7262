import FirnBytes
import FirnStorage

/// A segment's bytes, read through a window, so that memory stays the same however long the file is.
final class SegmentFile {
    enum Item {
        /// A frame whose head, payload and padding are right, and which belongs here.
        case frame(FrameHeader)
        /// No good frame: why; the head, if that at least is whole.
        case bad(String, FrameHeader?)
        /// The file ends here.
        case end
        /// Nothing but zeros from here to the file's end.
        case zeros
    }

    let path: String
    /// The file's length; no more than is ever read of one.
    let fileByteCount: Int
    /// Whether the file is longer than any can be.
    let isTooLong: Bool
    /// The bytes that count: `fileByteCount`, or less where the manifest says so.
    private(set) var byteCount: Int
    private let file: any StorageFile
    private var window: UnsafeMutableRawBufferPointer
    private var windowStart = 0
    private var windowCount = 0
    /// Bytes known to be zero, so that a long run of them is read once however often it is asked for.
    private var knownZeros = 0..<0

    init(_ path: String, _ storage: any Storage) throws(StorageError) {
        self.path = path
        file = try storage.open(path, .read)
        let size = try file.size()
        isTooLong = size > FormatNumbers.fileByteCount
        fileByteCount = min(size, FormatNumbers.fileByteCount)
        byteCount = fileByteCount
        window = .allocate(byteCount: 1 << 20, alignment: 64)
    }

    deinit {
        window.deallocate()
        file.close()
    }

    /// The head of the segment at a path; nil where there is none.
    static func head(_ path: String, _ storage: any Storage) throws(StorageError) -> SegmentHeader? {
        let segment = try SegmentFile(path, storage)
        guard case .head(let head) = SegmentHeader.read(try segment.bytes(at: 0, count: SegmentHeader.byteCount)) else {
            return nil
        }
        return head
    }

    /// Nothing behind `count` bytes is read.
    func limit(to count: Int) { byteCount = min(byteCount, count) }

    /// The bytes from `offset`, as many of `count` as there are. Valid until the next call.
    func bytes(at offset: Int, count: Int) throws(StorageError) -> UnsafeRawBufferPointer {
        let wanted = max(0, min(count, byteCount - offset))
        if offset < windowStart || offset + wanted > windowStart + windowCount {
            if wanted > window.count {
                window.deallocate()
                window = .allocate(byteCount: wanted, alignment: 64)
            }
            windowStart = offset
            windowCount = 0
            let room = UnsafeMutableRawBufferPointer(rebasing: window[..<max(0, min(window.count, byteCount - offset))])
            windowCount = try file.read(into: room, at: offset)
        }
        let start = min(offset - windowStart, windowCount)
        return UnsafeRawBufferPointer(rebasing: window[start..<min(start + wanted, windowCount)])
    }

    /// How many bytes of payloads the search behind a break still compares with their checksums. Frames there may overlap, and each claim all that is left of the file.
    private lazy var searched = 4 * byteCount + (64 << 20)

    /// As `item`, behind a break. Once very much was read for nothing, frames count as bad.
    func itemBehind(at place: Int, of head: SegmentHeader) throws(StorageError) -> Item {
        let item = try item(at: place, of: head, checksPayload: searched > 0)
        if case .bad(_, let frame?) = item { searched -= min(frame.frameByteCount, max(searched, 0)) }
        return item
    }

    /// The frame at `place`, a multiple of 64; if zeros lie there up to the end of a sector, that at the beginning of the next.
    func item(at place: Int, of head: SegmentHeader, checksPayload: Bool = true) throws(StorageError) -> Item {
        let offset = try skipGap(at: place, of: head)
        guard offset < byteCount else { return .end }
        let start = try bytes(at: offset, count: FrameHeader.byteCount)
        let found: FrameHeader
        switch FrameHeader.read(start) {
        case .head(let read): found = read
        case .refused(let reason):
            if start.isAllZero, try nextNonzero(from: offset) == nil { return .zeros }
            return .bad(reason, nil)
        }
        guard found.storeHigh == head.storeHigh else { return .bad("the frame is another store's", nil) }
        guard found.segment == head.segment, found.offset == UInt64(offset) else {
            return .bad("the frame belongs to segment \(found.segment), byte \(found.offset)", nil)
        }
        guard found.epoch == head.epoch else {
            return .bad("the frame is of epoch \(found.epoch), but the segment of \(head.epoch)", nil)
        }
        guard checksPayload else { return .bad("the frame is one of too many", found) }
        let frame = try bytes(at: offset, count: found.frameByteCount)
        guard frame.count == found.frameByteCount else { return .bad("the file ends within the frame", found) }
        let end = FrameHeader.byteCount + Int(found.storedCount)
        guard CRC32C.checksum(UnsafeRawBufferPointer(rebasing: frame[FrameHeader.byteCount..<end])) == found.payloadCRC
        else { return .bad("the checksum of the frame's payload is wrong", found) }
        guard UnsafeRawBufferPointer(rebasing: frame[end...]).isAllZero else {
            return .bad("the padding behind the frame's payload is not zero", found)
        }
        return .frame(found)
    }

    private func skipGap(at place: Int, of head: SegmentHeader) throws(StorageError) -> Int {
        let sector = Int(head.sector)
        guard sector > 0, place % sector != 0 else { return place }
        let next = (place / sector + 1) * sector
        guard next < byteCount, try bytes(at: place, count: next - place).isAllZero else { return place }
        return next
    }

    /// The stored payload of a frame that `item` found good. Valid until the next call.
    func payload(of frame: FrameHeader) throws(StorageError) -> UnsafeRawBufferPointer {
        try bytes(at: Int(frame.offset) + FrameHeader.byteCount, count: Int(frame.storedCount))
    }

    /// The first byte from `offset` on that is not zero; nil where all are.
    func nextNonzero(from offset: Int) throws(StorageError) -> Int? {
        var offset = offset
        if knownZeros.contains(offset) { offset = knownZeros.upperBound }
        let start = offset
        while offset < byteCount {
            let piece = try bytes(at: offset, count: min(window.count, byteCount - offset))
            if piece.isEmpty { break }
            if piece.isAllZero {
                offset += piece.count
                continue
            }
            let place = offset + (piece.firstIndex { $0 != 0 } ?? 0)
            if place > start { knownZeros = start..<place }
            return place
        }
        if offset > start { knownZeros = start..<offset }
        return nil
    }
}
