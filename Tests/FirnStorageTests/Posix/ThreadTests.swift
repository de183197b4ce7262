import FirnStorage
import FirnTestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct ThreadTests {
    @Test func aLockAdmitsOneThreadAtATime() throws {
        let lock = Lock(.unranked)
        nonisolated(unsafe) var count = 0
        let threads = try (0..<4).map { _ in
            try StorageThread.start(name: "counter") {
                for round in 0..<5000 {
                    if round % 2 == 0 {
                        lock.withLock { count += 1 }
                    } else {
                        lock.lock()
                        count += 1
                        lock.unlock()
                    }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(count == 20_000)
        #expect(lock.tryLock())
        #expect(!lock.tryLock())
        lock.unlock()
    }

    @Test func aLockIsReleasedWhenItsBodyThrows() {
        struct Stop: Error {}
        let lock = Lock(.unranked)
        #expect(throws: Stop.self) {
            try lock.withLock { () throws(Stop) in throw Stop() }
        }
        #expect(lock.tryLock())
        lock.unlock()
    }

    @Test func aConditionWakesItsWaiters() throws {
        let lock = Lock(.unranked)
        let condition = Condition()
        let deadline = TestTimeout.deadline()
        nonisolated(unsafe) var turn = 0
        let thread = try StorageThread.start(name: "waiter") {
            lock.withLock {
                while turn != 1, condition.wait(lock, until: deadline) {}
                guard turn == 1 else { return }
                turn = 2
                condition.broadcast()
            }
        }
        lock.withLock {
            turn = 1
            condition.signal()
            while turn != 2, condition.wait(lock, until: deadline) {}
        }
        thread.join()
        #expect(turn == 2)
    }

    @Test func aWaitEndsAtItsDeadline() {
        let lock = Lock(.unranked)
        let condition = Condition()
        let clock = SystemClock.shared
        lock.withLock {
            let deadline = clock.monotonic() + 2_000_000
            while condition.wait(lock, until: deadline) {}
            #expect(clock.monotonic() >= deadline)
            #expect(!condition.wait(lock, until: 0))
            #expect(!condition.wait(lock, until: -5))
        }
    }

    @Test func threadsHaveDifferentIDs() throws {
        let own = currentThreadID()
        let lock = Lock(.unranked)
        nonisolated(unsafe) var other: UInt64 = 0
        let thread = try StorageThread.start(name: "a name that is longer than fifteen bytes") {
            lock.withLock { other = currentThreadID() }
        }
        thread.join()
        thread.join()
        #expect(own == currentThreadID())
        #expect(other != 0 && other != own)
    }

    /// The system gives an ended thread's memory, and its handle, to the next thread.
    @Test func threadIDsAreNeverReused() throws {
        let lock = Lock(.unranked)
        nonisolated(unsafe) var numbers: [UInt64] = [currentThreadID()]
        for _ in 0..<200 {
            try StorageThread.start(name: "short") { lock.withLock { numbers.append(currentThreadID()) } }.join()
        }
        #expect(Set(numbers).count == 201)
        #expect(numbers[0] == currentThreadID())
    }

    @Test func threadEndHandlersRunOnTheEndingThread() throws {
        final class Ending {
            var number: UInt64 = 0
            func threadEnds() { number = currentThreadID() }
        }
        nonisolated(unsafe) let ending = Ending()
        nonisolated(unsafe) weak var gone: Ending?
        nonisolated(unsafe) var number: UInt64 = 0
        try StorageThread.start(name: "short") {
            number = currentThreadID()
            for _ in 0..<100 {
                let other = Ending()
                gone = other
                ThreadEnd.register(other) { $0.threadEnds() }
            }
            ThreadEnd.register(ending) { $0.threadEnds() }
        }.join()
        #expect(ending.number == number && number != 0)
        #expect(gone == nil, "registering an object for the thread's end must not keep it alive")
    }

    @Test func aThreadContinuesWhenItsHandleIsReleased() throws {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 4, alignment: 4)
        let word = SharedWord(memory)
        word.store(0)
        try StorageThread.start(name: "alone") {
            word.store(1)
            word.wakeAll()
        }
        TestTimeout.awaitChange(of: word)
        #expect(word.load() == 1)
        memory.deallocate()
    }

    @Test func aWordWakesThreads() throws {
        let storage = MemoryStorage()
        let memory = try storage.sharedMemory("page", byteCount: 4096)
        let word = SharedWord(memory.bytes.baseAddress!)
        let started = SharedWord(memory.bytes.baseAddress! + 64)
        let done = SharedWord(memory.bytes.baseAddress! + 128)
        let threads = try (0..<3).map { _ in
            try StorageThread.start(name: "sleeper") {
                started.add(1)
                TestTimeout.awaitChange(of: word)
                done.add(1)
            }
        }
        #expect(TestTimeout.awaits { started.load() == 3 })
        // By now the threads sleep, or are about to. A thread that does not sleep yet needs no wake-up: it sees the
        // word.
        sleepThread(nanoseconds: 50_000_000)
        word.store(1)
        word.wakeAll()
        for thread in threads { thread.join() }
        #expect(done.load() == 3)
        #expect(word.wait(expected: 0), "another value ends the wait at once")
        #expect(!word.wait(expected: 1, timeout: 1_000_000))
        #expect(!word.wait(expected: 1, timeout: 0))
        withExtendedLifetime(memory) {}
    }

    /// Four threads take turns at counting, and each waits for its turn. A lost signal would leave all of them asleep.
    @Test func anEventCountLosesNoSignal() throws {
        let event = EventCount()
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 4, alignment: 4)
        defer { memory.deallocate() }
        let turn = SharedWord(memory)
        turn.store(0)
        let threads = try (0..<4).map { number in
            try StorageThread.start(name: "turn-\(number)") {
                while turn.load() < 2000 {
                    let ticket = event.ticket()
                    let now = turn.load()
                    if now >= 2000 { return }
                    if Int(now) % 4 == number {
                        turn.add(1)
                        event.broadcast()
                    } else {
                        event.wait(ticket)
                    }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(turn.load() == 2000)
        // A signal before the wait ends the wait too.
        let ticket = event.ticket()
        event.signal()
        event.wait(ticket)
    }

    @Test func clocksCountNanoseconds() {
        let clock = SystemClock.shared
        #expect(clock.now() > 1_700_000_000_000_000_000)
        let first = clock.monotonic()
        #expect(clock.monotonic() >= first)

        let manual = ManualClock(now: 100, monotonic: 7)
        manual.advance(by: 5)
        #expect(manual.now() == 105 && manual.monotonic() == 12)
        manual.set(now: 3)
        #expect(manual.now() == 3 && manual.monotonic() == 12)
    }

    @Test func aSeedRepeatsItsNumbers() {
        let a = SeededRandomness(seed: 42)
        let b = SeededRandomness(seed: 42)
        let numbers = (0..<5).map { _ in a.next() }
        #expect(numbers == (0..<5).map { _ in b.next() })
        #expect(numbers != (0..<5).map { _ in a.next() })
        // The first number of splitmix64 from seed 0, as its authors give it.
        #expect(SeededRandomness(seed: 0).next() == 0xE220_A839_7B1D_CDAF)
        #expect(a.description.contains("42"))
        #expect((0..<1000).allSatisfy { _ in (0..<7).contains(a.next(below: 7)) })
    }

    @Test func randomBytesFillTheBuffer() {
        for source in [SystemRandomness.shared, SeededRandomness(seed: 1)] as [any Randomness] {
            var bytes = [UInt8](repeating: 0, count: 21)
            bytes.withUnsafeMutableBytes { source.fill($0) }
            #expect(Set(bytes.suffix(13)).count > 3)
            bytes.withUnsafeMutableBytes { source.fill(UnsafeMutableRawBufferPointer(rebasing: $0[0..<0])) }
        }
    }

    private final class Kept {}

    /// What a thread has done, and what it has kept.
    private final class Notes: @unchecked Sendable {
        var order: [String] = []
        weak var kept: Kept?
    }

    @Test func aThreadKeepsAnObjectUntilItEndsAndIsToldLast() throws {
        for round in 0..<3 {
            let notes = Notes()
            try StorageThread.start(name: "keeper") {
                guard ThreadEnd.kept(Kept.self) == nil else { return notes.order.append("another thread's") }
                do {
                    let own = Kept()
                    notes.kept = own
                    ThreadEnd.keep(Kept()) { _ in notes.order.append("replaced") }
                    ThreadEnd.keep(own) { notes.order.append($0 === notes.kept ? "kept" : "lost") }
                    ThreadEnd.register(own) { _ in notes.order.append("registered") }
                }
                if let kept = notes.kept, ThreadEnd.kept(Kept.self) === kept { notes.order.append("runs") }
            }.join()
            #expect(notes.order == ["runs", "registered", "kept"] && notes.kept == nil, "round \(round)")
        }
    }
}
