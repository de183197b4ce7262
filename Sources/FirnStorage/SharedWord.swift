import CFirn

/// The number of forks between the first process that had Firn loaded and this one. It is 0 in the first process, and
/// one more in each child than in its parent.
///
/// Code that opens a store remembers this number. If it has changed since, the locks, the threads and the writer's role
/// have stayed with the parent.
@inlinable @inline(__always)
public func forkGeneration() -> UInt32 {
    firn_fork_generation()
}

/// A 32-bit word in memory that threads or processes share, on which they can wait.
///
/// The code that makes it must ensure that the memory outlives it. Every operation is sequentially consistent.
@frozen
public struct SharedWord: @unchecked Sendable {
    public let pointer: UnsafeMutablePointer<UInt32>

    /// - Parameter address: a multiple of 4.
    @inlinable
    public init(_ address: UnsafeMutableRawPointer) {
        precondition(UInt(bitPattern: address) % 4 == 0, "Firn: a shared word must lie at a multiple of 4")
        pointer = address.assumingMemoryBound(to: UInt32.self)
    }

    @inlinable public func load() -> UInt32 { firn_atomic_load_32(pointer) }

    @inlinable public func store(_ value: UInt32) { firn_atomic_store_32(pointer, value) }

    @inlinable @discardableResult
    public func exchange(_ value: UInt32) -> UInt32 { firn_atomic_exchange_32(pointer, value) }

    /// Adds with wraparound and returns the old value.
    @inlinable @discardableResult
    public func add(_ value: UInt32) -> UInt32 { firn_atomic_add_32(pointer, value) }

    /// Stores `desired` if the word is `expected`. Returns whether it did, and the old value.
    @inlinable
    public func compareExchange(expected: UInt32, desired: UInt32) -> (exchanged: Bool, original: UInt32) {
        var original = expected
        let exchanged = firn_atomic_compare_exchange_32(pointer, &original, desired)
        return (exchanged, original)
    }

    /// Waits while the word is `expected`, until `wakeAll`. It may return early, so check the word again.
    ///
    /// - Parameter timeout: nanoseconds of real time, or nil to wait without limit.
    /// - Returns: false if the timeout has passed.
    public func wait(expected: UInt32, timeout: Int64? = nil) -> Bool {
        LockRank.expectNone("a thread waits for a shared word")
        return firn_word_wait(pointer, expected, timeout.map { max($0, 0) } ?? -1, true) == 0
    }

    /// Wakes all waiters, in every process that shares the word.
    public func wakeAll() {
        firn_word_wake(pointer, .max, true)
    }
}

/// A 64-bit word in memory that threads or processes share: like `SharedWord`, but without waiting.
@frozen
public struct SharedLongWord: @unchecked Sendable {
    public let pointer: UnsafeMutablePointer<UInt64>

    /// - Parameter address: a multiple of 8.
    @inlinable
    public init(_ address: UnsafeMutableRawPointer) {
        precondition(UInt(bitPattern: address) % 8 == 0, "Firn: a shared long word must lie at a multiple of 8")
        pointer = address.assumingMemoryBound(to: UInt64.self)
    }

    @inlinable public func load() -> UInt64 { firn_atomic_load_64(pointer) }

    @inlinable public func store(_ value: UInt64) { firn_atomic_store_64(pointer, value) }

    @inlinable @discardableResult
    public func exchange(_ value: UInt64) -> UInt64 { firn_atomic_exchange_64(pointer, value) }

    /// Adds with wraparound and returns the old value.
    @inlinable @discardableResult
    public func add(_ value: UInt64) -> UInt64 { firn_atomic_add_64(pointer, value) }

    /// Stores `desired` if the word is `expected`. Returns whether it did, and the old value.
    @inlinable
    public func compareExchange(expected: UInt64, desired: UInt64) -> (exchanged: Bool, original: UInt64) {
        var original = expected
        let exchanged = firn_atomic_compare_exchange_64(pointer, &original, desired)
        return (exchanged, original)
    }
}
