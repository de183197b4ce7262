import FirnLog

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
    /// Whether it counts against no limit, as what it needs is written out, or is being written.
    public let isSpilled: Bool
    /// Why it could not be written out; nil where that was not tried.
    let spillFailure: (any Error)?
}

/// What a transaction does that is refused because more is held than the limit allows.
public enum ActiveVersionPolicy: Sendable, Equatable {
    /// It fails with an error that lists the holders.
    case fail
    /// It waits this many seconds for a holder to let go, then fails so. It doesn't have the write lock meanwhile.
    case wait(seconds: Double)
    /// It goes on: the oldest held versions count no more, and what they need is written to scratch files in the store's folder and its memory given back. Where that is not possible it fails as
    /// with `fail`.
    ///
    /// All nodes of such a store lie in scratch files from the beginning, so one without files can't have it.
    case spill

    var waits: Bool { if case .wait = self { true } else { false } }

    /// How long to wait.
    var nanoseconds: Int64 {
        switch self {
        case .fail, .spill: 0
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
        if options.activeVersionPolicy == .spill, options.log == nil {
            throw StoreError(
                .limit,
                "activeVersionPolicy is .spill, but a store in memory has no folder to write versions to; choose .fail or .wait, or give the store a folder"
            )
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
    /// Those that hold anything.
    let others: [OtherProcess]

    /// Versions and places of one version that are written out, so that the text stays readable.
    static let listedCount = 32

    func error(policy: ActiveVersionPolicy, now: Int64) -> StoreError {
        var faults: [String] = []
        let held = HeldByOthers(others)
        let inAll = others.isEmpty ? "" : " in all processes"
        if count + held.versionCount > limit.versionCount {
            faults.append(
                "\(count + held.versionCount) versions are active\(inAll), more than maximumNumberOfActiveVersions (\(limit.versionCount))"
            )
        }
        if retainedByteCount + held.byteCount > limit.byteCount {
            faults.append(
                "held versions retain \(retainedByteCount + held.byteCount) bytes of memory\(inAll), more than maximumRetainedBytes (\(limit.byteCount))"
            )
        }
        var text = "no write can begin: " + faults.joined(separator: ", and ")
        switch policy {
        case .fail: break
        case .wait(let seconds): text += ", and that did not change for \(seconds) s"
        case .spill: text += ", and nothing more can be written out"
        }
        text += ". Let go of what holds old versions (frozen objects, observers, realms that were not refreshed), "
        text += "or raise the limit. Active are:"
        for version in versions.prefix(Self.listedCount) { text += "\n- " + line(version, now) }
        if versions.count > Self.listedCount {
            text += "\n- and \(versions.count - Self.listedCount) newer ones; activeVersions lists them all"
        }
        for process in others {
            let count = process.heldVersionCount
            text +=
                "\n- process \(process.processID) holds \(count) version\(count == 1 ? "" : "s") besides its newest, "
            text += "the oldest \(process.oldestVersion)"
            if limit.byteCount < .max { text += ", and retains \(process.retainedByteCount) bytes" }
        }
        return StoreError(.tooManyActiveVersions, text)
    }

    private func line(_ version: ActiveVersion, _ now: Int64) -> String {
        let tenths = max(0, now - version.time) / 100_000_000
        var text = "version \(version.number), \(tenths / 10).\(tenths % 10) s old, "
        text += "alone retains \(version.retainedByteCount) bytes, "
        if version.isSpilled { text += "is written out and does not count, " }
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
