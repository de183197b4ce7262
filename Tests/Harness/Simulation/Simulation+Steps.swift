import FirnCore
import FirnLog
import FirnStorage
import FirnTestSupport

/// The steps: what a process may do with the store.
extension Simulation {
    // MARK: Opening and closing

    func open(_ process: SimulatedProcess, isLast: Bool = false) throws {
        process.begin(on: disk)
        if !isLast {
            armNextOpening?(process.storage)
            armNextOpening = nil
        }
        process.isReadOnly = !isLast && random.below(10) == 0
        process.durability =
            options.durability ?? [.full, .full, .relaxed(milliseconds: 10), .none][random.below(4)]
        process.limitsVersions = random.below(8) == 0
        var log = LogOptions(
            folder: "/store", access: process.isReadOnly ? .readOnly : .readWrite(waitMilliseconds: 0),
            durability: process.durability,
            verify: [.everything, .directory, .everythingOfSmall][random.below(3)])
        log.usesThreads = false
        log.segmentByteCount = [4096, 16 << 10, 256 << 10][random.below(3)]
        log.reserveByteCount = random.below(2) * 1024
        var storeOptions = StoreOptions(log: log)
        storeOptions.streamedByteCount = 4 << 10
        storeOptions.historyRetention = retention
        storeOptions.historyCheckpointByteCount = 16 << 10
        if process.limitsVersions { storeOptions.maximumNumberOfActiveVersions = 3 }
        // An encrypted store has no scratch files, and refuses what would need them.
        let usesScratchFiles = random.below(8) == 0
        if usesScratchFiles, !TestEnvironment.hasKey { storeOptions.transactionMemoryByteCount = 16 << 10 }
        if !isLast, options.crashes, random.below(12) == 0 { process.storage.crashAt = random.below(120) }
        if !isLast, options.faults, random.below(12) == 0 {
            process.storage.inject(SimulatedFault(.io, atCall: random.below(120)))
        }
        recordStep(
            "process \(process.number) opens\(process.isReadOnly ? " to read" : ""), \(process.durability), segments of \(log.segmentByteCount)"
        )
        let (lower, wasShared) = (ledger.shown, processes.contains { $0 !== process && $0.store != nil })
        let opened = storeOptions
        let store = try perform(process) {
            try Store(
                opened, storage: process.storage, clock: clock,
                randomness: SeededRandomness(seed: random.next()))
        }
        guard let store else {
            if isLast { throw fail("the store does not open") }
            return process.end()
        }
        process.store = store
        try look(process, atLeast: process.isReadOnly ? ledger.durable : lower)
        if !process.isReadOnly, !wasShared {
            if !isRecovered { ledger.reset(to: store.publishedVersion) }
            isRecovered = true
            ledger.acknowledge(store.publishedVersion, time: nil, isDurable: true)
        }
    }

    func close(_ process: SimulatedProcess) throws {
        guard let store = process.store else { return }
        recordStep("process \(process.number) closes")
        let closed: Void? = try perform(process) { try store.close() }
        if closed != nil, let written = process.written, !process.hasFailed {
            ledger.acknowledge(written, time: nil, isDurable: true)
        }
        process.written = nil
        try checkPins(process)
        process.end()
    }

    // MARK: Reading

    /// Pins the newest version and checks its whole content.
    func pin(_ process: SimulatedProcess) throws {
        guard let store = process.store else { return }
        let pin = store.pin()
        try check(pin, process)
        if process.pins.count < 6, let content = ledger.contents[pin.version] {
            process.pins.append(.init(pin: pin, number: pin.version, content: content))
        }
    }

    /// Checks that versions pinned earlier have not changed.
    func checkPins(_ process: SimulatedProcess) throws {
        for held in process.pins {
            if let fault = held.content.check(held.pin.snapshot, "held version \(held.number)") {
                throw fail("process \(process.number): \(fault)")
            }
        }
        if process.pins.count > 1, let store = process.store, random.below(4) == 0, !process.storage.isStopped {
            store._checkInvariants()
        }
    }

    /// Checks that the process's newest version is one that it may have.
    func look(_ process: SimulatedProcess, atLeast lower: UInt64) throws {
        guard let store = process.store else { return }
        let pin = store.pin()
        guard pin.version >= lower else {
            throw fail("process \(process.number) is at version \(pin.version), but \(lower) may not be lost")
        }
        guard pin.version <= ledger.begun else {
            throw fail("process \(process.number) is at version \(pin.version), which no commit has begun")
        }
        guard pin.version >= process.seen else {
            throw fail("process \(process.number) went back from version \(process.seen) to \(pin.version)")
        }
        try check(pin, process)
    }

    private func check(_ pin: Pin, _ process: SimulatedProcess) throws {
        guard let content = ledger.contents[pin.version] else {
            if pin.version + Ledger.memory <= ledger.begun { return }
            throw fail("process \(process.number) shows version \(pin.version), which the ledger does not know")
        }
        if pin.snapshot.schema.tables != content.schema.tables {
            throw fail("process \(process.number): version \(pin.version) has another schema")
        }
        if let fault = content.check(pin.snapshot, "version \(pin.version)") {
            throw fail("process \(process.number): \(fault)")
        }
        process.seen = max(process.seen, pin.version)
        ledger.acknowledge(pin.version, time: nil, isDurable: false)
        report.hash.add(Int(pin.version))
    }

    /// Does the work of the thread that follows what other processes publish.
    func follow(_ process: SimulatedProcess) throws {
        guard let store = process.store, !process.isReadOnly else { return }
        try perform(process) {
            store.handleOtherProcesses()
            try store.catchUp()
        }
        guard process.store != nil else { return }
        try look(process, atLeast: 0)
    }

    func readHistory(_ process: SimulatedProcess) throws {
        guard let store = process.store, !process.isReadOnly, ledger.shown > 0 else { return }
        let newest = store.publishedVersion
        let wanted = newest - min(newest, UInt64(random.below(30)))
        recordStep("process \(process.number) opens version \(wanted)")
        let past = try perform(process, mayMiss: mayMiss(wanted)) { try store.version(wanted) }
        if let past, let content = ledger.contents[wanted] {
            if let fault = content.check(past.pin.snapshot, "past version \(wanted)") { throw fail(fault) }
        }
        guard process.store != nil, let moment = ledger.times[wanted] else { return }
        let now = clock.now()
        let found = try perform(process, mayMiss: true) { try store.newestVersion { $0 <= moment } ?? 0 }
        // The clock may have been set while the process was suspended.
        guard clock.now() == now else { return }
        if let found, moment >= now {
            if found < newest { throw fail("version \(found) was found for a moment after now, not \(newest)") }
        } else if let found, found > 0 {
            if let time = ledger.times[found], time > moment {
                throw fail("version \(found) is later than \(moment)")
            }
            if let next = ledger.times[found + 1], next <= moment, found < newest {
                throw fail("version \(found + 1) is not later than \(moment), and \(found) was found")
            }
        }
    }

    /// Whether the retention may have released a past version.
    private func mayMiss(_ version: UInt64) -> Bool {
        switch retention {
        case .everything: false
        case .versions(let count): version + UInt64(count) <= ledger.begun
        case .age(let nanoseconds):
            // It was the newest one until the next was committed. Ages are known to a few milliseconds.
            if let next = ledger.begunAt[version + 1] {
                clock.passed - next >= nanoseconds - 5_000_000
            } else {
                version != ledger.begun
            }
        default: version != ledger.begun
        }
    }

    // MARK: Writing

    func transact(_ process: SimulatedProcess) throws {
        guard let store = process.store, !process.isReadOnly else { return try pin(process) }
        let transaction = try perform(process) { try store.beginWrite() }
        guard let transaction else { return }
        let base = transaction.base.version
        guard var content = ledger.contents[base] else {
            throw fail("process \(process.number) writes on version \(base), which the ledger does not know")
        }
        guard base >= ledger.shown else {
            throw fail("process \(process.number) writes on version \(base), but \(ledger.shown) was acknowledged")
        }
        process.isBusy = true
        defer { process.isBusy = false }
        if content.schema.tables.isEmpty {
            content = Oracle(modelSchema())
            try transaction.changeSchema(to: content.schema)
        } else if random.below(60) == 0, content.schema.tables[0].columns.count < 20 {
            try widen(transaction, &content)
        }
        for _ in 0..<(1 + random.below(random.below(20) == 0 ? 60 : 8)) {
            try operations.operate(transaction, &content)
            report.operations += 1
        }
        let choice = random.below(20)
        if choice == 0 {
            recordStep("process \(process.number) cancels version \(base + 1)")
            transaction.cancel()
            return
        }
        let version = base + 1
        recordStep("process \(process.number) commits version \(version)\(choice < 4 ? ", and does not wait" : "")")
        ledger.begin(version, content, at: clock.passed)
        process.isBusy = false
        let committed = try perform(process, attempting: version) {
            choice < 4 ? try transaction.commitWithoutWaiting() : try transaction.commit()
        }
        guard let committed else { return }
        guard committed.number == version else { throw fail("version \(version) was committed as \(committed.number)") }
        report.commits += 1
        if choice < 4 {
            process.written = version
        } else {
            process.written = nil
            ledger.acknowledge(version, time: committed.time, isDurable: process.durability == .full)
            try look(process, atLeast: version)
        }
        if random.below(4) == 0 { try waitForWritten(process) }
    }

    private func waitForWritten(_ process: SimulatedProcess) throws {
        guard let store = process.store, let version = process.written else { return }
        process.written = nil
        let done: Void? = try perform(process) { try store.waitUntilPublished(version) }
        if done != nil { ledger.acknowledge(version, time: nil, isDurable: process.durability == .full) }
    }

    /// Adds a property or a class.
    private func widen(_ transaction: WriteTransaction, _ content: inout Oracle) throws {
        let number = content.schema.tables[0].columns.count
        switch random.below(3) {
        case 0:
            content.addColumn(
                0, ColumnSchema(name: "extra\(number)", type: .string, isNullable: true, isIndexed: true),
                holding: .null)
        case 1: content.addColumn(0, ColumnSchema(name: "extra\(number)", type: .int), holding: .int(0))
        default:
            content.addTable(
                TableSchema(
                    name: "T\(content.schema.tables.count)", primaryKey: 0,
                    columns: [ColumnSchema(name: "id", type: .int), ColumnSchema(name: "text", type: .string)]))
        }
        recordStep("the schema grows")
        try transaction.changeSchema(to: content.schema)
    }

    /// Does the work of the log's maintenance thread, which syncs after a while with `.relaxed`.
    func syncInBackground(_ process: SimulatedProcess) throws {
        try waitForWritten(process)
        guard let store = process.store, let log = store.log, !process.isReadOnly, log.isWriting else { return }
        let version = store.publishedVersion
        let done: Void? = try perform(process) { try log.sync() }
        if done != nil { ledger.acknowledge(version, time: nil, isDurable: true) }
        try perform(process) { if log.isWriting { try log.writeMark() } }
    }

    func compact(_ process: SimulatedProcess) throws {
        guard let store = process.store, !process.isReadOnly else { return }
        let choice = random.below(4)
        recordStep("process \(process.number) compacts")
        let done = try perform(process) {
            switch choice {
            case 0: try store.compact() != nil
            case 1: try store.compact(garbageShare: -1) != nil
            case 2: try store.compact(garbageShare: 0.1, rewritesAll: false) != nil
            default: try store.compact(garbageShare: 10) != nil
            }
        }
        if done == true { report.compactions += 1 }
        guard process.store != nil else { return }
        try look(process, atLeast: 0)
        if random.below(2) == 0 { try checkPins(process) }
    }
}
