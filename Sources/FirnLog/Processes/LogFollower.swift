import FirnBytes
import FirnStorage

/// Reads the commits that another process writes, from a position up to a version that has been published. Segments may
/// be sealed and cut meanwhile.
///
/// Frames up to the published version are always intact in the segment that the newest manifest names for them. A
/// segment is listed before a frame is written to it. It is cut or removed only after the manifest says where its
/// commits are now. So if a frame or a segment is not as it should be, the manifest must have changed, and is read
/// again. If the segment that it now names does not hold the frame either, that is damage.
///
/// Used only by the thread that holds the process's write lock.
final class LogFollower {
    private let folder: StoreFolder
    /// The segment read last, with its manifest entry at that time.
    private var open: (entry: Manifest.Segment, reader: SegmentReader)?

    init(_ folder: StoreFolder) { self.folder = folder }

    /// Reads from `start` through version `through`, and calls `body` with each commit on the way. Returns the
    /// position reached, and the manifest by which it was found.
    ///
    /// A takeover may have moved commits to another segment. If reading starts again there, the commits up to
    /// `start.version` are skipped.
    func read(
        from start: LogReadPosition, _ listed: Manifest, through: UInt64, _ body: (inout CommitReader) throws -> Void
    ) throws -> (LogReadPosition, Manifest) {
        var walk = Walk(position: start, manifest: listed, delivered: start.version)
        // The version reached when the manifest was last read again.
        var reloadedAt: UInt64?
        while true {
            do {
                try readOn(&walk, through: through, body)
                return (walk.position, walk.manifest)
            } catch let error as LogError {
                guard !walk.isInBody, error.mayBeStaleFile else { throw error }
                let now = try folder.readManifest()
                guard now != walk.manifest || reloadedAt != walk.position.version else { throw error }
                reloadedAt = walk.position.version
                walk.manifest = now
                try refresh()
            }
        }
    }

    /// The progress of a read.
    private struct Walk {
        var position: LogReadPosition
        var manifest: Manifest
        /// The last version that `body` was called with.
        var delivered: UInt64
        var isInBody = false
    }

    private func readOn(
        _ walk: inout Walk, through: UInt64, _ body: (inout CommitReader) throws -> Void
    ) throws {
        while true {
            let (entry, reader) = try locate(&walk.position, walk.manifest)
            if walk.position.version >= through {
                // What was read of a sealed segment is used only if the segment is the store's own.
                if entry.isSealed, entry.firstVersion <= walk.position.version { try reader.checkEnd(entry) }
                return
            }
            let broken: String
            switch try reader.item(at: walk.position.offset, after: walk.position.chain) {
            case .frame(let frame, let next):
                guard frame.kind.isPart else {
                    try pass(frame, to: next, reader: reader, position: &walk.position)
                    continue
                }
                if frame.version == walk.position.version + 1, frame.part == 0 {
                    try read(frame, reader: reader, walk: &walk, body)
                    continue
                }
                broken = "version \(walk.position.version + 1) should be here"
            case .bad(let reason, _): broken = reason
            case .end: broken = "the log ends here"
            }
            throw LogError(
                .damage, path: reader.path, offset: walk.position.offset,
                detail: "\(broken), but version \(through) was published")
        }
    }

    private func read(
        _ frame: FrameHeader, reader: SegmentReader, walk: inout Walk,
        _ body: (inout CommitReader) throws -> Void
    ) throws {
        var commit = CommitReader(frame, reader, chain: walk.position.chain)
        if frame.version > walk.delivered {
            walk.isInBody = true
            try body(&commit)
            walk.isInBody = false
            walk.delivered = frame.version
        }
        try commit.skipRest()
        walk.position.offset = commit.offset
        walk.position.chain = commit.chain
        walk.position.version = commit.version
        walk.position.time = commit.time
        walk.position.mark = max(walk.position.mark, commit.mark)
        if let schema = commit.schema { walk.position.schema = schema }
        guard commit.reader !== reader else { return }
        // The commit was found again in another segment; reading continues from there.
        walk.position.segment = commit.reader.number
        walk.position.epoch = commit.reader.header.epoch
        walk.manifest = try folder.readManifest()
    }

    /// Skips the marks and segment schemas at the position. True if nothing follows them.
    func readMarks(_ position: inout LogReadPosition, _ manifest: Manifest) throws(LogError) -> Bool {
        while true {
            let (_, reader) = try locate(&position, manifest)
            // The bytes of one header are enough: a process that released the lock has left only zeros behind its last
            // frame.
            if try reader.isZero(at: position.offset) { return true }
            guard case .frame(let frame, let next) = try reader.item(at: position.offset, after: position.chain),
                !frame.kind.isPart
            else { return false }
            try pass(frame, to: next, reader: reader, position: &position)
        }
    }

    private func pass(
        _ frame: FrameHeader, to next: FrameChain, reader: SegmentReader, position: inout LogReadPosition
    ) throws(LogError) {
        if frame.kind == .segmentSchema {
            var scratch = ByteWriter(capacity: 16)
            position.schema = [UInt8](try reader.rawPayload(of: frame, in: &scratch))
        }
        position.offset = frame.end
        position.chain = next
        position.time = max(position.time, frame.time)
        position.mark = max(position.mark, frame.mark)
    }

    /// The segment that holds, or will hold, the version after the position. If the position is in another segment, it
    /// is moved to the beginning of this one. If the position is in a segment before it, that one must end as the
    /// manifest says.
    private func locate(
        _ position: inout LogReadPosition, _ manifest: Manifest
    ) throws(LogError) -> (entry: Manifest.Segment, reader: SegmentReader) {
        let next = position.version + 1
        guard let index = manifest.segments.lastIndex(where: { $0.firstVersion <= next }) else {
            throw LogError(
                .versionNotHere(next), path: folder.path(of: .log),
                detail: "the oldest version in it is \(manifest.segments[0].firstVersion)")
        }
        let entry = manifest.segments[index]
        if entry.segment == position.segment, entry.epoch == position.epoch,
            !entry.isSealed || position.offset <= entry.byteCount
        {
            return (entry, try reader(entry, manifest.storeID))
        }
        let earlier = manifest.segments[..<index]
        if let left = earlier.last(where: { $0.segment == position.segment && $0.epoch == position.epoch }),
            position.offset <= left.byteCount
        {
            // Only marks follow the last commit, and only empty segments the one that was left.
            try self.reader(left, manifest.storeID).readToEnd(
                of: left, from: position.offset, after: position.chain)
        }
        let reader = try reader(entry, manifest.storeID)
        if let before = earlier.last, before.chainEnd != reader.header.chain {
            throw LogError(
                .damage, path: reader.path, offset: 0,
                detail: "the segment's header does not follow the segment before")
        }
        position.segment = entry.segment
        position.epoch = entry.epoch
        position.offset = reader.header.byteCount
        position.chain = reader.chain
        position.version = entry.firstVersion - 1
        position.mark = max(position.mark, reader.header.mark)
        return (entry, reader)
    }

    private func reader(_ entry: Manifest.Segment, _ storeID: StoreID) throws(LogError) -> SegmentReader {
        if let open, open.entry == entry { return open.reader }
        let reader = try SegmentReader(folder, entry, storeID: storeID, windowByteCount: 32 << 10)
        open = (entry, reader)
        return reader
    }

    /// Must be called before reading: the bytes that were read from an open segment may have changed.
    func refresh() throws(LogError) { try open?.reader.refresh() }
}
