import FirnBytes
import FirnStorage

/// A place between two frames of the log, and what is known there.
struct LogReadPosition: Equatable, Sendable {
    /// The segment, or 0 where the place has yet to be found by its version.
    var segment: UInt32 = 0
    var epoch: UInt32 = 0
    var offset = 0
    /// The header CRC of the frame before.
    var chain: UInt32 = 0
    /// The last version before the place.
    var version: UInt64
    /// When it was committed; 0 where no frame told.
    var time: Int64 = 0
    /// The highest durable mark of the frames before.
    var mark: UInt64 = 0
    /// The sector of the segment.
    var sector = 0
    /// The schema in force; nil where no frame since the last place told of one.
    var schema: [UInt8]?
}

/// Reads on where another process writes: from a place to a version that has been published, over segments that were sealed and cut meanwhile.
///
/// Frames up to what is published are whole whenever they are looked for, in the segment that the newest manifest says: a segment is listed before a frame goes into it, and one is cut or removed
/// only after the manifest says where its commits lie now. So where a frame, or a segment, is not as it should be, the manifest has changed, and is read again; if it is not there either, that is
/// damage.
///
/// Owned by the tail's appender.
final class LogFollower {
    private let folder: StoreFolder
    /// The segment read last, as it was listed then.
    private var open: (entry: Manifest.Segment, reader: SegmentReader)?

    init(_ folder: StoreFolder) { self.folder = folder }

    /// Reads from `start` through version `through`, and calls `body` with each commit on the way. Returns the place reached, and the manifest in which it lies.
    ///
    /// After a failure was taken over, commits may lie in another segment than when they were read: those up to `start.version` are passed over.
    func read(
        from start: LogReadPosition, _ listed: Manifest, through: UInt64, _ body: (inout CommitReader) throws -> Void
    ) throws -> (LogReadPosition, Manifest) {
        var walk = Walk(place: start, manifest: listed, given: start.version)
        // The version at which the manifest was read again last.
        var looked: UInt64?
        while true {
            do {
                try readOn(&walk, through: through, body)
                return (walk.place, walk.manifest)
            } catch let error as LogError {
                guard !walk.isInBody, error.isOfFiles else { throw error }
                let now = try folder.readManifest()
                guard now != walk.manifest || looked != walk.place.version else { throw error }
                looked = walk.place.version
                walk.manifest = now
                try refresh()
            }
        }
    }

    /// How far a reading has come.
    private struct Walk {
        var place: LogReadPosition
        var manifest: Manifest
        /// The last version that `body` was called with.
        var given: UInt64
        var isInBody = false
    }

    private func readOn(
        _ walk: inout Walk, through: UInt64, _ body: (inout CommitReader) throws -> Void
    ) throws {
        while true {
            let reader = try locate(&walk.place, walk.manifest)
            if walk.place.version >= through { return }
            let broken: String
            switch try reader.item(at: walk.place.offset) {
            case .frame(let frame, let crc) where frame.chain == walk.place.chain:
                guard frame.kind.isPart else {
                    try pass(frame, crc, reader, &walk.place)
                    continue
                }
                if frame.version == walk.place.version + 1, frame.part == 0 {
                    try read(frame, reader, &walk, body)
                    continue
                }
                broken = "version \(walk.place.version + 1) should stand here"
            case .frame: broken = "the frame does not follow the one before it"
            case .bad(let reason, _): broken = reason
            case .end: broken = "the log ends here"
            }
            throw LogError(
                .damage, path: reader.path, offset: walk.place.offset,
                detail: "\(broken), but version \(through) was published")
        }
    }

    private func read(
        _ frame: FrameHeader, _ reader: SegmentReader, _ walk: inout Walk,
        _ body: (inout CommitReader) throws -> Void
    ) throws {
        var commit = CommitReader(frame, reader, chain: walk.place.chain)
        if frame.version > walk.given {
            walk.isInBody = true
            try body(&commit)
            walk.isInBody = false
            walk.given = frame.version
        }
        try commit.skipRest()
        walk.place.offset = commit.offset
        walk.place.chain = commit.chain
        walk.place.version = commit.version
        walk.place.time = commit.time
        walk.place.mark = max(walk.place.mark, commit.mark)
        if let schema = commit.schema { walk.place.schema = schema }
        guard commit.reader !== reader else { return }
        // It was found again in another segment, from which the reading goes on.
        walk.place.segment = commit.reader.number
        walk.place.epoch = commit.reader.header.epoch
        walk.manifest = try folder.readManifest()
    }

    /// Passes over marks and openings behind what was read. True where nothing stands behind them.
    func readMarks(_ place: inout LogReadPosition, _ manifest: Manifest) throws(LogError) -> Bool {
        while true {
            let reader = try locate(&place, manifest)
            // Of the room filled ahead one look is enough: who gave the lock up has left zeros.
            if try reader.isZero(behind: place.offset) { return true }
            guard case .frame(let frame, let crc) = try reader.item(at: place.offset), frame.chain == place.chain,
                !frame.kind.isPart
            else { return false }
            try pass(frame, crc, reader, &place)
        }
    }

    private func pass(
        _ frame: FrameHeader, _ crc: UInt32, _ reader: SegmentReader, _ place: inout LogReadPosition
    ) throws(LogError) {
        if frame.kind == .opening {
            var scratch = ByteWriter(capacity: 16)
            place.schema = [UInt8](try reader.rawPayload(of: frame, in: &scratch))
        }
        place.offset = frame.end
        place.chain = crc
        place.time = max(place.time, frame.time)
        place.mark = max(place.mark, frame.mark)
    }

    /// The segment that the version after the place lies in, or will. Where that is another than the place's, the place becomes its beginning.
    private func locate(_ place: inout LogReadPosition, _ manifest: Manifest) throws(LogError) -> SegmentReader {
        let next = place.version + 1
        guard let index = manifest.segments.lastIndex(where: { $0.firstVersion <= next }) else {
            throw LogError(
                .versionNotHere(next), path: folder.log, detail: "its oldest is \(manifest.segments[0].firstVersion)")
        }
        let entry = manifest.segments[index]
        if entry.segment == place.segment, entry.epoch == place.epoch,
            !entry.isSealed || place.offset <= entry.byteCount
        {
            let reader = try reader(entry, manifest.storeID)
            place.sector = Int(reader.header.sector)
            return reader
        }
        let reader = try reader(entry, manifest.storeID)
        if index > 0, manifest.segments[index - 1].chainEnd != reader.header.chain {
            throw LogError(
                .damage, path: reader.path, offset: 0, detail: "the segment's head does not follow the segment before")
        }
        place.segment = entry.segment
        place.epoch = entry.epoch
        place.sector = Int(reader.header.sector)
        place.offset = SegmentHeader.byteCount
        place.chain = reader.headerCRC
        place.version = entry.firstVersion - 1
        place.mark = max(place.mark, reader.header.mark)
        return reader
    }

    private func reader(_ entry: Manifest.Segment, _ storeID: StoreID) throws(LogError) -> SegmentReader {
        if let open, open.entry == entry { return open.reader }
        let reader = try SegmentReader(folder, entry, storeID: storeID, windowByteCount: 32 << 10)
        open = (entry, reader)
        return reader
    }

    /// To be called before reading: what was read of an open segment may have changed.
    func refresh() throws(LogError) { try open?.reader.refresh() }
}
