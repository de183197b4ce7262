import FirnCore

/// Compares two values by the rules of queries. The kernels must agree with it; tests compare them with each other.
package enum ValueComparison {
    /// Whether `a operation b` holds, for all operations except IN and BETWEEN.
    package static func holds(
        _ operation: Comparison.Operation, a: Value, b: Value, options: Comparison.Options = []
    ) -> Bool {
        switch operation {
        case .equal: isEqual(a, b, options: options)
        case .notEqual: !isEqual(a, b, options: options)
        case .less: order(a, b).map { $0 < 0 } ?? false
        case .lessOrEqual: order(a, b).map { $0 <= 0 } ?? (a == .null && b == .null)
        case .greater: order(a, b).map { $0 > 0 } ?? false
        case .greaterOrEqual: order(a, b).map { $0 >= 0 } ?? (a == .null && b == .null)
        case .beginsWith: relates(.begins, a: a, b: b, options: options)
        case .endsWith: relates(.ends, a: a, b: b, options: options)
        case .contains: relates(.contains, a: a, b: b, options: options)
        case .like: relates(.like, a: a, b: b, options: options)
        case .in, .between: preconditionFailure("Firn: a comparison with several values was not split into single ones")
        }
    }

    private static func isEqual(_ a: Value, _ b: Value, options: Comparison.Options) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.string(let x), .string(let y)) where !options.isEmpty:
            Folding.folded(x, options) == Folding.folded(y, options)
        case (.link(let x), .typedLink(_, let y)), (.typedLink(_, let x), .link(let y)): x == y
        case (.float(let x), .float(let y)): x == y
        case (.double(let x), .double(let y)): x == y
        case (.decimal(let x), .decimal(let y)) where x.isNaN || y.isNaN: x == y
        default: isNumber(a) && isNumber(b) ? order(a, b) == 0 : a == b
        }
    }

    /// The order of two values of one kind. Nil for two kinds and for values without an order: null, NaN, links and
    /// collections.
    static func order(_ a: Value, _ b: Value) -> Int? {
        switch (a, b) {
        case (.string, .string), (.data, .data), (.date, .date), (.objectID, .objectID), (.uuid, .uuid), (.bool, .bool):
            Value.order(a, b)
        default: isNumber(a) && isNumber(b) && !isNaN(a) && !isNaN(b) ? Value.order(a, b) : nil
        }
    }

    static func isNumber(_ value: Value) -> Bool {
        switch value {
        case .int, .float, .double, .decimal: true
        default: false
        }
    }

    /// Whether a Float, Double or decimal is NaN, which has no order.
    static func isNaN(_ value: Value) -> Bool {
        switch value {
        case .float(let x): x.isNaN
        case .double(let x): x.isNaN
        case .decimal(let x): x.isNaN
        default: false
        }
    }

    /// A null value matches only a null needle, and a null needle matches only a null value.
    private static func relates(
        _ relation: TextTest.Relation, a: Value, b: Value, options: Comparison.Options
    ) -> Bool {
        switch (a, b) {
        case (.null, .null): return true
        case (.string(let text), .string(let needle)):
            var scratch: [UInt8] = []
            var text = text
            return text.withUTF8 {
                TextTest(relation: relation, needle: needle, options: options).holds(
                    UnsafeRawBufferPointer($0), &scratch)
            }
        case (.data(let data), .data(let needle)):
            let bytes: BytesRelation =
                switch relation {
                case .begins: .begins
                case .ends: .ends
                case .contains: .contains
                case .equal, .like: .equal
                }
            return data.withUnsafeBytes { data in needle.withUnsafeBytes { bytes.holds(data, $0) } }
        default: return false
        }
    }
}

/// A test of a value against constants: the operator and right-hand side of a comparison, perhaps negated.
package struct ConstantTest: Sendable {
    let operation: Comparison.Operation
    let options: Comparison.Options
    /// One constant, or several for IN and BETWEEN.
    let values: [Value]
    var isNegated = false

    /// A test that is not negated.
    package static func of(
        _ operation: Comparison.Operation, _ values: [Value], options: Comparison.Options
    ) -> ConstantTest {
        ConstantTest(operation: operation, options: options, values: values)
    }

    /// The constant of a comparison that is neither IN nor BETWEEN.
    var value: Value { values[0] }

    package func holds(_ value: Value) -> Bool {
        let holds =
            switch operation {
            case .in: values.contains { ValueComparison.holds(.equal, a: value, b: $0, options: options) }
            case .between:
                !values.contains(.null)
                    && ValueComparison.holds(.greaterOrEqual, a: value, b: values[0])
                    && ValueComparison.holds(.lessOrEqual, a: value, b: values[1])
            // Every value is above nil, as in Realm.
            case .greater where self.value == .null: value != .null
            case .greaterOrEqual where self.value == .null: true
            default: ValueComparison.holds(operation, a: value, b: self.value, options: options)
            }
        return holds != isNegated
    }

    var negated: ConstantTest {
        var test = self
        test.isNegated.toggle()
        return test
    }

    var explanation: String {
        let right = values.count == 1 ? values.description : "\(values.count) values"
        return "\(isNegated ? "not " : "")\(operation.keyword) \(right)"
    }
}
