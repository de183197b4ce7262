import FirnCore
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
            let query = try Query([.filter(predicate)], table: QueryWorld.thing, schema: world.schema)
            let explanation = query.explain(in: world.pin.snapshot)
            #expect(explanation.contains(expected), "\(text): \(explanation)")
        }
    }

    /// Whatever the planner's cost rule says, an index that answers a condition must find what the scan finds.
    @Test func everyAccessFindsWhatTheScanFinds() throws {
        let world = try QueryWorld(seed: 11, things: 120)
        let naive = NaiveQuery(world: world)
        let context = QueryContext(world.pin.snapshot)
        var maker = RandomPredicate(world: world, random: SeededRandom(seed: 12))
        let view = world.pin.snapshot.table(QueryWorld.thing)
        let keys = world.objects[0].keys.sorted()
        var used = 0
        for round in 0..<500 {
            let predicate = maker.make(QueryWorld.thing, depth: round % 3)
            let compiled = try CompiledPredicate(
                predicate, table: QueryWorld.thing, schema: world.schema, resolver: world.resolver)
            guard let planned = Planner(context: context).access(compiled.node, view) else { continue }
            used += 1
            let candidates = planned.access.keys(view)
            let expected = keys.filter { naive.matches(predicate, QueryWorld.thing, $0) }
            if planned.isExact {
                #expect(candidates == expected, "round \(round): \(predicate)")
                #expect(planned.access.count(view) == expected.count, "round \(round): \(predicate)")
            } else {
                #expect(Set(expected).isSubset(of: candidates), "round \(round): \(predicate)")
            }
        }
        #expect(used > 25)
    }

    @Test func foldingTakesCaseAndDiacriticsOff() {
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
