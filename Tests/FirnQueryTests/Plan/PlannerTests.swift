import FirnCore
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnQuery

@Suite(.timeLimit(.minutes(20))) struct PlannerTests {
    @Test func explainNamesTheIndexThatIsUsed() throws {
        let world = try QueryWorld(seed: 3, things: 1500)
        let targets = world.objects[0].values.compactMap { if case .link(let key) = $0[18] { key } else { nil } }
        let single = Dictionary(grouping: targets) { $0 }.first { $0.value.count == 1 }!.key
        let cases: [(String, String)] = [
            ("id == 30", "index of id"), ("age == 50", "objects of Thing"),
            ("name == 'abc' AND id == 3", "index of id"),
            ("small == nil AND id == 3", "index of id"), ("friend == %@", "index of friend: the backlinks"),
            ("id IN {3, 6}", "index of id"), ("id == 3 OR id == 6", "index of id"),
            ("owner.id == 'owner 3'", "index of owner.id"), ("blobN == nil OR id == 3", "objects of Thing"),
            ("NOT id == 3", "objects of Thing"), ("age2 == 3", "objects of Thing"),
        ]
        for (text, expected) in cases {
            let arguments: [QueryArgument] = text.contains("%@") ? [.value(.typedLink(QueryWorld.thing, single))] : []
            let predicate = try Predicate(parsing: text, arguments)
            let query = try QueryPipeline([.filter(predicate)], table: QueryWorld.thing, schema: world.schema)
            let explanation = query.explain(in: world.pin.snapshot)
            #expect(explanation.contains(expected), "\(text): \(explanation)")
        }
    }

    /// Whatever the planner's cost rule decides, an index that answers a condition must find the same as the scan.
    @Test func everyIndexAccessFindsTheSameAsAScan() throws {
        let world = try QueryWorld(seed: 11, things: 120)
        let naive = NaiveQuery(world: world)
        let context = QueryContext(world.pin.snapshot)
        var maker = RandomPredicate(world: world, random: SeededRandom(seed: 12))
        let view = world.pin.snapshot.table(QueryWorld.thing)
        let keys = world.objects[0].keys.sorted()
        var used = 0
        for round in 0..<500 {
            let predicate = maker.make(QueryWorld.thing, depth: round % 3)
            let query = try QueryPipeline(
                [.filter(predicate)], table: QueryWorld.thing, schema: world.schema, resolver: world.resolver)
            guard let planned = query.plan(.table, context).index else { continue }
            used += 1
            let candidates = planned.access.keys(view)
            let expected = keys.filter { naive.matches(predicate, table: QueryWorld.thing, key: $0) }
            if planned.isExact {
                #expect(candidates == expected, "round \(round): \(predicate)")
                #expect(planned.access.count(view) == expected.count, "round \(round): \(predicate)")
            } else {
                #expect(Set(expected).isSubset(of: candidates), "round \(round): \(predicate)")
            }
        }
        #expect(used > 25)
    }

    /// The index holds only the beginning of a long text, so its results are compared with the rows. So are all
    /// objects for an OR of which one part has no index.
    @Test func valuesOfWhichAnIndexHasOnlyAPartAreComparedInFull() throws {
        let store = try Store(StoreOptions(log: nil), storage: MemoryStorage())
        let transaction = try store.beginWrite()
        try transaction.changeSchema(
            to: StoreSchema(tables: [
                TableSchema(
                    name: "Page",
                    columns: [
                        ColumnSchema(name: "text", type: .string, isIndexed: true),
                        ColumnSchema(name: "number", type: .int),
                    ])
            ]))
        let head = String(repeating: "a", count: 200)
        let texts = (0..<3000).map { $0 < 40 ? head + "\($0 % 20)" : "page \($0)" }
        for (index, text) in texts.enumerated() {
            var row = transaction.beginRow(TableID(0))
            transaction.fill(&row, column: 0, value: .string(text))
            transaction.fill(&row, column: 1, value: .int(Int64(index)))
            try transaction.endRow(row)
        }
        try transaction.commit()
        let pin = store.pin()
        func found(_ text: String) throws -> (result: [Int64], count: Int, explanation: String) {
            let query = try QueryPipeline(
                [.filter(try Predicate(parsing: text))], table: TableID(0), schema: store.schema)
            return (
                query.run(in: pin.snapshot).keys(in: pin.snapshot.table(TableID(0))), query.count(in: pin.snapshot),
                query.explain(in: pin.snapshot)
            )
        }
        for (text, holds) in [
            ("text == '\(head)7'", { $0 == head + "7" }),
            ("text BEGINSWITH '\(head)1'", { $0.hasPrefix(head + "1") }),
            ("text BEGINSWITH '\(head)'", { $0.hasPrefix(head) }),
            ("text IN {'\(head)3', '\(head)4', 'page 77'}", { [head + "3", head + "4", "page 77"].contains($0) }),
        ] as [(String, (String) -> Bool)] {
            let expected = texts.indices.filter { holds(texts[$0]) }.map { Int64($0) }
            let answer = try found(text)
            #expect(answer.result == expected && answer.count == expected.count, "\(text)")
            #expect(answer.explanation.contains("index of text"), "\(text): \(answer.explanation)")
        }
        let either = try found("text == 'page 50' OR number == 60")
        #expect(either.result == [50, 60] && either.count == 2 && either.explanation.contains("objects of Page"))
    }

    /// Backlinks know which objects link to an object, but not which objects link to none.
    @Test func objectsWithNilLinksAreFoundWithoutBacklinks() throws {
        let world = try QueryWorld(seed: 3, things: 1500)
        let targets = world.objects[0].keys.sorted().prefix(9)
        let wanted = [Value.null] + targets.map { .link($0) }
        let text = "friend IN {nil" + targets.map { _ in ", %@" }.joined() + "}"
        let predicate = try Predicate(parsing: text, targets.map { .value(.typedLink(QueryWorld.thing, $0)) })
        let query = try QueryPipeline([.filter(predicate)], table: QueryWorld.thing, schema: world.schema)
        let found = query.run(in: world.pin.snapshot).keys(in: world.pin.snapshot.table(QueryWorld.thing))
        let expected = world.objects[0].keys.sorted().filter { wanted.contains(world.objects[0][$0]![18]) }
        #expect(found == expected && query.count(in: world.pin.snapshot) == expected.count && expected.count > 100)
    }

    /// A value that is stored behind another one, because their hashes lead to the same slot, is found too.
    @Test func aByteSetContainsWhatWasInserted() {
        let values = (0..<2000).map { Array("value \($0)".utf8) }
        let set = ByteSet(values)
        #expect(values.allSatisfy { $0.withUnsafeBytes(set.contains) })
        #expect((2000..<4000).allSatisfy { !Array("value \($0)".utf8).withUnsafeBytes(set.contains) })
    }

    @Test func aQuestionMarkStandsForOneCodePoint() {
        for (text, pattern, fits) in [
            ("é", "?", true), ("日本", "??", true), ("日本", "?", false), ("日本", "???", false), ("a🙂b", "a?b", true),
            ("a🙂b", "a??b", false), ("🙂🙂x", "*?x", true), ("e\u{301}", "?", false), ("", "?", false),
        ] {
            let isLike = Array(text.utf8).withUnsafeBytes { value in
                Array(pattern.utf8).withUnsafeBytes { ByteText.isLike(value, $0) }
            }
            #expect(isLike == fits, "\(text) LIKE \(pattern)")
        }
    }

    /// NaN is skipped, wherever it is among the values.
    @Test func nanIsNeitherTheMinimumNorTheMaximum() {
        for values in [[.nan, 1, 2], [1, .nan, 2], [2, 1, .nan]] as [[Double]] {
            for (aggregate, expected) in [(PropertyPath.Aggregate.min, 1.0), (.max, 2)] {
                var accumulator = Accumulator(.double, for: aggregate)
                for value in values { accumulator.add(.double(value)) }
                #expect(accumulator.result(aggregate) == .double(expected), "\(values)")
                var floats = Accumulator(.float, for: aggregate)
                for value in values { floats.add(.float(Float(value))) }
                #expect(floats.result(aggregate) == .float(Float(expected)), "\(values)")
            }
        }
    }

    /// Sums of integers are exact to 128 bits. A sum beyond the largest integer becomes the largest integer.
    @Test func integerSumsStopAtTheGreatestInteger() {
        for (values, expected) in [
            ([Int64.max, Int64.max], Int64.max), ([Int64.min, -1], Int64.min), ([.max, .max, .min, .min], -2),
        ] {
            var sum = Accumulator(.int, for: .sum)
            for value in values { sum.add(.int(value)) }
            #expect(sum.result(.sum) == .int(expected))
        }
    }

    @Test func foldingRemovesCaseAndDiacritics() {
        let both: Comparison.Options = [.caseInsensitive, .diacriticInsensitive]
        #expect(Folding.folded("ÀÉÎõüÇñŽǺẤΆЙ", both) == Array("aeioucnzaaαи".utf8))
        #expect(Folding.folded("e\u{301}\u{327}x", .diacriticInsensitive) == Array("ex".utf8))
        #expect(Folding.folded("ÀΩЖ", .caseInsensitive) == Array("àωж".utf8))
        #expect(Folding.folded("ßøł🙂日", both) == Array("ßøł🙂日".utf8))
        var result: [UInt8] = []
        ([0xFF, 0xC3, 0x41, 0xE2, 0x82] as [UInt8]).withUnsafeBytes { Folding.fold($0, both, into: &result) }
        #expect(result == [0xFF, 0xC3, 0x61, 0xE2, 0x82])
    }
}
