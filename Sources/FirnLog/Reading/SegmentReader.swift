import FirnBytes
import FirnStorage

/// Reads a segment's frames one after another through a window of memory, checking each.
final class SegmentReader {
    /// What stands at an offset.
    enum Item {
        case frame(FrameHeader, crc: UInt32)
        /// No good frame; why, and whether the header at least is whole.
        case bad(String, FrameHeader?)
        /// The file ends here, or holds nothing but zeros from here on.
        case end
    }

    let path: String
    let number: UInt32
    /// The bytes that count: the file's length, or less where the manifest says so.
    private(set) var byteCount: Int
    let folder: StoreFolder
    let storeID: StoreID
    private let file: any StorageFile
    private let storeHigh: UInt64
    private var window: UnsafeMutableRawBufferPointer
    private var windowStart = 0
    private var windowCount = 0
    private(set) var header: SegmentHeader
    private(set) var headerCRC: UInt32
    /// Zeros that were found last, in whole steps of 64 bytes: who goes on within them need not look again.
    private var zeros = 0..<0
    /// Bytes looked at for zeros; tests bound it by the file's length.
    private(set) var examinedByteCount = 0
    /// Bytes read from the file, likewise.
    private(set) var readByteCount = 0

    /// Opens the segment and checks its head. `windowByteCount` is how much is read at once.
    init(
        _ folder: StoreFolder, _ entry: Manifest.Segment, storeID: StoreID, windowByteCount: Int = 256 << 10
    ) throws(LogError) {
        path = folder.segment(entry.segment)
        number = entry.segment
        storeHigh = storeID.high
        self.folder = folder
        self.storeID = storeID
        do {
            file = try folder.openToRead(path)
        } catch  where error.code == .notFound {
            throw LogError(.damage, path: path, detail: "the manifest lists it, but it is missing")
        } catch {
            throw LogError(error)
        }
        let size: Int
        do {
            size = try file.size()
        } catch {
            throw LogError(error)
        }
        if entry.isSealed {
            guard size >= Int(entry.byteCount) else {
                throw LogError(
                    .damage, path: path, offset: size,
                    detail: "it ends here, but the manifest says it holds \(entry.byteCount) bytes")
            }
            byteCount = Int(entry.byteCount)
        } else {
            byteCount = size
        }
        window = .allocate(byteCount: windowByteCount, alignment: 64)
        header = SegmentHeader(storeID: storeID, epoch: 0, segment: 0, chain: 0, firstVersion: 0, mark: 0)
        headerCRC = 0
        let head = try bytes(at: 0, count: SegmentHeader.byteCount)
        guard let found = SegmentHeader.decode(head) else {
            throw LogError(.damage, path: path, offset: 0, detail: "the segment's head is not whole")
        }
        header = found.header
        headerCRC = found.crc
        guard header.storeID == storeID, header.segment == entry.segment, header.epoch == entry.epoch,
            header.firstVersion == entry.firstVersion
        else {
            throw LogError(
                .damage, path: path, offset: 0, detail: "the segment's head belongs to another place or store")
        }
    }

    deinit { window.deallocate() }

    /// Looks at the file anew: for an open segment, which others write to.
    func refresh() throws(LogError) {
        byteCount = try stored { () throws(StorageError) in try file.size() }
        windowCount = 0
        zeros = 0..<0
    }

    /// The bytes from `offset`, as many of `count` as the segment has: none behind its end, which may have moved back since the caller saw it, as another process that takes over cuts the file. Valid
    /// until the next call.
    func bytes(at offset: Int, count: Int) throws(LogError) -> UnsafeRawBufferPointer {
        let wanted = max(0, min(count, byteCount - offset))
        guard wanted > 0 else { return UnsafeRawBufferPointer(rebasing: window[..<0]) }
        if offset < windowStart || offset + wanted > windowStart + windowCount {
            if wanted > window.count {
                window.deallocate()
                window = .allocate(byteCount: wanted, alignment: 64)
            }
            windowStart = offset
            windowCount = 0
            let target = UnsafeMutableRawBufferPointer(rebasing: window[..<min(window.count, byteCount - offset)])
            do {
                windowCount = try file.read(into: target, at: offset)
                readByteCount += windowCount
            } catch {
                throw LogError(error)
            }
        }
        let start = offset - windowStart
        // Less may have been read than the length promised.
        return UnsafeRawBufferPointer(rebasing: window[start..<max(start, min(start + wanted, windowCount))])
    }

    /// Where the frame behind another one that ends at `offset` begins: there, or in the next sector if zeros lie before it.
    private func frameStart(behind offset: Int) throws(LogError) -> Int {
        let start = SegmentHeader.roundUp(offset, toSector: Int(header.sector))
        guard start > offset, start < byteCount else { return offset }
        return try bytes(at: offset, count: start - offset).isAllZero ? start : offset
    }

    /// The frame at `offset`, its header, payload and padding checked. If zeros lie there up to the end of the sector, it is the
    /// frame at the beginning of the next.
    func item(at end: Int) throws(LogError) -> Item {
        let offset = try frameStart(behind: end)
        let head = try bytes(at: offset, count: FrameHeader.byteCount)
        guard !head.isEmpty else { return .end }
        guard let (header, crc) = FrameHeader.decode(head) else {
            if head.isAllZero, try endOfZeros(from: offset) == byteCount { return .end }
            return .bad("there is no whole frame header", nil)
        }
        guard belongs(header, at: offset) else { return .bad("the frame belongs to another place or store", nil) }
        let frame = try bytes(at: offset, count: header.frameByteCount)
        guard frame.count == header.frameByteCount else { return .bad("the file ends within the frame", header) }
        let end = FrameHeader.byteCount + Int(header.storedCount)
        guard CRC32C.checksum(UnsafeRawBufferPointer(rebasing: frame[FrameHeader.byteCount..<end])) == header.payloadCRC
        else {
            return .bad("the checksum of the frame's payload is wrong", header)
        }
        guard UnsafeRawBufferPointer(rebasing: frame[end...]).isAllZero else {
            return .bad("the padding behind the frame is not zero", header)
        }
        return .frame(header, crc: crc)
    }

    /// Whether zeros lie where the next frame's header would.
    func isZero(behind end: Int) throws(LogError) -> Bool {
        try bytes(at: try frameStart(behind: end), count: FrameHeader.byteCount).isAllZero
    }

    /// As `item`, but the frame's header is checked alone, and its payload not looked at. Nil where none of this segment stands there.
    func header(at end: Int) throws(LogError) -> (header: FrameHeader, crc: UInt32)? {
        let offset = try frameStart(behind: end)
        guard let found = FrameHeader.decode(try bytes(at: offset, count: FrameHeader.byteCount)),
            belongs(found.header, at: offset)
        else { return nil }
        return found
    }

    private func belongs(_ frame: FrameHeader, at offset: Int) -> Bool {
        frame.storeHigh == storeHigh && frame.segment == number && frame.offset == UInt64(offset)
            && frame.epoch == header.epoch
    }

    /// The stored payload of a frame that `item` found good. Valid until the next call.
    func payload(of header: FrameHeader) throws(LogError) -> UnsafeRawBufferPointer {
        let payload = try bytes(at: Int(header.offset) + FrameHeader.byteCount, count: Int(header.storedCount))
        guard payload.count == Int(header.storedCount) else {
            throw LogError(
                .damage, path: path, offset: Int(header.offset), detail: "the file was cut while the frame was read")
        }
        return payload
    }

    /// The payload as it was before compression, in `buffer` where it was compressed. Valid until the next call.
    func rawPayload(of header: FrameHeader, in buffer: inout ByteWriter) throws(LogError) -> UnsafeRawBufferPointer {
        let payload = try payload(of: header)
        guard header.flags.contains(.lz4) else { return payload }
        buffer.removeAll()
        var failure: BytesError?
        buffer.append(count: Int(header.rawCount)) { target in
            do {
                try LZ4.decompress(payload, into: target)
            } catch {
                failure = error as? BytesError
            }
        }
        if let failure {
            throw LogError(
                .damage, path: path, offset: Int(header.offset), detail: "the part does not decompress: \(failure)")
        }
        return buffer.bytes
    }

    /// The end of the zeros that begin at `offset`: `byteCount` where the file holds nothing else, else a multiple of 64 bytes behind `offset`, before which no
    /// frame begins. Each byte is looked at about once, however often this is asked on the way through a file.
    func endOfZeros(from offset: Int) throws(LogError) -> Int {
        if zeros.contains(offset) { return zeros.upperBound }
        var end = offset
        search: while end < byteCount {
            // What the window holds comes first: another piece is read only when all of that is zero.
            let held = windowStart + windowCount - end
            let piece = try bytes(at: end, count: end >= windowStart && held > 0 ? held : window.count)
            // The file ends before the length that is said of it.
            guard !piece.isEmpty else {
                end = byteCount
                break
            }
            var place = 0
            while place < piece.count {
                // A long run in large strides, its end in small ones.
                let large = min(4096, piece.count - place)
                let isLargeZero =
                    large == 4096 && UnsafeRawBufferPointer(rebasing: piece[place..<place + large]).isAllZero
                let count = isLargeZero ? large : min(LogLimits.frameAlignment, piece.count - place)
                examinedByteCount += count
                guard isLargeZero || UnsafeRawBufferPointer(rebasing: piece[place..<place + count]).isAllZero else {
                    end += place
                    break search
                }
                place += count
            }
            end += place
        }
        end = max(end, offset)
        zeros = offset..<end
        return end
    }

    /// Syncs what others have written. A medium that can't be written knows no syncs (`.input`), and has all that is
    /// read. One that is mounted read-only syncs nothing and says well done; `.readOnlyFileSystem` is told where an
    /// error has made it so, and pages may never have got to the disk.
    func syncWhatOthersWrote() throws(LogError) {
        do throws(StorageError) { try file.sync() } catch {
            if case .input = error.code { return }
            throw LogError(
                .storage(error), path: path,
                detail: "whether what it ends with is on the disk can't be told; look after the disk, and open it again"
            )
        }
    }
}
