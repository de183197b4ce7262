import FirnLog
import FirnSimulation
import FirnStorage
import FirnTestSupport
import Synchronization
import Testing

@testable import FirnCore

/// A held version costs the memory that it alone reaches, and its release frees that memory.
@Suite(.timeLimit(.minutes(20))) struct VersionHoldingTests {
    @Test func aThousandPinnedVersionsReadTheirOwnDataAndFreeTheirMemory() throws {
        var random = SeededRandom(seed: 8)
        let store = try Store(StoreOptions(log: nil), storage: MemoryStorage())
        let schema = StoreSchema(tables: [
            TableSchema(
                name: "Thing", primaryKey: 0,
                columns: [
                    ColumnSchema(name: "id", type: .int), ColumnSchema(name: "count", type: .int, isIndexed: true),
                    ColumnSchema(name: "name", type: .string, isIndexed: true), ColumnSchema(name: "data", type: .data),
                    ColumnSchema(name: "numbers", type: .int, collection: .list),
                ])
        ])
        var oracle = Oracle(schema)
        var transaction = try store.beginWrite()
        try transaction.changeSchema(to: schema)
        for id in 0..<60 {
            let made: [Value] = [
                .int(Int64(id)), .int(0), .string("thing \(id)"), .data(Array(repeating: 1, count: id * 40)),
                .list((0..<Int64(id)).map(Value.int)),
            ]
            var row = transaction.beginRow(TableID(0))
            for (column, value) in made.enumerated() { transaction.fill(&row, column: column, value: value) }
            try transaction.endRow(row)
            oracle.insert(0, key: row.key, values: made)
        }
        try transaction.commit()
        store._checkInvariants()

        /// Makes a few random changes.
        func change() throws {
            transaction = try store.beginWrite()
            for _ in 0..<2 {
                let key = oracle.keys[0][random.below(60)]
                for column in 1...4 where random.below(2) == 0 {
                    let value: Value =
                        switch column {
                        case 1: .int(Int64(random.below(1000)))
                        case 2: .string("name \(random.next())")
                        case 3: .data(Array(repeating: 2, count: random.below(2500)))
                        default: .list((0..<random.below(200)).map { .int(Int64($0)) })
                        }
                    transaction.set(TableID(0), column: column, key: key, to: value)
                    oracle[0, key, column] = value
                }
            }
            try transaction.commit()
        }

        let (nodes, bytes) = (store.heap.nodeCount, store.heap.byteCount)
        // When a pin goes, exactly what only its version reached is freed: the heap is what the newest version
        // reaches.
        var pins: [(pin: Pin, oracle: Oracle)] = []
        for _ in 0..<1000 {
            pins.append((store.pin(), oracle))
            try change()
        }
        #expect(store.activeVersions.count == 1001)
        #expect(store.heap.nodeCount > nodes + 1000)
        for (pin, kept) in pins {
            let fault = kept.check(pin.snapshot, "version \(pin.version)")
            #expect(fault == nil)
        }
        store._checkInvariants()
        // The pins are released in random order, and the remaining ones still read their own data.
        while pins.count > 0 {
            pins.remove(at: random.below(pins.count))
            if pins.count % 250 == 125 {
                for (pin, kept) in pins {
                    let fault = kept.check(pin.snapshot, "version \(pin.version), \(pins.count) left")
                    #expect(fault == nil)
                }
                store._checkInvariants()
            }
        }
        #expect(store.activeVersions.count == 1)
        var reached = (nodes: 0, bytes: 0)
        store.pin().snapshot.forEachHeapNode {
            reached.nodes += 1
            reached.bytes += $0.byteCount
        }
        #expect(store.heap.nodeCount == reached.nodes)
        #expect(store.heap.byteCount == reached.bytes)
        // Without pins, the heap stays below four times its size before the changes.
        #expect(store.heap.byteCount < 4 * bytes)
    }

    /// Pins do not affect what transactions leave in the heap: with and without a thousand pins it ends at the same
    /// figures.
    @Test func pinsLeaveNoTraceInTheHeap() throws {
        func run(pinning: Bool) throws -> (Int, Int) {
            let store = try Store(StoreOptions(log: nil), storage: MemoryStorage())
            let script = StoreScript([])
            var pins: [Pin] = []
            for body in [StoreScript.schema, StoreScript.create(0, 40), StoreScript.create(1, 10)]
                + (0..<330).map({ number in
                    switch number % 3 {
                    case 0: StoreScript.set(0, 1 + number % 9)
                    case 1: StoreScript.editLists
                    default: StoreScript.blob(900 + number)
                    }
                })
            {
                if pinning { pins += [store.pin(), store.pin(), store.pin()] }
                let transaction = try store.beginWrite()
                try body(script, transaction)
                try transaction.commit()
            }
            if pinning { #expect(pins.count > 990) }
            pins = []
            return (store.heap.nodeCount, store.heap.byteCount)
        }
        let (held, free) = (try run(pinning: true), try run(pinning: false))
        #expect(held == free)
    }
}

/// A commit writes only what it changed, whatever else its object holds.
@Suite(.timeLimit(.minutes(20))) struct CommitSizeTests {
    /// The bytes that setting the integer of one object adds to the log and to the heap, in a store in which each
    /// object has a value of `byteCount` bytes.
    private func cost(_ byteCount: Int) throws -> (log: Int, newNodes: Int, newBytes: Int) {
        let storage = MemoryStorage()
        let store = try Store.open(on: storage, durability: .none)
        var transaction = try store.beginWrite()
        try transaction.makeTable(
            "Thing",
            [
                ColumnSchema(name: "id", type: .int), ColumnSchema(name: "count", type: .int),
                ColumnSchema(name: "data", type: .data),
                ColumnSchema(name: "text", type: .string),
            ])
        for id in 0..<2 {
            var row = transaction.beginRow(TableID(0))
            transaction.fill(&row, column: 0, value: .int(Int64(id)))
            transaction.fill(&row, column: 2, value: .data(Array(repeating: 9, count: byteCount)))
            transaction.fill(&row, column: 3, value: .string(String(repeating: "t", count: byteCount)))
            try transaction.endRow(row)
        }
        try transaction.commit()
        let held = store.pin()
        func logged() throws -> Int { try storage.status("/store/log/0000000001.segment")!.byteCount }
        let before = (log: try logged(), nodes: store.heap.nodeCount, bytes: store.heap.byteCount)
        transaction = try store.beginWrite()
        transaction.set(TableID(0), column: 1, key: 1, to: .int(77))
        try transaction.commit()
        let result = (
            log: try logged() - before.log, newNodes: store.heap.nodeCount - before.nodes,
            newBytes: store.heap.byteCount - before.bytes
        )
        withExtendedLifetime(held) {}
        return result
    }

    @Test(arguments: [4 << 10, 16 << 20]) func settingAPropertyCostsTheSameOnAnObjectWithALargeValue(
        byteCount: Int
    ) throws {
        let (small, large) = (try cost(10), try cost(byteCount))
        #expect(large.log == small.log)
        #expect(large.log > 0 && large.log <= 256)
        #expect(large.newNodes == small.newNodes)
        #expect(large.newBytes == small.newBytes)
    }
}

/// Readers on several threads beside a writer: each always sees a complete version. Run this under ThreadSanitizer,
/// too.
@Suite(.timeLimit(.minutes(20))) struct ReaderConcurrencyTests {
    @Test func readersSeeWholeVersionsWhileAWriterCommits() throws {
        let storage = MemoryStorage()
        var options = LogOptions(folder: "/store", durability: .full)
        options.segmentByteCount = 64 << 10
        let store = try Store(StoreOptions(log: options), storage: storage)
        let rows = 300
        let transaction = try store.beginWrite()
        try transaction.makeTable(
            "Thing",
            [
                ColumnSchema(name: "id", type: .int), ColumnSchema(name: "count", type: .int, isIndexed: true),
                ColumnSchema(name: "name", type: .string),
                ColumnSchema(name: "log", type: .int, collection: .list),
            ])
        for id in 0..<rows {
            var row = transaction.beginRow(TableID(0))
            transaction.fill(&row, column: 0, value: .int(Int64(id)))
            transaction.fill(&row, column: 1, value: .int(1))
            transaction.fill(&row, column: 2, value: .string("version 1"))
            try transaction.endRow(row)
        }
        try transaction.commit()
        let last: UInt64 = 60
        let looks = Atomic<Int>(0)
        let publishCount = Atomic<Int>(0)
        let listener = store.onPublish { _ in publishCount.wrappingAdd(1, ordering: .relaxed) }
        let readers = try (0..<3).map { number in
            try StorageThread.start(name: "reader \(number)") {
                var random = SeededRandom(seed: UInt64(number))
                var held: [Pin] = []
                var newest: UInt64 = 0
                while newest < last {
                    let pin = store.pin()
                    #expect(pin.version >= newest)
                    newest = pin.version
                    held.append(random.below(3) == 0 ? pin.again() : pin)
                    if held.count > 5 { held.remove(at: random.below(held.count)) }
                    let looked = held[random.below(held.count)]
                    let table = looked.snapshot.table(TableID(0))
                    // Three rows of each version are enough to tell one from another.
                    for key in [0, Int64(random.below(rows)), Int64(rows - 1)] {
                        #expect(table.value(1, of: key) == .int(Int64(looked.version)))
                        #expect(table.value(2, of: key) == .string("version \(looked.version)"))
                        guard case .list(let log)? = table.value(3, of: key) else {
                            Issue.record("no list")
                            return
                        }
                        #expect(log.count == Int(looked.version) - 1)
                    }
                    #expect(table.count == rows)
                    _ = store.activeVersions.count
                    looks.wrappingAdd(1, ordering: .relaxed)
                }
            }
        }
        for version in 2...last {
            let transaction = try store.beginWrite()
            for key in 0..<Int64(rows) {
                transaction.set(TableID(0), column: 1, key: key, to: .int(Int64(version)))
                transaction.set(TableID(0), column: 2, key: key, to: .string("version \(version)"))
                transaction.edit(TableID(0), column: 3, key: key) { $0.append(.int(Int64(version))) }
            }
            if version % 4 == 0 { _ = try transaction.commitWithoutWaiting() } else { try transaction.commit() }
        }
        try store.waitUntilPublished(last)
        for reader in readers { reader.join() }
        #expect(looks.load(ordering: .relaxed) > 2)
        #expect(publishCount.load(ordering: .relaxed) > 10)
        withExtendedLifetime(listener) {}
        #expect(store.activeVersions.count == 1)
        store._checkInvariants()
        try store.close()
    }
}
