import FirnLog
import FirnSimulation
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// Any retained version can be opened, and has its original content.
@Suite(.timeLimit(.minutes(20))) struct PastVersionTests {
    /// Runs a model on a store that retains everything. Returns the run and the content of each version.
    private static func run(
        seed: UInt64, transactions: Int, compacts: Bool = false
    ) throws -> (ModelRun, [UInt64: Oracle]) {
        let run = try ModelRun(seed: seed, storage: MemoryStorage()) { $0.historyCheckpointByteCount = 64 << 10 }
        run.store.retain(.everything)
        var oracles: [UInt64: Oracle] = [run.store.publishedVersion: run.oracle]
        for _ in 0..<transactions {
            try run.transaction(operations: 1 + run.random.below(30))
            oracles[run.store.publishedVersion] = run.oracle
            if compacts, run.random.below(5) == 0 { try compact(run) }
        }
        return (run, oracles)
    }

    /// Rewrites everything, or only what has changed.
    private static func compact(_ run: ModelRun) throws {
        try run.store.compact(garbageShare: run.random.below(2) == 0 ? -1 : 10)
    }

    /// Opens 200 random versions with compactions in between and after, and 120 without any.
    @Test(arguments: [(5, false), (6, false), (17, true), (18, true)] as [(UInt64, Bool)])
    func aRandomPastVersionHasItsOldContents(seed: UInt64, compacts: Bool) throws {
        let (run, oracles) = try Self.run(seed: seed, transactions: 110, compacts: compacts)
        let newest = run.store.publishedVersion
        #expect(newest > 70)
        // Meanwhile readers of the store itself hold some versions, and some past versions remain held.
        var held: [(PastVersion, Oracle)] = []
        for round in 0..<(compacts ? 100 : 60) {
            let number = 1 + UInt64(run.random.below(Int(newest)))
            let version = try run.store.version(number)
            let oracle = try #require(oracles[number])
            #expect(version.pin.version == number && version.schema == run.schema)
            #expect(oracle.check(version.pin.snapshot, "seed \(seed), version \(number)") == nil)
            if round % 20 == 0 { version.pin.snapshot._checkInvariants() }
            if run.random.below(3) == 0 { held.append((version, oracle)) }
            if held.count > 8 { held.remove(at: run.random.below(held.count)) }
            if round % 6 == 5 { try run.transaction(operations: 10) }
            if compacts, round % 12 == 7 { try Self.compact(run) }
            #expect(run.store.history.tips.count <= History.storeCount.most)
        }
        if compacts { #expect(try #require(run.store.log).listedCheckpoints.count > 2) }
        run.store._checkInvariants()
        try run.store.close()
        // Held versions outlive the store.
        for (version, oracle) in held {
            #expect(oracle.check(version.pin.snapshot, "seed \(seed), held version \(version.pin.version)") == nil)
        }
        let error = #expect(throws: StoreError.self) { try run.store.version(1) }
        #expect(error?.code == .closed)
    }

    @Test func openingAHeldVersionReturnsThatVersion() throws {
        let (run, _) = try Self.run(seed: 7, transactions: 12)
        let pin = run.store.pin()
        try run.transaction(operations: 5)
        let root = pin.snapshot.root
        #expect(try run.store.version(pin.version).pin.snapshot.root == root)
        let newest = run.store.pin()
        #expect(try run.store.version(newest.version).pin.snapshot.root == newest.snapshot.root)
        #expect(run.store.history.tips.isEmpty)
        // The same holds for a past version while it is held.
        let past = try run.store.version(3)
        _ = try run.store.version(6)
        #expect(try run.store.version(3).pin.snapshot.root == past.pin.snapshot.root)
    }

    @Test func openingReplaysFromTheNearestEarlierVersion() throws {
        let (run, _) = try Self.run(seed: 8, transactions: 70)
        func tips(_ number: UInt64) throws -> [UInt64] {
            _ = try run.store.version(number)
            return run.store.history.tips
        }
        #expect(try tips(10) == [10])
        #expect(try tips(12) == [12])
        #expect(try tips(5) == [12, 5])
        #expect(try tips(12) == [5, 12])
        #expect(try tips(2) == [5, 12, 2])
        #expect(try tips(11) == [12, 2, 11])
        #expect(try tips(1) == [12, 2, 11, 1])
        // The versions that the stores were moved on from are still available.
        #expect(try tips(10) == [2, 11, 1, 12])
        #expect(try tips(5) == [2, 1, 12, 11])
        // None of these can be moved forward to another one; the least recently requested ones are dropped.
        let newest = run.store.publishedVersion
        try #require(newest > 32)
        for number in (newest - 20..<newest).reversed() { _ = try tips(number) }
        #expect(run.store.history.tips == (newest - 20...newest - 5).reversed())
    }

    /// If memory is short, versions that a store has moved on from are released before stores that are at another
    /// version.
    @Test(arguments: [0, 1 << 30]) func versionsThatAStoreHasMovedOnFromAreReleasedFirst(byteCount: Int) throws {
        let (run, oracles) = try Self.run(seed: 8, transactions: 70)
        let store = run.store
        let log = try #require(store.log)
        let history = History(byteCount: byteCount)
        func open(_ number: UInt64) throws {
            let version = try history.open(
                number, log, bases: try store.historyBases(log, log.listedCheckpoints), as: store.schema)
            #expect(version.pin.version == number)
            #expect(try #require(oracles[number]).check(version.pin.snapshot, "version \(number)") == nil)
        }
        // Each version is reached from the one before. The versions passed are then opened from the beginning, unless
        // there is memory to keep them.
        for number: UInt64 in [10, 12, 14] { try open(number) }
        #expect(history.tips == [14])
        try open(12)
        #expect(history.tips == (byteCount == 0 ? [14, 12] : [14]))
        try open(10)
        #expect(history.tips == (byteCount == 0 ? [14, 12, 10] : [14]))
    }

    @Test func theEmptyStoreIsVersionZero() throws {
        let (run, _) = try Self.run(seed: 9, transactions: 4)
        let version = try run.store.version(0)
        #expect(version.pin.version == 0 && version.pin.snapshot.schema.tables.isEmpty)
        #expect(try run.store.version(1).pin.snapshot.table(TableID(0)).count == 0)
        // A transaction snapshot has no version number and is not mistaken for version 0.
        let transaction = try run.store.beginWrite()
        var row = transaction.beginRow(TableID(0))
        transaction.fill(&row, column: 0, value: .int(-77))
        try transaction.endRow(row)
        let state = transaction.pinSnapshot()
        try transaction.commit()
        #expect(run.store.versions.pin(version: 0, at: CallSite(#fileID, #line)) == nil)
        #expect(try run.store.version(0).pin.snapshot.schema.tables.isEmpty)
        withExtendedLifetime(state) {}
    }

    @Test func openingAnUnretainedVersionListsTheRetainedOnes() throws {
        let run = try ModelRun(seed: 10, storage: MemoryStorage())
        while run.store.publishedVersion < 20 { try run.transaction(operations: 3) }
        let pin = run.store.pin()
        while run.store.publishedVersion < 30 { try run.transaction(operations: 3) }
        func text(_ number: UInt64, _ code: StoreError.Code) -> String {
            let error = #expect(throws: StoreError.self) { try run.store.version(number) }
            #expect(error?.code == code)
            return error?.description ?? ""
        }
        #expect(try run.store.version(30).pin.version == 30 && run.store.version(20).pin.version == 20)
        let refused = text(12, .versionNotRetained)
        for part in ["version 12", "the newest version, 30", "20, which something holds", "historyRetention"] {
            #expect(refused.contains(part), "\(refused)")
        }
        #expect(text(31, .versionNotYet).contains("the newest is 30"))
        #expect(text(.max, .versionNotYet).contains("the newest is 30"))
        _ = text(0, .versionNotRetained)
        run.store.retain(.versions(4))
        #expect(try run.store.version(27).pin.version == 27)
        #expect(text(26, .versionNotRetained).contains("versions 27 to 30"))
        #expect(try run.store.storedVersions().map(\.number) == [20, 27, 28, 29, 30])
        // Several settings of retention apply together.
        run.store.retain(.versions(2))
        #expect(try run.store.storedVersions().map(\.number) == [20, 27, 28, 29, 30])
        run.store.retain(.everything)
        #expect(try run.store.storedVersions().map(\.number) == Array(0...30))
        withExtendedLifetime(pin) {}
    }

    @Test func aStoreInMemorySaysThatItHasNoHistory() throws {
        let run = try ModelRun(seed: 11)
        run.store.retain(.everything)
        while run.store.publishedVersion < 4 { try run.transaction(operations: 3) }
        let pin = run.store.pin()
        while run.store.publishedVersion < 8 { try run.transaction(operations: 3) }
        #expect(try run.store.version(4).pin.version == 4 && run.store.version(8).pin.version == 8)
        #expect(try run.store.storedVersions().map(\.number) == [4, 8])
        for number in [0, 3, 7] as [UInt64] {
            let error = #expect(throws: StoreError.self) { try run.store.version(number) }
            #expect(error?.code == .versionNotRetained && error?.description.contains("in memory") == true)
        }
        #expect(throws: StoreError.self) {
            try run.store.states(of: 0, in: TableID(0), columns: [1], through: 8)
        }
        withExtendedLifetime(pin) {}
    }

    /// A compaction removes all segments except those that lead to retained versions.
    @Test func compactionKeepsRetainedVersions() throws {
        let (run, oracles) = try Self.run(seed: 15, transactions: 40)
        #expect(try run.store.compact() != nil)
        let newest = run.store.publishedVersion
        for _ in 0..<20 { try run.transaction(operations: 10) }
        #expect(try run.store.compact() != nil)
        for number in [1, 9, newest - 1, newest] {
            let fault = oracles[number]?.check(try run.store.version(number).pin.snapshot, "version \(number)")
            #expect(fault == nil)
        }
        #expect(try run.store.storedVersions().count == Int(run.store.publishedVersion) + 1)
        // If nothing is retained, only the newest version is left, and the list says so.
        let other = try ModelRun(seed: 16, storage: MemoryStorage())
        for _ in 0..<20 { try other.transaction(operations: 10) }
        #expect(try other.store.compact() != nil)
        let last = other.store.publishedVersion
        #expect(
            try other.store.storedVersions().map(\.number) == [last] && other.store.version(last).pin.version == last)
        other.store.retain(.everything)
        let error = #expect(throws: StoreError.self) { try other.store.version(last - 1) }
        #expect(error?.code == .versionNotRetained)
        #expect(try other.store.newestVersion { $0 < 0 } == nil)
    }

    @Test func aReadOnlyStoreOpensPastVersions() throws {
        let (run, oracles) = try Self.run(seed: 12, transactions: 20)
        try run.store.close()
        var options = StoreOptions(log: LogOptions(folder: "store", access: .readOnly))
        options.historyRetention = .everything
        let store = try Store(options, storage: try #require(run.storage))
        for number in [1, 4, 9] as [UInt64] {
            let fault = oracles[number]?.check(try store.version(number).pin.snapshot, "version \(number)")
            #expect(fault == nil)
        }
        #expect(try store.storedVersions().count == Int(store.publishedVersion) + 1)
        try store.close()
    }

    @Test func pastVersionsCanBeOpenedWhileOthersWrite() throws {
        let (run, oracles) = try Self.run(seed: 13, transactions: 60)
        let store = run.store
        let newest = store.publishedVersion
        let faults = Guarded<[String]>(.unranked, [])
        let readers = try (0..<3).map { number in
            try StorageThread.start(name: "reader") {
                var random = SeededRandom(seed: UInt64(number))
                for _ in 0..<25 {
                    let version = 1 + UInt64(random.below(Int(newest)))
                    do {
                        let past = try store.version(version)
                        if let fault = oracles[version]?.check(past.pin.snapshot, "version \(version)") {
                            faults.withLock { $0.append(fault) }
                        }
                    } catch { faults.withLock { $0.append("\(error)") } }
                }
            }
        }
        for _ in 0..<40 { try run.transaction(operations: 10) }
        for reader in readers { reader.join() }
        #expect(faults.withLock { $0 } == [])
    }

    @Test func aDamagedCommitIsReportedAndEarlierVersionsOpen() throws {
        let (run, oracles) = try Self.run(seed: 14, transactions: 60)
        let storage = try #require(run.storage)
        let listings = try run.store.storedVersions()
        // The payload of version 30 in the one segment: behind the segment's header and the commits before it.
        let file = try storage.open("store/log/0000000001.segment", .readWrite)
        var offset = 64
        for listing in listings where listing.number < 30 { offset += listing.byteCount }
        let byte: [UInt8] = [0xA5, 0x5A, 0xA5, 0x5A]
        try byte.withUnsafeBytes { try file.write($0, at: offset + 90) }
        let fault = oracles[20]?.check(try run.store.version(20).pin.snapshot, "version 20")
        #expect(fault == nil)
        let error = #expect(throws: StoreError.self) { try run.store.version(35) }
        guard case .log(let log)? = error?.code else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(log.code == .damage)
        // The store that had been moved part of the way stays at its version.
        #expect(run.store.history.tips == [20])
        #expect(try run.store.version(25).pin.version == 25)
    }
}
