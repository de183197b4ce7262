package import FirnCore
import FirnStorage
import Foundation

/// Watches one store: logs what somebody should know, and passes measurements on.
///
/// Called by the threads that open, write and compact the store, under no lock.
package final class StoreMonitor: Sendable {
    /// The store's path, or for a store in memory a text with its identifier.
    package let name: String
    /// The held versions that were found and logged. Guarded by itself.
    private let held = Guarded(.innermost, Held())
    private let meter: (any StoreMeter)?

    private struct Held {
        /// When held versions were last checked, in nanoseconds of the monotonic clock.
        var lookedAt: Int64 = 0
        /// The times since which older versions have been held, by the versions' numbers.
        var since: [UInt64: Int64] = [:]
        /// The held versions that were logged.
        var logged: Set<UInt64> = []
    }

    init(_ name: SharedStore.Name) {
        switch name {
        case .path(let path): self.name = path
        case .memory(let identifier): self.name = "the realm \"\(identifier)\" in memory"
        }
        meter = Self.makeMeter.withLock { $0 }?(self.name)
    }

    /// A transaction of this many nanoseconds or more is slow.
    static var slowTransaction: Int64 { 1_000_000_000 }
    /// A version that is held for this many nanoseconds or more is held for long.
    static var longHold: Int64 { 60_000_000_000 }
    /// Nanoseconds between two checks of held versions.
    static var lookInterval: Int64 { 10_000_000_000 }

    /// Makes the meter of the store with a name. It is used for stores that are opened from now on; nil if nothing
    /// measures them.
    package static var makeMeter: GlobalGuarded<(@Sendable (String) -> any StoreMeter)?> {
        GlobalGuarded(.meter) { nil }
    }

    // MARK: Opening

    /// - Parameter nanoseconds: how long opening took.
    func opened(_ report: RecoveryReport?, nanoseconds: Int64) {
        guard let report else { return }
        let recovery = Realm.Recovery(report)
        let isNotable =
            if case .tornTail = recovery.outcome { true } else {
                recovery.rewrittenCommits > 0 || report.missingFromLog != nil
            }
        RealmLogger.shared.log(
            isNotable ? .warn : .detail, "\(name) was opened in \(seconds(nanoseconds)). \(recovery.description)")
    }

    func found(emptyClass className: String) {
        RealmLogger.shared.log(
            .warn,
            "\(name): the class \(className) has no @Persisted property, so its objects store nothing. Declare its properties with @Persisted, or leave it out of objectTypes."
        )
    }

    func migrated(from old: UInt64, to new: UInt64, nanoseconds: Int64) {
        RealmLogger.shared.log(
            .info,
            "\(name) was migrated from schema version \(old) to \(new) in \(seconds(nanoseconds)).")
    }

    // MARK: Compacting

    func happened(_ event: StoreEvent) {
        switch event {
        case .compacted(let report, let nanoseconds):
            meter?.compacted(report, nanoseconds: nanoseconds)
            RealmLogger.shared.log(
                .detail,
                "\(name) was compacted in \(seconds(nanoseconds)): a checkpoint of version \(report.version) was written, \(report.byteCount) bytes\(report.isWhole ? "" : " of what had changed")."
            )
        case .compactionFailed(let error):
            RealmLogger.shared.log(
                .error,
                "\(name) could not be compacted: \(error). It is tried again after the next commits; until then the log grows."
            )
        case .clockChanged(.forward(let nanoseconds)):
            RealmLogger.shared.log(
                .warn,
                "\(name): the system's clock was set forward by \(nanoseconds / 1_000_000_000) s. New versions are dated by it. How long the past is retained does not change: that is counted by the time that passes."
            )
        case .clockChanged(.behind(let nanoseconds)):
            RealmLogger.shared.log(
                .warn,
                "\(name): the system's clock is \(nanoseconds / 1_000_000_000) s behind the date of the newest version: it was ahead before, or is wrong now. Dates of versions never go back, so new versions are dated after that one until the clock has caught up. How long the past is retained does not change: that is counted by the time that passes. Check the system's clock."
            )
        }
    }

    // MARK: Writing

    /// Called when a transaction has been committed and its realm shows it. Its write lock is free again, because the
    /// logger's function may write.
    ///
    /// - Parameters:
    ///   - began: when the transaction got the write lock.
    ///   - now: when its commit began. Both are nanoseconds of the monotonic clock.
    func commits(to store: Store, began: Int64, now: Int64, at site: CallSite?) {
        if now - began >= Self.slowTransaction {
            let place = site.map { ", begun at \($0)," } ?? ""
            RealmLogger.shared.log(
                .warn,
                "\(name): a write transaction\(place) took \(seconds(now - began)). Other writers, of all processes, waited meanwhile: do what takes long before it."
            )
        }
        let isDue = held.withLock { held in
            guard now - held.lookedAt >= Self.lookInterval else { return false }
            held.lookedAt = now
            return true
        }
        if isDue { look(at: store, now: now) }
    }

    /// Called when a transaction was undone because its realm is gone, or because its thread has ended.
    func lostTransaction(begunAt site: CallSite) {
        RealmLogger.shared.log(
            .warn,
            "\(name): the write transaction begun at \(site) was neither committed nor cancelled, and nothing keeps its realm any more, or its thread has ended. Its changes were undone. Keep the Realm in a variable until commitWrite()."
        )
    }

    /// Called after a commit was published that began to be written at `start`, a time of the monotonic clock.
    func published(since start: Int64) {
        guard let meter else { return }
        meter.committed(nanoseconds: SystemClock.shared.monotonic() - start)
    }

    /// Logs the versions that have been held for long, each once. O(holders).
    ///
    /// A version's age does not show how long it has been held. The newest version may be read for a moment, just when
    /// the next one is committed. So the time is counted from when a version, no longer the newest, was first found to
    /// be held.
    func look(at store: Store, now: Int64) {
        let versions = store.activeVersions
        meter?.measured(
            activeVersions: versions.count, retainedByteCount: store.heldByteCount,
            storedByteCount: store.fileByteCount)
        let old = versions.dropLast().filter { $0.holders > 0 }
        let new = held.withLock { held in
            held.since = Dictionary(uniqueKeysWithValues: old.map { ($0.number, held.since[$0.number] ?? now) })
            held.logged.formIntersection(held.since.keys)
            return old.compactMap { version -> (ActiveVersion, seconds: Int64)? in
                guard let since = held.since[version.number], now - since >= Self.longHold else { return nil }
                guard held.logged.insert(version.number).inserted else { return nil }
                return (version, (now - since) / 1_000_000_000)
            }
        }
        for (version, seconds) in new {
            RealmLogger.shared.log(
                .warn,
                "\(name): version \(version.number) has been held for \(seconds) s or more, and alone retains \(version.retainedByteCount) bytes of memory. It is held by \(version.pinnedAt.joined(separator: ", ")). Release what was frozen there, or refresh the realm."
            )
        }
    }

    private func seconds(_ nanoseconds: Int64) -> String {
        String(format: nanoseconds < 100_000_000 ? "%.4f s" : "%.2f s", Double(nanoseconds) / 1e9)
    }
}

/// Measures one store. Called on any thread, under no lock.
package protocol StoreMeter: Sendable {
    /// A commit became durable and was published, so many nanoseconds after it began to be written.
    func committed(nanoseconds: Int64)
    /// What the store holds: at most once in ten seconds, and after a commit.
    func measured(activeVersions: Int, retainedByteCount: Int, storedByteCount: Int)
    /// A checkpoint was written.
    func compacted(_ report: CompactionReport, nanoseconds: Int64)
}
