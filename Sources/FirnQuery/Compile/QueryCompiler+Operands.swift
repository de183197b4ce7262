import FirnCore

extension QueryCompiler {
    func bind(_ operand: Operand, comparison: Comparison, scope: Scope) throws(QueryError) -> Side {
        switch operand {
        case .value(let value): return .constants([value])
        case .values(let values):
            switch comparison.operation {
            case .in: return .constants(values)
            case .between where values.count == 2: return .constants(values)
            case .between:
                throw fault(
                    .argument, message: "BETWEEN has \(values.count) bounds.", advice: "Give it two: BETWEEN {1, 5}.",
                    comparison: comparison)
            default:
                throw fault(
                    .type, message: "The operator compares with one value, but several are given.",
                    advice: "Use IN or BETWEEN, or ANY before the path.",
                    comparison: comparison)
            }
        case .path(let path):
            let bound = try bind(path, scope: scope, comparison: comparison)
            guard path.aggregate != nil else { return .source(.path(bound), type: bound.type, target: bound.target) }
            return try aggregate(path, collection: bound, comparison: comparison)
        case .region:
            throw fault(
                .type, message: "A region is compared with something other than a location.",
                advice: "Write 'location IN %@' with a property that holds a GeoJSON point.", comparison: comparison)
        case .subquery(let path, let variable, let predicate):
            return try subquery(path, variable: variable, predicate: predicate, comparison: comparison, scope: scope)
        }
    }

    func bind(
        _ path: PropertyPath, scope: Scope, comparison: Comparison
    ) throws(QueryError) -> BoundPath {
        guard path.variable == scope.variable else {
            let message =
                path.variable.map { "'\($0)' is not the variable of the SUBQUERY around it." }
                ?? "'\(path.text)' does not begin with the variable of its SUBQUERY."
            throw QueryError(
                .syntax, message, advice: "Within SUBQUERY(list, $x, …) every path begins with '$x'.",
                at: path.position ?? comparison.position)
        }
        return try bind(path, from: scope.table)
    }

    private func aggregate(
        _ path: PropertyPath, collection: BoundPath, comparison: Comparison
    ) throws(QueryError) -> Side {
        guard let aggregate = path.aggregate else { preconditionFailure("Firn: no aggregate to bind") }
        guard collection.isToMany else {
            throw fault(
                .type, message: "'\(path.text)' takes \(aggregate.keyword) of a value that is not a collection.",
                advice: "Lists, sets, maps and backlinks have aggregates.", comparison: comparison)
        }
        guard comparison.quantifier == nil else {
            throw fault(
                .unsupported, message: "'\(path.text)' is a single value, but ANY, ALL or NONE precedes it.",
                advice: "Leave the word out.", comparison: comparison)
        }
        var values = collection
        if !path.elementPath.isEmpty {
            values = try bind(
                path.components + path.elementPath, from: collection.root, text: path.text, position: path.position)
        }
        if aggregate == .count {
            guard path.elementPath.isEmpty else {
                throw fault(
                    .syntax, message: "A path continues after @count.", advice: "Put @count at the end.",
                    comparison: comparison)
            }
            return .source(.aggregate(.count, values), type: .int, target: nil)
        }
        let type = try aggregateType(aggregate, type: values.type, text: values.text, position: path.position)
        return .source(.aggregate(aggregate, values), type: type, target: nil)
    }

    /// The type of an aggregate over values of a type. Throws if values of this type have no such aggregate.
    func aggregateType(
        _ aggregate: PropertyPath.Aggregate, type: ColumnType, text: String, position: TextPosition?
    ) throws(QueryError) -> ColumnType {
        switch (aggregate, type) {
        case (.count, _): return .int
        case (.min, .date), (.max, .date): return .date
        case (_, .mixed), (_, .decimal): return type
        case (.average, .int), (.average, .float), (.average, .double), (.sum, .float): return .double
        case (_, .int), (_, .float), (_, .double): return type
        default:
            throw QueryError(
                .type, "\(aggregate.keyword) can't be computed for '\(text)', whose values are of type \(type).",
                advice: "Numbers have @min, @max, @sum and @avg; dates @min and @max.", at: position)
        }
    }

    private func subquery(
        _ path: PropertyPath, variable: String, predicate: Predicate, comparison: Comparison, scope: Scope
    ) throws(QueryError) -> Side {
        let collection = try bind(path, scope: scope, comparison: comparison)
        guard path.aggregate == nil, collection.isToMany, collection.type == .link, let target = collection.target,
            collection.inner.isEmpty
        else {
            throw fault(
                .type, message: "SUBQUERY searches '\(path.text)', which is not a collection of objects.",
                advice: "Name a list, set, map or backlinks of objects.", comparison: comparison)
        }
        let inner = Scope(table: target, variable: variable, depth: try scope.deeper().depth)
        return .source(.matchCount(collection, try compile(predicate, inner)), type: .int, target: nil)
    }

    // MARK: Types

    /// Checks a comparison with constants, and converts them to the column's type.
    func constantTest(
        _ comparison: Comparison, _ values: [Value], type: ColumnType, target: TableID?
    ) throws(QueryError) -> ConstantTest {
        var converted: [Value] = []
        for value in values { converted.append(try convert(value, type: type, target: target, comparison: comparison)) }
        for value in converted { try check(comparison, left: type, right: nil, target: target, value: value) }
        if converted.isEmpty { try checkOperation(comparison, .mixed) }
        return ConstantTest(operation: comparison.operation, options: comparison.options, values: converted)
    }

    /// Converts a constant to the column's type, and checks the class of an object.
    private func convert(
        _ value: Value, type: ColumnType, target: TableID?, comparison: Comparison
    ) throws(QueryError) -> Value {
        switch (type, value) {
        case (.link, .typedLink(let table, let key)):
            if let target, table != target {
                throw fault(
                    .type,
                    message:
                        "An object of '\(resolver.className(of: table))' is compared with links to '\(resolver.className(of: target))'.",
                    advice: "Give an object of the property's class; a subclass has a table of its own.",
                    comparison: comparison)
            }
            return .link(key)
        case (.link, .link(let key)) where key < 0: return .null
        default: return value.converted(to: type)
        }
    }

    func check(
        _ comparison: Comparison, left: ColumnType?, right: ColumnType?, target: TableID?, value: Value
    ) throws(QueryError) {
        guard let type = left ?? right else { return }
        try checkOperation(comparison, type)
        guard let other = value.columnType else { return }
        try checkPair(comparison, left: type, right: other)
    }

    func check(
        _ comparison: Comparison, left: ColumnType, right: ColumnType, leftTarget: TableID?,
        rightTarget: TableID?
    ) throws(QueryError) {
        try checkOperation(comparison, left)
        try checkOperation(comparison, right)
        try checkPair(comparison, left: left, right: right)
        if left == .link, right == .link, leftTarget != rightTarget {
            throw fault(
                .type, message: "Links to different classes are compared.", advice: "They are never equal.",
                comparison: comparison)
        }
    }

    private func checkPair(_ comparison: Comparison, left: ColumnType, right: ColumnType) throws(QueryError) {
        let isComparable = left == right || left == .mixed || right == .mixed || left.isNumber && right.isNumber
        guard isComparable else {
            throw fault(
                .type, message: "A value of type \(left) is compared with one of type \(right).",
                advice: "Compare values of one type; numbers of all types compare with each other.",
                comparison: comparison)
        }
    }

    private func checkOperation(_ comparison: Comparison, _ type: ColumnType) throws(QueryError) {
        let isText = type == .string || type == .mixed
        switch comparison.operation {
        case .equal, .notEqual, .in: break
        case .less, .lessOrEqual, .greater, .greaterOrEqual, .between:
            guard type != .bool, type != .link else {
                throw fault(
                    .type, message: "Values of type \(type) have no order.", advice: "Use ==, != or IN.",
                    comparison: comparison)
            }
            guard comparison.options.isEmpty else {
                throw fault(
                    .unsupported, message: "Order comparisons of strings are case sensitive.",
                    advice: "Leave the options out.",
                    comparison: comparison)
            }
        case .beginsWith, .endsWith, .contains:
            guard isText || type == .data else {
                throw fault(
                    .type,
                    message: "\(comparison.operation.keyword) is for strings and data, but this is of type \(type).",
                    advice: "Use ==, <, > or IN.", comparison: comparison)
            }
        case .like:
            guard isText else {
                throw fault(
                    .type, message: "LIKE is for strings, but this is of type \(type).", advice: "Use == or IN.",
                    comparison: comparison)
            }
            guard !comparison.options.contains(.diacriticInsensitive) else {
                throw fault(
                    .unsupported, message: "LIKE does not ignore diacritics.", advice: "Use LIKE[c], or CONTAINS[cd].",
                    comparison: comparison)
            }
        }
        guard comparison.options.isEmpty || isText else {
            throw fault(
                .type, message: "Options are for strings, but this is of type \(type).",
                advice: "Leave [c] and [d] out.", comparison: comparison)
        }
    }
}

extension ColumnType {
    var isNumber: Bool { self == .int || self == .float || self == .double || self == .decimal }
}

extension Value {
    /// Converts a constant to the type of the values that it is compared with. Numbers stay exact, with two exceptions.
    /// A constant for a Float is rounded to Float, as in Realm. A binary constant for a decimal is read as its shortest
    /// decimal text. Nobody who writes 0.1 means the binary number that is nearest to it.
    package func converted(to type: ColumnType) -> Value {
        switch (type, self) {
        case (.bool, .int(0)): .bool(false)
        case (.bool, .int(1)): .bool(true)
        case (.float, .int(let x)): .float(Float(x))
        case (.float, .double(let x)): .float(Float(x))
        case (.double, .float(let x)): .double(Double(x))
        case (.decimal, .float(let x)): .decimal(DecimalBits(float: x))
        case (.decimal, .double(let x)): .decimal(DecimalBits(double: x))
        case (.decimal, .string(let text)): DecimalBits(text: text).map { .decimal($0) } ?? self
        case (.uuid, .string(let text)): PredicateParser.uuid(text) ?? self
        case (.objectID, .string(let text)): PredicateParser.objectID(text) ?? self
        default: self
        }
    }

    /// The type of a constant, which is mixed for collections. Nil for null.
    package var columnType: ColumnType? {
        switch self {
        case .null: nil
        case .bool: .bool
        case .int: .int
        case .float: .float
        case .double: .double
        case .string: .string
        case .data: .data
        case .date: .date
        case .objectID: .objectID
        case .uuid: .uuid
        case .decimal: .decimal
        case .link, .typedLink: .link
        case .list, .set, .map: .mixed
        }
    }
}
