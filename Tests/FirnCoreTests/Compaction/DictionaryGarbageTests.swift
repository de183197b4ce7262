import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// Chunks share text dictionaries, which die with the last chunk that uses them.
@Suite(.timeLimit(.minutes(20))) struct DictionaryGarbageTests {
    private static func options() -> StoreOptions {
        var options = StoreOptions(log: LogOptions(folder: "/store", verify: .everything))
        options.log?.usesThreads = false
        options.log?.reserveByteCount = 0
        options.compaction.isAutomatic = false
        return options
    }

    /// A store of `count` rows of 16 different texts of 900 bytes.
    private static func filled(_ storage: any Storage, count: Int = 70) throws -> Store {
        let store = try Store(options(), storage: storage)
        let transaction = try store.beginWrite()
        try transaction.makeTable("Thing", [.init(name: "id", type: .int), .init(name: "text", type: .string)])
        for id in 0..<count {
            var row = transaction.beginRow(TableID(0))
            transaction.fill(&row, column: 0, value: .int(Int64(id)))
            transaction.fill(&row, column: 1, value: text(id))
            try transaction.endRow(row)
        }
        try transaction.commit()
        return store
    }

    private static func text(_ id: Int) -> Value {
        .string(String(repeating: String(UnicodeScalar(UInt8(97 + id % 16))), count: 900))
    }

    private static func change(_ store: Store, _ key: Int, to id: Int) throws {
        let transaction = try store.beginWrite()
        transaction.set(TableID(0), column: 1, key: Int64(key), to: text(id))
        try transaction.commit()
    }

    private static func checkpointByteCount(_ store: Store) -> Int { store.log?.checkpoint?.byteCount ?? 0 }

    /// Checks that every dead node that a walk finds is known to be dead or to be a suspect.
    private static func checkCount(_ store: Store, _ label: Comment) throws {
        let pin = store.pin()
        let mapping = try #require(pin.mapping)
        let walk = try CleaningPlan(
            pin.snapshot, in: mapping, besides: mapping.withDead { $0.holes }, clearing: { _ in 0 }, fileCount: nil,
            by: store.compaction.thread)
        let suspects = Set(mapping.withDead { $0.suspects.keys })
        for range in walk.unknown { #expect(suspects.contains(range.lowerBound), label) }
        #expect(
            walk.deadByteCount - walk.unknown.reduce(0) { $0 + $1.count }
                == store.context.checkpointGarbage.load(ordering: .relaxed), label)
    }

    @Test(arguments: [true, false]) func deadDictionariesAreReclaimed(rewritesAll: Bool) throws {
        let store = try Self.filled(MemoryStorage())
        _ = try store.compact()
        let fresh = Self.checkpointByteCount(store)
        for round in 0..<40 {
            try Self.change(store, round % 70, to: round + 5)
            if rewritesAll {
                _ = try store.compact()
            } else {
                _ = try store.compact(garbageShare: 0.3, rewritesAll: false)
            }
            #expect(store.fileByteCount < 4 * fresh + (64 << 10), "round \(round)")
            store._checkInvariants()
        }
        let table = store.pin().snapshot.table(TableID(0))
        for id in 0..<70 { #expect(table.value(1, of: Int64(id)) == Self.text(id < 40 ? id + 5 : id)) }
        try store.close()
    }

    /// Garbage that one process did not look for before it ended is found by the next.
    @Test func dictionariesThatDiedBeforeOpeningAreReclaimed() throws {
        let storage = MemoryStorage()
        var store = try Self.filled(storage)
        _ = try store.compact()
        let fresh = Self.checkpointByteCount(store)
        for round in 0..<30 {
            try Self.change(store, round, to: round + 5)
            _ = try store.compact()
            try store.close()
            store = try Store(Self.options(), storage: storage)
            #expect(Self.checkpointByteCount(store) < 4 * fresh, "round \(round)")
        }
        try store.close()
    }

    /// A dictionary lives while one of its chunks does, and is not counted as garbage.
    @Test func aDictionaryLivesAsLongAsOneOfItsChunks() throws {
        // Three leaves of some 70 rows.
        let store = try Self.filled(MemoryStorage(), count: 200)
        _ = try store.compact()
        let mapping = try #require(store.pin().mapping)
        try Self.change(store, 0, to: 7)
        #expect(mapping.withDead { $0.suspects.count } == 1)
        _ = try store.compact(garbageShare: 0.2, rewritesAll: false)
        try Self.checkCount(store, "one of three")
        for key in [199, 100] {
            try Self.change(store, key, to: 9)
            _ = try store.compact(garbageShare: 0.2, rewritesAll: false)
            try Self.checkCount(store, "\(key)")
        }
        store._checkInvariants()
        try store.close()
    }

    /// A dictionary whose chunks are all replaced while it is written is dead from the beginning.
    @Test func aDictionaryThatDiedWhileItWasWrittenCountsAsGarbage() throws {
        var options = Self.options()
        let held = Guarded<Store?>(.unranked, nil)
        options.duringCompaction = {
            guard let store = held.withLock({ $0 }) else { return }
            do { try Self.change(store, 3, to: 11) } catch { Issue.record("\(error)") }
        }
        let storage = MemoryStorage()
        try Self.filled(storage).close()
        let store = try Store(options, storage: storage)
        held.withLock { $0 = store }
        defer { held.withLock { $0 = nil } }
        for round in 0..<6 {
            _ = try store.compact(garbageShare: 10, rewritesAll: false)
            try Self.checkCount(store, "round \(round)")
        }
        try store.close()
    }
}
