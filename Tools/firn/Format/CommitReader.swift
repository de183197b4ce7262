import FirnBytes

/// Reads the changesets of commits, one after another, from a walk's frames: it decompresses parts, and keeps the
/// schema in force.
struct CommitReader {
    private var reader: ChangesetReader
    /// Whether it follows the schemas in the log.
    private let adopts: Bool
    private var scratch = [UInt8]()
    /// Whether a block of the commit was damaged, so that no more of the commit is read.
    private(set) var hasFailed = false

    /// The schema in force; nil if it is not known.
    var schema: DecodedSchema? { reader.schema }

    /// - Parameter fixed: the newest schema of a log that is being recovered. It describes all of the log, since tables
    ///   and columns are only ever added. Nil to follow the schemas in the log.
    init(fixed: DecodedSchema? = nil) {
        adopts = fixed == nil
        reader = ChangesetReader(schema: fixed)
    }

    /// Takes the next frame, and calls `visit` with each block in it. Returns what is wrong with it, if anything is.
    ///
    /// An error that `visit` throws is passed on, except `Damage`, which is returned as a finding.
    mutating func take(
        _ frame: FrameHeader, payload: UnsafeRawBufferPointer, path: String, _ visit: (ChangeBlock) throws -> Void
    ) throws -> Finding? {
        if frame.kind.isPart, frame.part == 0 { begin() }
        guard frame.kind != .mark, !hasFailed else { return nil }
        do {
            try withRaw(frame, payload: payload) { reader, raw in
                switch frame.kind {
                case .mark: break
                case .segmentSchema, .schema: reader.adopt(try DecodedSchema.read(raw))
                case .changes: try reader.read(part: raw, visit)
                }
            }
            if frame.isLast { try reader.finish() }
            return nil
        } catch let error as Damage {
            hasFailed = true
            let what =
                frame.kind == .segmentSchema
                ? "the segment schema" : "part \(frame.part) of version \(frame.version)"
            return Finding(
                kind: .damage, file: path, offset: Int(frame.offset),
                text: "\(what) can't be read: decompressed, \(error)")
        }
    }

    /// Reads a part of a log that is being recovered. What can't be read in it is passed over; the first such damage is
    /// returned.
    ///
    /// - Parameter followsGap: whether the part before it is missing.
    mutating func salvage(
        _ frame: FrameHeader, payload: UnsafeRawBufferPointer, path: String, followsGap: Bool,
        _ visit: (ChangeBlock) throws -> Void
    ) throws -> Finding? {
        if frame.kind.isPart, frame.part == 0 { begin() }
        if followsGap { reader.goOn() }
        var first: Damage?
        let adopts = adopts
        do {
            try withRaw(frame, payload: payload) { reader, raw in
                switch frame.kind {
                case .mark: break
                case .segmentSchema, .schema:
                    let read = try DecodedSchema.read(raw)
                    if adopts { reader.adopt(read) }
                case .changes: try reader.read(part: raw, skip: { first = first ?? $0 }, visit)
                }
            }
        } catch let error as Damage {
            reader.goOn()
            first = first ?? error
        }
        return first.map {
            Finding(
                kind: .damage, file: path, offset: Int(frame.offset),
                text: "part \(frame.part) of version \(frame.version) can't be read completely: decompressed, \($0)")
        }
    }

    /// Forgets what the previous commit left unfinished.
    private mutating func begin() {
        hasFailed = false
        reader = ChangesetReader(schema: reader.schema)
    }

    /// Forgets the schema, because versions that could not be read may have changed it.
    mutating func forgetSchema() {
        hasFailed = false
        reader = ChangesetReader(schema: nil)
    }

    /// Calls `body` with the payload as it was before compression.
    private mutating func withRaw(
        _ frame: FrameHeader, payload: UnsafeRawBufferPointer,
        _ body: (inout ChangesetReader, UnsafeRawBufferPointer) throws -> Void
    ) throws {
        guard frame.isCompressed else { return try body(&reader, payload) }
        let count = Int(frame.rawCount)
        // Moved out of `self`, so that the buffer and the reader can be used at the same time.
        var buffer = scratch
        scratch = []
        defer { scratch = buffer }
        if buffer.count < count { buffer = [UInt8](repeating: 0, count: count) }
        try buffer.withUnsafeMutableBytes { memory in
            let target = UnsafeMutableRawBufferPointer(rebasing: memory[..<count])
            try LZ4.decompress(payload, into: target)
            try body(&reader, UnsafeRawBufferPointer(target))
        }
    }
}
