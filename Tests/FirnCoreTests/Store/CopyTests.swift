import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// A copy is made under the locks of a store, and an unfinished copy is not a store.
@Suite(.timeLimit(.minutes(20))) struct CopyTests {
    private let source: Store
    private let pin: Pin
    private static let count = 400

    init() throws {
        var log = LogOptions(folder: "/store")
        log.usesThreads = false
        log.reserveByteCount = 0
        source = try Store(StoreOptions(log: log), storage: MemoryStorage())
        try People.fill(source, Self.count)
        pin = source.pin()
    }

    private func copy(_ storage: any Storage) throws {
        try Store.writeCopy(
            of: pin, to: "/copy", storage: storage, randomness: SeededRandomness(seed: 1))
    }

    private func open(
        _ storage: any Storage, _ access: LogOptions.Access = .readWrite(waitMilliseconds: 0)
    ) throws -> Store {
        var log = LogOptions(folder: "/copy", access: access, verify: .everything)
        log.usesThreads = false
        log.reserveByteCount = 0
        return try Store(StoreOptions(log: log), storage: storage)
    }

    private func isWhole(_ store: Store) -> Bool {
        let snapshot = store.pin().snapshot
        return store.publishedVersion == pin.version && snapshot.table(TableID(0)).count == Self.count
    }

    /// Commits one more version.
    private func commit(_ store: Store) throws {
        let transaction = try store.beginWrite()
        if store.schema.tables.isEmpty {
            try transaction.makeTable("Own", [ColumnSchema(name: "id", type: .int)])
        } else {
            transaction.set(TableID(0), column: 2, key: 1, to: .int(99))
        }
        try transaction.commit()
    }

    /// Opener or copy, whichever comes first gets the folder and loses nothing to the other.
    @Test func openingAStoreWhereACopyIsBeingMadeLosesNothing() throws {
        let trial = SimulatedStorage(seed: 1)
        try copy(trial)
        let calls = trial.callCount
        var opened = 0
        var copied = 0
        for moment in 0..<calls {
            let storage = SimulatedStorage(seed: 1)
            let process = storage.disk.newProcess()
            let committed = Guarded(.unranked, false)
            let failure = Guarded<(any Error)?>(.unranked, nil)
            storage.beforeEachCall { call in
                guard call.index == moment else { return }
                do {
                    let store = try open(process)
                    try commit(store)
                    committed.withLock { $0 = true }
                    try store.close()
                } catch { failure.withLock { $0 = error } }
            }
            let code = logCode { try copy(storage) }
            storage.beforeEachCall(nil)
            let context = "at call \(moment) of \(calls)"
            let store = try open(storage.disk.newProcess())
            if committed.withLock({ $0 }) {
                opened += 1
                // The copy was already complete, or it has given up.
                let isAfter = store.publishedVersion == pin.version + 1
                #expect(
                    code == nil && isAfter || code != nil && store.publishedVersion == 1, "\(context): \(code as Any)")
            } else {
                copied += 1
                #expect(code == nil && isWhole(store), "\(context): \(code as Any)")
                let error = failure.withLock { $0 as? StoreError }
                guard case .log(let cause) = error?.code, case .locked = cause.code else {
                    Issue.record("\(context): \(failure.withLock { $0 } as Any)")
                    continue
                }
            }
            try store.close()
        }
        #expect(opened > 1 && copied > 10)
    }

    /// An interrupted copy is as if it had never begun: its folder can be opened, deleted, or copied to again.
    @Test(arguments: [true, false])
    func anInterruptedCopyIsNotAStore(powerGoes: Bool) throws {
        let trial = SimulatedStorage(seed: 1)
        try copy(trial)
        let calls = trial.callCount
        for stop in 0..<calls {
            checkIsWholeOrNone("stopped at call \(stop) of \(calls)") {
                let storage = SimulatedStorage(seed: UInt64(stop))
                storage.crashAt = stop
                _ = try? copy(storage)
                let disk = powerGoes ? storage.disk.afterPowerCut(seed: UInt64(stop)) : storage.disk
                return disk.newProcess()
            }
        }
        #expect(calls > 15)
    }

    /// The same is true of a copy that failed and could not remove all that it had made.
    @Test(arguments: [true, false])
    func aFailedCopyThatCannotBeRemovedIsNotAStore(powerGoes: Bool) throws {
        let trial = SimulatedStorage(seed: 1)
        let calls = Guarded<[Int]>(.unranked, [])
        trial.beforeEachCall { call in if call.operation.changesDisk { calls.withLock { $0.append(call.index) } } }
        try copy(trial)
        let files = [
            "/manifest", "/log/0000000001.segment", "/checkpoint/0000000001.checkpoint", "/log", "/checkpoint",
            "/copying", "/lock", "",
        ]
        let stuck: [(SimulatedCall.Operation, String)] =
            files.map { (.remove, $0) } + ["/log", "/checkpoint", ""].map { (.syncFolder, $0) }
        for stop in calls.withLock({ $0 }) {
            for (operation, name) in stuck {
                for seed in 0..<(powerGoes ? 4 : 2) as Range<UInt64> {
                    checkIsWholeOrNone("failed at call \(stop), then at \(operation) of \(name), seed \(seed)") {
                        let storage = SimulatedStorage(seed: UInt64(stop))
                        // The call that fails may have done everything.
                        let residue = seed % 2 == 0 ? SimulatedFault.Residue.nothing : .all
                        storage.inject(SimulatedFault(.io, residue: residue) { $0.index == stop })
                        storage.inject(
                            SimulatedFault(.io, residue: .nothing, times: 9) {
                                $0.index > stop && $0.operation == operation && $0.path == "/copy" + name
                            })
                        _ = try? copy(storage)
                        return (powerGoes ? storage.disk.afterPowerCut(seed: seed) : storage.disk).newProcess()
                    }
                }
            }
        }
    }

    /// Checks that what a copy has left can be opened, as the whole store or as a location where nothing is, can be
    /// deleted, and unless it is whole can be copied to.
    private func checkIsWholeOrNone(_ context: String, _ cutShort: () -> SimulatedStorage) {
        do {
            let storage = cutShort()
            let store = try open(storage)
            let isWhole = isWhole(store)
            #expect(isWhole || store.publishedVersion == 0, "\(context)")
            try commit(store)
            try store.close()
            let again = try open(storage)
            #expect(again.publishedVersion == (isWhole ? pin.version : 0) + 1, "\(context)")
            try again.close()
            #expect(try storage.status("/copy/copying") == nil, "\(context)")

            let deleted = cutShort()
            _ = try Log.remove("/copy", storage: deleted)
            #expect(try deleted.status("/copy").map { _ in try deleted.list("/copy") } ?? [] == [], "\(context)")

            let other = cutShort()
            let isThere = try other.status("/copy/manifest") != nil
            if !isThere, let code = logCode({ _ = try open(other, .readOnly) }) {
                var isRefused = code == .notAStore
                if case .storage(let cause) = code { isRefused = cause.code == .notFound }
                #expect(isRefused, "\(context): \(code)")
            }
            let code = logCode { try copy(other) }
            let isEmptyFolder = try !isThere && other.status("/copy/copying") == nil
            #expect(code == nil || (isThere || isEmptyFolder) && code == .foreignFolder, "\(context)")
            if code == nil || isThere { #expect(self.isWhole(try open(other)), "\(context)") }
        } catch { Issue.record("\(error); \(context)") }
    }

    /// A failed copy holds the locks while it removes what it made. If it can't get them, the lock file stays.
    @Test func aFailedCopyLeavesNothing() throws {
        let trial = SimulatedStorage(seed: 1)
        try copy(trial)
        for stop in 0..<trial.callCount {
            let storage = SimulatedStorage(seed: UInt64(stop))
            storage.inject(SimulatedFault(.noSpace, number: 28, residue: .nothing) { $0.index == stop })
            let code = logCode { try copy(storage) }
            if code == nil {
                #expect(isWhole(try open(storage)), "call \(stop)")
            } else {
                let left = try storage.status("/copy") == nil ? [] : try storage.list("/copy")
                #expect(left.isEmpty || left == ["lock"], "call \(stop): \(code as Any), \(left)")
            }
        }
    }
}
