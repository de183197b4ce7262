/// The locks of one lock file in memory: which handle holds which byte, and whether exclusively.
///
/// It behaves like the kernel's locks of open file descriptions. If a handle locks a byte that it already holds, the
/// kind of its lock changes. If that fails, the handle keeps the lock that it had.
package struct LockTable {
    package typealias Owner = Int

    private struct Holders {
        var exclusive: Owner?
        var shared: Set<Owner> = []
    }

    private var bytes: [Int: Holders] = [:]

    package init() {}

    /// Whether another owner has a lock on the byte that excludes this one.
    package func isLocked(_ byte: Int, exclusive: Bool, against owner: Owner) -> Bool {
        guard let holders = bytes[byte] else { return false }
        if let other = holders.exclusive, other != owner { return true }
        return exclusive && !holders.shared.allSatisfy { $0 == owner }
    }

    package mutating func tryLock(_ byte: Int, exclusive: Bool, by owner: Owner) -> Bool {
        if isLocked(byte, exclusive: exclusive, against: owner) { return false }
        var holders = bytes[byte] ?? Holders()
        if exclusive {
            holders = Holders(exclusive: owner)
        } else {
            holders.exclusive = nil
            holders.shared.insert(owner)
        }
        bytes[byte] = holders
        return true
    }

    /// Like `tryLock`, but on failure the owner loses the lock that it had, as with `flock`.
    package mutating func tryReplaceLock(_ byte: Int, exclusive: Bool, by owner: Owner) -> Bool {
        if tryLock(byte, exclusive: exclusive, by: owner) { return true }
        unlock(byte, by: owner)
        return false
    }

    package mutating func unlock(_ byte: Int, by owner: Owner) {
        guard var holders = bytes[byte] else { return }
        if holders.exclusive == owner { holders.exclusive = nil }
        holders.shared.remove(owner)
        bytes[byte] = holders.exclusive == nil && holders.shared.isEmpty ? nil : holders
    }

    package mutating func unlockAll(by owner: Owner) {
        for byte in Array(bytes.keys) { unlock(byte, by: owner) }
    }
}
