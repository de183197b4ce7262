import CFirn
import FirnStorage

/// A reference to a realm instance that does not keep it alive.
///
/// It takes the place of Swift's `weak`. One weak reference gives an object a side table, and from then on each retain
/// and release of it, by anyone, takes a slow path: half the time of an iteration.
final class RealmReference: @unchecked Sendable {
    private let lock = Lock(.innermost)
    // Guarded by the lock. Nil before `begin`, and once the instance is going.
    private var address: UnsafeMutableRawPointer?

    /// Called by the instance once it is complete.
    func begin(_ instance: _RealmInstance) {
        lock.withLock { address = Unmanaged.passUnretained(instance).toOpaque() }
    }

    /// The instance; nil if it is gone, or just going.
    var instance: _RealmInstance? {
        lock.withLock {
            // While the lock is held the memory stays, because the instance's end waits for `end()`.
            guard let address, firn_try_retain(address) else { return nil }
            return Unmanaged<_RealmInstance>.fromOpaque(address).takeRetainedValue()
        }
    }

    /// Called by the instance when it goes.
    func end() { lock.withLock { address = nil } }
}
