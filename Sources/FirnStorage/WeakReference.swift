import CFirn

/// A reference to an object that does not keep the object alive.
///
/// It replaces Swift's `weak` for objects that are retained and released often. A `weak` reference gives its object a
/// side table, and from then on every retain and release of the object takes a slow path. That was half the time of an
/// iteration over a realm's objects.
///
/// The object owns its `WeakReference`. It calls `begin` at the end of its initialiser, and `end` as the first act of
/// its `deinit`.
package final class WeakReference<Object: AnyObject>: @unchecked Sendable {
    private let lock = Lock(.innermost)
    // Guarded by the lock. Nil before `begin`, and after `end`.
    private var address: UnsafeMutableRawPointer?

    package init() {}

    package func begin(_ object: Object) {
        lock.withLock { address = Unmanaged.passUnretained(object).toOpaque() }
    }

    /// The object. Nil if it is deallocated, or about to be.
    package var object: Object? {
        lock.withLock {
            // While the lock is held, the object's memory is not freed, because its `deinit` waits in `end()`.
            guard let address, firn_try_retain(address) else { return nil }
            return Unmanaged<Object>.fromOpaque(address).takeRetainedValue()
        }
    }

    package func end() { lock.withLock { address = nil } }
}
