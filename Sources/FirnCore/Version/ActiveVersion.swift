/// A version that something holds, as `Store.activeVersions` shows it.
public struct ActiveVersion: Sendable {
    public let number: UInt64
    /// When it was committed, in nanoseconds since 1970.
    public let time: Int64
    /// Pins on it. The newest version is active without any.
    public let holders: Int
    /// Bytes of memory that would be free if this version alone were let go.
    public let retainedByteCount: Int
    /// Where its pins were made, as `file:line`, the oldest first.
    public let pinnedAt: [String]
    /// Why it could not be written out to free its memory; nil where that was not tried.
    let spillFailure: (any Error)?
}

/// What a transaction does that is refused because more is held than the limit allows.
///
/// A case `spill`, by which the oldest held version is written out and counts no more, belongs here once `Store.spillOldestHolder` is there to do it.
public enum ActiveVersionPolicy: Sendable, Equatable {
    /// It fails with an error that lists the holders.
    case fail
    /// It waits this many seconds for a holder to let go, then fails so. It doesn't have the write lock meanwhile.
    case wait(seconds: Double)

    /// How long to wait.
    var nanoseconds: Int64 {
        switch self {
        case .fail: 0
        // A century is as good as for ever, and fits; what is no number waits for nothing.
        case .wait(let seconds): seconds > 0 ? Int64(min(seconds, 3e9) * 1e9) : 0
        }
    }
}

/// How much may be held while a transaction begins.
struct VersionLimit: Sendable {
    private(set) var versionCount = Int.max
    private(set) var byteCount = Int.max
    private(set) var isSet = false

    init(_ options: StoreOptions) throws(StoreError) {
        if let count = options.maximumNumberOfActiveVersions {
            guard count >= 1 else {
                throw StoreError(
                    .limit,
                    "maximumNumberOfActiveVersions is \(count), but the newest version is always active; set it to 1 or more, or nil for no limit"
                )
            }
            versionCount = count
        }
        if let count = options.maximumRetainedByteCount {
            guard count >= 0 else {
                throw StoreError(.limit, "maximumRetainedBytes is \(count); set it to 0 or more, or nil for no limit")
            }
            byteCount = count
        }
        isSet = versionCount < .max || byteCount < .max
    }
}

/// That more is held than the limit allows, and by whom.
struct VersionExcess: Sendable {
    let limit: VersionLimit
    let count: Int
    let retainedByteCount: Int
    let versions: [ActiveVersion]

    /// Versions and places of one version that are written out, so that the text stays readable.
    static let listedCount = 32

    func error(policy: ActiveVersionPolicy, now: Int64) -> StoreError {
        var faults: [String] = []
        if count > limit.versionCount {
            faults.append(
                "\(count) versions are active, more than maximumNumberOfActiveVersions (\(limit.versionCount))")
        }
        if retainedByteCount > limit.byteCount {
            faults.append(
                "held versions retain \(retainedByteCount) bytes of memory, more than maximumRetainedBytes (\(limit.byteCount))"
            )
        }
        var text = "no write can begin: " + faults.joined(separator: ", and ")
        if case .wait(let seconds) = policy { text += ", and that did not change for \(seconds) s" }
        text += ". Let go of what holds old versions (frozen objects, observers, realms that were not refreshed), "
        text += "or raise the limit. Active are:"
        for version in versions.prefix(Self.listedCount) { text += "\n- " + line(version, now) }
        if versions.count > Self.listedCount {
            text += "\n- and \(versions.count - Self.listedCount) newer ones; activeVersions lists them all"
        }
        return StoreError(.tooManyActiveVersions, text)
    }

    private func line(_ version: ActiveVersion, _ now: Int64) -> String {
        let tenths = max(0, now - version.time) / 100_000_000
        var text = "version \(version.number), \(tenths / 10).\(tenths % 10) s old, "
        text += "alone retains \(version.retainedByteCount) bytes, "
        if let failure = version.spillFailure { text += "could not be written out (\(failure)), " }
        guard !version.pinnedAt.isEmpty else { return text + "the newest, held by nothing" }
        var places: [(name: String, count: Int)] = []
        for name in version.pinnedAt {
            if let known = places.firstIndex(where: { $0.name == name }) {
                places[known].count += 1
            } else {
                places.append((name, 1))
            }
        }
        let listed = places.prefix(Self.listedCount).map { $0.count == 1 ? $0.name : "\($0.name) (\($0.count) times)" }
        text += "held at " + listed.joined(separator: ", ")
        if places.count > Self.listedCount { text += " and \(places.count - Self.listedCount) more places" }
        return text
    }
}
