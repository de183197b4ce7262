import CFirn

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A lock that lives as long as the process, and that a forked child may lock too.
///
/// A fork waits until all of these locks are free. Otherwise a lock that another thread holds would stay locked in the
/// child for ever. All of them are innermost (`LockRank`).
///
/// The mutexes are static memory of CFirn, found by number, and need no initialisation. A Swift `static let` would not
/// do: if the process forks while another thread initialises it, the initialisation never ends in the child. For the
/// same reason, a value that such a lock guards is a `GlobalGuarded`, or is not stored in a global.
package enum GlobalLock: Int32, CaseIterable {
    /// Held while a checkpoint mapping is registered or unregistered.
    case checkpointMappings
    /// Guards the facts known about classes.
    case classes
    /// Guards the classes that the program's images declare, and the registered classes.
    case discoveredClasses
    /// Guards the properties that key paths name.
    case keyPaths
    /// Guards the properties that observed key paths read.
    case observableKeyPaths
    /// Guards the facts known about classes of projections.
    case projections
    case defaultConfiguration
    /// Guards the list of stores that the process has open.
    case openStores
    /// Held while a dispatch queue gets its mark.
    case queueMarks
    /// Held while releases of accessors of ended threads are counted.
    case endedRealms
    /// Guards the caches of values that frozen collections have read.
    case frozenCaches
    /// Guards the logger, which receives messages.
    case logger
    /// Guards the meter, which measures stores.
    case meter
    /// Guards the work to be done at turns of the main thread.
    case mainTurns
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

/// A value behind a global lock, which lives as long as the process. It is made at its first use.
///
/// Declare it as a computed property, because a `GlobalGuarded` is only a name for the value:
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

    /// - Parameter initial: makes the first value. It is called without the lock. If two threads call it at the same
    ///   time, the first result is kept.
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

    /// Like `Guarded.exchange`: replaces the value and returns the old one.
    package func exchange(_ new: Value) -> Value {
        withLock { value in
            let old = value
            value = new
            return old
        }
    }

    /// The value's memory, which is never freed.
    private var box: Box {
        if firn_global_value(lock.rawValue) == nil {
            let made = Unmanaged.passRetained(Box(initial()))
            if !firn_global_set_value(lock.rawValue, made.toOpaque()) { made.release() }
        }
        return Unmanaged.fromOpaque(firn_global_value(lock.rawValue).unsafelyUnwrapped).takeUnretainedValue()
    }
}
