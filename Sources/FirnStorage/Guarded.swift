/// A value behind a lock. It can only be accessed while the lock is held.
package final class Guarded<Value>: @unchecked Sendable {
    private let lock: Lock
    private var value: Value

    package init(_ rank: LockRank, _ value: Value) {
        lock = Lock(rank)
        self.value = value
    }

    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }

    /// Replaces the value and returns the old one.
    ///
    /// The caller then releases the old value outside of the lock. This is necessary, because the value may hold
    /// objects of the application, whose `deinit` may run any code.
    package func exchange(_ new: Value) -> Value {
        withLock { value in
            let old = value
            value = new
            return old
        }
    }
}
