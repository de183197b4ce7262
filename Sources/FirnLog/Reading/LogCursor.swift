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
    /// Another one than it began with where the commit had to be found again.
    private(set) var reader: SegmentReader
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
        while true {
            if case .frame(let frame, let crc) = try reader.item(at: offset), frame.chain == chain,
                frame.kind.isPart, frame.version == version, frame.part == part
            {
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
                let bytes =
                    decompressing ? try reader.rawPayload(of: frame, in: &scratch) : try reader.payload(of: frame)
                return (frame, bytes)
            }
            guard try findAgain() else {
                throw LogError(
                    .damage, path: reader.path, offset: offset,
                    detail: "part \(part) of version \(version) is not whole")
            }
        }
    }

    /// Goes on with the same part where the commit lies now: a process that took the store over has written commits again to a new segment, and cut the one that was being read. False where no
    /// other segment holds the version.
    private mutating func findAgain() throws(LogError) -> Bool {
        let manifest = try reader.folder.readManifest()
        guard let entry = manifest.segments.last(where: { $0.firstVersion <= version }),
            entry.segment != reader.number || entry.epoch != reader.header.epoch
        else { return false }
        let other = try SegmentReader(reader.folder, entry, storeID: reader.storeID)
        var offset = SegmentHeader.byteCount
        var chain = other.headerCRC
        while let (frame, crc) = try other.header(at: offset), frame.chain == chain, frame.version <= version {
            if frame.kind.isPart, frame.version == version, frame.part == part {
                reader = other
                self.offset = offset
                self.chain = chain
                return true
            }
            offset = frame.end
            chain = crc
        }
        return false
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
///
/// Others may change the log meanwhile: seal and cut the open segment, write commits again to a new one, and remove segments that this reader has no slot to keep. Where something is not as the
/// manifest said, the manifest is therefore read again; if it has changed, the walk goes on where it was, and what the log no longer holds is `.versionNotHere`. Otherwise it is damage.
struct LogCursor {
    let folder: StoreFolder
    private(set) var manifest: Manifest

    init(folder: StoreFolder, manifest: Manifest) {
        self.folder = folder
        self.manifest = manifest
    }

    /// True where the log has changed since the manifest was read, which may be why reading it failed; it is then read again. False for failures that have nothing to do with it.
    mutating func lookAgain(after error: LogError) throws(LogError) -> Bool {
        guard error.isOfFiles else { return false }
        let now = try folder.readManifest()
        guard now != manifest else { return false }
        manifest = now
        return true
    }

    /// Calls `body` for each commit of the versions `after + 1 ... through`, and gives the position behind them. One behind `after` shortens the way there.
    mutating func replay(
        after: UInt64, through: UInt64, from position: LogPosition?, _ body: (inout CommitReader) throws -> Void
    ) throws -> LogPosition? {
        guard through > after else { return position }
        var walk = Walk(next: after + 1, through: through, position: position)
        while true {
            do {
                try readOn(&walk, body)
                return walk.position
            } catch let error as LogError {
                // What `body` throws is its caller's.
                guard !walk.isInBody, try lookAgain(after: error) else { throw error }
            }
        }
    }

    /// How far a walk has come.
    private struct Walk {
        var next: UInt64
        let through: UInt64
        /// Behind `next - 1`, where that is known.
        var position: LogPosition?
        var isInBody = false
    }

    private mutating func readOn(_ walk: inout Walk, _ body: (inout CommitReader) throws -> Void) throws {
        while walk.next <= walk.through {
            guard let index = manifest.segments.lastIndex(where: { $0.firstVersion <= walk.next }) else {
                throw LogError(
                    .versionNotHere(walk.next), path: folder.log,
                    detail: "its oldest is \(manifest.segments[0].firstVersion)")
            }
            let entry = manifest.segments[index]
            guard !entry.isSealed || entry.lastVersion >= walk.next else {
                throw LogError(.versionNotHere(walk.next), path: folder.log, detail: "the log ends before it")
            }
            let reader = try SegmentReader(folder, entry, storeID: manifest.storeID)
            if index > 0, manifest.segments[index - 1].chainEnd != reader.header.chain {
                throw LogError(
                    .damage, path: reader.path, offset: 0,
                    detail: "the segment's head does not follow the segment before")
            }
            try readOn(&walk, in: entry, reader, body)
        }
    }

    private mutating func readOn(
        _ walk: inout Walk, in entry: Manifest.Segment, _ reader: SegmentReader,
        _ body: (inout CommitReader) throws -> Void
    ) throws {
        var offset = SegmentHeader.byteCount
        var chain = reader.headerCRC
        var version = entry.firstVersion - 1
        if let position = walk.position, position.version == walk.next - 1, position.segment == entry.segment,
            position.epoch == entry.epoch
        {
            (offset, chain, version) = (position.offset, position.chain, position.version)
        }
        while walk.next <= walk.through {
            guard case .frame(let frame, let crc) = try reader.item(at: offset), frame.chain == chain else {
                if entry.isSealed, offset == reader.byteCount, version == entry.lastVersion { return }
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
            if commit.version == walk.next {
                walk.isInBody = true
                try body(&commit)
                walk.isInBody = false
            }
            try commit.skipRest()
            version = commit.version
            offset = commit.offset
            chain = commit.chain
            guard version >= walk.next else { continue }
            walk.next = version + 1
            walk.position = LogPosition(
                version: version, segment: commit.reader.number, epoch: commit.reader.header.epoch, offset: offset,
                chain: chain)
            if commit.reader !== reader {
                // It was found again in another segment, from which the walk goes on.
                manifest = try folder.readManifest()
                return
            }
        }
    }
}
