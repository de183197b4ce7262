/// A value behind a lock: the only way to it is to hold the lock.
package final class Guarded<Value>: @unchecked Sendable {
    private let lock: Lock
    private var value: Value

    package init(_ rank: LockRank, isGlobal: Bool = false, _ value: Value) {
        lock = Lock(rank, isGlobal: isGlobal)
        self.value = value
    }

    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
