/// Which past versions of a store stay openable.
public enum HistoryRetention: Sendable, Hashable {
    /// The newest version alone.
    case none
    /// This many of the newest versions, the newest included.
    case versions(Int)
    /// Every version that was the newest at some moment of this time up to now: whatever moment of it is asked for, its version is there.
    case age(nanoseconds: Int64)
    /// All.
    case everything
}

/// What several retentions keep together, in one word, as it lies in the manifest and in slots of the shared page: the greatest number of versions that one of them keeps in bits 32 ..< 64 (all ones: every
/// version), the greatest age in seconds, rounded up, in bits 0 ..< 32. What keeps more than one of them keeps what all of them keep. 0 is nothing.
struct RetentionWord: Equatable {
    private(set) var raw: UInt64

    init(raw: UInt64 = 0) { self.raw = raw }

    init(_ retentions: [HistoryRetention]) {
        raw = 0
        for retention in retentions {
            switch retention {
            case .none: break
            case .versions(let count): form(versions: UInt64(min(max(count, 1), Int(UInt32.max) - 1)), seconds: 0)
            case .age(let nanoseconds):
                let seconds = max(nanoseconds, 1) / 1_000_000_000 + (nanoseconds % 1_000_000_000 > 0 ? 1 : 0)
                // Longer than 136 years is for ever.
                let isForever = seconds > Int64(UInt32.max)
                form(versions: isForever ? UInt64(UInt32.max) : 0, seconds: isForever ? 0 : UInt64(seconds))
            case .everything: form(versions: UInt64(UInt32.max), seconds: 0)
            }
        }
    }

    private mutating func form(versions: UInt64, seconds: UInt64) {
        raw = max(raw >> 32, versions) << 32 | max(raw & 0xFFFF_FFFF, seconds)
    }

    var retentions: [HistoryRetention] {
        var result: [HistoryRetention] = []
        let (versions, seconds) = (raw >> 32, raw & 0xFFFF_FFFF)
        if versions == UInt64(UInt32.max) {
            result.append(.everything)
        } else if versions > 0 {
            result.append(.versions(Int(versions)))
        }
        if seconds > 0 { result.append(.age(nanoseconds: Int64(seconds) * 1_000_000_000)) }
        return result
    }
}

/// From which version on a store's past is kept.
public enum RetentionRule {
    /// What the rule must know of a segment.
    public struct Segment: Sendable, Equatable {
        public var firstVersion: UInt64
        /// `firstVersion - 1` where it holds no commit.
        public var lastVersion: UInt64
        public var byteCount: Int
        /// The time of its last frame, in nanoseconds since 1970, or a later one that the next segment's first frame bears: then more is kept, never less.
        public var lastTime: Int64

        public init(firstVersion: UInt64, lastVersion: UInt64, byteCount: Int, lastTime: Int64) {
            self.firstVersion = firstVersion
            self.lastVersion = lastVersion
            self.byteCount = byteCount
            self.lastTime = lastTime
        }
    }

    /// The first version that must stay openable, by what is known of whole segments, oldest first: exact but for `.age`, which may keep up to a segment more.
    /// Segments whose last version is at most this one are not needed, if the version itself can be had without them (from a checkpoint).
    ///
    /// - Parameter now: nanoseconds since 1970, not before the last frame's time.
    public static func oldestNeeded(_ retention: HistoryRetention, now: Int64, segments: [Segment]) -> UInt64 {
        guard let first = segments.first, let last = segments.last else { return 0 }
        return oldestNeeded(
            retention, now: now, oldest: max(first.firstVersion, 1) - 1, newest: last.lastVersion
        ) { moment in segments.last { $0.lastTime <= moment }?.lastVersion }
    }

    /// The first version that must stay openable of the versions `oldest ... newest`.
    ///
    /// - Parameter versionAt: the newest version whose time is not after a moment; nil where there is none. Called for `.age` only.
    public static func oldestNeeded<Failure: Error>(
        _ retention: HistoryRetention, now: Int64, oldest: UInt64, newest: UInt64,
        versionAt: (Int64) throws(Failure) -> UInt64?
    ) throws(Failure) -> UInt64 {
        switch retention {
        case .none: return newest
        case .versions(let count): return newest - min(newest - oldest, UInt64(max(count, 1)) - 1)
        case .age(let nanoseconds):
            let (moment, isBeforeTime) = now.subtractingReportingOverflow(max(nanoseconds, 0))
            if isBeforeTime { return oldest }
            return min(newest, max(oldest, try versionAt(moment) ?? oldest))
        case .everything: return oldest
        }
    }
}
