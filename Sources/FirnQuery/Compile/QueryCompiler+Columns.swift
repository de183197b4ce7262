import FirnCore

extension QueryCompiler {
    /// Builds the node that compares a path with constants, from the path's step `stepIndex` on.
    func build(_ path: BoundPath, stepIndex: Int, test: ConstantTest) -> any QueryNode {
        let table = tableOfStep(path, stepIndex)
        guard stepIndex < path.steps.count else { return end(path, table: table, test: test) }
        let part = build(path, stepIndex: stepIndex + 1, test: test)
        let step = path.steps[stepIndex]
        // Behind a nil link the value of a to-one path is null.
        let isSingle = !path.endsInCollection && !path.steps[stepIndex...].contains(where: \.isToMany)
        switch step {
        case .link(let column, let target):
            return LinkNode(
                column: column, name: schema[table].columns[column].name, target: target, part: part,
                matchesNilLink: isSingle && test.holds(.null))
        case .item:
            return AnyLinkNode(
                table: table, step: step, name: path.text, part: part, matchesNone: isSingle && test.holds(.null))
        case .links, .sources: return AnyLinkNode(table: table, step: step, name: path.text, part: part)
        }
    }

    func tableOfStep(_ path: BoundPath, _ stepIndex: Int) -> TableID {
        guard stepIndex > 0 else { return path.root }
        switch path.steps[stepIndex - 1] {
        case .link(_, let target), .item(_, _, let target), .links(_, let target): return target
        case .sources(let origin, _): return origin
        }
    }

    private func end(_ path: BoundPath, table: TableID, test: ConstantTest) -> any QueryNode {
        switch path.end {
        case .object: return KeyNode(test: test)
        case .value(let column) where path.inner.isEmpty:
            if let node = columnNode(table, column: column, test: test) { return node }
        default: break
        }
        var remainder = path
        remainder.root = table
        remainder.steps = []
        return ValueNode(path: remainder, test: test)
    }

    /// The node that scans a column with kernels. Nil if its values can only be compared one by one.
    private func columnNode(_ table: TableID, column: Int, test: ConstantTest) -> (any QueryNode)? {
        let schema = schema[table].columns[column]
        switch schema.type {
        case .decimal, .mixed: return nil
        case .string, .data: return bytesNode(column, schema: schema, test: test)
        default: return fixedNode(column, schema: schema, test: test)
        }
    }

    // MARK: Fixed width

    private func fixedNode(_ column: Int, schema: ColumnSchema, test: ConstantTest) -> (any QueryNode)? {
        let isNullable = schema.isNullable && schema.type != .link
        if test.operation == .in { return setNode(column, schema: schema, test: test) }
        if test.operation == .between {
            if test.values.contains(.null) { return ConstantNode(value: test.isNegated) }
            let bounds = zip([Comparison.Operation.greaterOrEqual, .lessOrEqual], test.values)
            let parts = bounds.map { ConstantTest(operation: $0, options: [], values: [$1]) }
            if let both = BoundRange.range(of: schema.type, parts) {
                return rangeNode(column, schema: schema, range: both, test: test, isNegated: test.isNegated)
            }
            return nil
        }
        if test.value == .null {
            let matchesOthers = test.holds(.int(0))
            if test.holds(.null) == matchesOthers { return ConstantNode(value: matchesOthers) }
            if schema.type == .link {
                return RangeNode(
                    column: column, name: schema.name, range: .int64(-1, -1), isNegated: matchesOthers,
                    matchesNull: false, isNullable: false)
            }
            guard isNullable else { return ConstantNode(value: matchesOthers) }
            return NullNode(column: column, name: schema.name, isNegated: matchesOthers)
        }
        let isUnequal = test.operation == .notEqual
        let plain = ConstantTest(operation: isUnequal ? .equal : test.operation, options: [], values: test.values)
        guard let range = BoundRange.range(of: schema.type, [plain]) else { return nil }
        return rangeNode(column, schema: schema, range: range, test: test, isNegated: test.isNegated != isUnequal)
    }

    private func rangeNode(
        _ column: Int, schema: ColumnSchema, range: FixedRange, test: ConstantTest, isNegated: Bool
    ) -> any QueryNode {
        RangeNode(
            column: column, name: schema.name, range: range, isNegated: isNegated, matchesNull: test.holds(.null),
            isNullable: schema.isNullable && schema.type != .link)
    }

    private func setNode(_ column: Int, schema: ColumnSchema, test: ConstantTest) -> (any QueryNode)? {
        let values = test.values.filter { $0 != .null }
        let matchesNull = test.values.count > values.count
        let isLong = values.count > 8
        if isLong, schema.type == .int || schema.type == .link {
            var keys: Set<Int64> = []
            for value in values {
                guard case .int64(let low, let high)? = BoundRange.range(of: schema.type, [.equal(value)]) else {
                    return nil
                }
                if low == high { keys.insert(low) }
            }
            if schema.type == .link, matchesNull { keys.insert(-1) }
            return IntSetNode(
                column: column, name: schema.name, values: keys, isNegated: test.isNegated,
                matchesNull: test.holds(.null),
                isNullable: schema.isNullable && schema.type != .link)
        }
        var parts: [any QueryNode] = []
        for value in values + (matchesNull ? [.null] : []) {
            guard let part = fixedNode(column, schema: schema, test: .equal(value)) else { return nil }
            parts.append(part)
        }
        let any: any QueryNode = parts.count == 1 ? parts[0] : OrNode(parts)
        return test.isNegated ? NotNode(part: any) : any
    }

    // MARK: Bytes

    private func bytesNode(_ column: Int, schema: ColumnSchema, test: ConstantTest) -> (any QueryNode)? {
        let matchesNull = test.holds(.null)
        if test.operation == .between {
            if test.values.contains(.null) { return ConstantNode(value: test.isNegated) }
            guard let low = test.values[0].plainBytes, let high = test.values[1].plainBytes else { return nil }
            let parts = [(low, UInt32(6)), (high, UInt32(3))].map { bytes, wanted in
                BytesNode(
                    column: column, name: schema.name, relation: .order(wanted), needle: bytes, isNegated: false,
                    matchesNull: false)
            }
            let both = AndNode(parts)
            return test.isNegated ? NotNode(part: both) : both
        }
        if test.operation == .in {
            guard test.options.isEmpty else {
                let any = OrNode(
                    test.values.compactMap { bytesNode(column, schema: schema, test: .equal($0, test.options)) })
                return test.isNegated ? NotNode(part: any) : any
            }
            return BytesSetNode(
                column: column, name: schema.name, values: ByteSet(test.values.compactMap(\.plainBytes)),
                isNegated: test.isNegated, matchesNull: matchesNull)
        }
        if test.value == .null {
            let matchesOthers = test.holds(schema.type == .string ? .string("") : .data([]))
            if matchesNull == matchesOthers { return ConstantNode(value: matchesNull) }
            return NullNode(column: column, name: schema.name, isNegated: matchesOthers)
        }
        guard let needle = test.value.plainBytes else { return nil }
        if !test.options.isEmpty || test.operation == .like {
            return foldedNode(column, schema: schema, test: test, matchesNull: matchesNull)
        }
        let (relation, isUnequal): (BytesRelation, Bool) =
            switch test.operation {
            case .equal: (.equal, false)
            case .notEqual: (.equal, true)
            case .less: (.order(1), false)
            case .lessOrEqual: (.order(3), false)
            case .greater: (.order(4), false)
            case .greaterOrEqual: (.order(6), false)
            case .beginsWith: (.begins, false)
            case .endsWith: (.ends, false)
            case .contains, .like, .in, .between: (.contains, false)
            }
        return BytesNode(
            column: column, name: schema.name, relation: relation, needle: needle,
            isNegated: test.isNegated != isUnequal, matchesNull: matchesNull)
    }

    private func foldedNode(
        _ column: Int, schema: ColumnSchema, test: ConstantTest, matchesNull: Bool
    ) -> (any QueryNode)? {
        guard case .string(let needle) = test.value else { return nil }
        let (relation, isUnequal): (TextTest.Relation, Bool) =
            switch test.operation {
            case .notEqual: (.equal, true)
            case .beginsWith: (.begins, false)
            case .endsWith: (.ends, false)
            case .contains: (.contains, false)
            case .like: (.like, false)
            default: (.equal, false)
            }
        return FoldedTextNode(
            column: column, name: schema.name,
            test: TextTest(relation: relation, needle: needle, options: test.options),
            isNegated: test.isNegated != isUnequal, matchesNull: matchesNull)
    }
}

extension ConstantTest {
    static func equal(_ value: Value, _ options: Comparison.Options = []) -> ConstantTest {
        ConstantTest(operation: .equal, options: options, values: [value])
    }
}

extension Value {
    /// The bytes of a string or data value.
    var plainBytes: [UInt8]? {
        switch self {
        case .string(let text): Array(text.utf8)
        case .data(let bytes): bytes
        default: nil
        }
    }
}
