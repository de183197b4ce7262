import FirnBytes

/// Reads the changesets of commits, one after another, out of a walk's frames: decompresses parts, and keeps the schema in force.
struct CommitReader {
    private var reader = ChangesetReader(schema: nil)
    private var scratch = [UInt8]()
    /// What the commit's blocks said is damaged; no more is read of it.
    private(set) var hasFailed = false

    /// The schema in force; nil where nothing told it.
    var schema: DecodedSchema? { reader.schema }

    /// Takes the next frame, and calls `visit` with each block in it. Returns what is wrong with it, if anything is.
    ///
    /// Anything that `visit` throws is passed on.
    mutating func take(
        _ frame: FrameHeader, _ payload: UnsafeRawBufferPointer, path: String, _ visit: (ChangeBlock) throws -> Void
    ) throws -> Finding? {
        if frame.kind.isPart, frame.part == 0 { begin() }
        guard frame.kind != .mark, !hasFailed else { return nil }
        do {
            try withRaw(frame, payload) { reader, raw in
                switch frame.kind {
                case .mark: break
                case .opening, .schema: reader.adopt(try DecodedSchema.read(raw))
                case .changes: try reader.read(part: raw, visit)
                }
            }
            if frame.isLast { try reader.finish() }
            return nil
        } catch let error as BytesError {
            hasFailed = true
            let what =
                frame.kind == .opening
                ? "the schema that the segment opens with" : "part \(frame.part) of version \(frame.version)"
            return Finding(.damage, path, Int(frame.offset), "\(what) can't be read: decompressed, \(error)")
        }
    }

    /// Forgets what a commit before left unfinished.
    private mutating func begin() {
        hasFailed = false
        reader = ChangesetReader(schema: reader.schema)
    }

    /// The schema is not known any more.
    mutating func forgetSchema() {
        hasFailed = false
        reader = ChangesetReader(schema: nil)
    }

    /// Calls `body` with the payload as it was before compression.
    private mutating func withRaw(
        _ frame: FrameHeader, _ payload: UnsafeRawBufferPointer,
        _ body: (inout ChangesetReader, UnsafeRawBufferPointer) throws -> Void
    ) throws {
        guard frame.isCompressed else { return try body(&reader, payload) }
        let count = Int(frame.rawCount)
        // Taken out, so that the bytes and the reader may be used at the same time.
        var buffer = scratch
        scratch = []
        defer { scratch = buffer }
        if buffer.count < count { buffer = [UInt8](repeating: 0, count: count) }
        try buffer.withUnsafeMutableBytes { room in
            let target = UnsafeMutableRawBufferPointer(rebasing: room[..<count])
            try LZ4.decompress(payload, into: target)
            try body(&reader, UnsafeRawBufferPointer(target))
        }
    }
}
