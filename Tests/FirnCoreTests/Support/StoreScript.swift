import FirnLog
import FirnSimulation
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// A run of transactions against a store on some storage, which may stop at any call. The oracle knows the content of
/// each version.
final class StoreScript {
    enum Step {
        /// Commits a transaction and waits until it is durable.
        case commit(Body)
        /// Writes a transaction, and continues before it is durable.
        case write(Body)
        /// Waits until everything that was written is durable.
        case wait
        /// Runs a transaction and cancels it.
        case cancel(Body)
        case reopen
        /// Writes a checkpoint: everything, or what has changed.
        case compact(whole: Bool)
        /// The same, while a reader holds versions, and transactions are committed whenever a compaction lets others
        /// in.
        case compactBeside(whole: Bool, Body)
    }

    /// What a transaction does to the store and to the oracle.
    typealias Body = @Sendable (StoreScript, WriteTransaction) throws -> Void

    let steps: [Step]
    var options: LogOptions
    var oracle: Oracle
    /// The content of each version. Version 0 has no schema.
    private(set) var versions: [UInt64: Oracle] = [:]
    /// The last version whose commit (or wait) has returned.
    private(set) var acknowledged: UInt64 = 0
    /// The last version whose writing was begun.
    private(set) var begun: UInt64 = 0
    /// The store as the run left it.
    private(set) var store: Store?
    private let beside = Guarded<(@Sendable () -> Void)?>(.unranked, nil)
    private var values = ValueMaker(random: SeededRandom(seed: 4))

    init(_ steps: [Step], _ change: (inout LogOptions) -> Void = { _ in }) {
        self.steps = steps
        options = LogOptions(folder: "/store", verify: .everything)
        options.usesThreads = false
        options.reserveByteCount = 1024
        options.segmentByteCount = 4096
        change(&options)
        oracle = Oracle(StoreSchema())
    }

    /// - Parameter work: is called during compactions.
    static func open(
        _ options: LogOptions, _ storage: any Storage, beside work: (@Sendable () -> Void)? = nil
    ) throws(StoreError) -> Store {
        var storeOptions = StoreOptions(log: options)
        storeOptions.duringCompaction = work
        storeOptions.streamedByteCount = 16 << 10
        return try Store(storeOptions, storage: storage, clock: ManualClock(), randomness: SeededRandomness(seed: 1))
    }

    /// Runs the script until it ends or the storage stops; returns what it stopped with.
    @discardableResult
    func run(on storage: any Storage) -> (any Error)? {
        do {
            store = try Self.open(options, storage, beside: callBeside)
            for step in steps { try run(step, storage) }
            try store?.close()
            return nil
        } catch {
            return error
        }
    }

    private func run(_ step: Step, _ storage: any Storage) throws {
        guard let store else { return }
        switch step {
        case .commit(let body):
            try commit(body, to: store)
        case .write(let body): _ = try begin(store, body).commitWithoutWaiting()
        case .wait:
            try store.waitUntilPublished(begun)
            acknowledged = begun
        case .cancel(let body):
            let before = oracle
            let transaction = try store.beginWrite()
            try body(self, transaction)
            transaction.cancel()
            oracle = before
        case .reopen:
            try store.close()
            self.store = try Self.open(options, storage, beside: callBeside)
            try check(try #require(self.store), "reopened")
        case .compact(let isWhole):
            let report = try store.compact(garbageShare: isWhole ? -1 : 10)
            #expect(report?.isWhole == isWhole)
            try check(store, "compacted")
        case .compactBeside(let isWhole, let body): try compact(store, isWhole: isWhole, beside: body)
        }
    }

    private var callBeside: @Sendable () -> Void { { [beside] in beside.withLock { $0 }?() } }

    private func compact(_ store: Store, isWhole: Bool, beside body: @escaping Body) throws {
        var held: [(pin: Pin, oracle: Oracle)] = []
        func hold() { held.append((store.pin(), oracle)) }
        hold()
        var stopped: (any Error)?
        try withoutActuallyEscaping({
            if stopped != nil { return }
            do {
                try self.commit(body, to: store)
                hold()
                // This one is not durable yet when the compaction continues.
                _ = try self.begin(store, body).commitWithoutWaiting()
            } catch { stopped = error }
        }) { work in
            nonisolated(unsafe) let work = work
            beside.withLock { $0 = { work() } }
            defer { beside.withLock { $0 = nil } }
            let report = try store.compact(garbageShare: isWhole ? -1 : 10)
            if let stopped { throw stopped }
            #expect(report?.isWhole == isWhole && held.count > 1, "nothing was done beside the compaction")
        }
        try store.waitUntilPublished(begun)
        acknowledged = begun
        for (pin, oracle) in held {
            let fault = oracle.check(pin.snapshot, "version \(pin.version), held beside a compaction")
            #expect(fault == nil)
        }
        try check(store, "compacted")
    }

    /// Commits a transaction and waits until it is durable.
    func commit(_ body: Body, to store: Store) throws {
        acknowledged = try begin(store, body).commit().number
    }

    private func begin(_ store: Store, _ body: Body) throws -> WriteTransaction {
        let transaction = try store.beginWrite()
        try body(self, transaction)
        begun = transaction.base.version + 1
        versions[begun] = oracle
        return transaction
    }

    /// Checks that the store has one complete version between the last acknowledged and the last begun one.
    func check(_ store: Store, _ context: @autoclosure () -> String) throws {
        let pin = store.pin()
        #expect(
            pin.version >= acknowledged,
            "version \(acknowledged) was acknowledged, but the store is at \(pin.version); \(context())")
        #expect(pin.version <= begun, "version \(pin.version) was never begun; \(context())")
        if pin.version == 0 {
            #expect(pin.snapshot.schema.tables.isEmpty, "\(context())")
        } else {
            let expected = try #require(versions[pin.version], "\(context())")
            #expect(pin.snapshot.schema == expected.schema, "\(context())")
            let fault = expected.check(pin.snapshot, "version \(pin.version)")
            #expect(fault == nil, "\(context())")
        }
        store._checkInvariants()
    }

    // MARK: What transactions do

    static let schema: Body = { script, transaction in
        script.oracle = Oracle(modelSchema())
        try transaction.changeSchema(to: script.oracle.schema)
    }

    /// Adds an indexed property to A, and sets a value in it.
    static let wider: Body = { script, transaction in
        let column = ColumnSchema(name: "extra", type: .string, isNullable: true, isIndexed: true)
        script.oracle.addColumn(0, column, holding: .null)
        try transaction.changeSchema(to: script.oracle.schema)
        let (index, key) = (script.oracle.schema.tables[0].columns.count - 1, script.oracle.keys[0][0])
        transaction.set(TableID(0), column: index, key: key, to: .string("wide"))
        script.oracle[0, key, index] = .string("wide")
    }

    /// - Parameter longData: bytes of each object's data value; nil for short ones.
    static func create(_ table: Int, _ count: Int, longData: Int? = nil) -> Body {
        { script, transaction in
            for _ in 0..<count {
                var row = transaction.beginRow(TableID(table))
                var made: [Value] = []
                for (number, column) in script.oracle.schema.tables[table].columns.enumerated() {
                    var value = number == 0 ? script.primaryKey(column, row.key) : script.value(column)
                    if let longData, column.type == .data, column.collection == .none {
                        // No two are alike, so that they don't compress.
                        let first = Int(row.key) * longData
                        value = .data(
                            (first..<first + longData).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 13) })
                    }
                    transaction.fill(&row, column: number, value: value)
                    made.append(value)
                }
                try transaction.endRow(row)
                script.oracle.insert(table, key: row.key, values: made)
            }
        }
    }

    private func primaryKey(_ column: ColumnSchema, _ key: Int64) -> Value {
        column.type == .int ? .int(key) : .string("code \(key)")
    }

    private func value(_ column: ColumnSchema) -> Value {
        if column.collection == .list { return .list((0..<values.random.below(5)).compactMap { _ in element(column) }) }
        return column.type == .link ? element(column) ?? .null : values.value(column)
    }

    private func element(_ column: ColumnSchema) -> Value? {
        guard column.type == .link else { return values.value(column) }
        let keys = oracle.keys[column.target!.index]
        return keys.isEmpty ? nil : .link(keys[values.random.below(keys.count)])
    }

    /// Sets a property of every second object; every fourth object gets the value that it already has.
    static func set(_ table: Int, _ column: Int) -> Body {
        { script, transaction in
            for (index, key) in script.oracle.keys[table].enumerated() where index % 2 == 0 {
                let value =
                    index % 4 == 0
                    ? script.value(script.oracle.schema.tables[table].columns[column])
                    : script.oracle[table, key, column]
                transaction.set(TableID(table), column: column, key: key, to: value)
                script.oracle[table, key, column] = value
            }
        }
    }

    /// A value of `count` bytes, half of which compress.
    static func blob(_ count: Int) -> Body {
        { script, transaction in
            let key = script.oracle.keys[0][0]
            var bytes = [UInt8](repeating: 7, count: count)
            for index in stride(from: 0, to: count / 2, by: 1) {
                bytes[index] = UInt8(truncatingIfNeeded: (index &* 2_654_435_761) >> 13)
            }
            transaction.set(TableID(0), column: 5, key: key, to: .data(bytes))
            script.oracle[0, key, 5] = .data(bytes)
        }
    }

    /// Inserts, replaces, moves and removes elements of the lists of one object.
    static let editLists: Body = { script, transaction in
        let key = script.oracle.keys[0][script.oracle.keys[0].count / 2]
        for column in 11...13 {
            guard case .list(var elements) = script.oracle[0, key, column] else { continue }
            transaction.edit(TableID(0), column: column, key: key) { change in
                for index in 0..<3 {
                    guard let value = script.element(script.oracle.schema.tables[0].columns[column]) else { continue }
                    change.insert(value, at: index.signum() * elements.count)
                    elements.insert(value, at: index.signum() * elements.count)
                }
                change.move(from: 0, to: elements.count - 1)
                elements.append(elements.removeFirst())
                change.remove(at: 1)
                elements.remove(at: 1)
                change.set(elements[0], at: 1)
                elements[1] = elements[0]
            }
            script.oracle[0, key, column] = .list(elements)
        }
    }

    static func delete(_ table: Int, _ count: Int) -> Body {
        { script, transaction in
            for _ in 0..<count {
                let key = script.oracle.keys[table][script.oracle.keys[table].count / 2]
                transaction.delete(TableID(table), key)
                script.oracle.delete(table, key)
            }
        }
    }
}
