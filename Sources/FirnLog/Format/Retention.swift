import FirnStorage

/// Which past versions of a store stay openable.
package enum HistoryRetention: Sendable, Hashable {
    /// The newest version alone.
    case none
    /// This many of the newest versions, the newest included.
    case versions(Int)
    /// Every version that was the newest one at some moment within this time before now. So the version of any such
    /// moment can be opened. The time is counted as it passes, whatever the system's clock is set to.
    case age(nanoseconds: Int64)
    /// Every version.
    case everything
}

/// The union of several retentions, as one word in the manifest and in the slots of the shared page. Bits 32 ..< 64
/// hold the greatest number of versions that one of them keeps (all ones: every version). Bits 0 ..< 32 hold the
/// greatest age in seconds, rounded up. The word keeps every version that any of the retentions keeps. 0 keeps nothing.
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
                // More than 136 years counts as forever.
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

/// The rule for which of a store's past versions are kept.
package enum RetentionRule {
    /// What the rule needs to know about a segment.
    package struct Segment: Sendable, Equatable {
        package var firstVersion: UInt64
        /// `firstVersion - 1` if it holds no commit.
        package var lastVersion: UInt64
        package var byteCount: Int
        /// The time of its last frame, or the later time of the next segment's first frame. The later time keeps more,
        /// never less.
        package var lastTime: Int64

        package init(firstVersion: UInt64, lastVersion: UInt64, byteCount: Int, lastTime: Int64) {
            self.firstVersion = firstVersion
            self.lastVersion = lastVersion
            self.byteCount = byteCount
            self.lastTime = lastTime
        }
    }

    /// The first version that must stay openable, found from whole segments. It is exact except for `.age`, which may
    /// keep up to one segment more. A segment whose last version is at most this version is not needed, if this version
    /// can be opened without it (from a checkpoint).
    ///
    /// - Parameters:
    ///   - segments: the store's segments, oldest first.
    ///   - timeOfAge: see the other method.
    package static func oldestNeeded(
        _ retention: HistoryRetention, segments: [Segment], timeOfAge: (Int64) -> Int64?
    ) -> UInt64 {
        guard let first = segments.first, let last = segments.last else { return 0 }
        return oldestNeeded(
            retention, oldest: max(first.firstVersion, 1) - 1, newest: last.lastVersion, timeOfAge: timeOfAge
        ) { time in segments.last { $0.lastTime <= time }?.lastVersion }
    }

    /// The first of the versions `oldest ... newest` that must stay openable.
    ///
    /// - Parameters:
    ///   - timeOfAge: returns, for an age in nanoseconds, the greatest time of a frame that is known to be at least
    ///     that old. Returns nil if nothing is known. Called for `.age` only.
    ///   - versionAt: returns the newest version whose frames have at most this time; nil if there is none. Called for
    ///     `.age` only.
    package static func oldestNeeded<Failure: Error>(
        _ retention: HistoryRetention, oldest: UInt64, newest: UInt64, timeOfAge: (Int64) -> Int64?,
        versionAt: (Int64) throws(Failure) -> UInt64?
    ) throws(Failure) -> UInt64 {
        switch retention {
        case .none: return newest
        case .versions(let count): return newest - min(newest - oldest, UInt64(max(count, 1)) - 1)
        case .age(let nanoseconds):
            guard let time = timeOfAge(max(nanoseconds, 0)) else { return oldest }
            return min(newest, max(oldest, try versionAt(time) ?? oldest))
        case .everything: return oldest
        }
    }
}
