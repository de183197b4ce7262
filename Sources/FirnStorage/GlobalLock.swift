import CFirn

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A lock that lives as long as the process and that a forked child may take: a fork waits until all of them are free.
/// Without that, one that another thread has stays locked in the child for ever. All are innermost (`LockRank`).
///
/// The mutexes are static memory of CFirn, by number, and need no initialisation. A `static let` of Swift would not do:
/// a fork while another thread initialises it leaves the child with an initialisation that never ends. For the same
/// reason what such a lock guards is a `GlobalGuarded`, or lies elsewhere than in a global.
package enum GlobalLock: Int32, CaseIterable {
    /// The entering and leaving of spaces of checkpoints.
    case checkpointMappings
    /// What is known of classes.
    case classes
    /// The classes that the program's images declare, and those that were registered.
    case discoveredClasses
    case keyPathNames
    case keyPathProperties
    case defaultConfiguration
    /// The stores that the process has open.
    case openStores
    /// Held while a queue gets its mark.
    case queueMarks
    /// Held while releases of ended threads' accessors are counted.
    case endedRealms
    /// What frozen collections have read.
    case frozenCaches
    /// For tests only.
    case tests

    package func lock() {
        #if DEBUG
            LockRank.innermost.willLock()
        #endif
        pthread_mutex_lock(firn_global_mutex(rawValue))
    }

    package func unlock() {
        #if DEBUG
            LockRank.innermost.willUnlock()
        #endif
        pthread_mutex_unlock(firn_global_mutex(rawValue))
    }

    /// Runs `body` while holding the lock.
    @inlinable package func withLock<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
    }
}

/// A value of the process behind a global lock, made at its first use. It is a computed property, since it is nothing
/// but a name:
/// ```swift
/// private static var known: GlobalGuarded<[String: Int]> { GlobalGuarded(.classes) { [:] } }
/// ```
package struct GlobalGuarded<Value>: Sendable {
    private final class Box {
        // Guarded by the lock.
        var value: Value
        init(_ value: Value) { self.value = value }
    }

    private let lock: GlobalLock
    private let initial: @Sendable () -> Value

    /// - Parameter initial: the first value. It is called under no lock; if two threads do so at a time, the first to
    ///   return counts.
    package init(_ lock: GlobalLock, _ initial: @escaping @Sendable () -> Value) {
        self.lock = lock
        self.initial = initial
    }

    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let box = box
        return try lock.withLock { () throws(Failure) in try body(&box.value) }
    }

    /// As `Guarded.exchange`.
    package func exchange(_ new: Value) -> Value {
        withLock { value in
            let old = value
            value = new
            return old
        }
    }

    /// The process keeps it for ever.
    private var box: Box {
        if firn_global_value(lock.rawValue) == nil {
            let made = Unmanaged.passRetained(Box(initial()))
            if !firn_global_set_value(lock.rawValue, made.toOpaque()) { made.release() }
        }
        return Unmanaged.fromOpaque(firn_global_value(lock.rawValue).unsafelyUnwrapped).takeUnretainedValue()
    }
}
