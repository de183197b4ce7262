import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

/// A publisher and a waiter in two processes are stopped between any two of their accesses to the shared page.
@Suite("A waiting reader wakes when a version is published", .timeLimit(.minutes(20))) struct PublishedReadingTests {
    enum Manner: CaseIterable {
        /// Waits as readers wait for a version.
        case wait
        /// Waits as the thread does that follows other processes.
        case follow
    }

    /// Where the two stop: the publisher runs to its access `first`, then the waiter to its access `look`, then the
    /// publisher to its access `second`, then the waiter without a stop, then the publisher.
    struct Schedule: CustomStringConvertible {
        var first: Int
        var look: Int
        var second: Int

        var description: String { "publisher \(first), waiter \(look), publisher \(second)" }
    }

    @Test("wherever the two are when the version is published", arguments: Manner.allCases) func published(
        _ manner: Manner
    )
        throws
    {
        for first in 0...8 {
            for look in 0...3 {
                for second in first...8 {
                    let schedule = Schedule(first: first, look: look, second: second)
                    let isWoken = try run(schedule, manner: manner) { page in
                        page.setPublished(1)
                        page.setPublished(2)
                    }
                    guard isWoken else {
                        Issue.record("asleep although version 2 is published: \(schedule)")
                        return
                    }
                }
            }
        }
    }

    @Test("even if the page is reset meanwhile", arguments: Manner.allCases) func pageIsReset(_ manner: Manner)
        throws
    {
        for first in 0...100 {
            for look in 0...3 {
                let schedule = Schedule(first: first, look: look, second: .max)
                let isWoken = try run(schedule, manner: manner) { page in
                    page.prepare(epoch: 1, durable: 1, published: 1, generation: 1, fresh: true)
                    page.setPublished(2)
                }
                guard isWoken else {
                    Issue.record("asleep although version 2 is published: \(schedule)")
                    return
                }
            }
        }
    }

    /// Returns false if the waiter, which waits for version 2, still sleeps when the publisher is done.
    private func run(
        _ schedule: Schedule, manner: Manner, _ publish: @escaping @Sendable (SharedPage) -> Void
    ) throws -> Bool {
        let disk = SimulatedStorage(seed: 1).disk
        let (publishing, waiting) = (disk.newProcess(), disk.newProcess())
        try publishing.createFolder("/store")
        let id = StoreID(high: 1, low: 2)
        let page = try SharedPage(StoreFolder(path: "/store", storage: publishing), id, mayCreate: true)
        page.prepare(epoch: 1, durable: 0, published: 0, generation: 1, fresh: true)
        let other = try SharedPage(StoreFolder(path: "/store", storage: waiting), id, mayCreate: true)

        let publisher = Stepper(publishing)
        let waiter = Stepper(waiting)
        try publisher.start { publish(page) }
        publisher.run(to: schedule.first)
        try waiter.start { Self.wait(for: 2, on: other, manner) }
        waiter.run(to: schedule.look)
        publisher.run(to: schedule.second)
        waiter.resume()
        publisher.resume()
        publisher.join()
        let isWoken = waiter.ends(within: 20)
        // A waiter that still sleeps is woken now, so that its thread ends.
        while !waiter.ends(within: 0) {
            page.wakeAll()
            sleepThread(nanoseconds: 1_000_000)
        }
        waiter.join()
        return isWoken
    }

    private static func wait(for version: UInt64, on page: SharedPage, _ manner: Manner) {
        switch manner {
        case .wait:
            page.wait(nanoseconds: Int64(TestTimeout.seconds) * 1_000_000_000) { page.published >= version }
        case .follow:
            let waiter = Log.PublishWaiter(page: page, lock: nil)
            while true {
                let ticket = waiter.ticket
                if page.published >= version { return }
                waiter.wait(ticket)
            }
        }
    }
}

/// A thread of a simulated process that can be stopped before any access to its shared memory.
private final class Stepper: @unchecked Sendable {
    // Sendable: `lock` guards everything but `thread`, which belongs to the test's thread, and what never changes.
    private let process: SimulatedStorage
    private let lock = Lock(.unranked)
    private let changed = Condition()
    private var limit = 0
    private var reached = -1
    private var hasEnded = false
    private var thread: StorageThread?

    /// Counts the accesses from here on.
    init(_ process: SimulatedStorage) {
        self.process = process
        process.beforeEachAccess { [self] _ in step() }
    }

    private func step() {
        lock.lock()
        reached += 1
        changed.broadcast()
        while reached >= limit { changed.wait(lock) }
        lock.unlock()
    }

    func start(_ body: @escaping @Sendable () -> Void) throws {
        thread = try StorageThread.start(name: "stepper") { [self] in
            body()
            lock.withLock {
                hasEnded = true
                changed.broadcast()
            }
        }
    }

    /// Runs the thread to the access of this number, or to its end.
    func run(to number: Int) {
        lock.lock()
        limit = number
        changed.broadcast()
        while reached < number, !hasEnded { changed.wait(lock) }
        lock.unlock()
    }

    /// Lets the thread run without further stops.
    func resume() {
        lock.withLock {
            limit = .max
            changed.broadcast()
        }
    }

    func ends(within seconds: Int) -> Bool {
        let deadline = TestTimeout.deadline(seconds)
        return lock.withLock {
            while !hasEnded, changed.wait(lock, until: deadline) {}
            return hasEnded
        }
    }

    func join() {
        thread?.join()
        process.beforeEachAccess(nil)
    }
}
