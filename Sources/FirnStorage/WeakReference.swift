import CFirn

/// A reference to an object that does not keep the object alive.
///
/// It replaces Swift's `weak` for objects that are retained and released often. One weak reference gives an object a
/// side table. From then on, each retain and release of the object, by anyone, takes a slow path. That was half the
/// time of an iteration over a realm's objects.
///
/// The object owns its reference. It calls `begin` at the end of its initialiser, and `end` first of all in its
/// `deinit`.
package final class WeakReference<Object: AnyObject>: @unchecked Sendable {
    private let lock = Lock(.innermost)
    // Guarded by the lock. Nil before `begin`, and once the object is going.
    private var address: UnsafeMutableRawPointer?

    package init() {}

    package func begin(_ object: Object) {
        lock.withLock { address = Unmanaged.passUnretained(object).toOpaque() }
    }

    /// The object; nil if it is gone, or just going.
    package var object: Object? {
        lock.withLock {
            // While the lock is held the object's memory stays, because its `deinit` waits for `end()`.
            guard let address, firn_try_retain(address) else { return nil }
            return Unmanaged<Object>.fromOpaque(address).takeRetainedValue()
        }
    }

    package func end() { lock.withLock { address = nil } }
}
