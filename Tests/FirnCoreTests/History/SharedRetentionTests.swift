import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// Several processes with different retentions: what one of them retains is kept by all.
@Suite(.timeLimit(.minutes(20))) struct SharedRetentionTests {
    private let disk = SimulatedDisk(seed: 1)
    private let script = StoreScript([])

    private func open(_ retention: HistoryRetention) throws -> Store {
        var log = LogOptions(folder: "/store")
        log.usesThreads = false
        log.reserveByteCount = 0
        log.segmentByteCount = 4096
        var options = StoreOptions(log: log)
        options.historyRetention = retention
        return try Store(options, storage: disk.newProcess(), clock: ManualClock(now: 1_000_000))
    }

    private func commit(_ store: Store, _ others: [Store], count: Int) throws {
        for other in others { other.letOthersWrite() }
        for _ in 0..<count { try script.commit(StoreScript.blob(2000), to: store) }
    }

    private func isThere(_ version: UInt64, _ store: Store) -> Bool {
        do {
            let past = try store.version(version)
            return script.versions[version]?.check(past.pin.snapshot, "version \(version)") == nil
        } catch {
            #expect(error.code == .versionNotRetained, "\(error)")
            return false
        }
    }

    /// Makes a store with 13 past versions.
    private func fill(_ store: Store) throws {
        try script.commit(StoreScript.schema, to: store)
        try script.commit(StoreScript.create(0, 5), to: store)
        try commit(store, [], count: 11)
    }

    @Test func aProcessKeepsVersionsThatAnotherOneRetains() throws {
        let retaining = try open(.everything)
        try fill(retaining)
        let other = try open(.none)
        try commit(other, [retaining], count: 3)
        try retaining.catchUp()
        #expect(try other.compact() != nil)
        for version in [1, 5, 13, 16] as [UInt64] {
            #expect(isThere(version, retaining), "version \(version)")
            // The version is there for all processes.
            #expect(isThere(version, other), "version \(version)")
        }
    }

    @Test func retainedVersionsAreKeptAfterThatProcessHasClosedTheStore() throws {
        let retaining = try open(.versions(9))
        try fill(retaining)
        try retaining.close()
        let other = try open(.none)
        try commit(other, [], count: 2)
        #expect(try other.compact() != nil)
        #expect(isThere(7, other) && isThere(15, other) && !isThere(3, other))
        // A process that has died has asked for it, too.
        let again = try open(.none)
        #expect(isThere(7, again))
    }

    /// By then the manifest belongs to another process, and the slot may, too.
    @Test func aProcessThatHasClosedTheStoreCannotRetainMore() throws {
        let first = try open(.none)
        try fill(first)
        var pin: Pin? = first.pin()
        try first.close()
        let other = try open(.none)
        try commit(other, [], count: 3)
        #expect(try other.compact() != nil)
        let version = try #require(other.log?.publishedVersion)
        first.retain(.everything)
        first.letOthersWrite()
        withExtendedLifetime(pin) {}
        pin = nil
        let third = try open(.none)
        #expect(third.otherProcesses.map(\.version) == [version])
        try third.close()
        try commit(other, [], count: 1)
        try other.close()
        let again = try open(.none)
        #expect(again.publishedVersion == 17)
        #expect(script.versions[17]?.check(again.pin().snapshot, "version 17") == nil)
        #expect(!isThere(13, again))
    }

    @Test func theRetentionOfAJoiningProcessIsStoredOnceItHasWritten() throws {
        let first = try open(.none)
        try fill(first)
        let joiner = try open(.everything)
        try commit(joiner, [first], count: 1)
        joiner.letOthersWrite()
        try joiner.close()
        try commit(first, [], count: 1)
        #expect(try first.compact() != nil)
        #expect(isThere(2, first) && isThere(14, first))
    }

    @Test func aProcessThatRetainsLessReleasesTheRestOnceNobodyElseHasTheStoreOpen() throws {
        let retaining = try open(.everything)
        try fill(retaining)
        let less = try open(.versions(1))
        try commit(less, [retaining], count: 2)
        try retaining.catchUp()
        _ = try less.compact()
        #expect(isThere(4, less), "the retaining process has the store open")
        try retaining.close()
        try commit(less, [], count: 2)
        _ = try less.compact()
        #expect(!isThere(4, less))
        try less.close()
        let last = try open(.none)
        #expect(try last.storedVersions().map(\.number) == [last.publishedVersion])
    }

    @Test func theStrictestOfAgesAndNumbersHolds() throws {
        let number = try open(.versions(4))
        let age = try open(.age(nanoseconds: 1_500_000_000))
        try fill(number)
        #expect(try age.log?.retentionsOfOthers == [.versions(4), .versions(4)])
        // The age is rounded up to a whole second.
        #expect(try number.log?.retentionsOfOthers == [.age(nanoseconds: 2_000_000_000)])
    }
}
