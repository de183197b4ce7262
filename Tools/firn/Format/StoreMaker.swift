import FirnBytes
import FirnStorage

/// Writes a new store out of another's parts: a checkpoint to begin from, if there is to be one, fresh segments under heads, chain and identity of their own, and at
/// the very end the manifest, so that what a crash leaves behind is no store.
struct StoreMaker {
    private let files: StoreFiles
    private let segmentByteCount: Int
    private(set) var manifest: Manifest
    /// Bytes of all segments.
    private(set) var byteCount = 0
    /// Bytes of the checkpoint's files.
    private(set) var checkpointByteCount = 0

    private var file: any StorageFile
    /// What is not written yet lies at `written` of the file.
    private var pending = Pending()
    private var written = 0
    private var chain: UInt32 = 0
    private var time: Int64 = 0
    private var version: UInt64 = 0
    /// The payload of the last schema frame, as it was stored.
    private var schema: (payload: [UInt8], frame: FrameHeader)?
    private var made: [String] = []

    /// A class, since a writer that can't be copied may lie in it.
    private final class Pending {
        var bytes = ByteWriter(capacity: 1 << 20)
    }

    /// - Parameters:
    ///   - checkpoint: what the store begins from, whose files are copied; its log then begins with the version after.
    ///   - firstTime: when the first commit that is added was made. Nothing in the store is later before it, whatever the checkpoint says.
    init(
        _ path: String, storage: any Storage, storeHigh: UInt64, storeLow: UInt64, created: Int64,
        from checkpoint: CheckpointSpace? = nil, firstTime: Int64? = nil,
        segmentByteCount: Int = FormatNumbers.segmentByteCount
    ) throws {
        self.segmentByteCount = segmentByteCount
        files = StoreFiles(path: path, storage: storage)
        manifest = Manifest(
            generation: 1, storeHigh: storeHigh, storeLow: storeLow, epoch: 1, checkpoint: checkpoint?.entry,
            created: created, segments: [])
        let files = files
        try stored { () throws(StorageError) in try storage.createFolder(path) }
        made = [path]
        do {
            for folder in [files.log, files.checkpoints] {
                try storage.createFolder(folder)
                made.append(folder)
            }
            if let checkpoint {
                for file in checkpoint.files {
                    made.append(files.checkpoint(file.entry.id))
                    checkpointByteCount += try CheckpointCopy(file, storeHigh, storeLow).write(to: files)
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
        if let foot = checkpoint?.foot {
            version = foot.version
            time = min(foot.time, firstTime ?? .max)
            schema = Self.frame(foot)
        }
        begin(segment: 1)
    }

    /// A checkpoint's schema as a frame would have it.
    private static func frame(_ foot: CheckpointFooter) -> (payload: [UInt8], frame: FrameHeader) {
        let count = UInt32(foot.schemaBytes.count)
        let head = FrameHeader(
            kind: .schema, isLast: true, isCompressed: false, storeHigh: 0, epoch: 1, segment: 1, offset: 0,
            version: foot.version, time: foot.time, mark: 0, part: 0, rawCount: count, storedCount: count,
            payloadCRC: CRC32C.checksum(foot.schemaBytes), chain: 0)
        return (foot.schemaBytes, head)
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
        // All is durable now, and a frame says so.
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
        manifest.write(to: &block)
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

    /// Removes what was made, as far as that goes; for a work that failed.
    func remove() {
        file.close()
        for path in made.reversed() { try? files.storage.remove(path) }
    }

    // MARK: Segments

    private mutating func begin(segment number: UInt32) {
        let head = SegmentHeader(
            segment: number, storeHigh: manifest.storeHigh, storeLow: manifest.storeLow, epoch: 1, chain: chain,
            firstVersion: version + 1, mark: version)
        chain = head.write(to: &pending.bytes)
        manifest.segments.append(Manifest.Segment(number: number, epoch: 1, firstVersion: version + 1))
        guard let (payload, frame) = schema else { return }
        var opening = frame
        opening.kind = .opening
        opening.isLast = true
        opening.part = 0
        opening.version = version
        opening.time = time
        payload.withUnsafeBytes { append(opening, $0) }
    }

    private mutating func roll() throws(ToolError) {
        try flush()
        try sync()
        file.close()
        byteCount += written
        manifest.segments[manifest.segments.count - 1].seal = Manifest.Seal(
            lastVersion: version, chainEnd: chain, byteCount: written)
        let number = manifest.segments[manifest.segments.count - 1].number + 1
        let path = files.segment(number)
        made.append(path)
        file = try stored { () throws(StorageError) in try files.storage.open(path, .create) }
        written = 0
        begin(segment: number)
    }

    /// Puts a frame at the end, under a head of this store's. What was synced before is its durable mark.
    private mutating func append(_ frame: FrameHeader, _ payload: UnsafeRawBufferPointer, mark: UInt64? = nil) {
        let segment = manifest.segments[manifest.segments.count - 1]
        var head = frame
        head.storeHigh = manifest.storeHigh
        head.epoch = 1
        head.segment = segment.number
        head.offset = UInt64(offset)
        head.mark = mark ?? segment.firstVersion - 1
        head.chain = chain
        chain = head.write(to: &pending.bytes)
        pending.bytes.append(payload)
        pending.bytes.appendZeros(head.frameByteCount - FrameHeader.byteCount - payload.count)
    }

    private mutating func flush() throws(ToolError) {
        let bytes = pending.bytes.bytes
        guard !bytes.isEmpty else { return }
        let place = written
        let file = file
        try stored { () throws(StorageError) in try file.write(bytes, at: place) }
        written += bytes.count
        pending.bytes.removeAll()
    }

    private func sync() throws(ToolError) {
        try stored { () throws(StorageError) in try file.sync() }
    }
}
