import Foundation
import Testing

@testable import FirnCore

@Suite("The format of changesets does not change after its release", .timeLimit(.minutes(20)))
struct ChangesetGoldenTests {
    private static let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Golden/changeset-1.bin")

    /// The changeset in the file. It must never change; a new format gets a new file.
    private static let changeset: Changeset = {
        var people = TableChanges()
        people.inserted = [
            10: [
                0: .int(1), 1: .string("Ada"), 2: .null, 3: .bool(true), 4: .double(0.5), 5: .link(-1 + 11),
                6: .date(Timestamp(seconds: 1_700_000_000, nanoseconds: 5)), 7: .list([.int(1), .int(500)]),
                8: .map([Value.MapEntry(key: "k", value: .null), Value.MapEntry(key: "l", value: .string("v"))]),
                9: .typedLink(TableID(1), 4), 10: .set([.uuid(UUIDBytes(high: 1, low: 2))]),
            ],
            12: [
                0: .int(70_000), 1: .string(""), 2: .data([1, 2]), 3: .bool(false), 4: .double(-1), 5: .null,
                6: .date(Timestamp(seconds: -1, nanoseconds: -999_999_999)), 7: .list([]), 8: .map([]), 9: .null,
                10: .set([]),
            ],
        ]
        people.deleted = [3: people.inserted[12]!]
        people.updated = [
            1: [
                4: CellChange(new: .string("new"), old: .string("old")),
                5: CellChange(new: .string("x"), old: .string("x"), isUnchanged: true),
            ],
            2: [6: CellChange(new: .data([UInt8](repeating: 9, count: 70_000)), old: .null)],
        ]
        people.scripts = [
            7: [
                4: ListScript([
                    .insert(0, .int(7)), .insert(1, .int(8)), .remove(3, old: .int(2)), .move(from: 0, to: 1),
                ])
            ]
        ]
        people.nextKey = 13
        return Changeset(version: 42, time: 1_700_000_000_000_000_000, schema: schema, tables: [TableID(0): people])
    }()

    private static let schema = StoreSchema(
        version: 7,
        tables: [
            TableSchema(
                name: "Person", primaryKey: 0,
                columns: [
                    ColumnSchema(name: "id", type: .int, isIndexed: true), ColumnSchema(name: "name", type: .string),
                    ColumnSchema(name: "photo", type: .data, isNullable: true),
                    ColumnSchema(name: "active", type: .bool),
                    ColumnSchema(name: "score", type: .double),
                    ColumnSchema(name: "friend", type: .link, target: TableID(0)),
                    ColumnSchema(name: "born", type: .date), ColumnSchema(name: "marks", type: .int, collection: .list),
                    ColumnSchema(name: "notes", type: .string, collection: .map, isNullable: true),
                    ColumnSchema(name: "any", type: .mixed),
                    ColumnSchema(name: "tags", type: .uuid, collection: .set),
                ]),
            TableSchema(name: "Gone", columns: [], isRemoved: true),
        ])

    @Test("version 1 of the format is read, and still written byte for byte")
    func golden() throws {
        let parts = Self.changeset.encoded(schema: Self.schema)
        #expect(parts.count == 1)
        if ProcessInfo.processInfo.environment["FIRN_WRITE_GOLDEN"] != nil { try Data(parts[0]).write(to: Self.file) }
        let bytes = [UInt8](try Data(contentsOf: Self.file))
        #expect(try Changeset(version: 42, time: 1_700_000_000_000_000_000, parts: [bytes]) == Self.changeset)
        #expect(bytes == parts[0])
    }
}
