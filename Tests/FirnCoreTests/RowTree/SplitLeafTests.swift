import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// A leaf that was split has chunks of its own: none that an older version reads, and none that refers to nodes which
/// its right half released.
@Suite(.timeLimit(.minutes(20))) struct SplitLeafTests {
    private static let table = TableID(0)

    private struct Page: Equatable {
        var text: String
        var words: [String]
    }

    /// Pages in one leaf, and their expected content.
    private struct Pages {
        var store: Store
        var pages: [Int64: Page] = [:]

        init(_ store: Store, count: Int64, words: Int) throws {
            self.store = store
            let transaction = try store.beginWrite()
            try transaction.makeTable(
                "Page",
                [
                    ColumnSchema(name: "id", type: .int), ColumnSchema(name: "text", type: .string),
                    ColumnSchema(name: "words", type: .string, collection: .list),
                ])
            for id in 0..<count { try add(id, words: words, transaction) }
            try transaction.commit()
        }

        mutating func add(_ id: Int64, words: Int, _ transaction: WriteTransaction) throws {
            let page = Page(text: "page \(id)", words: (0..<words).map { "word \($0) of page \(id)" })
            var row = transaction.beginRow(table)
            transaction.fill(&row, column: 0, value: .int(id))
            transaction.fill(&row, column: 1, value: .string(page.text))
            try transaction.endRow(row)
            transaction.edit(table, column: 2, key: id) { list in page.words.forEach { list.append(.string($0)) } }
            pages[id] = page
        }

        mutating func write(_ body: (inout Pages, WriteTransaction) throws -> Void) throws {
            let transaction = try store.beginWrite()
            try body(&self, transaction)
            try transaction.commit()
            store._checkInvariants()
        }

        mutating func set(_ id: Int64, textOf byteCount: Int, _ transaction: WriteTransaction) {
            let text = "\(id) " + String(repeating: "x", count: byteCount)
            transaction.set(table, column: 1, key: id, to: .string(text))
            pages[id]?.text = text
        }

        mutating func append(_ word: String, to id: Int64, _ transaction: WriteTransaction) {
            transaction.edit(table, column: 2, key: id) { $0.append(.string(word)) }
            pages[id]?.words.append(word)
        }

        mutating func delete(_ id: Int64, _ transaction: WriteTransaction) {
            transaction.delete(table, id)
            pages[id] = nil
        }
    }

    /// The first page in which a version differs from the expected content; nil if there is none.
    private static func fault(_ snapshot: Snapshot, _ pages: [Int64: Page]) -> String? {
        let view = snapshot.table(table)
        if view.count != pages.count { return "\(view.count) rows instead of \(pages.count)" }
        for (id, page) in pages.sorted(by: { $0.key < $1.key }) {
            if view.value(0, of: id) != .int(id) { return "the id of \(id)" }
            if view.value(1, of: id) != .string(page.text) { return "the text of \(id)" }
            if view.value(2, of: id) != .list(page.words.map { .string($0) }) { return "the words of \(id)" }
        }
        return nil
    }

    private static func leafCount(_ snapshot: Snapshot) -> Int {
        var count = 0
        func visit(_ node: Node) {
            if node.isLeaf { return count += 1 }
            for child in 0..<node.count { visit(NodeRef(RowNode(node).refs[child]).node) }
        }
        if let rows = snapshot.table(table).node?.rows { visit(NodeRef(rows.pointee).node) }
        return count
    }

    private static func options() -> StoreOptions {
        var options = StoreOptions(log: LogOptions(folder: "/store", verify: .everything))
        options.log?.usesThreads = false
        options.compaction.isAutomatic = false
        return options
    }

    /// Once its right half is deleted, a split leaf is the last leaf. New rows are then written into its chunks,
    /// behind its own rows, at indices where the version before the split has other rows.
    @Test(arguments: [false, true]) func newRowsInASplitLeafChangeNoOlderVersion(isOnDisk: Bool) throws {
        let store = try Store(Self.options(), storage: MemoryStorage())
        var pages = try Pages(store, count: 256, words: 1)
        if isOnDisk { _ = try #require(try store.compact()) }
        let held = store.pin()
        let before = pages.pages
        try pages.write { pages, transaction in for id in 0..<Int64(72) { pages.set(id, textOf: 900, transaction) } }
        #expect(Self.leafCount(store.pin().snapshot) == 2)
        // The texts are long enough that the halves are not merged, and short enough that the left one has space for
        // more rows.
        try pages.write { pages, transaction in
            for id in 0..<Int64(72) { pages.set(id, textOf: id < 40 ? 900 : 10, transaction) }
            for id in 128..<Int64(256) { pages.delete(id, transaction) }
        }
        #expect(Self.leafCount(store.pin().snapshot) == 1)
        try pages.write { pages, transaction in
            for id in 256..<Int64(300) { try pages.add(id, words: 2, transaction) }
        }
        #expect(Self.fault(held.snapshot, before) == nil, "the version before the split")
        #expect(Self.fault(store.pin().snapshot, pages.pages) == nil)
        try store.close()
    }

    /// The halves of a leaf whose lists have their own trees, in the files of a checkpoint: opened, read, and
    /// rewritten after the right half's lists have changed.
    @Test(arguments: [false, true]) func theLeftHalfKeepsNoReferencesToTheRightHalfsLists(isOpenedBetween: Bool) throws
    {
        let storage = MemoryStorage()
        var pages = try Pages(Store(Self.options(), storage: storage), count: 256, words: 100)
        _ = try #require(try pages.store.compact())
        func reopen() throws {
            try pages.store.close()
            pages.store = try Store(Self.options(), storage: storage)
            #expect(Self.fault(pages.store.pin().snapshot, pages.pages) == nil)
        }
        if isOpenedBetween { try reopen() }
        try pages.write { pages, transaction in for id in 0..<Int64(72) { pages.set(id, textOf: 900, transaction) } }
        #expect(Self.leafCount(pages.store.pin().snapshot) == 2)
        _ = try pages.store.compact()
        if isOpenedBetween { try reopen() }
        // Until the old lists are in blocks in which holes are punched.
        for round in 0..<6 {
            try pages.write { pages, transaction in
                for id in 128..<Int64(256) {
                    for word in 0..<20 { pages.append("word \(word) of round \(round)", to: id, transaction) }
                }
            }
            _ = try pages.store.compact()
        }
        _ = try #require(try pages.store.compact(garbageShare: -1))
        #expect(Self.fault(pages.store.pin().snapshot, pages.pages) == nil)
        try reopen()
        try pages.store.close()
    }

    /// A leaf whose last rows were assigned and then deleted takes a neighbour's rows at the same indices: those are
    /// not reported as changed.
    @Test func rowsThatMoveToALeafDoNotCountAsAssigned() throws {
        let store = try Store(Self.options(), storage: MemoryStorage())
        var pages = try Pages(store, count: 356, words: 0)
        try pages.write { pages, transaction in for id in 65..<Int64(256) { pages.delete(id, transaction) } }
        #expect(Self.leafCount(store.pin().snapshot) == 2)
        let before = store.pin()
        let cursor = store.makeChangeCursor(after: before.version)
        try pages.write { pages, transaction in
            for id in [64, 63] as [Int64] {
                pages.set(id, textOf: 10, transaction)
                pages.delete(id, transaction)
            }
        }
        #expect(Self.leafCount(store.pin().snapshot) == 1)
        let summary = cursor.changes(from: before, to: store.pin()).tables[Self.table]
        #expect(summary?.deleted.count == 2 && summary?.modified.isEmpty == true)
        #expect(Self.fault(store.pin().snapshot, pages.pages) == nil)
        try store.close()
    }
}
