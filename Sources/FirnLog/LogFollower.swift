import FirnBytes
import FirnStorage

/// A place between two frames of the log, and what is known there.
struct LogPlace: Equatable, Sendable {
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
/// Frames up to what is published are whole whenever they are looked for, in the segment that the newest manifest says: a segment is listed before a frame goes into it.
/// So where a frame is not where it should be, the manifest has changed, and is read again; if it is not there either, that is damage.
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
        from start: LogPlace, _ listed: Manifest, through: UInt64, _ body: (inout CommitReader) throws -> Void
    ) throws -> (LogPlace, Manifest) {
        var place = start
        var manifest = listed
        var hasLooked = false
        while true {
            let reader = try locate(&place, manifest)
            if place.version >= through { return (place, manifest) }
            let broken: String
            switch try reader.item(at: place.offset) {
            case .frame(let frame, let crc) where frame.chain == place.chain:
                guard frame.kind.isPart else {
                    try pass(frame, crc, reader, &place)
                    continue
                }
                if frame.version == place.version + 1, frame.part == 0 {
                    var commit = CommitReader(frame, reader, chain: place.chain)
                    if frame.version > start.version { try body(&commit) }
                    try commit.skipRest()
                    place.offset = commit.offset
                    place.chain = commit.chain
                    place.version = commit.version
                    place.time = commit.time
                    place.mark = max(place.mark, commit.mark)
                    if let schema = commit.schema { place.schema = schema }
                    hasLooked = false
                    continue
                }
                broken = "version \(place.version + 1) should stand here"
            case .frame: broken = "the frame does not follow the one before it"
            case .bad(let reason, _): broken = reason
            case .end: broken = "the log ends here"
            }
            guard !hasLooked else {
                throw LogError(
                    .damage, path: reader.path, offset: place.offset,
                    detail: "\(broken), but version \(through) was published")
            }
            hasLooked = true
            manifest = try folder.readManifest()
            try refresh()
        }
    }

    /// Passes over marks and openings behind what was read. True where nothing stands behind them.
    func readMarks(_ place: inout LogPlace, _ manifest: Manifest) throws(LogError) -> Bool {
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
        _ frame: FrameHeader, _ crc: UInt32, _ reader: SegmentReader, _ place: inout LogPlace
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
    private func locate(_ place: inout LogPlace, _ manifest: Manifest) throws(LogError) -> SegmentReader {
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
