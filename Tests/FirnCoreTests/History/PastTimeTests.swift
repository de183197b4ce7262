import FirnLog
import FirnSimulation
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// Versions are found by their time, which never goes back.
@Suite(.timeLimit(.minutes(20))) struct PastTimeTests {
    private let storage = MemoryStorage()
    private let clock = ManualClock(now: 1000)

    private static let second: Int64 = 1_000_000_000
    private static let year: Int64 = 365 * 86_400 * second

    private func open(
        _ retention: HistoryRetention = .everything, _ onEvent: (@Sendable (StoreEvent) -> Void)? = nil
    ) throws -> Store {
        var log = LogOptions(folder: "store")
        log.usesThreads = false
        log.segmentByteCount = 16 << 10
        var options = StoreOptions(log: log)
        options.historyRetention = retention
        options.onEvent = onEvent
        return try Store(options, storage: storage, clock: clock)
    }

    private func commit(_ store: Store, after nanoseconds: Int64) throws {
        clock.advance(by: nanoseconds)
        try commit(store)
    }

    private func commit(_ store: Store, at time: Int64) throws {
        clock.set(now: time)
        try commit(store)
    }

    private func commit(_ store: Store) throws {
        let transaction = try store.beginWrite()
        if transaction.resolvedSchema.schema.tables.isEmpty { try transaction.changeSchema(to: modelSchema()) }
        var row = transaction.beginRow(TableID(0))
        transaction.fill(&row, column: 0, value: .int(row.key))
        try transaction.endRow(row)
        try transaction.commit()
    }

    @Test func theVersionOfAMomentIsTheNewestOneUpToThen() throws {
        let store = try open()
        for version in 1...9 { try commit(store, at: 1000 + 100 * Int64(version)) }
        func found(_ time: Int64) throws -> UInt64? { try store.newestVersion { $0 <= time } }
        #expect(try found(1100) == 1 && found(1199) == 1 && found(1200) == 2)
        #expect(try found(1900) == 9 && found(.max) == 9)
        clock.set(now: 1500)
        #expect(try found(1499) == 4 && found(1500) == 9, "now and later, the newest version is that of the moment")
        clock.set(now: 1900)
        #expect(try found(1099) == 0 && found(1000) == 0)
        #expect(try found(999) == nil && found(.min) == nil)
        #expect(try store.storedVersions().map(\.time) == (0...9).map { 1000 + 100 * $0 })
    }

    @Test func versionTimesDoNotGoBackIfTheClockDoes() throws {
        var store = try open()
        try commit(store, at: 500)
        #expect(try store.storedVersions().map(\.time) == [500, 500])
        for time in [2000, 1500, 10, 2100, -5] as [Int64] { try commit(store, at: time) }
        try store.close()
        clock.set(now: 0)
        store = try open()
        try commit(store, at: 1)
        let times = try store.storedVersions().map(\.time)
        #expect(times == [500, 500, 2000, 2000, 2000, 2100, 2100, 2100])
        #expect(try store.newestVersion { $0 <= 2000 } == 7, "2000 is later than now")
        clock.set(now: 2050)
        #expect(try store.newestVersion { $0 <= 2000 } == 4)
        #expect(store.pin().time == 2100)
        #expect(try store.version(3).pin.time == 2000)
    }

    @Test func retentionByAgeKeepsTheVersionOfEveryMoment() throws {
        let store = try open(.age(nanoseconds: 250))
        for _ in 1...9 { try commit(store, after: 100) }
        // At time 1650 the newest version was 6.
        #expect(try store.storedVersions().map(\.number) == [6, 7, 8, 9])
        #expect(try store.version(6).pin.version == 6)
        #expect(throws: StoreError.self) { try store.version(5) }
        clock.advance(by: 100)
        #expect(try store.storedVersions().map(\.number) == [7, 8, 9])
        clock.advance(by: 3000)
        #expect(try store.storedVersions().map(\.number) == [9])
    }

    /// A clock that is set makes no version older or younger: neither forwards nor back.
    @Test(arguments: [year, -year]) func retentionByAgeCountsTheTimeThatPasses(jump: Int64) throws {
        let store = try open(.age(nanoseconds: 250 * Self.second))
        for _ in 1...9 { try commit(store, after: 100 * Self.second) }
        clock.jump(by: jump)
        #expect(try store.storedVersions().map(\.number) == [6, 7, 8, 9])
        try commit(store, after: 0)
        #expect(try store.storedVersions().map(\.number) == [6, 7, 8, 9, 10])
        clock.jump(by: -jump)
        for _ in 1...9 { try commit(store, after: 100 * Self.second) }
        let retained = try store.storedVersions().map(\.number)
        // While times creep, differences of times are a little less than ages.
        #expect(retained == Array(16...19) || retained == Array(17...19), "\(retained)")
    }

    /// A clock that is ahead by a year for twenty commits: before, meanwhile and afterwards the past of an hour can be
    /// opened, and the log does not grow.
    @Test func aClockThatWasAheadForAMomentKeepsAndDropsNothing() throws {
        let store = try open(.age(nanoseconds: 3600 * Self.second))
        var passed: [UInt64: Int64] = [:]
        func commitAndCompact(_ count: Int, every seconds: Int64) throws {
            for _ in 0..<count {
                try commit(store, after: seconds * Self.second)
                passed[store.publishedVersion] = clock.passed
                if store.publishedVersion % 5 == 0 { _ = try store.compact() }
                let newest = store.publishedVersion
                // The newest version is that of every later moment.
                let now = clock.now()
                #expect(try store.newestVersion { $0 <= now } == newest)
                // The version before each version that is younger than an hour was the newest one within that hour.
                let needed = passed.filter { clock.passed - $0.value < 3600 * Self.second }.keys.min()!
                let oldest = try store.storedVersions()[0].number
                #expect(oldest < max(needed, 2), "version \(oldest) is the oldest, \(needed - 1) is needed")
            }
        }
        try commitAndCompact(80, every: 60)
        clock.jump(by: Self.year)
        try commitAndCompact(20, every: 0)
        clock.jump(by: -Self.year)
        try commitAndCompact(60, every: 60)
        #expect(try store.storedVersions().count < 90)
        try commitAndCompact(60, every: 60)
        #expect(try store.storedVersions().count < 70)
        #expect(try #require(store.log).segmentByteCount < 300 << 10)
    }

    @Test func theTimeOfASystemThatWasOffCountsOnceItIsConfirmed() throws {
        var store = try open(.age(nanoseconds: 3600 * Self.second))
        for _ in 1...5 { try commit(store, after: 60 * Self.second) }
        try store.close()
        clock.reboot(after: 7200 * Self.second)
        store = try open(.age(nanoseconds: 3600 * Self.second))
        try commit(store, after: Self.second)
        #expect(try store.storedVersions().map(\.number) == Array(0...6))
        clock.advance(by: 601 * Self.second)
        _ = try store.compact()
        #expect(try store.storedVersions().map(\.number) == [5, 6])
    }

    /// An earlier release fills these words with zeros when it opens the store alone.
    @Test func withoutAnyKnowledgeOfAgesEverythingIsRetainedForAnotherAge() throws {
        var store = try open(.age(nanoseconds: 3600 * Self.second))
        for _ in 1...5 { try commit(store, after: 7200 * Self.second) }
        try store.close()
        let page = try storage.open("store/shared", .readWrite)
        try [UInt8](repeating: 0, count: 128).withUnsafeBytes { try page.write($0, at: 128) }
        page.close()
        store = try open(.age(nanoseconds: 3600 * Self.second))
        #expect(try store.storedVersions().map(\.number) == Array(0...5))
        try commit(store, after: 3000 * Self.second)
        #expect(try store.storedVersions().map(\.number) == Array(0...6))
        try commit(store, after: 700 * Self.second)
        #expect(try store.storedVersions().map(\.number) == [5, 6, 7])
    }

    @Test func whoeverSetsTheClockIsToldOfIt() throws {
        let changes = Guarded<[ClockChange]>(.unranked, [])
        let store = try open { event in
            if case .clockChanged(let change) = event { changes.withLock { $0.append(change) } }
        }
        for _ in 1...3 { try commit(store, after: 100 * Self.second) }
        #expect(changes.withLock { $0 } == [])
        clock.jump(by: Self.year)
        for _ in 1...3 { try commit(store, after: Self.second) }
        #expect(changes.withLock { $0 } == [.forward(nanoseconds: Self.year)])
        clock.jump(by: -Self.year)
        for _ in 1...3 { try commit(store, after: 0) }
        #expect(changes.withLock { $0 } == [.forward(nanoseconds: Self.year), .behind(nanoseconds: Self.year)])
        try store.close()
        _ = try open { event in
            if case .clockChanged(let change) = event { changes.withLock { $0.append(change) } }
        }
        #expect(changes.withLock { $0.count } == 3, "an opener is told, too")
    }

    @Test func aNewStoreHasOnlyTheEmptyVersion() throws {
        let store = try open()
        #expect(try store.storedVersions() == [VersionListing(number: 0, time: 1000, byteCount: 0)])
        #expect(try store.newestVersion { $0 <= 1000 } == 0 && store.newestVersion { $0 <= 999 } == nil)
        #expect(try store.version(0).pin.version == 0)
        #expect(throws: StoreError.self) { try store.version(1) }
    }
}
