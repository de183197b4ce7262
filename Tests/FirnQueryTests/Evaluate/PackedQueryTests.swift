import FirnCore
import FirnLog
import FirnQuery
import FirnStorage
import FirnTestSupport
import Testing

/// A query reads a checkpoint, whose chunks are unpacked into a few slots of the thread's memory, in the same way as
/// it reads the heap.
@Suite(.timeLimit(.minutes(20))) struct PackedQueryTests {
    /// The objects that the links of one leaf lead to are in more chunks than a thread keeps unpacked.
    @Test func linksAreFollowedIntoManyCompressedChunks() throws {
        let (thing, owner) = (TableID(0), TableID(1))
        var log = LogOptions(folder: "/store")
        log.usesThreads = false
        let store = try Store(StoreOptions(log: log), storage: MemoryStorage())
        let transaction = try store.beginWrite()
        try transaction.changeSchema(
            to: StoreSchema(tables: [
                TableSchema(
                    name: "Thing",
                    columns: [
                        ColumnSchema(name: "id", type: .int),
                        ColumnSchema(name: "owner", type: .link, isNullable: true, target: owner),
                    ]),
                TableSchema(
                    name: "Owner",
                    columns: [ColumnSchema(name: "id", type: .int), ColumnSchema(name: "note", type: .string)]),
            ]))
        for id in 0..<Int64(5120) {
            var row = transaction.beginRow(owner)
            transaction.fill(&row, column: 0, value: .int(id))
            transaction.fill(
                &row, column: 1, value: .string("kept \(id) " + String(repeating: "same words ", count: 8)))
            try transaction.endRow(row)
        }
        for id in 0..<Int64(256) {
            var row = transaction.beginRow(thing)
            transaction.fill(&row, column: 0, value: .int(id))
            transaction.fill(&row, column: 1, value: .link(id * 257 % 5120))
            try transaction.endRow(row)
        }
        try transaction.commit()
        _ = try store.compact()
        let pin = store.pin()
        // The first query fills the memory for unpacked chunks. From then on each unpacked chunk overwrites another.
        for (text, count) in [
            ("owner.note CONTAINS 'kept'", 256), ("owner.note CONTAINS 'kept 257 '", 1),
            ("owner.note CONTAINS 'kept'", 256),
        ] {
            let query = try QueryPipeline([.filter(try Predicate(parsing: text))], table: thing, schema: store.schema)
            #expect(query.count(in: pin.snapshot) == count, "\(text)")
        }
        try store.close()
    }

    /// Random predicates find the same objects in the checkpoint as on the heap.
    @Test(arguments: 1...2 as ClosedRange<UInt64>) func predicatesFindTheSameAsOnTheHeap(seed: UInt64) throws {
        let world = try QueryWorld(seed: seed, things: 1000, owners: 4700, hasFiles: true)
        let before = world.pin
        try world.compact()
        let after = world.pin
        var maker = RandomPredicate(world: world, random: SeededRandom(seed: seed &* 17))
        var foundSome = 0
        for round in 0..<60 {
            let table = round % 4 == 0 ? QueryWorld.owner : QueryWorld.thing
            let predicate = maker.make(table)
            let query = try QueryPipeline(
                [.filter(predicate)], table: table, schema: world.schema, resolver: world.resolver)
            let expected = query.run(in: before.snapshot).keys(in: before.snapshot.table(table))
            let found = query.run(in: after.snapshot).keys(in: after.snapshot.table(table))
            #expect(found == expected, "seed \(seed), round \(round): \(predicate)")
            #expect(query.count(in: after.snapshot) == expected.count, "seed \(seed), round \(round): \(predicate)")
            if !expected.isEmpty, expected.count < before.snapshot.table(table).count { foundSome += 1 }
        }
        #expect(foundSome > 15, "seed \(seed)")
        try world.store.close()
    }

    /// Sorted rows, distinct values and aggregates are the same, too.
    @Test func sortsAndDistinctValuesAreTheSameAsOnTheHeap() throws {
        let world = try QueryWorld(seed: 8, things: 1000, owners: 4700, hasFiles: true)
        let before = world.pin
        try world.compact()
        let after = world.pin
        for path in [
            "note", "owner.note", "nick", "age", "score", "friend.owner.title", "when", "mix", "owner.weight",
        ] {
            let property = try PropertyPath(parsing: path)
            for stages in [
                [.sort([SortDescriptor(property, ascending: false)])], [.distinct([property])],
                [.sort([SortDescriptor(property)]), .limit(50)],
            ] as [[QueryPipeline.Stage]] {
                let query = try QueryPipeline(
                    stages, table: QueryWorld.thing, schema: world.schema, resolver: world.resolver)
                let expected = query.run(in: before.snapshot).keys(in: before.snapshot.table(QueryWorld.thing))
                #expect(
                    query.run(in: after.snapshot).keys(in: after.snapshot.table(QueryWorld.thing)) == expected,
                    "\(path)")
                guard ["age", "score", "owner.weight"].contains(path) else { continue }
                for aggregate in [.sum, .min, .max, .average] as [PropertyPath.Aggregate] {
                    let sum = try query.aggregate(aggregate, property, in: before.snapshot)
                    #expect(try query.aggregate(aggregate, property, in: after.snapshot) == sum)
                }
            }
        }
        try world.store.close()
    }
}
