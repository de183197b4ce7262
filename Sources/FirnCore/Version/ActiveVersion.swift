import FirnLog

/// An active version, as `Store.activeVersions` lists it.
package struct ActiveVersion: Sendable {
    package let number: UInt64
    /// When it was committed, in nanoseconds since 1970.
    package let time: Int64
    /// How many pins hold it. The newest version is active without any.
    package let holders: Int
    /// Bytes of memory that would be freed if this version alone were released.
    package let retainedByteCount: Int
    /// The call sites that made its pins, as `file:line`, oldest first.
    package let pinnedAt: [String]
    /// Whether the memory that it needs is written out or is being written out, so that it counts against no limit.
    package let isSpilled: Bool
    /// Why it could not be written out, or cannot be now; nil if nothing is known to prevent it.
    let spillFailure: (any Error)?
}

/// What a transaction does if more is held than the limits allow.
package enum ActiveVersionPolicy: Sendable, Equatable {
    /// The transaction fails with an error that lists the holders.
    case fail
    /// The transaction waits up to this many seconds for a holder to release a version, then fails as with `fail`. It
    /// does not hold the write lock while it waits.
    case wait(seconds: Double)
    /// The transaction goes on. The oldest held versions no longer count. What they need is written to scratch files in
    /// the store's folder, and its memory is returned to the system. If that is not possible, the transaction fails as
    /// with `fail`.
    ///
    /// All nodes of such a store lie in scratch files from the beginning, so a store without files can't have this
    /// policy.
    case spill

    var waits: Bool { if case .wait = self { true } else { false } }

    /// How long to wait for a holder to release a version.
    var nanoseconds: Int64 {
        switch self {
        case .fail, .spill: 0
        // A century is as good as forever, and fits in the number. NaN waits for no time at all.
        case .wait(let seconds): seconds > 0 ? Int64(min(seconds, 3e9) * 1e9) : 0
        }
    }
}

/// How many versions and bytes may be held when a transaction begins.
struct VersionLimit: Sendable {
    private(set) var versionCount = Int.max
    private(set) var byteCount = Int.max
    private(set) var isSet = false

    /// No limit.
    init() {}

    /// - Parameters:
    ///   - hasFiles: whether the store has a folder, which `.spill` needs.
    ///   - isEncrypted: whether the store is encrypted. It then writes nothing to scratch files.
    init(
        versionCount: Int?, retainedByteCount: Int?, policy: ActiveVersionPolicy, hasFiles: Bool, isEncrypted: Bool
    ) throws(StoreError) {
        if let count = versionCount {
            guard count >= 1 else {
                throw StoreError(
                    .limit,
                    "maximumNumberOfActiveVersions is \(count), but the newest version is always active; set it to 1 or more, or nil for no limit"
                )
            }
            self.versionCount = count
        }
        if let count = retainedByteCount {
            guard count >= 0 else {
                throw StoreError(.limit, "maximumRetainedBytes is \(count); set it to 0 or more, or nil for no limit")
            }
            byteCount = count
        }
        if policy == .spill, !hasFiles {
            throw StoreError(
                .limit,
                "activeVersionPolicy is .spill, but a store in memory has no folder to write versions to; choose .fail or .wait, or give the store a folder"
            )
        }
        if policy == .spill, isEncrypted {
            throw StoreError(
                .unsupported,
                "activeVersionPolicy is .spill, but an encrypted store writes no version out of memory, where it would be readable; choose .fail or .wait"
            )
        }
        isSet = self.versionCount < .max || byteCount < .max
    }
}

/// What is held beyond a limit, and who holds it.
struct VersionExcess: Sendable {
    let limit: VersionLimit
    let count: Int
    let retainedByteCount: Int
    let versions: [ActiveVersion]
    /// The other processes that hold anything.
    let others: [OtherProcess]

    /// How many versions, and how many call sites of one version, the error lists, so that its text stays readable.
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
        text += ". Release what holds old versions (frozen objects, observers, realms that were not refreshed), "
        text += "or raise the limit. The active versions are:"
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
            if process.writesOut, policy != .fail { text += "; it did not write them out, although it was asked to" }
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
        var callSites: [(name: String, count: Int)] = []
        for name in version.pinnedAt {
            if let known = callSites.firstIndex(where: { $0.name == name }) {
                callSites[known].count += 1
            } else {
                callSites.append((name, 1))
            }
        }
        let listed = callSites.prefix(Self.listedCount).map {
            $0.count == 1 ? $0.name : "\($0.name) (\($0.count) times)"
        }
        text += "held at " + listed.joined(separator: ", ")
        if callSites.count > Self.listedCount { text += " and \(callSites.count - Self.listedCount) more call sites" }
        return text
    }
}
