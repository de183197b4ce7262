import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog
@testable import FirnStorage

/// Everything that waits for a sync that fails wakes and throws, whichever thread led the sync and whenever the
/// waiters came.
@Suite("A failed sync wakes every waiter", .timeLimit(.minutes(20))) struct FailedSyncTests {
    enum Failure: CaseIterable {
        /// The sync of a thread that waits itself.
        case wait
        /// The sync of a thread that leads for another reason, as a roll to a new segment does.
        case lead
        /// A write, beside a sync that succeeds.
        case write
    }

    /// The window: a waiter has checked for a failure before there was one, and goes to sleep after the failure has
    /// woken all waiters, but before the round ends.
    @Test("even waiters that looked just before it failed and sleep just after", arguments: Failure.allCases)
    func window(_ failure: Failure) throws {
        let bench = Bench()
        let file = try bench.storage.open("/segment", .create)
        let page = try SharedPage(
            StoreFolder(path: "/", storage: bench.storage), StoreID(high: 1, low: 2), mayCreate: true)
        let covered = ScheduledEventCount()
        let next = ScheduledEventCount()
        let group = GroupCommit(
            file: file, version: 0, page: page, publishesWhenWritten: false, waitQueues: (covered, next))
        let (isSyncing, hold) = bench.holdSyncs()
        if failure != .write {
            bench.storage.inject(SimulatedFault(.io, residue: .nothing) { $0.operation == .sync })
        }

        // One thread leads and syncs.
        group.noteWritten(1)
        let led = Outcomes()
        let leader = try StorageThread.start(name: "leader") {
            led.add { () throws(LogError) in
                if failure == .lead { try group.syncAll() } else { try group.wait(for: 1) }
            }
        }
        isSyncing.wait()

        // Many waiters come that this sync does not cover; they find no failure yet.
        let count = 16
        group.noteWritten(UInt64(1 + count))
        let outcomes = Outcomes()
        let maySleep = Gate()
        next.beforeTicket = { maySleep.wait() }
        let waiters = try (1...count).map { number in
            try StorageThread.start(name: "waiter") {
                outcomes.add { () throws(LogError) in try group.wait(for: UInt64(1 + number)) }
            }
        }
        next.waitUntil { $0.asked == count }

        // The sync fails and wakes all waiters; only then do the waiters sleep; and only then does the round end.
        next.afterBroadcast = {
            maySleep.open()
            next.waitUntil { $0.asleep == count }
        }
        if failure == .write {
            group.fail(LogError(.storage(StorageError(.io, operation: "write", path: "/segment")), path: "/segment"))
        }
        hold.open()
        leader.join()
        #expect(next.asleep == 0 && covered.asleep == 0, "nobody is left who would wake them")

        // If that failed, the waiters are woken here to end the test.
        next.broadcast()
        for waiter in waiters { waiter.join() }
        #expect(led.unknown.count == (failure == .write ? 0 : 1))
        #expect(outcomes.unknown.sorted() == (1...count).map { UInt64(1 + $0) })
        #expect(page.failureMark == 1, "no version was durable before")
        // A later waiter does not sleep at all.
        let error = #expect(throws: LogError.self) { try group.wait(for: 1 + UInt64(count)) }
        #expect(error?.code == .unknownOutcome(version: 1 + UInt64(count)))
    }

    /// Such a sync would succeed: the system reports only once what it could not write.
    @Test("no thread syncs after a failure, even if it checked for one just before") func noSyncAfterwards() throws {
        let bench = Bench()
        let file = try bench.storage.open("/segment", .create)
        let page = try SharedPage(
            StoreFolder(path: "/", storage: bench.storage), StoreID(high: 1, low: 2), mayCreate: true)
        let group = GroupCommit(file: file, version: 0, page: page, publishesWhenWritten: false)
        group.noteWritten(1)
        // A thread has found no failure, and nobody who syncs. Then a write fails, and then the thread leads.
        let now = group.currentRound
        group.fail(LogError(.storage(StorageError(.io, operation: "write", path: "/segment")), path: "/segment"))
        group.syncRound(now)
        #expect(bench.storage.disk.ioTrace.allSatisfy { $0.operation != .sync })
        #expect(group.durableVersion == 0 && page.durableMark == 0 && !group.isSyncing)
    }

    @Test("threads that commit and wait all learn of it, and the page says so to other processes")
    func threads() throws {
        for round in 0..<20 {
            let bench = Bench(seed: UInt64(round)) { $0.usesThreads = true }
            let log = try bench.open()
            try log.waitUntilDurable(try bench.commit(log))
            let hold = Gate()
            bench.storage.beforeEachCall { call in
                if call.operation == .sync, call.path.hasSuffix("segment") { hold.wait() }
            }
            bench.storage.inject(
                SimulatedFault(.io, residue: .nothing, times: .max) {
                    $0.operation == .sync && $0.path.hasSuffix("segment")
                })
            let turn = Lock(.unranked)
            let committed = Outcomes()
            let outcomes = Outcomes()
            let threads = try (0..<24).map { number in
                try StorageThread.start(name: "committer") {
                    let version = turn.withLock { try? bench.commit(log) }
                    committed.add { () throws(LogError) in }
                    guard let version else { return }
                    if number % 4 == 0 {
                        log.whenDurable(version) { result in outcomes.add { () throws(LogError) in try result.get() } }
                    } else {
                        outcomes.add { () throws(LogError) in try log.waitUntilDurable(version) }
                    }
                }
            }
            committed.waitUntil(24)
            hold.open()
            for thread in threads { thread.join() }
            outcomes.waitUntil(24)
            #expect(outcomes.unknown.count == 24)
            #expect(log.durableVersion == 1 && log.publishedVersion == 1)
            #expect(log.page.failureMark == 2)
            #expect(throws: LogError.self) { try bench.commit(log) }
            bench.storage.beforeEachCall(nil)
            try log.close()
        }
    }
}

extension FailedSyncTests {
    /// If the log is closed by then, another process writes.
    @Test("a waiter that is overtaken by another's sync syncs nothing") func nothingToSync() throws {
        let bench = Bench()
        let file = try bench.storage.open("/segment", .create)
        let group = GroupCommit(file: file, version: 0, page: nil, publishesWhenWritten: false)
        group.noteWritten(1)
        try group.wait(for: 1)
        // Another thread looked before that sync ended, and found that version 1 was not durable.
        group.syncRound(group.currentRound)
        #expect(bench.storage.disk.ioTrace.filter { $0.operation == .sync }.count == 1)
        #expect(group.durableVersion == 1 && !group.isSyncing)
    }
}

extension Bench {
    /// Makes each sync of this process wait until `hold` is open; `isSyncing` opens when the first one begins.
    func holdSyncs() -> (isSyncing: Gate, hold: Gate) {
        let isSyncing = Gate()
        let hold = Gate()
        storage.beforeEachCall { call in
            guard call.operation == .sync else { return }
            isSyncing.open()
            hold.wait()
        }
        return (isSyncing, hold)
    }
}

/// Closed until it is opened, and open from then on.
final class Gate: @unchecked Sendable {
    // Guarded by `lock`.
    private var opened = false
    private let lock = Lock(.unranked)
    private let changed = Condition()

    var isOpen: Bool { lock.withLock { opened } }

    func open() {
        lock.withLock { opened = true }
        changed.broadcast()
    }

    func wait() {
        lock.lock()
        while !opened { changed.wait(lock) }
        lock.unlock()
    }
}

/// How calls of several threads ended.
final class Outcomes: @unchecked Sendable {
    // Guarded by `lock`.
    private var all: [LogError?] = []
    private let lock = Lock(.unranked)
    private let changed = Condition()

    func add(_ body: () throws(LogError) -> Void) {
        var failure: LogError?
        do { try body() } catch { failure = error }
        lock.withLock { all.append(failure) }
        changed.broadcast()
    }

    func waitUntil(_ count: Int) {
        lock.lock()
        while all.count < count { changed.wait(lock) }
        lock.unlock()
    }

    /// The versions whose outcome is not known.
    var unknown: [UInt64] {
        lock.withLock {
            all.compactMap {
                if case .unknownOutcome(let version) = $0?.code { version } else { nil }
            }
        }
    }
}

/// An event count whose sleepers can be counted and whose callers can be delayed. A signal wakes exactly the thread
/// that has slept longest.
final class ScheduledEventCount: EventCount, @unchecked Sendable {
    struct State {
        /// How many have asked for a ticket.
        var asked = 0
        var asleep: Int { sleepers.count }
        fileprivate var word: UInt32 = 0
        fileprivate var last = 0
        fileprivate var sleepers: [Int] = []
    }

    // Guarded by `lock`.
    private var state = State()
    private let lock = Lock(.unranked)
    private let changed = Condition()
    // Set by the test before any thread calls the method that calls it.
    nonisolated(unsafe) var beforeTicket: (() -> Void)?
    /// Called once, after the next broadcast. Set as `beforeTicket` is, and taken under `lock`.
    nonisolated(unsafe) var afterBroadcast: (() -> Void)?

    var asleep: Int { lock.withLock { state.asleep } }

    func waitUntil(_ condition: (State) -> Bool) {
        lock.lock()
        while !condition(state) { changed.wait(lock) }
        lock.unlock()
    }

    override func ticket() -> UInt32 {
        lock.withLock { state.asked += 1 }
        changed.broadcast()
        beforeTicket?()
        return lock.withLock { state.word }
    }

    override func wait(_ ticket: UInt32) {
        lock.lock()
        if state.word == ticket {
            state.last += 1
            let own = state.last
            state.sleepers.append(own)
            changed.broadcast()
            while state.sleepers.contains(own) { changed.wait(lock) }
        }
        lock.unlock()
    }

    override func signal() {
        lock.withLock {
            state.word &+= 1
            if !state.sleepers.isEmpty { state.sleepers.removeFirst() }
        }
        changed.broadcast()
    }

    override func broadcast() {
        let after = lock.withLock {
            state.word &+= 1
            state.sleepers = []
            // Broadcasts of several threads may meet.
            defer { afterBroadcast = nil }
            return afterBroadcast
        }
        changed.broadcast()
        after?()
    }
}
