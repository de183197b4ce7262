import FirnCore
import FirnQuery
import FirnTestSupport

/// Makes random predicates that are valid for the classes of `QueryWorld`, with every kind of comparison.
struct RandomPredicate {
    let world: QueryWorld
    var random: SeededRandom

    mutating func make(_ table: TableID, depth: Int = 3, variable: String? = nil) -> Predicate {
        if depth > 0 {
            switch random.below(8) {
            case 0:
                return .all((0..<2 + random.below(2)).map { _ in make(table, depth: depth - 1, variable: variable) })
            case 1:
                return .any((0..<2 + random.below(2)).map { _ in make(table, depth: depth - 1, variable: variable) })
            case 2: return .not(make(table, depth: depth - 1, variable: variable))
            default: break
            }
        }
        switch random.below(40) {
        case 0: return .constant(random.below(2) == 0)
        case 1...3: return pair(table, variable)
        case 4...6: return aggregate(table, variable)
        case 7...9 where variable == nil: return subquery(table)
        default: return simple(table, variable)
        }
    }

    private mutating func pick<T>(_ values: [T]) -> T { values[random.below(values.count)] }

    /// A path to a value, the value's type, and whether the path passes through or ends in a collection.
    private mutating func path(
        _ table: TableID, _ variable: String?
    ) -> (path: PropertyPath, type: ColumnType, hasStep: Bool, endsInCollection: Bool) {
        var components: [PropertyPath.Component] = []
        var table = table
        var hasStep = false
        for _ in 0..<random.below(3) where random.below(2) == 0 {
            let steps: [(String, TableID, Bool)] =
                table == QueryWorld.thing
                ? [
                    ("friend", QueryWorld.thing, false), ("owner", QueryWorld.owner, false),
                    ("friend", QueryWorld.thing, false),
                    ("friends", QueryWorld.thing, true), ("owners", QueryWorld.owner, true),
                    ("fans", QueryWorld.thing, true),
                ]
                : [
                    ("boss", QueryWorld.owner, false), ("things", QueryWorld.thing, true),
                    ("owned", QueryWorld.thing, true),
                ]
            let step = pick(steps)
            components.append(.name(step.0))
            table = step.1
            // One element of a list leads on as a link does.
            let takesOne = (step.0 == "friends" || step.0 == "things") && random.below(3) == 0
            if takesOne { components.append(.index(random.below(3))) }
            hasStep = hasStep || step.2 && !takesOne
        }
        let columns = world.schema[table].columns
        let column = pick(columns)
        components.append(.name(column.name))
        if column.collection == .map, random.below(2) == 0 {
            components.append(random.below(2) == 0 ? .key(pick(["", "a", "b", "z"])) : .keyword("@keys"))
            let isKeys = components.last == .keyword("@keys")
            return (
                PropertyPath(variable: variable, components), isKeys ? .string : column.type, hasStep, isKeys
            )
        }
        return (PropertyPath(variable: variable, components), column.type, hasStep, column.collection != .none)
    }

    private mutating func constant(_ type: ColumnType) -> Value {
        if random.below(8) == 0 { return .null }
        switch type {
        case .int, .double, .float, .decimal:
            if random.below(3) == 0 { return world.pool.value(pick([.int, .double, .float, .decimal]), &random) }
            return world.pool.value(type, &random)
        case .link: return .null
        default: return world.pool.value(type, &random)
        }
    }

    private mutating func simple(_ table: TableID, _ variable: String?) -> Predicate {
        let target = path(table, variable)
        let left = Operand.path(target.path)
        var quantifier: Comparison.Quantifier?
        if target.hasStep || target.endsInCollection && random.below(2) == 0 {
            quantifier = pick([.any, .all, Comparison.Quantifier.none])
        }
        if target.type == .link {
            let keys = world.objects[linkTarget(target.path, table).index].keys.sorted()
            let object: () -> Value = { [self] in
                var random = random
                return keys.isEmpty ? .null : .typedLink(linkTarget(target.path, table), keys[random.below(keys.count)])
            }
            let value = random.below(3) == 0 ? Value.null : object()
            if random.below(4) == 0 { return .compare(left, .in, .values([value, .null]), quantifier: quantifier) }
            return .compare(left, pick([.equal, .notEqual]), .value(value), quantifier: quantifier)
        }
        var operations: [Comparison.Operation] = [.equal, .notEqual, .in]
        if target.type != .bool { operations += [.less, .lessOrEqual, .greater, .greaterOrEqual, .between] }
        if [.string, .data, .mixed].contains(target.type) { operations += [.beginsWith, .endsWith, .contains] }
        if [.string, .mixed].contains(target.type) { operations += [.like] }
        let operation = pick(operations)
        var options: Comparison.Options = []
        let ordered: [Comparison.Operation] = [.less, .lessOrEqual, .greater, .greaterOrEqual, .between]
        if [.string, .mixed].contains(target.type), !ordered.contains(operation), random.below(2) == 0 {
            options = pick([[.caseInsensitive], [.diacriticInsensitive], [.caseInsensitive, .diacriticInsensitive]])
            if operation == .like { options = .caseInsensitive }
        }
        let needleType: ColumnType =
            [.beginsWith, .endsWith, .contains, .like].contains(operation)
            ? (target.type == .data ? .data : .string) : target.type
        switch operation {
        case .in:
            let count = pick([0, 1, 2, 3, 12])
            return .compare(
                left, .in, .values((0..<count).map { _ in constant(target.type) }), options: options,
                quantifier: quantifier)
        case .between:
            return .compare(
                left, .between, .values([constant(target.type), constant(target.type)]), quantifier: quantifier)
        case .like where random.below(2) == 0:
            return .compare(
                left, .like, .value(.string(pick(["*", "a*", "?", "??", "*b*", "A?C", "*ü*", "?🙂*", "**", ""]))),
                options: options,
                quantifier: quantifier)
        default:
            return .compare(left, operation, .value(constant(needleType)), options: options, quantifier: quantifier)
        }
    }

    private func linkTarget(_ path: PropertyPath, _ table: TableID) -> TableID {
        var table = table
        for case .name(let name) in path.components {
            switch world.resolver.property(name, of: table) {
            case .column(let column): table = world.schema[table].columns[column].target ?? table
            case .backlinks(let origin, _): table = origin
            case nil: break
            }
        }
        return table
    }

    /// A comparison of two properties of one object.
    private mutating func pair(_ table: TableID, _ variable: String?) -> Predicate {
        let groups: [[String]] =
            table == QueryWorld.thing
            ? [
                ["age", "age2", "small", "score", "score2", "scoreN", "dec", "friend.age"], ["age", "age2"],
                ["score", "score2"], ["name", "nick", "friend.name", "owner.title"], ["when", "whenN"],
                ["blob", "blobN"],
            ]
            : [["weight", "boss.weight"], ["id", "title"]]
        let group = pick(groups)
        func operand(_ text: String) -> Operand {
            .path(PropertyPath(variable: variable, text.split(separator: ".").map { .name(String($0)) }))
        }
        let operation = pick([Comparison.Operation.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual])
        if table == QueryWorld.thing, random.below(4) == 0 {
            return .compare(
                operand("numbers"), operation, operand(pick(["age", "small"])),
                quantifier: pick([.any, .all, Comparison.Quantifier.none]))
        }
        return .compare(operand(pick(group)), operation, operand(pick(group)))
    }

    private mutating func aggregate(_ table: TableID, _ variable: String?) -> Predicate {
        let choices: [(String, PropertyPath.Aggregate, String?)] =
            table == QueryWorld.thing
            ? [
                ("numbers", .count, nil), ("numbers", .min, nil), ("numbers", .max, nil), ("numbers", .sum, nil),
                ("numbers", .average, nil),
                ("friends", .count, nil), ("friends", .max, "age"), ("friends", .sum, "small"), ("owners", .count, nil),
                ("owners", .min, "weight"),
                ("fans", .count, nil), ("levels", .count, nil), ("kinds", .count, nil), ("friend.friends", .count, nil),
                ("levels", .max, nil),
            ] : [("things", .count, nil), ("things", .average, "age"), ("owned", .count, nil), ("owned", .max, "age2")]
        let choice = pick(choices)
        let path = PropertyPath(
            variable: variable, choice.0.split(separator: ".").map { .name(String($0)) }, aggregate: choice.1,
            of: choice.2.map { [.name($0)] } ?? [])
        let operation = pick([Comparison.Operation.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual])
        let value: Value =
            choice.1 == .count
            ? .int(Int64(random.below(4))) : pick([world.pool.value(.int, &random), .null, .double(0.5)])
        return .compare(.path(path), operation, .value(value))
    }

    private mutating func subquery(_ table: TableID) -> Predicate {
        let (name, target) =
            table == QueryWorld.thing
            ? pick([("friends", QueryWorld.thing), ("owners", QueryWorld.owner), ("fans", QueryWorld.thing)])
            : ("things", QueryWorld.thing)
        return .compare(
            .subquery(path: PropertyPath([name]), variable: "$x", predicate: make(target, depth: 1, variable: "$x")),
            pick([.equal, .greater, .lessOrEqual]), .value(.int(Int64(random.below(3)))))
    }
}
