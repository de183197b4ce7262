import FirnCore
public import Foundation

extension Realm {
    /// A version that something in this process holds, or the newest one: an element of `Realm.activeVersions`.
    public struct ActiveVersion: Sendable {
        /// The number of the version.
        public let number: UInt64
        /// When it was committed.
        public let date: Date
        /// How many realms, frozen realms, observers, iterations and transactions hold it. Everything of one version
        /// that is frozen by realms with the same classes counts as one holder. The newest version is active even
        /// without holders.
        public let holders: Int
        /// Bytes of memory that releasing this version alone would free. Two old versions that share what later ones
        /// replaced retain it together, and neither of them alone.
        public let retainedBytes: Int
        /// The call into Firn by which each holder took hold of the version, as `#fileID:line`; the oldest first. For a
        /// realm it is the call that last refreshed it or wrote, or else opened it. For an observer it is the call of
        /// `observe`. For anything frozen it is the call by which the version was first frozen.
        public let pinnedAt: [String]
        /// Whether the version counts against no limit, because the memory that it needs is written out, or is being
        /// written: see `Configuration.ActiveVersionPolicy.spill`. What it retains is then in memory only as far as it
        /// has been read since.
        public let isSpilled: Bool
    }

    /// Every version that something in this process holds, observers included, and the newest; the oldest first.
    ///
    /// ```swift
    /// for version in realm.activeVersions where version.holders > 0 {
    ///     print(version.number, version.date, version.retainedBytes, version.pinnedAt)
    /// }
    /// ```
    ///
    /// When a store is opened, there is one. A commit of `asyncWrite` is among them before it is durable, while
    /// `asOf(version:)` refuses it. Cost: O(holders), and readers are blocked meanwhile, so it is for diagnosis, not
    /// for each frame of an animation. May be called on any thread.
    public var activeVersions: [ActiveVersion] {
        if instance.isForked { instance.stopInForkedChild() }
        return instance.store.activeVersions.map { version in
            ActiveVersion(
                number: version.number, date: Date(nanoseconds: version.time),
                holders: version.holders, retainedBytes: version.retainedByteCount, pinnedAt: version.pinnedAt,
                isSpilled: version.isSpilled)
        }
    }
}
