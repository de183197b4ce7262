import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// A day of a server in simulated time: three writers, readers that hold a version for minutes, observers, and the
/// compactor, which follows its rule.
///
/// A minute ends when the writers' threads have done their work for it and the compactor has done what is due. At its
/// real pace it writes 3.8 GB a minute, so no compaction of such a store takes longer. The compactor works beside the
/// writers.
///
/// `accounts`, `readers` and `random` belong to the holder of the write lock, and between minutes to the thread that
/// runs the day.
final class ServerDay: @unchecked Sendable {
    struct Plan {
        let seed: UInt64
        var objectCount = 4000
        var commitsPerMinute = 4
        /// How many of 100 changes affect any object; the others affect the newest fiftieth.
        let spread: Int
        var durability = Durability.none
        var rule = CompactionRule()
    }

    /// A reader that reads one version for some minutes.
    struct Reader {
        let pin: Pin
        let count: Int
        let total: Int64
        let samples: [(key: Int64, account: Account?)]
        let until: Int64
    }

    static let table = TableID(0)
    let plan: Plan
    let clock = ManualClock()
    let folder = TemporaryFolder()
    let store: Store
    private(set) var accounts = Accounts()
    private(set) var readers: [Reader] = []
    private var random: SeededRandom
    private var watchers: [Watcher] = []
    private(set) var use: StoreUse
    private(set) var readerCount = 0
    private(set) var minute = 0

    init(_ plan: Plan) throws {
        self.plan = plan
        random = SeededRandom(seed: plan.seed)
        var options = StoreOptions(log: LogOptions(folder: folder.path + "/store", durability: plan.durability))
        options.log?.segmentByteCount = max(plan.rule.logByteCount.least / 4, 4096)
        options.log?.reserveByteCount = 0
        options.compaction = plan.rule
        options.compaction.bytesPerSecond = 0
        store = try Store(options, storage: PosixStorage.shared, clock: clock)
        use = StoreUse(store, folder.path + "/store")
        let transaction = try store.beginWrite()
        try transaction.changeSchema(to: Account.schema)
        for _ in 0..<plan.objectCount { try add(transaction) }
        try transaction.commit()
        try store.compact()
        watchers = [1, 7, 30].map { Watcher(store, every: $0) }
    }

    /// Runs the given number of minutes.
    func run(minutes: Int) throws {
        for _ in 0..<minutes {
            minute += 1
            let running = Guarded(.unranked, 3)
            let writers = try (0..<3).map { number in
                try StorageThread.start(name: "writer \(number)") { [self] in
                    do { try write(plan.commitsPerMinute / 3 + (number < plan.commitsPerMinute % 3 ? 1 : 0)) } catch {
                        Issue.record("seed \(plan.seed), minute \(minute): \(error)")
                    }
                    running.withLock { $0 -= 1 }
                }
            }
            while running.withLock({ $0 }) > 0 { try glance() }
            for writer in writers { writer.join() }
            if minute % 60 == 0 { try batch() }
            try waitForCompactions()
            try use.look(readers.map(\.pin) + watchers.map(\.pin))
            try check()
        }
    }

    /// Releases all readers and observers.
    func end() {
        readers = []
        watchers = []
    }

    // MARK: Writing

    private func write(_ count: Int) throws {
        for _ in 0..<count {
            let transaction = try store.beginWrite()
            // The base is what the oracle says, whichever writer commits next.
            if random.below(3) == 0 { addReader(transaction.base.again()) }
            for _ in 0...random.below(3) { try change(transaction) }
            clock.advance(by: 60_000_000_000 / Int64(plan.commitsPerMinute))
            try transaction.commit()
        }
    }

    /// Many changes at once, once an hour.
    private func batch() throws {
        let transaction = try store.beginWrite()
        for _ in 0..<plan.objectCount / 40 { try change(transaction) }
        try transaction.commit()
    }

    private func change(_ transaction: WriteTransaction) throws {
        let index = random.below(100) < plan.spread ? random.below(accounts.count) : accounts.recent(&random)
        let key = accounts.key(index)
        switch random.below(8) {
        case 0:
            transaction.delete(Self.table, key)
            accounts.remove(index)
            try add(transaction)
        case 1, 2, 3:
            let note = Account.note(&random)
            transaction.set(Self.table, column: 3, key: key, to: .data(note))
            accounts.change(key) { $0.note = note }
        default:
            let balance = Int64(random.below(1_000_000))
            transaction.set(Self.table, column: 1, key: key, to: .int(balance))
            accounts.change(key) { $0.balance = balance }
        }
    }

    private func add(_ transaction: WriteTransaction) throws {
        let account = Account(id: accounts.nextID, &random)
        var row = transaction.beginRow(Self.table)
        for (column, value) in account.values.enumerated() { transaction.fill(&row, column: column, value: value) }
        try transaction.endRow(row)
        accounts.add(row.key, account)
    }

    // MARK: Reading

    private func addReader(_ pin: Pin) {
        let samples = (0..<8).map { _ in
            let key = accounts.key(random.below(accounts.count))
            return (key: key, account: accounts[key])
        }
        let minutes = 1 + random.below(random.below(10) == 0 ? 60 : 10)
        readers.append(
            Reader(
                pin: pin, count: accounts.count, total: accounts.total, samples: samples,
                until: clock.now() + Int64(minutes) * 60_000_000_000))
        readerCount += 1
    }

    /// A reader that has read long enough checks its version once more, and is released. Observers are called.
    private func check() throws {
        let now = clock.now()
        for reader in readers where reader.until <= now { try check(reader) }
        readers.removeAll { $0.until <= now }
        for watcher in watchers where minute % watcher.interval == 0 {
            try watcher.look(store, accounts, isThorough: minute % 420 == 0)
        }
        guard minute % 60 == 0 else { return }
        // Exactly what is held is alive.
        let pins = readers.map(\.pin) + watchers.map(\.pin)
        let reached = store.reachedNodeCount(pins)
        #expect(store.heap.nodeCount == reached, "seed \(plan.seed), minute \(minute)")
        let versions = Set(pins.map(\.version) + [store.publishedVersion])
        #expect(store.activeVersions.map(\.number) == versions.sorted(), "seed \(plan.seed), minute \(minute)")
    }

    private func check(_ reader: Reader) throws {
        let table = reader.pin.snapshot.table(Self.table)
        var total: Int64 = 0
        table.forEachLeaf { leaf, _ in
            let balances = leaf.chunk(1)
            for row in 0..<leaf.count { total += balances.load(row, as: Int64.self) }
            return true
        }
        guard table.count == reader.count, total == reader.total else {
            throw ModelRun.Failure(
                description: "version \(reader.pin.version) has \(table.count) accounts with \(total) in all")
        }
        for (key, account) in reader.samples {
            for (column, value) in (account?.values ?? []).enumerated() where table.value(column, of: key) != value {
                throw ModelRun.Failure(
                    description: "version \(reader.pin.version): property \(column) of account \(key)")
            }
        }
    }

    // MARK: Compacting

    /// Waits until nothing is due and no compaction runs.
    private func waitForCompactions() throws {
        while let log = store.log,
            plan.rule.isDue(
                log: log.byteCountSinceCheckpoint, live: store.compaction.liveByteCount.load(ordering: .relaxed))
                || store.fileReferences.hasReleased
        {
            if let failure = store.compactionFailure { throw failure }
            // If a compaction is asked for while one is just ending, the next begins with the next commit; a minute
            // has many.
            store.startCheckpointIfDue()
            try glance()
        }
        try store.compaction.thread.run { () throws(StoreError) in }
    }

    private func glance() throws {
        try use.glance()
        sleepThread(nanoseconds: 1_000_000)
    }
}

/// An observer that is shown every few minutes what has changed. It keeps what it was shown.
private final class Watcher {
    let interval: Int
    private(set) var pin: Pin
    private let cursor: ChangeCursor
    private var balances: [Int64: Int64] = [:]

    init(_ store: Store, every interval: Int) {
        self.interval = interval
        pin = store.pin()
        cursor = store.makeChangeCursor(after: pin.version)
        let table = pin.snapshot.table(ServerDay.table)
        table.forEachLeaf { leaf, _ in
            for row in 0..<leaf.count { balances[leaf.key(row)] = leaf.chunk(1).load(row, as: Int64.self) }
            return true
        }
    }

    func look(_ store: Store, _ accounts: Accounts, isThorough: Bool) throws {
        let new = store.pin()
        let summary = cursor.changes(from: pin, to: new).tables[ServerDay.table] ?? TableSummary()
        let table = new.snapshot.table(ServerDay.table)
        for key in summary.deleted { balances[key] = nil }
        for key in summary.inserted.union(summary.modified.keys) {
            guard case .int(let balance)? = table.value(1, of: key) else {
                throw ModelRun.Failure(description: "account \(key) does not exist")
            }
            balances[key] = balance
            if accounts[key]?.balance != balance {
                throw ModelRun.Failure(description: "account \(key) is not what it was changed to")
            }
        }
        guard balances.count == accounts.count else {
            throw ModelRun.Failure(description: "\(balances.count) accounts were reported")
        }
        if isThorough, balances.contains(where: { accounts[$0.key]?.balance != $0.value }) {
            throw ModelRun.Failure(description: "a change was not reported")
        }
        cursor.advance(to: new.version)
        pin = new
    }
}
