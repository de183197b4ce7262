/// A value behind a lock: the only way to it is to hold the lock.
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

    /// Replaces the value and returns the one before. The caller releases that outside of the lock, for what it holds
    /// may be the application's, whose `deinit` does what it likes.
    package func exchange(_ new: Value) -> Value {
        withLock { value in
            let old = value
            value = new
            return old
        }
    }
}
