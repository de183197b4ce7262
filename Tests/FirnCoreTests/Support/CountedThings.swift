import FirnLog
import FirnStorage
import Testing

@testable import FirnCore

/// A small store of things with a count, for tests of versions rather than of data. Version 1 makes the things.
enum CountedThings {
    static let table = TableID(0)
    static let count = 60

    /// Opens the store, in memory if there is no storage.
    static func open(
        versions: Int? = nil, bytes: Int? = nil, policy: ActiveVersionPolicy = .fail, on storage: (any Storage)? = nil,
        folder: String = "/store", usesThreads: Bool = false, clock: any Clock = ManualClock(),
        duringSpill: (@Sendable () throws(StorageError) -> Void)? = nil
    ) throws -> Store {
        var options = StoreOptions(log: nil)
        options.duringSpill = duringSpill
        if storage != nil {
            var log = LogOptions(folder: folder)
            log.usesThreads = usesThreads
            log.reserveByteCount = 0
            options.log = log
        }
        options.maximumNumberOfActiveVersions = versions
        options.maximumRetainedByteCount = bytes
        options.activeVersionPolicy = policy
        let store = try Store(options, storage: storage ?? MemoryStorage(), clock: clock)
        guard store.publishedVersion == 0 else { return store }
        let transaction = try store.beginWrite()
        try transaction.makeTable(
            "Thing",
            [
                ColumnSchema(name: "id", type: .int), ColumnSchema(name: "count", type: .int),
                ColumnSchema(name: "data", type: .data),
            ])
        for id in 0..<count {
            var row = transaction.beginRow(table)
            transaction.fill(&row, column: 0, value: .int(Int64(id)))
            transaction.fill(&row, column: 2, value: .data(Array(repeating: 7, count: 600)))
            try transaction.endRow(row)
        }
        try transaction.commit()
        return store
    }
}

extension Store {
    /// Commits a change of one thing.
    func change(_ key: Int64 = 0, to value: Int64 = 1) throws { try changing(key, to: value).commit() }

    /// Begins a transaction and changes one thing.
    func changing(_ key: Int64 = 0, to value: Int64 = 1) throws -> WriteTransaction {
        let transaction = try beginWrite()
        transaction.set(CountedThings.table, column: 1, key: key, to: .int(value))
        return transaction
    }

    /// Begins a transaction and gives every thing other data.
    func rewriting(_ byte: UInt8) throws -> WriteTransaction {
        let transaction = try beginWrite()
        for key in 0..<Int64(CountedThings.count) {
            transaction.set(CountedThings.table, column: 2, key: key, to: .data(Array(repeating: byte, count: 600)))
        }
        return transaction
    }

    /// Whether everything has the data that `rewriting` gave it.
    static func isRewritten(_ snapshot: Snapshot, _ byte: UInt8) -> Bool {
        let table = snapshot.table(CountedThings.table)
        return (0..<Int64(CountedThings.count)).allSatisfy {
            table.value(2, of: $0) == .data(Array(repeating: byte, count: 600))
        }
    }

    /// The error of a transaction that must not begin.
    func refusal(at location: SourceLocation = #_sourceLocation) -> StoreError? {
        let error = #expect(throws: StoreError.self, sourceLocation: location) { try change() }
        #expect(error?.code == .tooManyActiveVersions, sourceLocation: location)
        return error
    }

    /// The number of nodes that the pins and the newest version reach.
    func reachedNodeCount(_ pins: [Pin]) -> Int {
        var nodes: Set<UInt64> = []
        for snapshot in pins.map(\.snapshot) + [versions.tip.snapshot] {
            snapshot.forEachHeapNode { nodes.insert(NodeRef($0).word) }
        }
        return nodes.count
    }

    /// Waits until `count` waiters wait for holders to release versions.
    func awaitWaiters(_ count: Int, at location: SourceLocation = #_sourceLocation) {
        watch(at: location) { versions.lock.withLock { versions.waiterCount } >= count }
    }

    /// Waits until a condition holds. If it never does, an issue is recorded and the store is closed, so that no thread
    /// keeps waiting.
    func watch(at location: SourceLocation = #_sourceLocation, _ condition: () -> Bool) {
        let end = SystemClock.shared.monotonic() + 30_000_000_000
        while !condition() {
            guard SystemClock.shared.monotonic() < end else {
                Issue.record("waited in vain", sourceLocation: location)
                #expect(throws: Never.self, sourceLocation: location) { try close() }
                return
            }
            sleepThread(nanoseconds: 200_000)
        }
    }
}
