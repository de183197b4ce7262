import Testing

@testable import FirnCore

@Suite("A changeset leads from its version to the next and back", .timeLimit(.minutes(20)))
struct ChangesetModelTests {
    @Test("decoding and inverting twice give it back; applied it leads to the next version, inverted to the one before")
    func randomTransactions() throws {
        for seed in 0..<60 as Range<UInt64> {
            var samples = ChangesetSamples(seed: seed)
            var oracle = ChangesetOracle()
            for _ in 0..<12 {
                let before = oracle.tables
                let changes = oracle.transact(samples.int(0...60), &samples)
                let after = oracle.tables
                let parts = changes.encoded(schema: ChangesetOracle.schema)
                let decoded = try Changeset(version: changes.version, time: changes.time, parts: parts)
                #expect(decoded == changes, "seed \(seed)")
                #expect(changes.inverted().inverted() == changes, "seed \(seed)")
                var replica = oracle
                replica.tables = before
                #expect(replica.apply(decoded) && replica.tables == after, "seed \(seed): forward")
                #expect(replica.apply(decoded.inverted()) && replica.tables == before, "seed \(seed): back")
            }
        }
    }

    @Test("scripts of 300,000 edits or of long elements are cut into blocks and decoded completely")
    func longScripts() throws {
        let schema = TableSchema(
            name: "L",
            columns: [
                ColumnSchema(name: "i", type: .int, collection: .list),
                ColumnSchema(name: "s", type: .string, collection: .list, isNullable: true),
            ])
        var many: [ListEdit] = (0..<200_000).map { .insert($0, .int(Int64($0))) }
        many += (0..<100_000).map { .remove(5, old: .int(Int64($0 + 5))) }
        var long: [ListEdit] = []
        for index in 0..<60 {
            long.append(
                .insert(0, .string(String(repeating: "\(index % 10)", count: index == 30 ? 1_200_000 : 20_000))))
            long.append(.set(0, new: .null, old: .string(String(repeating: "o", count: index == 40 ? 70_000 : 100))))
            long.append(.move(from: 0, to: index / 2))
        }
        var changes = TableChanges()
        changes.scripts = [0: [7: ListScript(many)], 1: [7: ListScript(long), 9: ListScript()]]
        let changeset = Changeset(version: 2, time: 3, tables: [TableID(0): changes])
        let parts = changeset.encoded(schema: StoreSchema(tables: [schema]))
        for part in parts { #expect(part.count <= Limits.partByteCount) }
        #expect(try Changeset(version: 2, time: 3, parts: parts) == changeset)
    }

    @Test("long collections and values, encoded from a `Changeset`")
    func longValues() throws {
        let schema = TableSchema(
            name: "L",
            columns: [
                ColumnSchema(name: "i", type: .int, collection: .list), ColumnSchema(name: "s", type: .string),
                ColumnSchema(name: "m", type: .data, collection: .map, isNullable: true),
            ])
        func row(_ base: Int) -> [Int: Value] {
            [
                0: .list((0..<70_000).map { .int(Int64($0 * base)) }),
                1: .string(String(repeating: "y", count: 3_000_000 + base)),
                2: .map(
                    (0..<50).map {
                        Value.MapEntry(key: "\(100 + $0)", value: .data([UInt8](repeating: 7, count: 30_000)))
                    }),
            ]
        }
        var changes = TableChanges()
        changes.inserted = [1: row(1), 2: row(2)]
        changes.deleted = [3: row(3)]
        for column in 0..<3 {
            changes.updated[column] = [4: CellChange(new: row(4)[column]!, old: row(5)[column]!)]
        }
        let changeset = Changeset(version: 2, time: 3, tables: [TableID(0): changes])
        let parts = changeset.encoded(schema: StoreSchema(tables: [schema]))
        for part in parts { #expect(part.count <= Limits.partByteCount) }
        #expect(try Changeset(version: 2, time: 3, parts: parts) == changeset)
    }

    @Test("a schema is decoded with every flag, alone and in a changeset, even a long one")
    func schemas() throws {
        var schema = ChangesetOracle.schema
        schema.tables.append(ChangesetSamples.everyColumn)
        schema.tables[1].isEmbedded = true
        schema.tables[0].isRemoved = true
        schema.tables[0].columns[0].isIndexed = true
        var long = schema
        for number in 0..<3000 {
            long.tables.append(
                TableSchema(
                    name: "Class number \(number)",
                    columns: [ColumnSchema(name: String(repeating: "p", count: 255), type: .int)]))
        }
        for schema in [StoreSchema(), schema, long] {
            let bytes = SchemaCoding.encode(schema)
            #expect(try bytes.withUnsafeBytes { try SchemaCoding.decode($0) } == schema)
            let changeset = Changeset(version: 1, time: 1, schema: schema)
            #expect(try Changeset(version: 1, time: 1, parts: changeset.encoded(schema: schema)) == changeset)
        }
    }
}
