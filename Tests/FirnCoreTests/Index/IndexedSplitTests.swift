import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// A leaf splits when an indexed text of one of its rows grows: the index then leads to the leaf that has the row.
@Suite(.timeLimit(.minutes(20))) struct IndexedSplitTests {
    private static let table = TableID(0)

    private static func make(_ count: Int) throws -> Store {
        let store = try Store.open(on: MemoryStorage())
        let transaction = try store.beginWrite()
        try transaction.makeTable(
            "Page",
            [
                ColumnSchema(name: "id", type: .int),
                ColumnSchema(name: "text", type: .string, isIndexed: true),
                ColumnSchema(name: "number", type: .int, isIndexed: true),
            ])
        for id in 0..<count {
            var row = transaction.beginRow(table)
            transaction.fill(&row, column: 0, value: .int(Int64(id)))
            transaction.fill(&row, column: 1, value: .string("page \(id)"))
            transaction.fill(&row, column: 2, value: .int(Int64(id % 7)))
            try transaction.endRow(row)
        }
        try transaction.commit()
        return store
    }

    /// A text with a unique beginning, of the given number of bytes.
    private static func text(_ key: Int64, _ byteCount: Int) -> String {
        let head = "page \(key) "
        return head + String(repeating: "x", count: max(0, byteCount - head.utf8.count))
    }

    private static func fault(_ snapshot: Snapshot, _ texts: [Int64: String]) -> String? {
        let view = snapshot.table(table)
        for (key, text) in texts {
            if view.value(1, of: key) != .string(text) { return "the text of \(key)" }
            if view.value(0, of: key) != .int(key) { return "the id of \(key)" }
            var found: [Int64] = []
            view.forEachIndexed(
                1, positions: view.indexLowerBound(1, .string(text))..<view.indexUpperBound(1, .string(text))
            ) {
                found.append($0)
                return true
            }
            if found != [key] { return "the index finds \(found) for \(key)" }
        }
        return nil
    }

    /// Texts of 900 bytes: 70 rows fill a chunk that held 256, so every leaf splits twice, at rows before, in and
    /// behind its middle.
    @Test(arguments: 1...4) func theIndexFindsEveryRowAfterItsLeafWasSplit(seed: UInt64) throws {
        let store = try Self.make(1000)
        var random = SeededRandom(seed: seed)
        let held = store.pin()
        var texts = Dictionary(uniqueKeysWithValues: (0..<Int64(1000)).map { ($0, "page \($0)") })
        let original = texts
        for _ in 0..<12 {
            let transaction = try store.beginWrite()
            var changed = texts
            for _ in 0..<60 {
                let key = Int64(random.below(1000))
                let text = Self.text(key, [40, 130, 900, 1024][random.below(4)])
                transaction.set(Self.table, column: 1, key: key, to: .string(text))
                transaction.set(Self.table, column: 2, key: key, to: .int(Int64(random.below(7))))
                changed[key] = text
            }
            #expect(Self.fault(transaction.snapshot, changed) == nil, "seed \(seed), within the transaction")
            if random.below(4) == 0 {
                transaction.cancel()
            } else {
                try transaction.commit()
                texts = changed
            }
            store._checkInvariants()
            #expect(Self.fault(store.pin().snapshot, texts) == nil, "seed \(seed)")
        }
        #expect(Self.fault(held.snapshot, original) == nil, "seed \(seed), the version before")
    }

    /// Leaves of few rows are merged, unless their long values do not fit into one chunk.
    @Test(arguments: 1...3) func deletingRowsOfLongValuesMergesLeavesThatFit(seed: UInt64) throws {
        let store = try Self.make(700)
        var random = SeededRandom(seed: seed)
        let long = try store.beginWrite()
        var texts: [Int64: String] = [:]
        for key in 0..<Int64(700) {
            texts[key] = Self.text(key, [900, 1000, 20][random.below(seed == 3 ? 3 : 2)])
            long.set(Self.table, column: 1, key: key, to: .string(texts[key]!))
        }
        try long.commit()
        let held = store.pin()
        let original = texts
        while texts.count > 20 {
            let transaction = try store.beginWrite()
            for _ in 0..<40 {
                guard let key = texts.keys.sorted().randomElement(using: &random) else { break }
                transaction.delete(Self.table, key)
                texts[key] = nil
            }
            try transaction.commit()
            store._checkInvariants()
            #expect(Self.fault(store.pin().snapshot, texts) == nil, "seed \(seed), \(texts.count) left")
        }
        #expect(Self.fault(held.snapshot, original) == nil, "seed \(seed), the version before")
    }

    /// The inner node above is full, so it splits, too, at each index that a child may have in it.
    @Test(arguments: [0, 30, 31, 32, 33, 62, 63]) func aFullParentNodeSplitsToo(_ child: Int) throws {
        let count = Limits.fanout * Limits.rowsPerLeaf
        let store = try Self.make(count)
        let held = store.pin()
        let transaction = try store.beginWrite()
        let first = Int64(child * Limits.rowsPerLeaf)
        var texts: [Int64: String] = [:]
        for key in first..<first + Int64(Limits.rowsPerLeaf) {
            texts[key] = Self.text(key, 900)
            transaction.set(Self.table, column: 1, key: key, to: .string(texts[key]!))
        }
        try transaction.commit()
        store._checkInvariants()
        let view = store.pin().snapshot.table(Self.table)
        #expect(Self.fault(store.pin().snapshot, texts) == nil)
        // Every row is at the position that the counts give.
        for key in stride(from: Int64(0), to: Int64(count), by: 61) {
            #expect(view.position(of: key) == Int(key) && view.value(0, of: key) == .int(key))
        }
        #expect(held.snapshot.table(Self.table).value(1, of: first) == .string("page \(first)"))
    }
}
