import FirnCore
@testable import FirnQuery
import FirnTestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct PredicateOracleTests {
    /// Random predicates over random objects: each is written as text, parsed again, and run. By scan, by index, one
    /// by one and as a count it finds the same as the oracle (SEMANTICS 68, 69, 98).
    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func randomPredicatesAgreeWithTheOracle(seed: UInt64) throws {
        let world = try QueryWorld(seed: seed, things: seed == 3 ? 280 : 40)
        let naive = NaiveQuery(world: world)
        let context = QueryContext(world.pin.snapshot)
        var maker = RandomPredicate(world: world, random: SeededRandom(seed: seed &* 31))
        var foundSome = 0
        for round in 0..<120 {
            let table = round % 4 == 0 ? QueryWorld.owner : QueryWorld.thing
            let predicate = maker.make(table)
            let (text, arguments) = predicate.format
            let label: Comment = "seed \(seed), round \(round): \(text) \(arguments)"
            let parsed = try Predicate(parsing: text, arguments)
            if !containsNaN(predicate) { #expect(parsed.format.text == text, label) }
            let keys = world.objects[table.index].keys.sorted()
            let expected = keys.filter { naive.matches(predicate, table: table, key: $0) }
            let query = try QueryPipeline(
                [.filter(parsed)], table: table, schema: world.schema, resolver: world.resolver)
            let view = world.pin.snapshot.table(table)
            let found = query.run(in: world.pin.snapshot).keys(in: view)
            #expect(found == expected, label)
            #expect(query.count(in: world.pin.snapshot) == expected.count, label)
            #expect(query.run(in: world.pin.snapshot, from: .keys(keys)).keys(in: view) == expected, label)
            // One object at a time.
            let filter = try #require(query.filter)
            #expect(
                keys.filter { key in
                    view.find(key).map { filter.matches($0.leaf, row: $0.row, in: context) } ?? false
                } == expected, label)
            if found != expected { return }
            if !expected.isEmpty, expected.count < keys.count { foundSome += 1 }
        }
        // Predicates that find everything or nothing would prove little.
        #expect(foundSome > 40, "seed \(seed)")
    }

    private func containsNaN(_ predicate: Predicate) -> Bool { predicate.description.contains("nan") }
}
