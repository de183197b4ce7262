import FirnCore
import FirnLog
import FirnStorage
import FirnTestSupport
import Foundation
import Synchronization

/// Threads that write, wait, hold versions and compact one store at the same time, on a simulated disk.
///
/// A seed decides at which calls of the storage, and at which accesses to the shared page, a thread is delayed for a
/// moment. So each seed leads to other interleavings, though not to the same ones each time. Power cuts do not end
/// the run: each is a copy of the disk as the cut would leave it, with the last version that was acknowledged before.
final class ThreadedRun: Sendable {
    /// A disk after a power cut.
    struct Cut {
        let disk: SimulatedDisk
        /// The last version that was acknowledged before the power failed.
        let acknowledged: UInt64
        let seed: UInt64
    }

    enum Disturbance { case none, failedSync, fullDisk }

    static let writerCount = 4

    let storage: SimulatedStorage
    let store: Store
    private let seed: UInt64
    private let random: SeededRandomness
    private let acknowledged = Atomic<UInt64>(0)
    private let cuts = Guarded<[Cut]>(.unranked, [])
    private let failures = Guarded<[any Error]>(.unranked, [])
    private let running = Atomic<Int>(0)
    private let commits = Atomic<Int>(0)
    /// The compactor's thread, and at how many of its next accesses to the shared page it waits for a commit of
    /// another thread, so that commits come between any two of its steps.
    private let compactor = Atomic<UInt64>(0)
    private let pauses = Atomic<Int>(0)

    static func options(_ durability: Durability) -> StoreOptions {
        var log = LogOptions(folder: "/store", durability: durability, verify: .everything)
        log.reserveByteCount = 0
        log.segmentByteCount = 16 << 10
        log.idleMilliseconds = 5
        return StoreOptions(log: log)
    }

    init(seed: UInt64, _ durability: Durability) throws {
        self.seed = seed
        random = SeededRandomness(seed: seed)
        var traits = DiskTraits()
        traits.mapsPrivately = true
        let disk = SimulatedDisk(seed: seed, traits: traits)
        storage = disk.newProcess()
        store = try Store(Self.options(durability), storage: storage)
        let transaction = try store.beginWrite()
        try transaction.changeSchema(
            to: StoreSchema(tables: [
                TableSchema(
                    name: "Entry", primaryKey: 0,
                    columns: [ColumnSchema(name: "version", type: .int), ColumnSchema(name: "text", type: .string)])
            ]))
        try transaction.commit()
        acknowledged.store(1, ordering: .sequentiallyConsistent)
    }

    /// The power cuts that a run has at least. How many calls a number of commits makes depends on how the threads take
    /// turns, because commits that wait together are written together.
    private static let leastCutCount = 6
    private var cutCount: Int { cuts.withLock { $0.count } }

    /// Runs all threads until each writer has made `count` commits, and more until there were enough power cuts, or has
    /// failed. False if a thread hangs.
    func run(count: Int, cutEvery: Int = 40, _ disturbance: Disturbance = .none) throws -> Bool {
        let random = random
        let storage = storage
        storage.beforeEachAccess { [self] _ in
            Self.perturb(random)
            letOthersCommit()
        }
        storage.beforeEachCall { [self] call in
            if call.operation == .syncFolder, currentThreadID() == compactor.load(ordering: .relaxed) {
                pauses.store(14, ordering: .relaxed)
            }
            Self.perturb(random)
            if call.operation.changesDisk, cutEvery > 0, random.next(below: cutEvery) == 0 { cut() }
        }
        switch disturbance {
        case .none: break
        case .failedSync:
            let after = storage.callCount + 60 + random.next(below: 200)
            storage.inject(
                SimulatedFault(.io) { $0.operation == .sync && $0.path.hasSuffix(".segment") && $0.index > after })
        case .fullDisk:
            let after = storage.callCount + 60 + random.next(below: 200)
            storage.inject(
                SimulatedFault(.noSpace, number: 28, times: 30) { $0.operation == .write && $0.index > after })
        }
        running.store(Self.writerCount + 2, ordering: .sequentiallyConsistent)
        for writer in 0..<Self.writerCount {
            try StorageThread.start(name: "writer \(writer)") { [self] in
                work {
                    var number = 0
                    while number < count || cutEvery > 0 && cutCount < Self.leastCutCount {
                        try commit(waits: (number + writer) % 3 != 0)
                        number += 1
                    }
                }
            }
        }
        try StorageThread.start(name: "compactor") { [self] in
            compactor.store(currentThreadID(), ordering: .relaxed)
            work { while isWriting { _ = try store.compact() } }
        }
        try StorageThread.start(name: "reader") { [self] in
            work {
                var pins: [Pin] = []
                while isWriting {
                    let pin = store.pin()
                    try Self.check(pin)
                    pins.append(pin)
                    if pins.count > 5 { pins.remove(at: random.next(below: 5)) }
                }
                for pin in pins { try Self.check(pin) }
            }
        }
        let deadline = SystemClock.shared.monotonic() + 120_000_000_000
        while running.load(ordering: .sequentiallyConsistent) > 0 {
            if SystemClock.shared.monotonic() > deadline { return false }
            sleepThread(nanoseconds: 1_000_000)
        }
        storage.beforeEachAccess(nil)
        storage.beforeEachCall(nil)
        return true
    }

    /// Whether a writer is still running.
    private var isWriting: Bool { running.load(ordering: .sequentiallyConsistent) > 2 }

    var allFailures: [any Error] { failures.withLock { $0 } }
    var allCuts: [Cut] { cuts.withLock { $0 } }
    var commitCount: Int { commits.load(ordering: .sequentiallyConsistent) }

    private func work(_ body: () throws -> Void) {
        do { try body() } catch { failures.withLock { $0.append(error) } }
        running.wrappingSubtract(1, ordering: .sequentiallyConsistent)
    }

    /// Adds the object with the commit's own version number. Without `waits`, the commit returns at once and is
    /// waited for in a second call.
    private func commit(waits: Bool) throws {
        let transaction = try store.beginWrite()
        let version = transaction.base.version + 1
        var row = transaction.beginRow(TableID(0))
        transaction.fill(&row, column: 0, value: .int(Int64(version)))
        transaction.fill(&row, column: 1, value: .string(String(repeating: "x", count: random.next(below: 300))))
        try transaction.endRow(row)
        if waits {
            try transaction.commit()
        } else {
            let written = try transaction.commitWithoutWaiting()
            try store.waitUntilPublished(written.number)
        }
        commits.wrappingAdd(1, ordering: .relaxed)
        acknowledged.max(version, ordering: .sequentiallyConsistent)
    }

    /// Delays the compactor until another thread has committed, but only for a few milliseconds, because it may hold
    /// a lock that the others need.
    private func letOthersCommit() {
        guard currentThreadID() == compactor.load(ordering: .relaxed), pauses.load(ordering: .relaxed) > 0 else {
            return
        }
        pauses.wrappingSubtract(1, ordering: .relaxed)
        let before = acknowledged.load(ordering: .sequentiallyConsistent)
        let deadline = SystemClock.shared.monotonic() + 5_000_000
        while acknowledged.load(ordering: .sequentiallyConsistent) == before, isWriting,
            SystemClock.shared.monotonic() < deadline
        {
            ThreadedRun.pause(microseconds: 100)
        }
    }

    private func cut() {
        let before = acknowledged.load(ordering: .sequentiallyConsistent)
        let seed = random.next()
        let disk = storage.disk.afterPowerCut(seed: seed)
        cuts.withLock { $0.append(Cut(disk: disk, acknowledged: before, seed: seed)) }
    }

    /// Delays the thread as if the system had taken the processor away. Firn may hold a lock then, under which it
    /// would never wait itself.
    private static func pause(microseconds: Int) {
        Thread.sleep(forTimeInterval: Double(microseconds) / 1_000_000)
    }

    private static func perturb(_ random: SeededRandomness) {
        switch random.next(below: 24) {
        case 0: pause(microseconds: random.next(below: 300))
        case 1..<8: yieldThread()
        default: break
        }
    }

    struct Fault: Error, CustomStringConvertible { let description: String }

    /// Checks that a version has the objects of all versions up to its own, and no others.
    static func check(_ pin: Pin) throws {
        guard pin.version > 0 else { return }
        let view = pin.snapshot.table(TableID(0))
        guard view.count == Int(pin.version) - 1 else {
            throw Fault(description: "version \(pin.version) has \(view.count) objects")
        }
        for position in 0..<view.count {
            let (leaf, row) = view.location(at: position)
            guard view.value(0, leaf: leaf, row: row) == .int(Int64(position) + 2) else {
                throw Fault(description: "version \(pin.version) lacks the object of version \(position + 2)")
            }
        }
    }
}
