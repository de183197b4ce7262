import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// On a full disk, an application can always make room by deleting.
@Suite(.timeLimit(.minutes(20))) struct FullDiskTests {
    private static let table = TableID(0)
    private static let reserve = 1 << 20

    private final class Events: Sendable {
        let failures = Guarded<Int>(.unranked, 0)
    }

    private let storage: SimulatedStorage
    private let clock = ManualClock()
    private let events = Events()

    init() { storage = SimulatedStorage(seed: 7) }

    private func open(
        usesThreads: Bool = false, durability: Durability = .none, clock: (any FirnStorage.Clock)? = nil,
        _ change: (inout StoreOptions) -> Void = { _ in }
    ) throws -> Store {
        var log = LogOptions(folder: "/store", durability: durability)
        log.usesThreads = usesThreads
        log.reserveByteCount = Self.reserve
        var options = StoreOptions(log: log)
        options.compaction.bytesPerSecond = 0
        options.onEvent = { [events] event in
            if case .compactionFailed(let error) = event, error.code != .closed {
                events.failures.withLock { $0 += 1 }
            }
        }
        change(&options)
        return try Store(options, storage: storage, clock: clock ?? self.clock)
    }

    /// Bytes that don't compress.
    private static func noise(_ seed: Int64, _ count: Int) -> [UInt8] {
        var random = SeededRandom(seed: UInt64(bitPattern: seed) &+ 1)
        let words = (0..<(count + 7) / 8).map { _ in random.next() }
        return words.withUnsafeBytes { Array($0.prefix(count)) }
    }

    private static func makeTable(_ store: Store) throws {
        let transaction = try store.beginWrite()
        try transaction.makeTable(
            "Picture",
            [
                ColumnSchema(name: "id", type: .int), ColumnSchema(name: "bytes", type: .data),
                ColumnSchema(name: "tags", type: .data, collection: .list),
                ColumnSchema(name: "names", type: .data, collection: .map),
                ColumnSchema(name: "next", type: .link, target: table),
            ])
        try transaction.commit()
    }

    @discardableResult
    private static func add(
        _ transaction: WriteTransaction, _ id: Int64, byteCount: Int, tags: Int = 0, names: Int = 0
    ) throws -> Int64 {
        var row = transaction.beginRow(table)
        transaction.fill(&row, column: 0, value: .int(id))
        transaction.fill(&row, column: 1, value: .data(noise(id, byteCount)))
        if tags > 0 {
            transaction.fill(&row, column: 2, value: .list((0..<tags).map { .data(noise(id &* 100 + Int64($0), 900)) }))
        }
        if names > 0 {
            transaction.fill(
                &row, column: 3,
                value: .map(
                    (0..<names).map { Value.MapEntry(key: "name \($0 + 100)", value: .data(noise(Int64($0), 900))) }))
        }
        try transaction.endRow(row)
        return row.key
    }

    private static func commit(_ store: Store, _ body: (WriteTransaction) throws -> Void) throws {
        let transaction = try store.beginWrite()
        do { try body(transaction) } catch {
            transaction.cancel()
            throw error
        }
        try transaction.commit()
    }

    /// Fills the store's log with objects of 1,000 bytes, 100 in each transaction.
    private static func fill(_ store: Store, _ count: Int, byteCount: Int = 1000) throws {
        for start in stride(from: 0, to: count, by: 100) {
            try commit(store) { transaction in
                for id in start..<min(start + 100, count) { try add(transaction, Int64(id), byteCount: byteCount) }
            }
        }
    }

    /// Leaves no more space than a small commit needs.
    private func fillDisk(_ space: Int = 64) { storage.disk.capacity = storage.disk.usedByteCount + space }

    private var hasReserve: Bool { (try? storage.status("/store/reserve")) != nil }

    /// Whether the changeset of each version in the log has old values.
    private static func haveOldValues(_ store: Store) throws -> [Bool] {
        var result: [Bool] = []
        let log = try #require(store.log)
        try log.replay(after: 0, through: store.publishedVersion) { commit in
            let reader = ChangesetReader(version: commit.version, direction: .both)
            var hasOldValues = true
            while let part = try commit.next() {
                guard part.kind == .changes else { continue }
                try reader.read(part.bytes) { _ in }
                hasOldValues = hasOldValues && reader.hasOldValues
            }
            try reader.finish()
            result.append(hasOldValues)
        }
        return result
    }

    // MARK: What may use the reserve

    @Test func aDeletionOfMoreThanTheReserveIsCommittedWithoutItsOldValues() throws {
        let store = try open { $0.compaction.isAutomatic = false }
        try Self.makeTable(store)
        try Self.fill(store, 3000)
        fillDisk()
        let held = store.pin()
        try Self.commit(store) { for key in 0..<Int64(2990) { $0.delete(Self.table, key) } }
        #expect(!hasReserve && store.pin().snapshot.table(Self.table).count == 10)
        let versions = try Self.haveOldValues(store)
        #expect(versions.last == false && versions.dropLast().allSatisfy { $0 })
        // Who holds the version before still sees everything.
        #expect(held.snapshot.table(Self.table).value(1, of: 7) == .data(Self.noise(7, 1000)))
        try store.close()
        storage.disk.capacity = nil
        let again = try open { $0.compaction.isAutomatic = false }
        #expect(again.recovery?.outcome == .clean)
        let table = again.pin().snapshot.table(Self.table)
        #expect(table.count == 10 && table.value(1, of: 2995) == .data(Self.noise(2995, 1000)))
        again._checkInvariants()
        // With space, old values are logged again.
        try Self.commit(again) { $0.delete(Self.table, 2995) }
        #expect(try Self.haveOldValues(again).last == true)
    }

    @Test func whatCountsIsHowManyBytesATransactionAddsAndRemoves() throws {
        let store = try open()
        try Self.makeTable(store)
        try Self.commit(store) { transaction in
            for id in 0..<Int64(6) {
                try Self.add(transaction, id, byteCount: 3000, tags: 100, names: 20)
                transaction.set(Self.table, column: 4, key: id, to: .link(0))
            }
        }
        fillDisk()
        typealias Body = (WriteTransaction) throws -> Void
        let growing: [(String, Body)] = [
            ("a new object", { try Self.add($0, 100, byteCount: 1) }),
            ("a longer value", { $0.set(Self.table, column: 1, key: 1, to: .data(Self.noise(8, 3001))) }),
            ("another value", { $0.set(Self.table, column: 1, key: 1, to: .data(Self.noise(8, 3000))) }),
            ("an element", { $0.edit(Self.table, column: 2, key: 1) { list in list.append(.data([1])) } }),
            (
                "an object that is exchanged for a longer one",
                { transaction in
                    transaction.delete(Self.table, 5)
                    try Self.add(transaction, 101, byteCount: 120_000)
                }
            ),
            (
                "more than a commit into the reserve may add, for even more",
                { transaction in
                    for key in 1..<Int64(6) { transaction.delete(Self.table, key) }
                    try Self.add(transaction, 101, byteCount: 300_000)
                }
            ),
        ]
        for (what, body) in growing {
            #expect(logCode { try Self.commit(store, body) } == .diskFull, "\(what)")
            #expect(hasReserve, "\(what)")
        }
        let shrinking: [(String, Body)] = [
            ("a shorter value", { $0.set(Self.table, column: 1, key: 1, to: .data([])) }),
            ("an element", { $0.edit(Self.table, column: 2, key: 1) { list in _ = list.remove(at: 50) } }),
            ("a list that is emptied", { $0.edit(Self.table, column: 2, key: 1) { list in list.removeAll() } }),
            ("a list that is assigned", { $0.set(Self.table, column: 2, key: 2, to: .list([])) }),
            ("a map that is assigned", { $0.set(Self.table, column: 3, key: 2, to: .map([])) }),
            ("an object to which others link", { $0.delete(Self.table, 0) }),
            (
                "an object that is exchanged for a shorter one",
                { transaction in
                    transaction.delete(Self.table, 5)
                    try Self.add(transaction, 101, byteCount: 20)
                }
            ),
        ]
        for (what, body) in shrinking {
            #expect(logCode { try Self.commit(store, body) } == nil, "\(what)")
            #expect(!hasReserve, "\(what)")
            #expect(try Self.haveOldValues(store).last == false, "\(what)")
        }
        let table = store.pin().snapshot.table(Self.table)
        let expected = (0..<table.count).map { Self.row(table, $0) }
        try store.close()
        storage.disk.capacity = nil
        let again = try open()
        let reopened = again.pin().snapshot.table(Self.table)
        #expect((0..<reopened.count).map { Self.row(reopened, $0) } == expected && expected.count == 5)
        again._checkInvariants()
    }

    private static func row(_ table: TableView, _ position: Int) -> [Value] {
        let (leaf, row) = table.location(at: position)
        return (0..<5).map { table.value($0, leaf: leaf, row: row) }
    }

    /// A deletion that also changes the schema is encoded by the old schema, without old values, too.
    @Test func aDeletionThatChangesTheSchemaUsesTheReserve() throws {
        let store = try open()
        try Self.makeTable(store)
        try Self.fill(store, 200)
        fillDisk()
        try Self.commit(store) { transaction in
            var schema = store.schema
            schema.tables[0].columns[2].isRemoved = true
            schema.tables[0].columns.append(ColumnSchema(name: "more", type: .int))
            try transaction.changeSchema(to: schema)
            for key in 10..<Int64(200) { transaction.delete(Self.table, key) }
        }
        try store.close()
        storage.disk.capacity = nil
        let again = try open()
        let table = again.pin().snapshot.table(Self.table)
        #expect(table.count == 10 && table.value(5, of: 3) == .int(0))
        #expect(table.value(1, of: 3) == .data(Self.noise(3, 1000)))
        again._checkInvariants()
    }

    /// The commit may have many parts, of which the first were written before the disk was full.
    @Test(arguments: [0, 64, 40_000, 400_000]) func aPowerCutAfterADeletionInTheReserveLosesNothing(space: Int) throws {
        let store = try open(durability: .full)
        try Self.makeTable(store)
        try Self.commit(store) { transaction in
            for id in 0..<Int64(40) { try Self.add(transaction, id, byteCount: 100_000) }
        }
        fillDisk(space)
        try Self.commit(store) { for key in 1..<Int64(40) { $0.delete(Self.table, key) } }
        let disk = storage.disk.afterPowerCut(seed: 3, .nothing)
        disk.capacity = nil
        var log = LogOptions(folder: "/store", verify: .everything)
        log.usesThreads = false
        let again = try Store(StoreOptions(log: log), storage: disk.newProcess())
        #expect(again.publishedVersion == 3)
        let table = again.pin().snapshot.table(Self.table)
        #expect(table.count == 1 && table.value(1, of: 0) == .data(Self.noise(0, 100_000)))
    }

    // MARK: Making room

    /// On a simulated disk; with the variable FIRN_FULL_DISK, on the disk of that folder, which must be empty.
    @Test func aFullDiskIsEmptiedByDeletingAlone() throws {
        if let folder = TestEnvironment.value("FIRN_FULL_DISK") {
            let disk = PosixStorage.shared
            func available() -> Int { (try? disk.volume(of: folder))?.availableByteCount ?? 0 }
            let capacity = available()
            try Self.fillAndEmpty(disk, folder + "/store", capacity: capacity, reserve: 4 << 20) {
                capacity - available()
            }
        } else {
            storage.disk.capacity = 24 << 20
            try Self.fillAndEmpty(storage, "/store", capacity: 24 << 20, reserve: 4 << 20) {
                storage.disk.usedByteCount
            }
        }
    }

    /// Everything is deleted while the compactor writes, and nobody commits any more. What the checkpoint has not freed
    /// makes the next one due.
    @Test func whatIsDeletedDuringTheLastCompactionIsFreedToo() throws {
        storage.disk.capacity = 24 << 20
        let hook = Guarded<(@Sendable () -> Void)?>(.unranked, nil)
        try Self.fillAndEmpty(storage, "/store", capacity: 24 << 20, reserve: 4 << 20, during: hook) {
            storage.disk.usedByteCount
        }
    }

    /// Fills a disk until ten commits were refused, and empties it by deleting alone, a twentieth at a time.
    private static func fillAndEmpty(
        _ storage: any Storage, _ folder: String, capacity: Int, reserve: Int,
        during hook: Guarded<(@Sendable () -> Void)?>? = nil, used: () -> Int
    ) throws {
        var options = StoreOptions(log: LogOptions(folder: folder))
        options.log?.reserveByteCount = reserve
        if let hook {
            options.duringCompaction = {
                let body = hook.withLock { body in
                    defer { body = nil }
                    return body
                }
                body?()
            }
        }
        let store = try Store(options, storage: storage)
        try makeTable(store)
        var random = SeededRandom(seed: 5)
        var keys: [Int64] = []
        var next: Int64 = 0
        var refused = 0
        while refused < 10 {
            var made: [Int64] = []
            let error = logCode {
                try commit(store) { transaction in
                    for id in next..<next + 20 { made.append(try add(transaction, id, byteCount: 5000)) }
                }
            }
            if error == nil {
                keys += made
                next += 20
            } else {
                #expect(error == .diskFull)
                refused += 1
                // A checkpoint may make room.
                try store.compaction.thread.run { () throws(StoreError) in }
            }
        }
        #expect(keys.count > capacity / 20_000)
        let step = keys.count / 20 + 1
        if let hook {
            // All but a twentieth, whose deletion makes a checkpoint due.
            let rest = Array(keys.dropFirst(step))
            keys = Array(keys.prefix(step))
            hook.withLock { body in
                body = {
                    do {
                        try commit(store) { transaction in for key in rest { transaction.delete(table, key) } }
                    } catch {
                        Issue.record("\(error)")
                    }
                }
            }
        }
        while !keys.isEmpty {
            try commit(store) { transaction in
                for _ in 0..<min(step, keys.count) {
                    transaction.delete(table, keys.remove(at: random.below(keys.count)))
                }
            }
        }
        func rest() -> Int { used() - (((try? storage.status(folder + "/reserve")) ?? nil) == nil ? 0 : reserve) }
        #expect(
            TestTimeout.awaits { rest() < capacity / 10 },
            "\(rest()) bytes are still used; the compactor's failure: \(String(describing: store.compactionFailure))")
        // There is room for everything again.
        try fill(store, capacity / 10_000)
        try store.close()
        options.log?.verify = .everything
        let again = try Store(options, storage: storage)
        #expect(again.pin().snapshot.table(table).count == capacity / 10_000)
        again._checkInvariants()
        try again.close()
    }

    /// Only as much is moved at a time as there is space for, and what that frees makes room for the next step. (The
    /// simulated disk says how little space it has, and does not count holes. FIRN_FULL_DISK as above.)
    @Test func aCompactionThatDoesNotFitAtOnceIsDoneInSteps() throws {
        let folder = TestEnvironment.value("FIRN_FULL_DISK")
        let storage: any Storage = folder == nil ? self.storage : PosixStorage.shared
        var options = StoreOptions(log: LogOptions(folder: (folder ?? "") + "/steps"))
        options.log?.reserveByteCount = 0
        options.log?.usesThreads = false
        options.compaction.isAutomatic = false
        let store = try Store(options, storage: storage)
        try Self.makeTable(store)
        // Each value has a node of its own, so that live and dead ones share blocks.
        try Self.fill(store, 4000, byteCount: 1100)
        try store.compact()
        for part in 0..<4 {
            try Self.commit(store) { transaction in
                for key in stride(from: Int64(part), to: 4000, by: 5) { transaction.delete(Self.table, key) }
            }
        }
        try store.compact(garbageShare: 10)
        let live = 800 * 1100
        #expect(store.fileByteCount > live * 4)
        let space = 600 << 10
        if let folder {
            let ballast = try storage.open(folder + "/ballast", .create)
            let count = try storage.volume(of: folder).availableByteCount - space
            try [UInt8](repeating: 1, count: count).withUnsafeBytes { try ballast.write($0, at: 0) }
        } else {
            self.storage.disk.volume.availableByteCount = space
        }
        let before = try #require(store.log?.checkpoint).id
        let report = try #require(try store.compact())
        #expect(store.fileByteCount < live * 2)
        let checkpoint = try #require(store.log?.checkpoint)
        #expect(checkpoint.id > before + 1)
        // On a real disk the first steps make so much room that everything fits into the last one.
        if folder == nil {
            let written = checkpoint.files.filter { $0.id > before }
            #expect(!report.isWhole && written.count > 1 && written.allSatisfy { $0.byteCount < space })
        }
        store._checkInvariants()
        try store.close()
        options.log?.verify = .everything
        let again = try Store(options, storage: storage)
        let table = again.pin().snapshot.table(Self.table)
        #expect(table.count == 800)
        for key in stride(from: Int64(4), to: 4000, by: 5) {
            #expect(table.value(1, of: key) == .data(Self.noise(key, 1100)), "object \(key)")
        }
        try again.close()
    }

    /// Such checkpoints free nothing, and their files stay.
    @Test func aDiskWithLittleSpaceIsNotFilledWithCheckpointsOfRetainedVersions() throws {
        storage.disk.capacity = 8 << 20
        for retention in [HistoryRetention.everything, .none] {
            var log = LogOptions(folder: "/store \(retention)", durability: .none)
            log.reserveByteCount = 0
            var options = StoreOptions(log: log)
            options.historyRetention = retention
            let store = try Store(options, storage: storage)
            try Self.makeTable(store)
            for round in 0..<4 {
                try Self.commit(store) { try Self.add($0, Int64(round), byteCount: 400_000) }
                try store.compaction.thread.run { () throws(StoreError) in }
            }
            try Self.commit(store) { $0.delete(Self.table, 0) }
            if retention == .none {
                #expect(TestTimeout.awaits { store.log?.checkpoint != nil })
            } else {
                try store.compaction.thread.run { () throws(StoreError) in }
                #expect(store.log?.checkpoint == nil && store.compactionFailure == nil)
            }
        }
    }

    @Test func aCheckpointThatHasNoRoomIsNotTriedWithEveryCommit() throws {
        let store = try open(usesThreads: true) { $0.compaction.logByteCount = (least: 64 << 10, most: 64 << 10) }
        try Self.makeTable(store)
        try Self.commit(store) { transaction in
            for id in 0..<Int64(4000) { try Self.add(transaction, id, byteCount: 1000) }
        }
        fillDisk(20 << 10)
        for round in 0..<100 {
            try Self.commit(store) { $0.delete(Self.table, Int64(round)) }
            // Its tries are counted when they are over.
            try store.compaction.thread.run { () throws(StoreError) in }
        }
        #expect(events.failures.withLock { $0 } <= 2)
        // It is tried again after a while.
        let before = events.failures.withLock { $0 }
        clock.advance(by: 3_600_000_000_000)
        try Self.commit(store) { $0.delete(Self.table, 2000) }
        #expect(TestTimeout.awaits { events.failures.withLock { $0 } > before || store.log?.checkpoint != nil })
        try store.close()
    }

    /// Whoever has emptied a disk may be done, and commit nothing for a long time.
    @Test func aCheckpointThatHadNoRoomIsTriedAgainWithoutACommit() throws {
        let store = try open(usesThreads: true, clock: SystemClock.shared) {
            $0.compaction.logByteCount = (least: 64 << 10, most: 64 << 10)
        }
        try Self.makeTable(store)
        storage.disk.capacity = storage.disk.usedByteCount + (5 << 20)
        try Self.commit(store) { transaction in
            for id in 0..<Int64(4000) { try Self.add(transaction, id, byteCount: 1000) }
        }
        #expect(TestTimeout.awaits { events.failures.withLock { $0 } > 0 })
        // Once more, when it waits for its time: there is room, and nobody commits.
        try store.compaction.thread.run { () throws(StoreError) in }
        #expect(store.log?.checkpoint == nil)
        storage.disk.capacity = nil
        #expect(TestTimeout.awaits { store.log?.checkpoint != nil })
        try store.close()
    }
}
