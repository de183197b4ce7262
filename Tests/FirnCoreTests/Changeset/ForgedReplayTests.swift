import FirnBytes
import FirnLog
import FirnStorage
import ForgedStores
import Testing

@testable import FirnCore

/// Appends a commit to a valid log. Its frame is correct in every byte, but an attacker has forged its changeset.
@Suite("A forged changeset is an error when its store is opened", .timeLimit(.minutes(20)))
struct ForgedReplayTests {
    struct Forgery: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// Payloads, and whether each is a schema part.
        var parts: [(bytes: [UInt8], isSchema: Bool)]

        init(_ name: String, _ kind: UInt8, _ body: [UInt8]...) {
            testDescription = name
            parts = [(body.flatMap { ForgedReplayTests.block(kind, $0) }, false)]
        }

        init(_ name: String, blocks: [UInt8]...) {
            testDescription = name
            parts = [(blocks.flatMap { $0 }, false)]
        }

        init(_ name: String, change: (inout StoreSchema) -> Void, then blocks: [UInt8] = []) {
            testDescription = name
            var schema = ForgedReplayTests.schema
            change(&schema)
            parts = [(SchemaCoding.encode(schema), true), (blocks, false)]
        }

        var input: [UInt8] {
            parts.flatMap { part in
                let count = part.bytes.count
                return [UInt8(count & 255), UInt8(count >> 8 & 255), UInt8(count >> 16) | (part.isSchema ? 0x80 : 0)]
                    + part.bytes
            }
        }
    }

    /// The schema that the base store's log ends with.
    static let schema: StoreSchema = {
        var schema = BaseStore.schema
        schema.version = 2
        schema.tables[1].columns.append(ColumnSchema(name: "extra", type: .int))
        schema.tables[1].columns[2].isRemoved = true
        return schema
    }()

    // MARK: Bytes

    static func block(_ kind: UInt8, _ body: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = [kind, 0, 0, 0, 0, 0]
        Forging.put(UInt32(body.count), into: &bytes, offset: 2)
        return bytes + body
    }

    static func varint(_ value: UInt64) -> [UInt8] {
        var writer = ByteWriter()
        writer.appendVarint(value)
        return writer.array()
    }

    /// A run of integers that are all equal or, if `ascending`, consecutive.
    static func run(_ value: Int64, ascending: Bool = false) -> [UInt8] {
        [ascending ? 16 : 0] + varint(Varint.zigzag(value))
    }

    /// Encoded keys: their count, then their run.
    static func keys(_ first: Int64, _ count: UInt64 = 1) -> [UInt8] { varint(count) + run(first, ascending: true) }

    /// The body of an update of one cell: table, column, key, the cell not marked as unchanged, then a run of one
    /// value.
    static func update(_ table: UInt8, column: UInt8, key: Int64, values: [UInt8]) -> [UInt8] {
        [table, column] + keys(key) + [0] + values
    }

    static let int: UInt8 = 2
    static let string: UInt8 = 5
    static let link: UInt8 = 11
    static let mixed: UInt8 = 12
    static let list: UInt8 = 0x10

    static func column(_ type: ColumnType, _ collection: CollectionKind = .none, nullable: Bool = false) -> UInt8 {
        UInt8(
            BaseStore.schema.tables[0].columns.firstIndex {
                $0.type == type && $0.collection == collection && (!nullable || $0.isNullable)
            }!)
    }

    /// A run of one list of `count` elements of a type, each of which is `element`.
    static func elements(_ type: UInt8, count: Int64, element: [UInt8]) -> [UInt8] {
        [type | list] + run(count) + [type] + element
    }

    static func script(_ column: UInt8, key: UInt8, operations: [[UInt8]], new: [UInt8]) -> [UInt8] {
        [1, column, key, UInt8(operations.count)] + operations.flatMap { $0 } + new
    }

    // MARK: What is forged

    static let rows: [Forgery] = [
        Forgery("rows of an unknown table", 3, [7] + keys(0) + [0]),
        Forgery("rows under keys that were assigned before", 3, [1] + keys(5) + [0]),
        Forgery("rows under the key of a row that was deleted", 3, [1] + keys(300) + [0]),
        Forgery("the same rows twice", 3, [1] + keys(700) + [0], [1] + keys(700) + [0]),
        Forgery("rows whose keys go backwards", 3, [1] + keys(800) + [0], [1] + keys(700) + [0]),
        Forgery("keys that do not ascend", 3, [1, 2] + run(700) + [0]),
        Forgery("a column that was removed", 3, [1] + keys(700) + [1, 2, string] + run(0)),
        Forgery("a column that is not there", 3, [1] + keys(700) + [1, 99, int] + run(0)),
        Forgery("a column of another type", 3, [1] + keys(700) + [1, 1, int] + run(0)),
        Forgery("a column of another kind", 3, [1] + keys(700) + [1, 6, string] + run(0)),
        Forgery("a column twice", 3, [1] + keys(700) + [2, 0, int] + run(1) + [0, int] + run(1)),
        Forgery("null text in a column that is not nullable", 3, [1] + keys(700) + [1, 1, string | 0x40, 1] + run(0)),
        Forgery("text that is not UTF-8", 3, [1] + keys(700) + [1, 1, string] + run(2) + [0xC3, 0x28]),
        Forgery(
            "a new row's mixed value of an unknown tag", 3, [0] + keys(12) + [1, column(.mixed), mixed] + run(1) + [99]),
        Forgery(
            "a new row's mixed value that ends early", 3,
            [0] + keys(12) + [1, column(.mixed), mixed] + run(2) + [2, 0]),
        Forgery(
            "a new row's mixed text that is not UTF-8", 3,
            [0] + keys(12) + [1, column(.mixed), mixed] + run(2) + [5, 0xFF]),
        Forgery("more columns of rows that do not exist", 4, [1] + keys(5000) + [1, 0, int] + run(1)),
        Forgery("more columns of an unknown table", 4, [9] + keys(1) + [1, 0, int] + run(1)),
        Forgery("a deletion of a row that does not exist", 5, [1] + keys(5000)),
        Forgery("a row that is deleted twice", 5, [1, 2] + run(7)),
        Forgery("deletions in an unknown table", 5, [9] + keys(1)),
        Forgery("a next key of an unknown table", 12, [9, 1]),
        Forgery("a key beyond all keys", 3, [1] + keys(1 << 62) + [0]),
        Forgery("a key below all keys", 3, [1] + keys(-1) + [0]),
        Forgery("keys that run beyond all keys", 3, [1] + keys((1 << 62) - 1, 2) + [0]),
    ]

    static let cells: [Forgery] = [
        Forgery("a cell of an unknown table", 7, update(9, column: 0, key: 7, values: [int] + run(1))),
        Forgery("a cell of a row that does not exist", 7, update(1, column: 9, key: 5000, values: [int] + run(1))),
        Forgery("a cell of a row that was deleted", 7, update(1, column: 9, key: 300, values: [int] + run(1))),
        Forgery("a cell of an unknown column", 7, update(1, column: 99, key: 7, values: [int] + run(1))),
        Forgery("a cell of a column that was removed", 7, update(1, column: 2, key: 7, values: [string] + run(0))),
        Forgery("a cell of another type", 7, update(1, column: 1, key: 7, values: [int] + run(1))),
        Forgery(
            "a collection in a scalar cell", 7,
            update(1, column: 0, key: 7, values: elements(int, count: 1, element: run(1)))),
        Forgery(
            "text in a row that does not exist", 7, update(1, column: 1, key: 5000, values: [string] + run(1) + [65])),
        Forgery(
            "text that is not UTF-8, in a cell", 7, update(1, column: 1, key: 7, values: [string] + run(1) + [0xFF])),
        Forgery(
            "null in a cell that is not nullable", 7, update(1, column: 0, key: 7, values: [int | 0x40, 1] + run(1))),
        Forgery(
            "null text in a cell that is not nullable", 7,
            update(1, column: 1, key: 7, values: [string | 0x40, 1] + run(0))),
        Forgery(
            "a null among elements that are not nullable", 7,
            update(1, column: 6, key: 60, values: [string | list] + run(1) + [string | 0x40, 1] + run(0))),
        Forgery("a link below every key", 7, update(1, column: 4, key: 9, values: [link] + run(-2))),
        Forgery("a link beyond every key", 7, update(1, column: 4, key: 9, values: [link] + run(1 << 62))),
        Forgery(
            "a mixed value of an unknown tag", 7,
            update(0, column: column(.mixed), key: 3, values: [mixed] + run(1) + [99])),
        Forgery(
            "a mixed value that ends early", 7,
            update(0, column: column(.mixed), key: 3, values: [mixed] + run(2) + [2, 0])),
        Forgery(
            "a mixed text that is not UTF-8", 7,
            update(0, column: column(.mixed), key: 3, values: [mixed] + run(2) + [5, 0xFF])),
        Forgery(
            "a text that is not UTF-8 in a mixed list", 7,
            update(0, column: column(.mixed), key: 3, values: [mixed] + run(5) + [13, 1, 2, 5, 0xC3])),
        Forgery(
            "a key that is not UTF-8 in a mixed map", 7,
            update(0, column: column(.mixed), key: 3, values: [mixed] + run(6) + [15, 1, 1, 0x80, 1, 0])),
        Forgery(
            "a set that is out of order and holds an element twice", 7,
            update(0, column: column(.int, .set), key: 3, values: [int | 0x20] + run(3) + [int, 1, 0, 9, 5, 9])),
        Forgery(
            "a map whose keys do not ascend", 7,
            update(
                0, column: column(.int, .map), key: 3,
                values: [int | 0x30] + run(2) + [string] + run(1) + [66, 65] + [int] + run(1))),
        Forgery(
            "a map that has a key twice", 7,
            update(
                0, column: column(.int, .map), key: 3,
                values: [int | 0x30] + run(2) + [string] + run(1) + [65, 65] + [int] + run(1))),
        Forgery("nested runs", 11, [1, 6, 60, 0] + (0..<300_000).flatMap { _ in [string | list, 0, 0] as [UInt8] }),
        Forgery("2^20 cells in a few bytes", 3, [1] + keys(700, 1 << 20) + [1, 0, int] + run(1)),
    ]

    static let collections: [Forgery] = [
        Forgery(
            "a script for a row that does not exist", 9,
            [1, 6] + varint(5000) + [0] + elements(string, count: 0, element: run(0))),
        Forgery("a script for a scalar column", 9, [1, 0, 60, 0] + elements(int, count: 0, element: run(0))),
        Forgery("a script of another type", 9, [1, 6, 60, 0] + elements(int, count: 0, element: run(0))),
        Forgery(
            "an insert behind the end", 9,
            script(6, key: 60, operations: [[1] + varint(5000) + [1]], new: elements(string, count: 1, element: run(0)))
        ),
        Forgery(
            "an insert at 2^31 - 1", 9,
            script(
                6, key: 60, operations: [[1] + varint((1 << 31) - 1) + [1]],
                new: elements(string, count: 1, element: run(0)))),
        Forgery(
            "2^31 - 1 elements removed", 9,
            script(
                6, key: 60, operations: [[2, 0] + varint((1 << 31) - 1)],
                new: elements(string, count: 0, element: run(0)))),
        Forgery(
            "a removal behind the end", 9,
            script(6, key: 60, operations: [[2] + varint(900) + [1]], new: elements(string, count: 0, element: run(0)))),
        Forgery(
            "a replacement behind the end", 9,
            script(6, key: 60, operations: [[3] + varint(900) + [1]], new: elements(string, count: 1, element: run(0)))),
        Forgery(
            "a move from behind the end", 9,
            script(6, key: 60, operations: [[4] + varint(900) + [0]], new: elements(string, count: 0, element: run(0)))),
        Forgery(
            "a move to behind the end", 9,
            script(6, key: 60, operations: [[4, 0] + varint(900)], new: elements(string, count: 0, element: run(0)))),
        Forgery(
            "fewer new elements than the script inserts", 9,
            script(6, key: 60, operations: [[1, 0, 2]], new: elements(string, count: 1, element: run(0)))),
        Forgery(
            "elements for a row that does not exist", 11,
            [1, 6] + varint(5000) + [0] + elements(string, count: 1, element: run(0))),
        Forgery("elements for a scalar column", 11, [1, 0, 60, 0] + elements(int, count: 1, element: run(0))),
        Forgery("elements of another type", 11, [1, 6, 60, 0] + elements(int, count: 1, element: run(0))),
    ]

    static let schemas: [Forgery] = [
        Forgery("fewer classes than there were", change: { $0.tables.removeLast() }),
        Forgery("fewer properties than there were", change: { $0.tables[1].columns.removeLast() }),
        Forgery("a class without a name", change: { $0.tables[0].name = "" }),
        Forgery("a property of another type", change: { $0.tables[1].columns[0].type = .string }),
        Forgery("a property that is a list now", change: { $0.tables[1].columns[0].collection = .list }),
        Forgery("links to another class", change: { $0.tables[1].columns[4].target = BaseStore.any }),
        Forgery("a removed property that is back", change: { $0.tables[1].columns[2].isRemoved = false }),
        Forgery("a list as the primary key", change: { $0.tables[1].primaryKey = 6 }),
        Forgery("links as the primary key", change: { $0.tables[1].primaryKey = 4 }),
        Forgery("a removed property as the primary key", change: { $0.tables[1].primaryKey = 2 }),
        Forgery("a list with an index", change: { $0.tables[1].columns[6].isIndexed = true }),
        Forgery(
            "rows of a class that the schema removes", change: { $0.tables[1].isRemoved = true },
            then: block(3, [1] + keys(700) + [0])),
        Forgery(
            "cells of a property that the schema removes", change: { $0.tables[1].columns[9].isRemoved = true },
            then: block(7, update(1, column: 9, key: 7, values: [int] + run(1)))),
        Forgery("a schema in a block that ends early", 1, [0, 1, 200]),
        Forgery("a schema block that refers to a missing blob", 1, [1, 0, 9]),
    ]

    /// Changesets that no rule of the format forbids. They must not stop a program that then uses the store.
    static let allowed: [Forgery] = [
        // The nullability of a property may have changed since.
        Forgery("nulls in a column that is not nullable", 3, [1] + keys(700) + [1, 0, int | 0x40, 1] + run(1)),
        Forgery("the greatest possible key", 3, [1] + keys((1 << 62) - 1) + [0]),
        Forgery("the greatest possible next key", 12, [1] + varint((1 << 62) - 1)),
        Forgery("a link to a row that does not exist", 7, update(1, column: 4, key: 9, values: [link] + run(5000))),
        Forgery("a link to a row that was deleted", 7, update(1, column: 4, key: 9, values: [link] + run(300))),
        Forgery(
            "a list of links to rows that do not exist", 7,
            update(1, column: 5, key: 60, values: elements(link, count: 3, element: run(5000)))),
        Forgery("a row that others link to is deleted", 5, [1] + keys(1)),
        Forgery("a primary key that another object has", 7, update(1, column: 0, key: 7, values: [int] + run(8))),
        Forgery("a new row with a primary key that another object has", 3, [1] + keys(700) + [1, 0, int] + run(8)),
        Forgery("new rows of one primary key", 3, [1] + keys(700, 3) + [1, 0, int] + run(5000)),
        Forgery("a cell that is assigned twice", 7, [1, 1, 2] + run(7) + [0, string] + run(1) + [65, 66]),
        Forgery(
            "a date whose seconds and fraction have opposite signs", 7,
            update(0, column: column(.date), key: 3, values: [7] + run(5) + run(-5))),
        Forgery(
            "a mixed link to an unknown table", 7,
            update(
                0, column: column(.mixed), key: 3,
                values: [mixed] + run(13) + [
                    12, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
                ])),
        Forgery("a removed class that others link to", change: { $0.tables[0].isRemoved = true }),
        Forgery("a primary key under which objects are equal", change: { $0.tables[1].primaryKey = 8 }),
        Forgery("an index on a column that had none", change: { $0.tables[1].columns[7].isIndexed = true }),
    ]

    private func storage(_ forgery: Forgery) throws -> MemoryStorage {
        try BaseStore.made.storage(appendingCommit: forgery.input)
    }

    private func expectDamage(_ forgery: Forgery, changed: Bool = false) throws {
        for access in [LogOptions.Access.readOnly, .readWrite(waitMilliseconds: 0)] {
            do throws(StoreError) {
                let store = try Store(BaseStore.options(access: access), storage: try! storage(forgery))
                try? store.close()
                Issue.record("\(forgery.testDescription): it was opened")
            } catch {
                #expect(error.code == .damage, "\(forgery.testDescription): \(error)")
                #expect(error.description.contains("version 9"), "\(forgery.testDescription): \(error)")
            }
        }
    }

    @Test("rows", arguments: rows) func row(_ forgery: Forgery) throws { try expectDamage(forgery) }
    @Test("cells", arguments: cells) func cell(_ forgery: Forgery) throws { try expectDamage(forgery) }
    @Test("collections", arguments: collections) func collection(_ forgery: Forgery) throws {
        try expectDamage(forgery)
    }
    @Test("schemas", arguments: schemas) func schema(_ forgery: Forgery) throws { try expectDamage(forgery) }

    @Test("an allowed changeset does not stop reading, writing, compacting or opening again", arguments: allowed)
    func use(_ forgery: Forgery) throws { try Exercise.run(storage(forgery)) }
}
