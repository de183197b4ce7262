import FirnCore

/// Binds a predicate to a schema. Every name is bound to a column, every constant to its column's type, and every
/// comparison to the node that evaluates it fastest.
///
/// Everything that can't be evaluated is reported here, so that evaluation never fails.
struct QueryCompiler {
    let schema: StoreSchema
    let resolver: any PropertyResolver

    init(_ schema: StoreSchema, _ resolver: any PropertyResolver) {
        self.schema = schema
        self.resolver = resolver
    }

    /// The table at which paths begin, and the variable of the SUBQUERY around them, if there is one.
    struct Scope {
        var table: TableID
        var variable: String?
        var depth = 0

        func deeper() throws(QueryError) -> Scope {
            guard depth < Limits.queryNesting * 2 else {
                throw QueryError(
                    .limit, "The predicate is nested more than \(Limits.queryNesting * 2) deep.",
                    advice: "Join conditions by && and ||, which stay flat.")
            }
            return Scope(table: table, variable: variable, depth: depth + 1)
        }
    }

    func compile(_ predicate: Predicate, _ scope: Scope) throws(QueryError) -> any QueryNode {
        let inner = try scope.deeper()
        switch predicate {
        case .constant(let value): return ConstantNode(value: value)
        case .comparison(let comparison): return try compile(comparison, inner)
        case .not(let part): return NotNode(part: try compile(part, inner))
        case .all(let parts):
            let nodes = try compile(parts, inner)
            if nodes.isEmpty { return ConstantNode(value: true) }
            return nodes.count == 1 ? nodes[0] : AndNode(nodes)
        case .any(let parts):
            let nodes = try compile(parts, inner)
            if nodes.isEmpty { return ConstantNode(value: false) }
            return nodes.count == 1 ? nodes[0] : OrNode(nodes)
        }
    }

    private func compile(_ parts: [Predicate], _ scope: Scope) throws(QueryError) -> [any QueryNode] {
        var nodes: [any QueryNode] = []
        for part in parts { nodes.append(try compile(part, scope)) }
        return nodes
    }

    // MARK: Comparisons

    /// A bound side of a comparison.
    enum Side {
        case constants([Value])
        case source(ValueSource, type: ColumnType, target: TableID?)

        var path: BoundPath? {
            if case .source(.path(let path), _, _) = self { path } else { nil }
        }

        var isToMany: Bool { path?.isToMany ?? false }
    }

    private func compile(_ comparison: Comparison, _ scope: Scope) throws(QueryError) -> any QueryNode {
        if case .region(let region) = comparison.right { return try compile(comparison, in: region, scope) }
        var comparison = comparison
        var left = try bind(comparison.left, comparison: comparison, scope: scope)
        var right = try bind(comparison.right, comparison: comparison, scope: scope)
        if case .constants = left, case .source = right, let turned = comparison.operation.turned {
            swap(&left, &right)
            comparison.operation = turned
        }
        // "x IN path" means that some element equals x. For a collection, "path CONTAINS x" means the same, unless it
        // has a quantifier: then CONTAINS searches the text of the elements.
        if comparison.operation == .in, let path = right.path {
            guard path.isToMany else {
                throw fault(
                    .type, message: "'\(path.text)' is not a collection.",
                    advice: "IN takes {…}, an array argument or a collection.",
                    comparison: comparison)
            }
            swap(&left, &right)
            comparison.operation = .equal
        } else if comparison.operation == .contains, comparison.quantifier == nil, left.path?.endsInCollection == true {
            comparison.operation = .equal
        }
        try checkQuantifier(comparison, left: left, right: right)
        if comparison.operation == .in || comparison.operation == .between, case .source = right {
            throw fault(
                .type, message: "The values to the right of \(comparison.operation.keyword) are not constants.",
                advice: comparison.operation == .in
                    ? "IN takes {…}, an array argument or a collection."
                    : "BETWEEN takes {low, high} or an array argument. Compare by >= and <= instead.",
                comparison: comparison)
        }
        switch (left, right) {
        case (.constants, .constants):
            throw comparison.constantsFault
        case (.source(.path(let path), let type, let target), .constants(let values)):
            let test = try constantTest(comparison, values, type: type, target: target)
            return quantified(comparison.quantifier, test: test) { build(path, stepIndex: 0, test: $0) }
        case (.source(let source, let type, let target), .constants(let values)):
            let test = try constantTest(comparison, values, type: type, target: target)
            return relation(comparison, source: source, test: test)
        case (.constants(let values), .source(let source, let type, let target)):
            try check(comparison, left: nil, right: type, target: target, value: values.first ?? .null)
            return RelationNode(
                left: .constant(values.first ?? .null), right: source, operation: comparison.operation,
                options: comparison.options, isNegated: false)
        case (.source(let a, let leftType, let leftTarget), .source(let b, let rightType, let rightTarget)):
            try check(comparison, left: leftType, right: rightType, leftTarget: leftTarget, rightTarget: rightTarget)
            return pair(comparison, left: a, right: b)
        }
    }

    func fault(_ code: QueryError.Code, message: String, advice: String, comparison: Comparison) -> QueryError {
        QueryError(code, message, advice: advice, at: comparison.position)
    }

    private func checkQuantifier(_ comparison: Comparison, left: Side, right: Side) throws(QueryError) {
        if left.isToMany, right.isToMany {
            throw fault(
                .type, message: "Both sides are collections.",
                advice: "Compare a collection with a single value, or use SUBQUERY.",
                comparison: comparison)
        }
        for side in [left, right] {
            guard let path = side.path else { continue }
            if path.hasToManyStep, comparison.quantifier == nil {
                throw fault(
                    .type, message: "'\(path.text)' passes through a collection.",
                    advice: "Write ANY, ALL or NONE before it, or compare an aggregate such as @count.",
                    comparison: comparison)
            }
        }
        if comparison.quantifier != nil, !left.isToMany, !right.isToMany {
            throw fault(
                .type, message: "ANY, ALL and NONE need a path to a collection.",
                advice: "Leave the word out, or name a collection.",
                comparison: comparison)
        }
    }

    private func quantified(
        _ quantifier: Comparison.Quantifier?, test: ConstantTest, _ build: (ConstantTest) -> any QueryNode
    ) -> any QueryNode {
        switch quantifier {
        case nil, .any: build(test)
        case .some(.none): NotNode(part: build(test))
        case .all: NotNode(part: build(test.negated))
        }
    }

    /// The node that compares an aggregate or a SUBQUERY with constants.
    private func relation(_ comparison: Comparison, source: ValueSource, test: ConstantTest) -> any QueryNode {
        func node(_ operation: Comparison.Operation, _ value: Value) -> any QueryNode {
            RelationNode(
                left: source, right: .constant(value), operation: operation, options: test.options, isNegated: false)
        }
        switch test.operation {
        case .in:
            return test.values.isEmpty ? ConstantNode(value: false) : OrNode(test.values.map { node(.equal, $0) })
        case .between:
            if test.values.contains(.null) { return ConstantNode(value: false) }
            return AndNode([node(.greaterOrEqual, test.values[0]), node(.lessOrEqual, test.values[1])])
        case .greater where test.value == .null: return node(.notEqual, .null)
        case .greaterOrEqual where test.value == .null: return ConstantNode(value: true)
        default: return node(test.operation, test.value)
        }
    }

    private func pair(_ comparison: Comparison, left: ValueSource, right: ValueSource) -> any QueryNode {
        if let node = columnPair(comparison, left: left, right: right) { return node }
        func node(isNegated: Bool) -> any QueryNode {
            RelationNode(
                left: left, right: right, operation: comparison.operation, options: comparison.options,
                isNegated: isNegated)
        }
        switch comparison.quantifier {
        case nil, .any: return node(isNegated: false)
        case .some(.none): return NotNode(part: node(isNegated: false))
        case .all: return NotNode(part: node(isNegated: true))
        }
    }

    /// The node that compares two plain columns of ints or doubles by a kernel. Nil for all other pairs.
    private func columnPair(
        _ comparison: Comparison, left: ValueSource, right: ValueSource
    ) -> (any QueryNode)? {
        guard case .path(let a) = left, case .path(let b) = right, a.steps.isEmpty, b.steps.isEmpty, a.root == b.root,
            case .value(let x) = a.end, case .value(let y) = b.end, a.type == b.type,
            a.type == .int || a.type == .double,
            !a.isNullable, !b.isNullable
        else { return nil }
        func node(_ x: Int, _ y: Int, are relation: ColumnPairNode.Relation, isNegated: Bool = false) -> any QueryNode {
            ColumnPairNode(
                left: x, right: y, name: "\(a.text) \(comparison.operation.keyword) \(b.text)",
                isDouble: a.type == .double, relation: relation, isNegated: isNegated)
        }
        switch comparison.operation {
        case .equal: return node(x, y, are: .equal)
        case .notEqual: return node(x, y, are: .equal, isNegated: true)
        case .less: return node(x, y, are: .less)
        case .greater: return node(y, x, are: .less)
        case .lessOrEqual: return OrNode([node(x, y, are: .less), node(x, y, are: .equal)])
        case .greaterOrEqual: return OrNode([node(y, x, are: .less), node(x, y, are: .equal)])
        default: return nil
        }
    }
}

extension Comparison.Operation {
    /// The operation for exchanged sides. Nil if the constant must stay on the left.
    package var turned: Comparison.Operation? {
        switch self {
        case .equal, .notEqual: self
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        default: nil
        }
    }
}
