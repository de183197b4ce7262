import FirnBytes

/// What is left of a log: the blocks of all versions that were committed, as far as they can be read.
struct DamagedLog {
    /// What a walk over the blocks could not read.
    struct Unreadable {
        private(set) var findings = Findings()
        private(set) var versions = VersionRanges()

        fileprivate mutating func add(_ finding: Finding, in version: UInt64) {
            findings.add(finding)
            versions.add(version...version)
        }
    }

    private let frames: LogFrames
    /// The last version that was committed. What follows was never acknowledged, and is not recovered.
    let lastVersion: UInt64
    /// The first version that the log should hold.
    var firstVersion: UInt64 { frames.firstVersion }
    /// The newest schema in the log.
    let schema: DecodedSchema?
    /// Versions that are missing, or lack a part.
    let lost: [ClosedRange<UInt64>]
    let findings: [Finding]
    /// Whether the last segment is missing, or another file has its name, so that nobody knows how far the log went.
    let isEndLost: Bool

    /// Reads the complete log once.
    init(_ store: OpenedStore) throws {
        frames = try LogFrames(store)
        // A version counts as committed if Firn's recovery would keep it, or if any mark says that it was durable.
        var survey = LogSurvey(frames, limit: try Self.whole(frames.store))
        let found = try frames.forEachFrame { frame in try survey.add(frame) }
        isEndLost = try frames.isLastSegmentLost(hasFrames: survey.hasLastFrames)
        var limit = survey.limit
        if let durable = store.page?.durable, durable <= FormatNumbers.number { limit = max(limit, durable) }
        if let published = store.limit { limit = min(limit, published) }
        if survey.expected <= limit { survey.gaps.append(survey.expected...limit) }
        lastVersion = limit
        schema = survey.schemas.last { $0.version <= limit }?.schema
        lost = survey.gaps.filter { $0.lowerBound <= limit }
        // What lies behind the last commit is a torn tail, not damage, unless the log should go on.
        let (isWhole, end) = ((lost.last?.upperBound ?? 0) < limit, survey.end)
        findings = found.filter { !(isWhole && $0.file == end.path && $0.offset ?? 0 >= end.offset) }
    }

    /// The last version that recovery would keep: the one before the first break.
    private static func whole(_ store: OpenedStore) throws -> UInt64 {
        do {
            return try LogWalk(store: store).run { _ in true }.lastVersion
        } catch let error as ToolError where error.status == .input {
            // The survey reports a file that can't be read.
            return 0
        }
    }

    /// Whether the log has everything that was committed after a version.
    func continues(_ version: UInt64) -> Bool {
        firstVersion <= version + 1 && lost.allSatisfy { $0.upperBound <= version }
    }

    /// Calls `visit` with each block of the versions after `base`, as far as it can be read. Returns what can't be
    /// read.
    ///
    /// - Parameter schema: the newest schema that is known, from the log or elsewhere.
    func forEachBlock(
        after base: UInt64, _ schema: DecodedSchema, _ visit: (ChangeBlock, _ version: UInt64) throws -> Void
    ) throws -> Unreadable {
        var unreadable = Unreadable()
        var commits = CommitReader(fixed: schema)
        var last: FrameHeader?
        // What is wrong with the segments is in `findings` already.
        try frames.forEachFrame { item in
            let frame = item.header
            let isContinued = last.map { $0.version == frame.version && $0.part &+ 1 == frame.part } ?? false
            if frame.kind.isPart { last = frame }
            guard frame.kind != .mark, !frame.kind.isPart || frame.version <= lastVersion else { return }
            let isWanted = frame.kind.isPart && frame.version > base
            guard isWanted || frame.kind != .changes else { return }
            let finding = try commits.salvage(
                frame, payload: item.payload, path: item.path,
                followsGap: item.followsDamage || frame.part > 0 && !isContinued
            ) { block in
                if isWanted { try visit(block, frame.version) }
            }
            if let finding { unreadable.add(finding, in: frame.version) }
        }
        return unreadable
    }
}

/// What one reading of all frames says about a log.
private struct LogSurvey {
    private let firstVersion: UInt64
    private let lastPath: String?
    private var commits = CommitReader()
    private var last: FrameHeader?
    /// The highest version that is known to be committed.
    private(set) var limit: UInt64
    /// Versions that are missing, or lack a part.
    var gaps: [ClosedRange<UInt64>] = []
    private(set) var schemas: [(version: UInt64, schema: DecodedSchema)] = []
    /// Where the last part ends.
    private(set) var end: (path: String, offset: Int) = ("", 0)
    /// Whether any frame of the last segment is whole.
    private(set) var hasLastFrames = false

    init(_ frames: LogFrames, limit: UInt64) {
        self.limit = limit
        firstVersion = frames.firstVersion
        lastPath = frames.segments.last.map { frames.store.files.segment($0.number) }
        for segment in frames.segments {
            self.limit = max(self.limit, segment.firstVersion - 1, segment.seal?.lastVersion ?? 0)
        }
    }

    /// The version of the part that comes next.
    var expected: UInt64 { last.map { $0.isLast ? $0.version + 1 : $0.version } ?? firstVersion }

    mutating func add(_ item: LogFrames.Frame) throws {
        let frame = item.header
        if item.path == lastPath { hasLastFrames = true }
        if frame.mark <= FormatNumbers.number { limit = max(limit, frame.mark) }
        if frame.kind == .schema || frame.kind == .segmentSchema,
            try commits.salvage(frame, payload: item.payload, path: item.path, followsGap: false, { _ in }) == nil,
            let schema = commits.schema
        {
            schemas.append((frame.version, schema))
        }
        guard frame.kind.isPart else { return }
        let isNext =
            last.map { before in
                before.isLast
                    ? frame.version == before.version + 1 && frame.part == 0
                    : frame.version == before.version && frame.part == before.part &+ 1
            } ?? (frame.version == firstVersion && frame.part == 0)
        let missing = frame.part == 0 ? frame.version - 1 : frame.version
        if !isNext, expected <= missing { gaps.append(expected...missing) }
        last = frame
        end = (item.path, frame.end)
    }
}
