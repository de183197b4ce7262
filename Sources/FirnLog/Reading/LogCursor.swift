import FirnBytes
import FirnStorage

/// One part of a commit, as it was given to the log.
package struct LogPart {
    package var kind: LogPartKind
    /// Valid until the next call of the reader that returned it.
    package var bytes: UnsafeRawBufferPointer
}

/// Reads one commit's parts, front to back.
package struct CommitReader: ~Copyable {
    package let version: UInt64
    /// Nanoseconds since 1970.
    package let time: Int64
    /// The reader of the segment that holds the commit. It changes if the commit is found again in another segment.
    private(set) var reader: SegmentReader
    private(set) var offset: Int
    private(set) var chain: FrameChain
    /// The highest durable mark among the frames read.
    private(set) var mark: UInt64 = 0
    /// The schema that the commit sets, if the part with it has been read.
    private(set) var schema: [UInt8]?
    private var isAtEnd = false
    private var part: UInt32 = 0
    private var scratch = ByteWriter(capacity: 16)

    init(_ first: FrameHeader, _ reader: SegmentReader, chain: FrameChain) {
        version = first.version
        time = first.time
        self.reader = reader
        offset = Int(first.offset)
        self.chain = chain
    }

    /// The next part; nil after the last.
    ///
    /// - Throws: `.damage`, with the file and offset.
    package mutating func next() throws(LogError) -> LogPart? {
        guard let (frame, bytes) = try nextFrame(decompressing: true) else { return nil }
        return LogPart(kind: frame.kind == .schema ? .schema : .changes, bytes: bytes)
    }

    /// Skips the remaining parts, after checking them.
    mutating func skipRest() throws(LogError) {
        while try nextFrame(decompressing: false) != nil {}
    }

    private mutating func nextFrame(
        decompressing: Bool
    ) throws(LogError) -> (FrameHeader, UnsafeRawBufferPointer)? {
        if isAtEnd { return nil }
        while true {
            if case .frame(let frame, let next) = try reader.item(at: offset, after: chain),
                frame.kind.isPart, frame.version == version, frame.part == part
            {
                part &+= 1
                chain = next
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
                    detail: "part \(part) of version \(version) is damaged")
            }
        }
    }

    /// Continues with the same part in the segment that holds the commit now. A process that took over the store may
    /// have rewritten commits to a new segment, and cut the segment that was being read. Returns false if no other
    /// segment holds the version.
    private mutating func findAgain() throws(LogError) -> Bool {
        let manifest = try reader.folder.readManifest()
        guard let entry = manifest.segments.last(where: { $0.firstVersion <= version }),
            entry.segment != reader.number || entry.epoch != reader.header.epoch
        else { return false }
        let other = try SegmentReader(reader.folder, entry, storeID: reader.storeID)
        try other.checkEnd(entry)
        var offset = other.header.byteCount
        var chain = other.chain
        while let (frame, next) = try other.frame(at: offset, after: chain), frame.version <= version {
            if frame.kind.isPart, frame.version == version, frame.part == part {
                reader = other
                self.offset = offset
                self.chain = chain
                return true
            }
            offset = frame.end
            chain = next
        }
        return false
    }
}

/// The position of a reader between two commits of the log. Reading can continue there without reading the commits
/// before it again.
package struct LogPosition: Sendable, Equatable {
    /// The last version read.
    package let version: UInt64
    fileprivate let segment: UInt32
    fileprivate let epoch: UInt32
    fileprivate let offset: Int
    fileprivate let chain: FrameChain

    init(version: UInt64, _ reader: SegmentReader, offset: Int, chain: FrameChain) {
        self.version = version
        segment = reader.number
        epoch = reader.header.epoch
        self.offset = offset
        self.chain = chain
    }

    /// The position of a follower that has found its segment.
    init(_ position: LogReadPosition) {
        version = position.version
        segment = position.segment
        epoch = position.epoch
        offset = position.offset
        chain = position.chain
    }
}

/// Walks the whole commits of a store in order, checking every byte on the way.
///
/// Other processes may change the log meanwhile. They seal and cut the open segment, rewrite commits to a new one, and
/// remove segments if this reader has no slot. So if something is not as the manifest said, the manifest is read again.
/// If it has changed, the walk continues at the same version, or throws `.versionNotHere` if the log no longer holds
/// that version. If it has not changed, the problem is damage.
struct LogCursor {
    let folder: StoreFolder
    private(set) var manifest: Manifest

    init(folder: StoreFolder, manifest: Manifest) {
        self.folder = folder
        self.manifest = manifest
    }

    /// Reads the manifest again after `error`. Returns true if it has been replaced, which may be why reading the log
    /// failed; the new manifest is then used. Returns false for errors that a changed log can't cause.
    mutating func reloadManifest(after error: LogError) throws(LogError) -> Bool {
        guard error.mayBeStaleFile else { return false }
        let now = try folder.readManifest()
        guard now != manifest else { return false }
        manifest = now
        return true
    }

    /// Calls `body` for each commit of the versions `after + 1 ... through`, and returns the position behind them. If
    /// `position` is directly behind version `after`, the walk starts there instead of at the segment's start.
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
                // An error that `body` throws is passed to the caller.
                guard !walk.isInBody, try reloadManifest(after: error) else { throw error }
            }
        }
    }

    /// The progress of a walk.
    private struct Walk {
        var next: UInt64
        let through: UInt64
        /// The position behind version `next - 1`, if known.
        var position: LogPosition?
        var isInBody = false
    }

    private mutating func readOn(_ walk: inout Walk, _ body: (inout CommitReader) throws -> Void) throws {
        while walk.next <= walk.through {
            guard let index = manifest.segments.lastIndex(where: { $0.firstVersion <= walk.next }) else {
                throw LogError(
                    .versionNotHere(walk.next), path: folder.path(of: .log),
                    detail: "the oldest version in it is \(manifest.segments[0].firstVersion)")
            }
            let entry = manifest.segments[index]
            guard !entry.isSealed || entry.lastVersion >= walk.next else {
                throw LogError(
                    .versionNotHere(walk.next), path: folder.path(of: .log), detail: "the log ends before it")
            }
            if let position = walk.position {
                try checkEnd(behind: position, in: manifest.segments[..<index])
            }
            let reader = try SegmentReader(folder, entry, storeID: manifest.storeID)
            if index > 0, manifest.segments[index - 1].chainEnd != reader.header.chain {
                throw LogError(
                    .damage, path: reader.path, offset: 0,
                    detail: "the segment's header does not follow the segment before")
            }
            // A walk that goes on behind the segment checks its end when it leaves it.
            if walk.through <= entry.lastVersion { try reader.checkEnd(entry) }
            try readOn(&walk, in: entry, reader: reader, body)
        }
    }

    /// Checks that the segment from which a walk comes ends as the manifest says. The walk may have met its end with an
    /// older manifest, or have stopped before it.
    ///
    /// - Parameter segments: those before the one in which the walk goes on.
    private func checkEnd(
        behind position: LogPosition, in segments: ArraySlice<Manifest.Segment>
    ) throws(LogError) {
        guard
            let entry = segments.last(where: { $0.segment == position.segment && $0.epoch == position.epoch }),
            position.offset <= entry.byteCount, position.offset < entry.byteCount || !entry.endsWith(position.chain)
        else { return }
        try SegmentReader(folder, entry, storeID: manifest.storeID)
            .readToEnd(of: entry, from: position.offset, after: position.chain)
    }

    private mutating func readOn(
        _ walk: inout Walk, in entry: Manifest.Segment, reader: SegmentReader,
        _ body: (inout CommitReader) throws -> Void
    ) throws {
        var offset = reader.header.byteCount
        var chain = reader.chain
        var version = entry.firstVersion - 1
        if let position = walk.position, position.version == walk.next - 1, position.segment == entry.segment,
            position.epoch == entry.epoch
        {
            (offset, chain, version) = (position.offset, position.chain, position.version)
        }
        while walk.next <= walk.through {
            guard case .frame(let frame, let next) = try reader.item(at: offset, after: chain) else {
                if entry.isSealed, offset == reader.byteCount, version == entry.lastVersion, entry.endsWith(chain) {
                    // Behind the marks, so that the end need not be read again when the walk goes on.
                    walk.position = LogPosition(version: version, reader, offset: offset, chain: chain)
                    return
                }
                throw LogError(
                    .damage, path: reader.path, offset: offset,
                    detail: "version \(version &+ 1) was durable, but there is no intact frame of it")
            }
            guard frame.kind.isPart else {
                offset = frame.end
                chain = next
                continue
            }
            var commit = CommitReader(frame, reader, chain: chain)
            guard commit.version == version &+ 1 else {
                throw LogError(
                    .damage, path: reader.path, offset: offset, detail: "version \(version &+ 1) should be here")
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
            walk.position = LogPosition(version: version, commit.reader, offset: offset, chain: chain)
            if commit.reader !== reader {
                // The commit was found again in another segment; the walk continues from there.
                manifest = try folder.readManifest()
                return
            }
        }
    }
}
