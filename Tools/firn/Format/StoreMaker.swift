import FirnBytes
import FirnCrypto
import FirnStorage

/// Writes a new store from the parts of another one's commits. The new store begins with a checkpoint, if there is one.
/// Its new segments have headers, a chain and an identity of their own. The manifest is written last, so that what a
/// crash leaves behind is not a store.
struct StoreMaker {
    private let files: StoreFiles
    private let segmentByteCount: Int
    private(set) var manifest: Manifest
    /// Bytes of all segments.
    private(set) var byteCount = 0
    /// Bytes of the checkpoint's files.
    private(set) var checkpointByteCount = 0

    /// How the files are encrypted, if the other store's are.
    private let sealing: StoreSealing?
    /// The cipher of the current segment, and the tag of the frame before.
    private var cipher: FileCipher?
    private var tag = [UInt8](repeating: 0, count: SealSize.tag)
    private var file: any StorageFile
    /// The bytes that are not written yet. They belong at offset `written` of the file.
    private var pending = Pending()
    private var written = 0
    private var chain: UInt32 = 0
    private var time: Int64 = 0
    private var version: UInt64 = 0
    /// The payload of the last schema frame, as it was stored.
    private var schema: (payload: [UInt8], frame: FrameHeader)?
    private var made: [String] = []

    /// A class, so that the copyable maker can hold a writer, which can't be copied.
    private final class Pending {
        var bytes = ByteWriter(capacity: 1 << 20)
    }

    /// - Parameters:
    ///   - checkpoint: the checkpoint that the store begins with. Its files are copied, and the log begins with the
    ///     version after it.
    ///   - sealing: the keys of the store, if it is to be encrypted.
    ///   - firstTime: the time of the first commit that is added. No frame before it gets a later time, whatever the
    ///     checkpoint says.
    init(
        _ path: String, storage: any Storage, storeHigh: UInt64, storeLow: UInt64, created: Int64,
        from checkpoint: OpenedCheckpoint? = nil, sealing: StoreSealing? = nil, firstTime: Int64? = nil,
        segmentByteCount: Int = FormatNumbers.segmentByteCount
    ) throws {
        self.segmentByteCount = segmentByteCount
        self.sealing = sealing
        files = StoreFiles(named: path, storage: storage)
        manifest = Manifest(
            generation: 1, storeHigh: storeHigh, storeLow: storeLow, epoch: 1, checkpoint: checkpoint?.entry,
            created: created, segments: [])
        let files = files
        try stored(storage.createFolder(path))
        made = [path]
        do {
            for folder in [files.log, files.checkpoints] {
                try storage.createFolder(folder)
                made.append(folder)
            }
            if let checkpoint {
                var copied: [CheckpointCopy.Copied] = []
                for file in checkpoint.files {
                    made.append(files.checkpoint(file.entry.id))
                    let copy = CheckpointCopy(
                        source: file, storeHigh: storeHigh, storeLow: storeLow, sealing: sealing, before: copied)
                    copied.append(try copy.write(to: files))
                }
                checkpointByteCount = copied.reduce(0) { $0 + $1.byteCount }
                if let last = copied.last, sealing != nil {
                    manifest.checkpoint?.byteCount = UInt64(last.byteCount)
                    manifest.checkpoint?.crc = last.footerCRC
                    manifest.checkpoint?.salt = UInt32(truncatingIfNeeded: last.salt)
                }
                try storage.syncFolder(files.checkpoints)
            }
            made.append(files.segment(1))
            file = try storage.open(files.segment(1), .create)
        } catch {
            for path in made.reversed() { try? storage.remove(path) }
            if let error = error as? StorageError { throw ToolError(error) }
            throw error
        }
        if let footer = checkpoint?.footer {
            version = footer.version
            time = min(footer.time, firstTime ?? .max)
            schema = Self.frame(footer)
        }
        try begin(segment: 1)
    }

    /// A checkpoint's schema as a schema frame has it.
    private static func frame(_ footer: CheckpointFooter) -> (payload: [UInt8], frame: FrameHeader) {
        let count = UInt32(footer.schemaBytes.count)
        let header = FrameHeader(
            kind: .schema, isLast: true, isCompressed: false, storeHigh: 0, epoch: 1, segment: 1, offset: 0,
            version: footer.version, time: footer.time, mark: 0, part: 0, rawCount: count, storedCount: count,
            payloadCRC: CRC32C.checksum(footer.schemaBytes), chain: 0)
        return (footer.schemaBytes, header)
    }

    private var offset: Int { written + pending.bytes.count }

    /// Adds a part of a commit. Parts come in order.
    mutating func add(_ frame: FrameHeader, _ payload: UnsafeRawBufferPointer) throws(ToolError) {
        if frame.part == 0, offset >= segmentByteCount { try roll() }
        if frame.kind == .schema { schema = ([UInt8](payload), frame) }
        append(frame, payload)
        time = frame.time
        if frame.isLast { version = frame.version }
        if pending.bytes.count >= 1 << 20 { try flush() }
    }

    /// Ends the store with this version: marks it durable, syncs everything, and writes the manifest.
    mutating func finish(version: UInt64) throws(ToolError) {
        let storage = files.storage
        try flush()
        try sync()
        // Everything is durable now, and a mark says so.
        let empty = UnsafeRawBufferPointer(start: nil, count: 0)
        var mark = FrameHeader(
            kind: .mark, isLast: true, isCompressed: false, storeHigh: 0, epoch: 0, segment: 0, offset: 0,
            version: version, time: time, mark: version, part: 0, rawCount: 0, storedCount: 0, payloadCRC: 0, chain: 0)
        mark.mark = version
        if version > 0 { append(mark, empty, mark: version) }
        try flush()
        try sync()
        byteCount += written
        file.close()
        var block = ByteWriter()
        manifest.write(to: &block, sealing)
        let path = files.path + "/manifest.new"
        made.append(path)
        do throws(StorageError) {
            try storage.syncFolder(files.log)
            let file = try storage.open(path, .create)
            defer { file.close() }
            try file.write(block.bytes, at: 0)
            try file.sync()
            made.append(files.manifest)
            try storage.rename(path, to: files.manifest)
            try storage.syncFolder(files.path)
            try storage.syncFolder(files.parent)
        } catch {
            throw ToolError(error)
        }
    }

    /// Removes what was made, as far as that is possible, after a failure.
    func remove() {
        file.close()
        for path in made.reversed() { try? files.storage.remove(path) }
    }

    // MARK: Segments

    private mutating func begin(segment number: UInt32) throws(ToolError) {
        var header = SegmentHeader(
            segment: number, storeHigh: manifest.storeHigh, storeLow: manifest.storeLow, epoch: 1, chain: chain,
            firstVersion: version + 1, mark: version)
        header.hasSalt = sealing != nil
        chain = header.write(to: &pending.bytes)
        tag = [UInt8](repeating: 0, count: SealSize.tag)
        cipher = sealing?.addSalt(to: &pending.bytes)
        manifest.segments.append(
            Manifest.Segment(
                number: number, epoch: 1, firstVersion: version + 1,
                saltIdentity: sealing == nil ? 0 : Fields(pending.bytes.bytes).u64(SegmentHeader.byteCount)))
        guard let (payload, frame) = schema else { return }
        var segmentSchema = frame
        segmentSchema.kind = .segmentSchema
        segmentSchema.isLast = true
        segmentSchema.part = 0
        segmentSchema.version = version
        segmentSchema.time = time
        payload.withUnsafeBytes { append(segmentSchema, $0) }
    }

    private mutating func roll() throws(ToolError) {
        try flush()
        try sync()
        file.close()
        byteCount += written
        manifest.segments[manifest.segments.count - 1].seal = Manifest.Seal(
            lastVersion: version, chainEnd: chain, byteCount: written,
            endTag: cipher == nil ? 0 : tag.withUnsafeBytes { Fields($0).u64(0) })
        let number = manifest.segments[manifest.segments.count - 1].number + 1
        let path = files.segment(number)
        made.append(path)
        file = try stored(files.storage.open(path, .create))
        written = 0
        try begin(segment: number)
    }

    /// Appends a frame with a header of this store. Its durable mark is the last version before the segment, which
    /// was synced, unless `mark` is given.
    private mutating func append(_ frame: FrameHeader, _ payload: UnsafeRawBufferPointer, mark: UInt64? = nil) {
        let segment = manifest.segments[manifest.segments.count - 1]
        var header = frame
        header.storeHigh = manifest.storeHigh
        header.epoch = 1
        header.segment = segment.number
        header.offset = UInt64(offset)
        header.mark = mark ?? segment.firstVersion - 1
        header.chain = chain
        header.isEncrypted = cipher != nil
        header.storedCount = UInt32(payload.count)
        var stored = [UInt8](payload)
        if let cipher, let sealing {
            header.storedCount += UInt32(SealSize.total)
            var bytes = ByteWriter(capacity: FrameHeader.byteCount)
            _ = header.write(to: &bytes)
            let start = bytes.array()
            stored = sealing.seal(stored, cipher, authenticating: Array(start[..<68]) + start[72..<76] + tag)
            tag = Array(stored.suffix(SealSize.tag))
            header.payloadCRC = CRC32C.checksum(stored)
        }
        chain = header.write(to: &pending.bytes)
        pending.bytes.append(stored)
        pending.bytes.appendZeros(header.frameByteCount - FrameHeader.byteCount - stored.count)
    }

    private mutating func flush() throws(ToolError) {
        let bytes = pending.bytes.bytes
        guard !bytes.isEmpty else { return }
        let start = written
        let file = file
        try stored(file.write(bytes, at: start))
        written += bytes.count
        pending.bytes.removeAll()
    }

    private func sync() throws(ToolError) {
        try stored(file.sync())
    }
}
