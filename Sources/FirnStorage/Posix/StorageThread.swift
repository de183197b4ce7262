import CFirn
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The calling thread's number, never 0. No other thread of the process ever gets this number, not even after this
/// thread has ended. The call takes a few instructions.
public func currentThreadID() -> UInt64 { firn_thread_number() }

/// Lets other threads run first.
public func yieldThread() {
    sched_yield()
}

/// Makes the calling thread sleep, for code that checks a condition repeatedly. Not for threads of Swift's pool.
public func sleepThread(nanoseconds: Int64) {
    let lock = Lock(.innermost)
    let never = Condition()
    let deadline = SystemClock.shared.monotonic() + nanoseconds
    lock.lock()
    while never.wait(lock, until: deadline) {}
    lock.unlock()
}

/// A thread of the operating system, for work that blocks. Threads of Swift's pool must not block.
public final class StorageThread: Sendable {
    private enum State: Int, AtomicRepresentable { case running, joined }

    /// The system's identifier of the thread. Any thread may use it, even where it is a pointer.
    private struct Handle: @unchecked Sendable {
        let thread: pthread_t
    }

    private let handle: Handle
    // Atomic: if several threads join, only the first one waits, and `deinit` sees that somebody joined.
    private let state = Atomic<State>(.running)
    /// Tells `join` and `deinit` that the process is a forked child, where the handle belongs to no thread, or to
    /// another one.
    private let mark = ForkMark()

    private init(handle: pthread_t) {
        self.handle = Handle(thread: handle)
    }

    deinit {
        if state.load(ordering: .acquiring) == .running, !mark.isForked { pthread_detach(handle.thread) }
    }

    /// Starts a thread that runs `body` and then ends. The thread keeps running if the returned object is dropped.
    ///
    /// - Parameter name: the name that debuggers show; the system keeps its first 15 bytes.
    /// - Throws: `.io` if the system allows no more threads.
    @discardableResult
    public static func start(
        name: String, _ body: @escaping @Sendable () -> Void
    ) throws(StorageError) -> StorageThread {
        let context = Unmanaged.passRetained(Body(run: body))
        // The type is a pointer except with glibc.
        #if canImport(Darwin) || canImport(Musl)
            var handle: pthread_t? = nil
        #else
            var handle = pthread_t()
        #endif
        let error = firn_thread_start(
            &handle, name,
            { context in
                Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                firn_forget_copies()
                return nil
            },
            context.toOpaque())
        if error != 0 {
            context.release()
            throw StorageError(.io, operation: "start of a thread", path: name, number: error)
        }
        #if canImport(Darwin) || canImport(Musl)
            return StorageThread(handle: handle.unsafelyUnwrapped)
        #else
            return StorageThread(handle: handle)
        #endif
    }

    /// Waits until the thread has ended. Only the first call waits; later calls, and calls in a forked child, return
    /// at once.
    public func join() {
        if mark.isForked { return }
        if state.exchange(.joined, ordering: .acquiringAndReleasing) == .running { pthread_join(handle.thread, nil) }
    }

    private final class Body {
        let run: @Sendable () -> Void
        init(run: @escaping @Sendable () -> Void) { self.run = run }
    }
}
