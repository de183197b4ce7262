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

    private func open(_ retention: HistoryRetention = .everything) throws -> Store {
        var log = LogOptions(folder: "store")
        log.usesThreads = false
        var options = StoreOptions(log: log)
        options.historyRetention = retention
        return try Store(options, storage: storage, clock: clock)
    }

    private func commit(_ store: Store, at time: Int64) throws {
        clock.set(now: time)
        let transaction = try store.beginWrite()
        if transaction.resolvedSchema.schema.tables.isEmpty { try transaction.changeSchema(to: modelSchema()) }
        var row = transaction.beginRow(TableID(0))
        transaction.fill(&row, 0, .int(row.key))
        try transaction.endRow(row)
        try transaction.commit()
    }

    @Test func theVersionOfAMomentIsTheNewestOneUpToThen() throws {
        let store = try open()
        for version in 1...9 { try commit(store, at: 1000 + 100 * Int64(version)) }
        func found(_ time: Int64) throws -> UInt64? { try store.newestVersion { $0 <= time } }
        #expect(try found(1100) == 1 && found(1199) == 1 && found(1200) == 2)
        #expect(try found(1900) == 9 && found(.max) == 9)
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
        #expect(try store.newestVersion { $0 <= 2000 } == 4)
        #expect(store.pin().time == 2100)
        #expect(try store.version(3).pin.time == 2000)
    }

    @Test func retentionByAgeKeepsTheVersionOfEveryMoment() throws {
        let store = try open(.age(nanoseconds: 250))
        for version in 1...9 { try commit(store, at: 1000 + 100 * Int64(version)) }
        // At time 1650 the newest version was 6.
        #expect(try store.storedVersions().map(\.number) == [6, 7, 8, 9])
        #expect(try store.version(6).pin.version == 6)
        #expect(throws: StoreError.self) { try store.version(5) }
        clock.set(now: 2_000)
        #expect(try store.storedVersions().map(\.number) == [7, 8, 9])
        clock.set(now: 5_000)
        #expect(try store.storedVersions().map(\.number) == [9])
        // A clock that is behind makes no version younger than the newest.
        clock.set(now: 0)
        #expect(try store.storedVersions().map(\.number) == [6, 7, 8, 9])
    }

    @Test func aNewStoreHasOnlyTheEmptyVersion() throws {
        let store = try open()
        #expect(try store.storedVersions() == [VersionListing(number: 0, time: 1000, byteCount: 0)])
        #expect(try store.newestVersion { $0 <= 1000 } == 0 && store.newestVersion { $0 <= 999 } == nil)
        #expect(try store.version(0).pin.version == 0)
        #expect(throws: StoreError.self) { try store.version(1) }
    }
}
