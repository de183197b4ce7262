import FirnCore
public import Foundation

extension Realm {
    /// A version that something in this process holds, or the newest.
    public struct ActiveVersion: Sendable {
        public let number: UInt64
        /// When it was committed.
        public let date: Date
        /// How many realms, frozen realms, observers, iterations and transactions hold it. All that is frozen of a version by realms of the same classes is
        /// one holder. The newest version is active without any.
        public let holders: Int
        /// Bytes of memory that letting this version alone go would free. Two old versions that share what later ones replaced retain it together, and
        /// neither of them alone.
        public let retainedBytes: Int
        /// Where each holder took hold of it, as `#fileID:line` of the call into Firn; the oldest first. Of a realm it is where the realm was last refreshed or
        /// written, or else opened; of an observer where `observe` was called; of what is frozen where the version was first frozen.
        public let pinnedAt: [String]
        /// Whether it counts against no limit, as what it needs is written out, or is being written: see `Configuration.ActiveVersionPolicy.spill`. What it retains is then
        /// memory only as far as it has been read since.
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
    /// Opening a store begins with one. Costs O(holders), and blocks readers meanwhile: it is for looking, not for each frame. May be called anywhere.
    public var activeVersions: [ActiveVersion] {
        instance.store.activeVersions.map { version in
            ActiveVersion(
                number: version.number, date: Date(nanoseconds: version.time),
                holders: version.holders, retainedBytes: version.retainedByteCount, pinnedAt: version.pinnedAt,
                isSpilled: version.isSpilled)
        }
    }
}
