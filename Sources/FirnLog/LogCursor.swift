import FirnBytes
import FirnStorage

/// One part of a commit, as it was handed to the log.
public struct LogPart {
    public var kind: LogPartKind
    /// Valid until the next call of the reader that gave it.
    public var bytes: UnsafeRawBufferPointer
}

/// Reads one commit's parts, front to back.
public struct CommitReader: ~Copyable {
    public let version: UInt64
    /// Nanoseconds since 1970.
    public let time: Int64
    private let reader: SegmentReader
    private(set) var offset: Int
    private(set) var chain: UInt32
    /// The highest durable mark among the frames read.
    private(set) var mark: UInt64 = 0
    /// The schema that the commit sets, as far as it was read.
    private(set) var schema: [UInt8]?
    private var isAtEnd = false
    private var part: UInt32 = 0
    private var scratch = ByteWriter(capacity: 16)

    init(_ first: FrameHeader, _ reader: SegmentReader, chain: UInt32) {
        version = first.version
        time = first.time
        self.reader = reader
        offset = Int(first.offset)
        self.chain = chain
    }

    /// The next part; nil after the last.
    ///
    /// - Throws: `.damage`, with the place.
    public mutating func next() throws(LogError) -> LogPart? {
        guard let (frame, bytes) = try nextFrame(decompressing: true) else { return nil }
        return LogPart(kind: frame.kind == .schema ? .schema : .changes, bytes: bytes)
    }

    /// Passes over what was not read, checking it.
    mutating func skipRest() throws(LogError) {
        while try nextFrame(decompressing: false) != nil {}
    }

    private mutating func nextFrame(
        decompressing: Bool
    ) throws(LogError) -> (FrameHeader, UnsafeRawBufferPointer)? {
        if isAtEnd { return nil }
        guard case .frame(let frame, let crc) = try reader.item(at: offset), frame.chain == chain,
            frame.kind.isPart, frame.version == version, frame.part == part
        else {
            throw LogError(
                .damage, path: reader.path, offset: offset, detail: "part \(part) of version \(version) is not whole")
        }
        part &+= 1
        chain = crc
        offset = frame.end
        isAtEnd = frame.flags.contains(.last)
        mark = max(mark, frame.mark)
        if frame.kind == .schema {
            let bytes = try reader.rawPayload(of: frame, in: &scratch)
            schema = [UInt8](bytes)
            return (frame, bytes)
        }
        let bytes = decompressing ? try reader.rawPayload(of: frame, in: &scratch) : try reader.payload(of: frame)
        return (frame, bytes)
    }
}

/// Where a reader of the log stands: behind a commit. Who goes on from there need not pass the commits before it again.
public struct LogPosition: Sendable, Equatable {
    /// The last version read.
    public let version: UInt64
    fileprivate let segment: UInt32
    fileprivate let epoch: UInt32
    fileprivate let offset: Int
    fileprivate let chain: UInt32
}

/// Walks the whole commits of a store in order, checking every byte on the way.
struct LogCursor {
    let folder: StoreFolder
    let manifest: Manifest

    /// Calls `body` for each commit of the versions `after + 1 ... through`, and gives the position behind them. One behind `after` shortens the way there.
    func replay(
        after: UInt64, through: UInt64, from position: LogPosition?, _ body: (inout CommitReader) throws -> Void
    ) throws -> LogPosition? {
        guard through > after else { return position }
        guard manifest.segments[0].firstVersion <= after &+ 1 else {
            throw LogError(
                .versionNotHere(after &+ 1), path: folder.log,
                detail: "its oldest is \(manifest.segments[0].firstVersion)")
        }
        var next = after + 1
        var reached: LogPosition?
        let first = manifest.segments.lastIndex { $0.firstVersion <= next } ?? 0
        for (index, entry) in manifest.segments.enumerated().dropFirst(first) where next <= through {
            let reader = try SegmentReader(folder, entry, storeID: manifest.storeID)
            if index > 0, manifest.segments[index - 1].chainEnd != reader.header.chain {
                throw LogError(
                    .damage, path: reader.path, offset: 0,
                    detail: "the segment's head does not follow the segment before")
            }
            var offset = SegmentHeader.byteCount
            var chain = reader.headerCRC
            var version = entry.firstVersion - 1
            if let position, position.version == after, position.segment == entry.segment, position.epoch == entry.epoch
            {
                (offset, chain, version) = (position.offset, position.chain, position.version)
            }
            while next <= through {
                guard case .frame(let frame, let crc) = try reader.item(at: offset), frame.chain == chain else {
                    if entry.isSealed, offset == reader.byteCount, version == entry.lastVersion { break }
                    throw LogError(
                        .damage, path: reader.path, offset: offset,
                        detail: "version \(version &+ 1) was durable, but there is no whole frame of it")
                }
                guard frame.kind.isPart else {
                    offset = frame.end
                    chain = crc
                    continue
                }
                var commit = CommitReader(frame, reader, chain: chain)
                guard commit.version == version &+ 1 else {
                    throw LogError(
                        .damage, path: reader.path, offset: offset, detail: "version \(version &+ 1) should stand here")
                }
                version = commit.version
                if version == next {
                    try body(&commit)
                    next += 1
                }
                try commit.skipRest()
                offset = commit.offset
                chain = commit.chain
            }
            reached = LogPosition(
                version: version, segment: entry.segment, epoch: entry.epoch, offset: offset, chain: chain)
        }
        guard next > through else {
            throw LogError(.versionNotHere(next), path: folder.log, detail: "the log ends before it")
        }
        return reached
    }
}
