import FirnCore
import FirnQuery
import FirnTestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct SortOracleTests {
    /// Random sorts of random objects, in one and several stages, with distinct and limit, give the same as a stable
    /// sort of plain values (SEMANTICS 70, 72).
    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func pipelineStagesAgreeWithPlainArrays(seed: UInt64) throws {
        let world = try QueryWorld(seed: seed, things: seed == 2 ? 900 : 60)
        var random = SeededRandom(seed: seed &* 99)
        let view = world.pin.snapshot.table(QueryWorld.thing)
        let names = [
            "age", "small", "score", "scoreN", "ratio", "active", "flag", "name", "nick", "blob", "blobN", "when",
            "whenN", "oid", "uid", "dec",
            "mix", "friend.age", "friend.nick", "owner.title", "owner.weight", "friend.owner.title", "friend.scoreN",
            "id",
        ]
        for round in 0..<60 {
            var stages: [QueryPipeline.Stage] = []
            var expected = world.objects[0].keys.sorted()
            for _ in 0..<1 + random.below(3) {
                switch random.below(6) {
                case 0:
                    let paths = (0..<1 + random.below(2)).map { _ in names[random.below(names.count)] }
                    stages.append(
                        .distinct(try paths.map { (text) throws(QueryError) in try PropertyPath(parsing: text) }))
                    expected = distinct(expected, paths: paths, world: world)
                case 1:
                    let limit = random.below(40)
                    stages.append(.limit(limit))
                    expected = Array(expected.prefix(limit))
                case 2:
                    stages.append(.filter(try Predicate(parsing: "age < 50")))
                    expected = expected.filter {
                        if case .int(let age) = world.objects[0][$0]![1] { age < 50 } else { false }
                    }
                default:
                    let keys = (0..<1 + random.below(3)).map { _ in
                        (names[random.below(names.count)], random.below(2) == 0)
                    }
                    stages.append(
                        .sort(
                            try keys.map { (text, ascending) throws(QueryError) in
                                SortDescriptor(try PropertyPath(parsing: text), ascending: ascending)
                            }))
                    expected = sorted(expected, by: keys, world: world)
                }
            }
            let query = try QueryPipeline(stages, table: QueryWorld.thing, schema: world.schema)
            let result = query.run(in: world.pin.snapshot)
            #expect(
                result.keys(in: view) == expected,
                "seed \(seed), round \(round): \(query.explain(in: world.pin.snapshot))")
            #expect(query.count(in: world.pin.snapshot) == expected.count, "seed \(seed), round \(round)")
            if let key = expected.last { #expect(result.firstIndex(of: key, in: view) == expected.count - 1) }
        }
    }

    /// The value that a path leads to, nil if the path passes a nil link.
    private func value(_ key: Int64, path: String, world: QueryWorld) -> Value? {
        var (table, key) = (QueryWorld.thing, key)
        let names = path.split(separator: ".").map(String.init)
        for name in names.dropLast() {
            let column = world.column(name, table)!
            guard case .link(let next) = world.objects[table.index][key]![column] else { return nil }
            (table, key) = (world.schema[table].columns[column].target!, next)
        }
        return world.objects[table.index][key]![world.column(names.last!, table)!]
    }

    private func sorted(_ keys: [Int64], by: [(String, Bool)], world: QueryWorld) -> [Int64] {
        keys.enumerated().sorted { a, b in
            for (path, ascending) in by {
                let (x, y) = (value(a.element, path: path, world: world), value(b.element, path: path, world: world))
                var order = x == nil || y == nil ? (x == nil ? 1 : 0) - (y == nil ? 1 : 0) : self.order(x!, y!)
                if !ascending { order = -order }
                if order != 0 { return order < 0 }
            }
            return a.offset < b.offset
        }.map(\.element)
    }

    private func order(_ a: Value, _ b: Value) -> Int {
        if isNaN(a), isNaN(b) { return 0 }
        switch (a, b) {
        case (.double(let x), .double(let y)):
            if x.isNaN || y.isNaN { return (x.isNaN ? 0 : 1) - (y.isNaN ? 0 : 1) }
            return x < y ? -1 : x == y ? 0 : 1
        case (.float(let x), .float(let y)): return order(.double(Double(x)), .double(Double(y)))
        default: return Value.order(a, b)
        }
    }

    private func distinct(_ keys: [Int64], paths: [String], world: QueryWorld) -> [Int64] {
        var seen: [[Value]] = []
        return keys.filter { key in
            let values = paths.map { value(key, path: $0, world: world) }
            guard !values.contains(where: { $0 == nil }) else { return false }
            let known = values.compactMap { $0 }
            if seen.contains(where: { zip($0, known).allSatisfy { isSame($0, $1) } }) { return false }
            seen.append(known)
            return true
        }
    }

    /// Whether a value is a NaN of a float or double: all of these are one.
    private func isNaN(_ value: Value) -> Bool {
        switch value {
        case .float(let number): number.isNaN
        case .double(let number): number.isNaN
        default: false
        }
    }

    private func isSame(_ a: Value, _ b: Value) -> Bool {
        func isNumber(_ value: Value) -> Bool {
            switch value {
            case .int, .float, .double, .decimal: true
            default: false
            }
        }
        if isNaN(a), isNaN(b) { return true }
        return a == b || isNumber(a) && isNumber(b) && Value.order(a, b) == 0
    }

    @Test func aggregatesSkipNulls() throws {
        let world = try QueryWorld(seed: 5, things: 600)
        let all = try QueryPipeline(table: QueryWorld.thing, schema: world.schema)
        let some = try QueryPipeline(
            [.filter(try Predicate(parsing: "active == true"))], table: QueryWorld.thing, schema: world.schema)
        let snapshot = world.pin.snapshot
        for (query, objects) in [
            (all, world.objects[0].values.map { $0 }), (some, world.objects[0].values.filter { $0[6] == .bool(true) }),
        ] {
            for name in ["age", "small"] {
                let column = world.column(name, QueryWorld.thing)!
                let values = objects.compactMap { if case .int(let x) = $0[column] { x } else { nil } }
                let sum = values.reduce(Int128(0)) { $0 + Int128($1) }
                let path = PropertyPath([name])
                #expect(try query.aggregate(.sum, path, in: snapshot) == .int(Int64(clamping: sum)))
                #expect(try query.aggregate(.min, path, in: snapshot) == values.min().map { .int($0) } ?? .null)
                #expect(try query.aggregate(.max, path, in: snapshot) == values.max().map { .int($0) } ?? .null)
                #expect(
                    try query.aggregate(.average, path, in: snapshot) == .double(Double(sum) / Double(values.count)))
                #expect(try query.aggregate(.count, path, in: snapshot) == .int(Int64(values.count)))
            }
            let scores = objects.compactMap { if case .double(let x) = $0[4], !x.isNaN { x } else { nil } }
            #expect(
                try query.aggregate(.max, PropertyPath(["scoreN"]), in: snapshot) == scores.max().map { .double($0) }
                    ?? .null)
            let dates = objects.compactMap { if case .date(let x) = $0[12] { x } else { nil } }
            #expect(
                try query.aggregate(.min, PropertyPath(["when"]), in: snapshot) == dates.min().map { .date($0) }
                    ?? .null)
        }
        let none = try QueryPipeline([.filter(.constant(false))], table: QueryWorld.thing, schema: world.schema)
        for path in [
            "tags.@count", "friends.@max.age", "age.@sum", "numbers.@min", "$x.age", "@count", "nothing",
        ] {
            let aggregates: [PropertyPath.Aggregate] = [.sum, .min, .max, .average, .count]
            for aggregate in aggregates {
                let path = try PropertyPath(parsing: path)
                #expect(throws: QueryError.self, "\(aggregate) \(path.text)") {
                    try none.aggregate(aggregate, path, in: snapshot)
                }
            }
        }
        #expect(try none.aggregate(.sum, PropertyPath(["age"]), in: snapshot) == .int(0))
        #expect(try none.aggregate(.sum, PropertyPath(["score"]), in: snapshot) == .double(0))
        #expect(try none.aggregate(.average, PropertyPath(["age"]), in: snapshot) == .null)
        #expect(throws: QueryError.self) { try all.aggregate(.sum, PropertyPath(["name"]), in: snapshot) }
        #expect(throws: QueryError.self) { try all.aggregate(.sum, PropertyPath(["when"]), in: snapshot) }
    }

    @Test func decimalsAreAddedExactly() throws {
        var sum = DecimalSum()
        for _ in 0..<10 { sum.add(ValuePool.decimal(1, -1)) }
        #expect(Value.order(.decimal(sum.bits), .int(1)) == 0)
        sum.add(ValuePool.decimal(1, 0, isNegative: true))
        #expect(Value.order(.decimal(sum.bits), .int(0)) == 0)
        sum.add(2.5)
        sum.add(Int128(Int64.max))
        #expect(Value.order(.decimal(sum.bits), .int(.max)) > 0)
        var third = DecimalSum()
        third.add(Int128(1))
        #expect(third.divided(by: 4) == ValuePool.decimal(25, -2))
    }
}
