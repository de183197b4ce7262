import FirnStorage
import FirnTestSupport
import Foundation
import Synchronization
import Testing

@testable import FirnCore

@Suite(.timeLimit(.minutes(20))) struct WriteQueueTests {
    /// Values that only the lock guards; its owner changes them.
    private final class Shared: @unchecked Sendable {
        var count = 0
        let isDone = Atomic<Bool>(false)
    }

    @Test func oneOwnerAtATime() throws {
        let queue = WriteQueue()
        let shared = Shared()
        let threads = try (0..<8).map { number in
            try StorageThread.start(name: "writer-\(number)") {
                for turn in 0..<500 {
                    queue.acquire()
                    shared.count += 1
                    // Now and then an owner keeps the lock for longer than a waiter spins.
                    if turn % 250 == 0 { Thread.sleep(forTimeInterval: 0.001) }
                    queue.release()
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(shared.count == 8 * 500)
        #expect(queue.tryAcquire())
        #expect(!queue.tryAcquire())
        queue.release()
    }

    /// A thread that wants the lock gets it, even if another one takes it again and again and never waits.
    @Test func noWaiterStarves() throws {
        let queue = WriteQueue()
        let shared = Shared()
        queue.acquire()
        let waiter = try StorageThread.start(name: "waiter") {
            queue.acquire()
            shared.isDone.store(true, ordering: .releasing)
            queue.release()
        }
        // Waits until the waiter sleeps.
        Thread.sleep(forTimeInterval: 0.02)
        let end = SystemClock.shared.monotonic() + 30_000_000_000
        var turns = 0
        while !shared.isDone.load(ordering: .acquiring), SystemClock.shared.monotonic() < end {
            turns += 1
            queue.release()
            queue.acquire()
        }
        let gotTheLock = shared.isDone.load(ordering: .acquiring)
        queue.release()
        waiter.join()
        #expect(gotTheLock && turns > 0)
    }

    /// A waiter that is overtaken claims the next turn.
    @Test func aLongWaitingThreadIsOvertakenOnlyOnce() throws {
        let queue = WriteQueue()
        var wasOvertaken = false
        // The waiter may wake in time, so this is tried several times.
        for _ in 0..<10_000 where !wasOvertaken {
            queue.acquire()
            let waiter = try StorageThread.start(name: "waiter") {
                queue.acquire()
                queue.release()
            }
            #expect(TestTimeout.awaits { queue.hasWaiters })
            Thread.sleep(forTimeInterval: 0.002)
            queue.release()
            if queue.tryAcquire() {
                wasOvertaken = queue.hasWaiters
                if wasOvertaken { #expect(TestTimeout.awaits { queue.isClaimed }) }
                queue.release()
            }
            waiter.join()
        }
        #expect(wasOvertaken && !queue.isClaimed && !queue.isHeld)
    }

    /// Each callback releases the lock itself, so that the next one is called from within it; or it requests the next
    /// turn from within.
    @Test func anyNumberOfCallbacksIsCalled() throws {
        let queue = WriteQueue()
        let shared = Shared()
        let done = DispatchSemaphore(value: 0)
        let count = 200_000
        queue.acquire()
        for number in 0..<count {
            queue.request {
                // Only the lock guards the count, so the order shows, too.
                if shared.count == number { shared.count += 1 }
                if number == count - 1 { done.signal() }
                queue.release()
            }
        }
        queue.release()
        done.wait()
        queue.acquire()
        #expect(shared.count == count)
        queue.release()

        @Sendable func again() {
            queue.request {
                shared.count += 1
                let isLast = shared.count == 2 * count
                queue.release()
                if isLast { done.signal() } else { again() }
            }
        }
        again()
        done.wait()
        queue.acquire()
        #expect(shared.count == 2 * count)
        queue.release()
    }

    @Test func anyNumberOfRequestedTransactionsIsCommitted() throws {
        let store = try Store(StoreOptions(log: nil), storage: MemoryStorage())
        let done = DispatchSemaphore(value: 0)
        let failures = Guarded<[StoreError]>(.unranked, [])
        let count = 50_000
        let first = try store.beginWrite()
        for number in 0..<count {
            store.requestWrite { result in
                do throws(StoreError) { try result.get().commit() } catch { failures.withLock { $0.append(error) } }
                if number == count - 1 { done.signal() }
            }
        }
        first.cancel()
        done.wait()
        #expect(failures.withLock { $0.isEmpty } && store.publishedVersion == UInt64(count))
    }

    /// Callbacks and threads both get their turns; callbacks in the order in which they were requested.
    @Test func callbacksAreCalled() throws {
        let queue = WriteQueue()
        let shared = Shared()
        let order = Guarded<[Int]>(.unranked, [])
        queue.acquire()
        for number in 0..<3 {
            queue.request {
                order.withLock { $0.append(number) }
                shared.count += 1
                queue.release()
            }
        }
        let thread = try StorageThread.start(name: "writer") {
            queue.acquire()
            shared.count += 1
            queue.release()
        }
        #expect(order.withLock { $0.isEmpty })
        queue.release()
        thread.join()
        #expect(order.withLock { $0 } == [0, 1, 2])
        #expect(shared.count == 4)
        // The lock is free again, so a callback is called at once.
        queue.request { shared.count += 1 }
        #expect(shared.count == 5)
        queue.release()
    }
}
