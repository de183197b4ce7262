import FirnBytes
import FirnStorage

/// Reads a segment's frames one after another through a memory window, and checks each of them.
final class SegmentReader {
    /// What a segment has at an offset.
    enum Item {
        case frame(FrameHeader, FrameChain)
        /// No intact frame: the reason, and the frame's header if that at least is intact.
        case bad(String, FrameHeader?)
        /// The file ends here, or holds only zeros from here on.
        case end
    }

    let path: String
    let number: UInt32
    /// The length of the file or, for a sealed segment, the length in the manifest.
    private(set) var byteCount: Int
    let folder: StoreFolder
    let storeID: StoreID
    private let file: any StorageFile
    private let storeHigh: UInt64
    private var window: UnsafeMutableRawBufferPointer
    private var windowStart = 0
    private var windowCount = 0
    private(set) var header: SegmentHeader
    /// The chain at the beginning of the segment's first frame.
    private(set) var chain: FrameChain
    /// The cipher of an encrypted segment.
    private var cipher: SealingCipher?
    /// The decrypted payload of the frame that `item` returned last, and the offset of that frame.
    private var openedPayload = ByteWriter(capacity: 16)
    private var openedOffset = -1
    private var openedHeader: FrameHeader?
    private var openedAfter = FrameChain(crc: 0)
    private var openedTag = FrameTag()
    /// The range of zeros that was found last, in steps of 64 bytes. A search that starts within it need not read it
    /// again.
    private var zeros = 0..<0
    /// How many bytes were examined for zeros; tests bound it by the file's length.
    private(set) var examinedByteCount = 0
    /// How many bytes were read from the file, for the same tests.
    private(set) var readByteCount = 0

    /// Opens the segment and checks its header. `windowByteCount` is how much is read at once.
    init(
        _ folder: StoreFolder, _ entry: Manifest.Segment, storeID: StoreID, windowByteCount: Int = 256 << 10
    ) throws(LogError) {
        let name = folder.segment(entry.segment)
        path = folder.path(of: name)
        number = entry.segment
        storeHigh = storeID.high
        self.folder = folder
        self.storeID = storeID
        do {
            file = try folder.openToRead(name)
        } catch  where error.code == .notFound {
            throw LogError(.damage, path: path, detail: "the manifest lists it, but it is missing")
        } catch {
            throw LogError(error)
        }
        let size = try stored(file.size())
        if entry.isSealed {
            guard size >= Int(entry.byteCount) else {
                throw LogError(
                    .damage, path: path, offset: size,
                    detail: "it ends here, but the manifest says that it holds \(entry.byteCount) bytes")
            }
            byteCount = Int(entry.byteCount)
        } else {
            byteCount = size
        }
        window = .allocate(byteCount: windowByteCount, alignment: 64)
        header = SegmentHeader(storeID: storeID, epoch: 0, segment: 0, chain: 0, firstVersion: 0, mark: 0)
        chain = FrameChain(crc: 0)
        let start = try bytes(at: 0, count: SegmentHeader.mostByteCount)
        guard let found = SegmentHeader.decode(start) else {
            throw LogError(.damage, path: path, offset: 0, detail: "the segment's header is damaged")
        }
        header = found.header
        chain = FrameChain(crc: found.crc)
        guard header.storeID == storeID, entry.beginsWith(header) else {
            throw LogError(
                .damage, path: path, offset: 0, detail: "the segment's header belongs to another segment or store")
        }
        guard (header.salt != nil) == folder.isEncrypted else {
            throw LogError(
                .damage, path: path, offset: 0,
                detail: header.salt == nil
                    ? "the store is encrypted, and it is not" : "it is encrypted, and the store is not")
        }
        cipher = folder.cipher(header)
    }

    deinit { window.deallocate() }

    /// Reads the file's length again and discards what was read. For an open segment, to which other processes write.
    func refresh() throws(LogError) {
        byteCount = try stored(file.size())
        windowCount = 0
        zeros = 0..<0
        openedOffset = -1
    }

    /// Up to `count` bytes from `offset`, as many as the segment has. There are none behind its end. That end may be
    /// lower than the caller last saw it, because a process that takes over the store cuts the file. Valid until the
    /// next call.
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
            windowCount = try stored(file.read(into: target, at: offset))
            readByteCount += windowCount
        }
        let start = offset - windowStart
        // The read may have returned fewer bytes than the file's length promised.
        return UnsafeRawBufferPointer(rebasing: window[start..<max(start, min(start + wanted, windowCount))])
    }

    /// The frame at `offset`, with its header, payload and padding checked.
    ///
    /// - Parameter chain: what the frame must follow. If it is nil, the frame may follow any other, and in an encrypted
    ///   segment its payload can't be read.
    func item(at offset: Int, after chain: FrameChain?) throws(LogError) -> Item {
        let start = try bytes(at: offset, count: FrameHeader.byteCount)
        guard !start.isEmpty else { return .end }
        guard let (header, crc) = FrameHeader.decode(start) else {
            if start.isAllZero, try endOfZeros(from: offset) == byteCount { return .end }
            return .bad("there is no intact frame header", nil)
        }
        guard belongs(header, at: offset) else { return .bad("the frame belongs to another location or store", nil) }
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
        if let chain, header.chain != chain.crc {
            return .bad("the frame does not follow the one before it", header)
        }
        guard let cipher else { return .frame(header, FrameChain(crc: crc)) }
        let stored = UnsafeRawBufferPointer(rebasing: frame[FrameHeader.byteCount..<end])
        if let chain, !open(header, stored: stored, cipher: cipher, after: chain) {
            return .bad("the frame was not written by somebody with the store's key", header)
        }
        return .frame(header, FrameChain(crc: crc, tag: FrameSealing.tag(of: stored)))
    }

    /// Decrypts a frame's payload into `openedPayload`. Returns false if it is not authentic.
    private func open(
        _ header: FrameHeader, stored: UnsafeRawBufferPointer, cipher: SealingCipher, after chain: FrameChain
    ) -> Bool {
        // Who reads a commit looks at its first frame twice.
        let tag = FrameSealing.tag(of: stored)
        if openedOffset == Int(header.offset), openedHeader == header, openedAfter == chain, openedTag == tag {
            return true
        }
        openedPayload.removeAll()
        var isAuthentic = false
        openedPayload.append(count: stored.count - header.flags.sealByteCount) { target in
            isAuthentic = FrameSealing.open(header, stored, cipher: cipher, after: chain, into: target)
        }
        openedOffset = isAuthentic ? Int(header.offset) : -1
        openedHeader = header
        openedAfter = chain
        openedTag = tag
        return isAuthentic
    }

    /// The header of the frame at `offset`, which follows `chain`, and the chain behind it; nil if there is no such
    /// frame. The payload is only read if the segment is encrypted, because the header is authenticated with it.
    func frame(at offset: Int, after chain: FrameChain) throws(LogError) -> (header: FrameHeader, next: FrameChain)? {
        if cipher != nil {
            guard case .frame(let header, let next) = try item(at: offset, after: chain) else { return nil }
            return (header, next)
        }
        guard let found = try header(at: offset), found.header.chain == chain.crc else { return nil }
        return (found.header, FrameChain(crc: found.crc))
    }

    /// Whether there are zeros where the next frame's header would be.
    func isZero(at offset: Int) throws(LogError) -> Bool {
        try bytes(at: offset, count: FrameHeader.byteCount).isAllZero
    }

    /// Like `item`, but checks only the frame's header and does not read its payload. Nil if there is no header of
    /// this segment.
    func header(at offset: Int) throws(LogError) -> (header: FrameHeader, crc: UInt32)? {
        guard let found = FrameHeader.decode(try bytes(at: offset, count: FrameHeader.byteCount)),
            belongs(found.header, at: offset)
        else { return nil }
        return found
    }

    private func belongs(_ frame: FrameHeader, at offset: Int) -> Bool {
        frame.storeHigh == storeHigh && frame.segment == number && frame.offset == UInt64(offset)
            && frame.epoch == header.epoch && frame.flags.contains(.encrypted) == (cipher != nil)
    }

    /// The stored payload, decrypted, of the frame that `item` returned last. Valid until the next call.
    func payload(of header: FrameHeader) throws(LogError) -> UnsafeRawBufferPointer {
        if cipher != nil {
            precondition(openedOffset == Int(header.offset), "Firn: another frame was decrypted meanwhile")
            return openedPayload.bytes
        }
        let payload = try bytes(at: Int(header.offset) + FrameHeader.byteCount, count: Int(header.storedCount))
        guard payload.count == Int(header.storedCount) else {
            throw LogError(
                .damage, path: path, offset: Int(header.offset), detail: "the file was cut while the frame was read")
        }
        return payload
    }

    /// The payload as it was before compression. It is in `buffer` if it was compressed. Valid until the next call.
    func rawPayload(of header: FrameHeader, in buffer: inout ByteWriter) throws(LogError) -> UnsafeRawBufferPointer {
        let payload = try payload(of: header)
        guard header.flags.contains(.lz4) else { return payload }
        buffer.removeAll()
        var damage: Damage?
        buffer.append(count: Int(header.rawCount)) { target in
            do throws(Damage) { try LZ4.decompress(payload, into: target) } catch { damage = error }
        }
        if let damage {
            throw LogError(
                .damage, path: path, offset: Int(header.offset), detail: "the part does not decompress: \(damage)")
        }
        return buffer.bytes
    }

    /// The end of the zeros that begin at `offset`. It is `byteCount` if the file holds nothing else from there on.
    /// Otherwise it is a multiple of 64 bytes away from `offset`, and no frame begins before it. A pass through the
    /// file examines each byte about once, however often it calls this.
    func endOfZeros(from offset: Int) throws(LogError) -> Int {
        if zeros.contains(offset) { return zeros.upperBound }
        var end = offset
        search: while end < byteCount {
            // The bytes in the window come first. Others are read only if all of these are zero.
            let held = windowStart + windowCount - end
            let piece = try bytes(at: end, count: end >= windowStart && held > 0 ? held : window.count)
            // The file ends before the length that the system reported for it.
            guard !piece.isEmpty else {
                end = byteCount
                break
            }
            var position = 0
            while position < piece.count {
                // A long run is examined in large steps, its end in small ones.
                let large = min(4096, piece.count - position)
                let isLargeZero =
                    large == 4096 && UnsafeRawBufferPointer(rebasing: piece[position..<position + large]).isAllZero
                let count = isLargeZero ? large : min(LogLimits.frameAlignment, piece.count - position)
                examinedByteCount += count
                guard isLargeZero || UnsafeRawBufferPointer(rebasing: piece[position..<position + count]).isAllZero
                else {
                    end += position
                    break search
                }
                position += count
            }
            end += position
        }
        end = max(end, offset)
        zeros = offset..<end
        return end
    }

    /// Syncs what other processes have written. On a medium that can't be written, a sync fails with `.input`, which is
    /// ignored: whatever was read is on the medium. On a volume that is mounted read-only, a sync does nothing and
    /// succeeds. If an error has made the volume read-only, a sync fails with `.readOnlyFileSystem`, because pages may
    /// never have reached the disk.
    func syncWhatOthersWrote() throws(LogError) {
        do throws(StorageError) { try file.sync() } catch {
            if case .input = error.code { return }
            throw LogError(
                .storage(error), path: path,
                detail:
                    "it can't be determined whether its last bytes are on the disk; check the disk, and open it again"
            )
        }
    }
}
