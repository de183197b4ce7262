import FirnLog

/// A version that a commit made.
package struct CommittedVersion: Sendable {
    package let number: UInt64
    /// Nanoseconds since 1970.
    package let time: Int64
    /// A pin on exactly this version, if the caller of the commit asked for one; later versions may have been
    /// published together with it. The pin is listed nowhere and counts against no limit.
    package var pin: Pin?
}

/// The store that a transaction writes to. The transaction keeps a reference to it, and holds its write lock.
protocol TransactionOwner: AnyObject, Sendable {
    /// Releases the write lock.
    func endTransaction(wakesFollower: Bool)
    /// See `WriteTransaction.commit`.
    func commit(_ transaction: WriteTransaction, pins: Bool) throws(StoreError) -> CommittedVersion
    /// See `WriteTransaction.commitWithoutWaiting`.
    func commitWithoutWaiting(_ transaction: WriteTransaction, pins: Bool) throws(StoreError) -> CommittedVersion
}

extension WriteTransaction {
    /// Commits, and returns when the version is durable (as defined by the store's durability) and published.
    ///
    /// Throws if the version could not be written. Then it never existed, unless the error says that the outcome is
    /// unknown.
    ///
    /// - Parameter pins: whether the result holds a pin on the version.
    @discardableResult
    package func commit(pins: Bool = false) throws(StoreError) -> CommittedVersion {
        try owner.commit(self, pins: pins)
    }

    /// Writes the commit to the log, and does not wait until it is durable. The write lock is released and the version
    /// is the tip. But nobody sees it before `Store.waitUntilPublished` or `whenPublished` reports that it is durable.
    package func commitWithoutWaiting(pins: Bool = false) throws(StoreError) -> CommittedVersion {
        try owner.commitWithoutWaiting(self, pins: pins)
    }
}
