import FirnBytes

/// What a segment holds, found by reading it from its header on. The scan finds the whole commits up to the first
/// offset at which the log is broken or ends, and what follows that offset.
struct SegmentScan {
    /// A commit that was not yet known to be durable when the newest frame before the break was written.
    struct Commit: Equatable {
        var version: UInt64
        /// From the start of its first frame to the end of its last.
        var range: Range<Int>
        /// The time of the last frame before the commit, and the chain behind that frame.
        var timeBefore: Int64
        var chainBefore: FrameChain
    }

    /// Where a log is broken: from `offset` on, nothing belongs to a whole commit.
    struct Break: Equatable {
        var offset: Int
        var version: UInt64
        var reason: String
    }

    /// The end of the last whole commit (or mark, or segment schema) in the unbroken run.
    var end: Int
    /// The end of the last whole commit, or of the segment schema if there is no commit.
    var commitEnd: Int
    /// The chain behind the frame that ends at `end`, and behind the one that ends at `commitEnd`.
    var chain: FrameChain
    var commitChain: FrameChain
    var lastVersion: UInt64
    var lastTime: Int64 = 0
    /// The highest durable mark in the unbroken run.
    var mark: UInt64
    /// The commits of versions above `mark`, in order.
    var unconfirmed: [Commit] = []
    /// The position behind the version that was sought, if the segment holds it.
    var sought: LogPosition?
    /// The schema in force at `end`, if a frame of the segment says so.
    var schema: [UInt8]?
    /// Where the segment is broken; nil if it just ends (at the file's end, or in zeros).
    var broken: Break?
    /// The highest durable mark in the headers of frames behind the break.
    var markBehind: UInt64 = 0
    /// If the segment is broken: the number of whole frames behind `end`, and of the commits that these frames end.
    var framesBehind = 0
    var commitsBehind = 0
    /// The offset from which on there are only zeros, if the segment is broken; a multiple of 64, or the file's end.
    private(set) var writtenEnd = 0

    /// Reads the whole segment. `chainStart` is the chain at the end of the segment before, `previousTime` its last
    /// frame's time. `sought` is a version whose end is noted, so that a replay can begin there.
    static func scan(
        _ reader: SegmentReader, chainStart: UInt32?, previousTime: Int64, sought: UInt64? = nil
    ) throws(LogError) -> SegmentScan {
        let header = reader.header
        if let chainStart, chainStart != header.chain {
            throw LogError(
                .damage, path: reader.path, offset: 0,
                detail: "the segment's header does not follow the segment before")
        }
        var scan = SegmentScan(
            end: header.byteCount, commitEnd: header.byteCount, chain: reader.chain, commitChain: reader.chain,
            lastVersion: header.firstVersion - 1, lastTime: previousTime, mark: header.mark)
        var offset = scan.end
        var chain = scan.chain
        var nextPart: UInt32 = 0  // within the commit that has begun; 0 between commits
        var newSchema: [UInt8]?
        var scratch = ByteWriter()

        run: while true {
            let version = scan.lastVersion &+ 1
            switch try reader.item(at: offset, after: chain) {
            case .end:
                if nextPart != 0 {
                    scan.broken = Break(
                        offset: offset, version: version, reason: "the log ends within the commit of version \(version)"
                    )
                }
                break run
            case .bad(let reason, _):
                scan.broken = Break(offset: offset, version: version, reason: reason)
                break run
            case .frame(let frame, let next):
                let expected = frame.kind.isPart ? version : scan.lastVersion
                guard frame.version == expected, frame.part == (frame.kind.isPart ? nextPart : 0),
                    frame.mark <= scan.lastVersion, frame.kind.isPart || nextPart == 0, frame.time >= scan.lastTime,
                    frame.kind != .segmentSchema || offset == header.byteCount
                else {
                    scan.broken = Break(
                        offset: offset, version: version, reason: "the frame does not follow the one before it")
                    break run
                }
                offset = frame.end
                chain = next
                scan.raiseMark(frame.mark)
                if frame.kind == .schema || frame.kind == .segmentSchema {
                    newSchema = [UInt8](try reader.rawPayload(of: frame, in: &scratch))
                }
                guard frame.flags.contains(.last) else {
                    nextPart &+= 1
                    continue
                }
                if frame.kind.isPart {
                    scan.lastVersion = version
                    if version > scan.mark {
                        scan.unconfirmed.append(
                            Commit(
                                version: version, range: scan.end..<offset, timeBefore: scan.lastTime,
                                chainBefore: scan.chain))
                    }
                }
                nextPart = 0
                scan.end = offset
                if frame.kind != .mark {
                    scan.commitEnd = offset
                    scan.commitChain = chain
                }
                scan.chain = chain
                scan.lastTime = frame.time
                if let schema = newSchema { scan.schema = schema }
                newSchema = nil
                if scan.lastVersion == sought {
                    scan.sought = LogPosition(version: scan.lastVersion, reader, offset: offset, chain: chain)
                }
            }
        }
        if let broken = scan.broken {
            // The broken commit's whole parts are cut off, too.
            scan.framesBehind = Int(nextPart)
            try scan.lookBehind(broken, reader)
        }
        return scan
    }

    /// How a sealed segment differs from what the manifest says about it; nil if they agree.
    func contradiction(to entry: Manifest.Segment) -> Damage? {
        if lastVersion != entry.lastVersion {
            return Damage(
                "the segment ends with version \(lastVersion), but the manifest says \(entry.lastVersion)", at: end)
        }
        if !entry.endsWith(chain) {
            return Damage("the segment's last frame is not the one that the manifest names", at: end)
        }
        if end != Int(entry.byteCount) {
            return Damage(
                "the segment ends here, but the manifest says that it has \(entry.byteCount) bytes", at: end)
        }
        return nil
    }

    private mutating func raiseMark(_ mark: UInt64) {
        guard mark > self.mark else { return }
        self.mark = mark
        unconfirmed.removeAll { $0.version <= mark }
    }

    /// Continues behind the break by looking for headers of this segment at multiples of 64 bytes. The durable mark in
    /// each of them counts, even if the header's payload is damaged.
    ///
    /// Only the report says which frames are intact, so no byte is checksummed twice. If a header lies within the
    /// payload that another header claims, only the header is read. Otherwise a forged tail could claim the same
    /// megabytes at each of its headers, and opening would take hours.
    private mutating func lookBehind(_ broken: Break, _ reader: SegmentReader) throws(LogError) {
        var offset = broken.offset
        var summed = offset
        writtenEnd = offset
        defer { writtenEnd = min(writtenEnd, reader.byteCount) }
        while offset < reader.byteCount {
            guard let (frame, _) = try reader.header(at: offset) else {
                // No frame begins within zeros.
                let zeros = try reader.endOfZeros(from: offset)
                if zeros == offset { writtenEnd = offset + LogLimits.frameAlignment }
                offset = max(offset + LogLimits.frameAlignment, zeros)
                continue
            }
            markBehind = max(markBehind, frame.mark)
            offset = Int(frame.offset) + LogLimits.frameAlignment
            writtenEnd = offset
            guard Int(frame.offset) >= summed else { continue }
            summed = frame.end
            guard case .frame = try reader.item(at: Int(frame.offset), after: nil) else { continue }
            framesBehind += 1
            if frame.kind.isPart, frame.flags.contains(.last) { commitsBehind += 1 }
            offset = frame.end
            writtenEnd = offset
        }
    }
}
