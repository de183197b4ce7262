import FirnBytes
import FirnStorage

/// Reads every whole frame of a log, whatever lies between them.
///
/// A frame counts if its checksums are right and it says that it belongs at its offset in this segment of this store.
/// It need not follow the frame before it, because that frame may be damaged.
struct SalvageLog {
    /// Its manifest lists all segments that there are.
    private let store: OpenedStore
    private var segments: [Manifest.Segment] { store.manifest.segments }
    /// The last version that was committed. What follows was never acknowledged, and is not recovered.
    private(set) var lastVersion: UInt64 = 0
    /// The first version that the log should hold.
    var firstVersion: UInt64 { store.manifest.firstVersion }
    /// Whether the log has everything that was committed after a version.
    func continues(_ version: UInt64) -> Bool {
        firstVersion <= version + 1 && lost.allSatisfy { $0.upperBound <= version }
    }
    /// The newest schema in the log.
    private(set) var schema: DecodedSchema?
    /// Versions that are missing, or lack a part.
    private(set) var lost: [ClosedRange<UInt64>] = []
    private(set) var findings: [Finding] = []
    /// Whether the last segment is missing, or another file has its name, so that nobody knows how far the log went.
    private(set) var isEndLost = false

    /// Reads the complete log once.
    init(_ store: OpenedStore) throws {
        var store = store
        store.manifest.segments = try Self.segments(store)
        self.store = store
        try survey()
    }

    /// The segments that the manifest lists, and others of the same store that belong between them or behind them: an
    /// old manifest may have come back. Without a manifest, those whose headers are damaged are not listed yet.
    private static func segments(_ store: OpenedStore) throws -> [Manifest.Segment] {
        let listed = store.manifest.segments
        var segments = listed
        for number in try store.files.segmentNumbers() where !listed.contains(where: { $0.number == number }) {
            guard store.isSalvaged || number > listed.last?.number ?? 0,
                let found = try? segment(number, store)
            else { continue }
            segments.append(found)
        }
        segments.sort { $0.number < $1.number }
        // What does not follow the segments before it is no use here.
        var highest: UInt64 = 0
        return segments.filter { segment in
            guard segment.firstVersion >= highest else { return false }
            highest = segment.firstVersion
            return true
        }
    }

    /// A segment of this store that the manifest does not list: from its header, or from its first frame if that is
    /// damaged. Nil if it is none.
    private static func segment(_ number: UInt32, _ store: OpenedStore) throws -> Manifest.Segment? {
        let file = try SegmentFile(store.files.segment(number), store.files.storage)
        if case .header(let header) = SegmentHeader.read(try file.bytes(at: 0, count: SegmentHeader.byteCount)) {
            guard header.segment == number, header.storeHigh == store.manifest.storeHigh,
                store.isSalvaged || header.storeLow == store.manifest.storeLow
            else { return nil }
            return Manifest.Segment(number: number, epoch: header.epoch, firstVersion: header.firstVersion)
        }
        var offset = SegmentHeader.byteCount
        while true {
            try Interrupts.check()
            let bytes = try file.bytes(at: offset, count: FrameHeader.byteCount)
            if case .header(let frame) = FrameHeader.read(bytes), frame.storeHigh == store.manifest.storeHigh,
                frame.segment == number, frame.offset == UInt64(offset), frame.kind.isPart,
                frame.version > 0, frame.version <= FormatNumbers.number
            {
                return Manifest.Segment(number: number, epoch: frame.epoch, firstVersion: frame.version)
            }
            guard let next = try file.nextCandidate(behind: offset) else { return nil }
            offset = next
        }
    }

    // MARK: Frames

    /// Calls `visit` with each whole frame, in order. The payload is valid during the call. `path` is the segment's.
    private func forEachFrame(
        found: (Finding) -> Void,
        _ visit: (FrameHeader, _ payload: UnsafeRawBufferPointer, _ path: String, _ isAfterDamage: Bool) throws -> Void
    ) throws {
        for (index, segment) in segments.enumerated() {
            let end = index + 1 < segments.count ? segments[index + 1].firstVersion : .max
            let path = store.files.segment(segment.number)
            do {
                let file = try SegmentFile(path, store.files.storage)
                if let seal = segment.seal { file.limit(to: seal.byteCount) }
                let header = try header(of: file, segment, found)
                try forEachFrame(of: file, header, before: end, found: found, visit)
            } catch let error as StorageError {
                // What may be there another time is not given up.
                if [.permissionDenied, .tooManyOpenFiles, .outOfMemory].contains(error.code) { throw ToolError(error) }
                // A disk that fails in one segment is no reason to give up the others.
                found(
                    Finding(
                        kind: .damage, file: path, offset: nil,
                        text: error.code == .notFound
                            ? "the manifest lists this segment, but it is missing" : "it can't be read: \(error)"))
            }
        }
    }

    /// The header of a segment, or one made from the manifest if it is damaged.
    private func header(
        of file: SegmentFile, _ segment: Manifest.Segment, _ found: (Finding) -> Void
    ) throws(StorageError) -> SegmentHeader {
        switch SegmentHeader.read(try file.bytes(at: 0, count: SegmentHeader.byteCount)) {
        case .header(let header)
        where header.storeHigh == store.manifest.storeHigh && header.segment == segment.number: return header
        case .header:
            found(
                Finding(
                    kind: .damage, file: file.path, offset: 0, text: "the segment's header is not that of this segment")
            )
        case .refused(let reason): found(Finding(kind: .damage, file: file.path, offset: 0, text: reason))
        }
        return SegmentHeader(
            segment: segment.number, storeHigh: store.manifest.storeHigh, storeLow: store.manifest.storeLow,
            epoch: segment.epoch, chain: 0, firstVersion: segment.firstVersion, mark: 0)
    }

    private func forEachFrame(
        of file: SegmentFile, _ header: SegmentHeader, before end: UInt64, found: (Finding) -> Void,
        _ visit: (FrameHeader, _ payload: UnsafeRawBufferPointer, _ path: String, _ isAfterDamage: Bool) throws -> Void
    ) throws {
        var offset = SegmentHeader.byteCount
        var damage: Int?
        var version: UInt64 = 0
        while true {
            try Interrupts.check()
            switch try file.itemBehind(at: offset, of: header) {
            case .end, .zeros: return
            case .bad(let reason, _):
                if damage == nil { found(Finding(kind: .damage, file: file.path, offset: offset, text: reason)) }
                damage = damage ?? offset
                guard let next = try file.nextCandidate(behind: offset) else { return }
                offset = next
            case .frame(let frame):
                offset = frame.end
                // What a crash left behind the end of the segment, or was rewritten in a later one.
                if frame.version >= end && frame.kind.isPart || frame.version < version { continue }
                if frame.kind.isPart && frame.version == 0 || frame.version > FormatNumbers.number { continue }
                version = frame.version
                try visit(frame, try file.payload(of: frame), file.path, damage != nil)
                damage = nil
            }
        }
    }

    // MARK: What was committed

    /// The last version that recovery would keep: the one before the first break.
    private func whole() throws -> UInt64 {
        do {
            return try LogWalk(store: store).run { _ in true }.lastVersion
        } catch let error as ToolError where error.status == .input {
            // The survey reports a file that can't be read.
            return 0
        }
    }

    /// - Parameter hasFrames: whether any frame of the last segment is whole.
    private func isLastSegmentLost(hasFrames: Bool) throws -> Bool {
        guard let segment = segments.last,
            let file = try? SegmentFile(store.files.segment(segment.number), store.files.storage)
        else { return true }
        guard case .header(let header) = SegmentHeader.read(try file.bytes(at: 0, count: SegmentHeader.byteCount))
        else { return !hasFrames }
        return header.storeHigh != store.manifest.storeHigh || header.segment != segment.number
    }

    private mutating func survey() throws {
        var last: FrameHeader?
        // What was committed: all that recovery by Firn would keep, and what any mark says was durable.
        var limit = try whole()
        for segment in segments { limit = max(limit, segment.firstVersion - 1, segment.seal?.lastVersion ?? 0) }
        var gaps: [ClosedRange<UInt64>] = []
        var commits = CommitReader()
        var schemas: [(version: UInt64, schema: DecodedSchema)] = []
        var found: [Finding] = []
        var end: (path: String, offset: Int) = ("", 0)
        let first = firstVersion
        let lastPath = segments.last.map { store.files.segment($0.number) }
        var hasLastFrames = false
        try forEachFrame(found: { found.append($0) }) { frame, payload, path, _ in
            if path == lastPath { hasLastFrames = true }
            if frame.mark <= FormatNumbers.number { limit = max(limit, frame.mark) }
            if frame.kind == .schema || frame.kind == .segmentSchema,
                try commits.salvage(frame, payload: payload, path: path, followsGap: false, { _ in }) == nil,
                let schema = commits.schema
            {
                schemas.append((frame.version, schema))
            }
            guard frame.kind.isPart else { return }
            let expected = last.map { $0.isLast ? $0.version + 1 : $0.version } ?? first
            let isNext =
                last.map { before in
                    before.isLast
                        ? frame.version == before.version + 1 && frame.part == 0
                        : frame.version == before.version && frame.part == before.part &+ 1
                } ?? (frame.version == first && frame.part == 0)
            let missing = frame.part == 0 ? frame.version - 1 : frame.version
            if !isNext, expected <= missing { gaps.append(expected...missing) }
            last = frame
            end = (path, frame.end)
        }
        isEndLost = try isLastSegmentLost(hasFrames: hasLastFrames)
        if let durable = store.page?.durable, durable <= FormatNumbers.number { limit = max(limit, durable) }
        if let published = store.limit { limit = min(limit, published) }
        let expected = last.map { $0.isLast ? $0.version + 1 : $0.version } ?? first
        if expected <= limit { gaps.append(expected...limit) }
        lastVersion = limit
        schema = schemas.last { $0.version <= limit }?.schema
        lost = gaps.filter { $0.lowerBound <= limit }
        // What lies behind the last commit is a torn tail, not damage, unless the log should go on.
        let isWhole = (lost.last?.upperBound ?? 0) < limit
        findings = found.filter { !(isWhole && $0.file == end.path && $0.offset ?? 0 >= end.offset) }
    }

    // MARK: Changes

    /// Calls `visit` with each block of the versions after `base`, as far as it can be read.
    ///
    /// - Parameter schema: the newest one, from wherever it is known.
    func forEachBlock(
        after base: UInt64, _ schema: DecodedSchema, found: (Finding, _ version: UInt64) -> Void,
        _ visit: (ChangeBlock, _ version: UInt64) throws -> Void
    ) throws {
        var commits = CommitReader(fixed: schema)
        var last: FrameHeader?
        try forEachFrame(found: { _ in }) { frame, payload, path, isAfterDamage in
            let isContinued = last.map { $0.version == frame.version && $0.part &+ 1 == frame.part } ?? false
            if frame.kind.isPart { last = frame }
            guard frame.kind != .mark, !frame.kind.isPart || frame.version <= lastVersion else { return }
            let isWanted = frame.kind.isPart && frame.version > base
            guard isWanted || frame.kind != .changes else { return }
            let finding = try commits.salvage(
                frame, payload: payload, path: path, followsGap: isAfterDamage || frame.part > 0 && !isContinued
            ) { block in
                if isWanted { try visit(block, frame.version) }
            }
            if let finding { found(finding, frame.version) }
        }
    }
}
