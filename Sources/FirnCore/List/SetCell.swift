// A set is a collection whose elements ascend by `Value.order`, one for each position in that order.

extension ListCell {
    /// The index of `value` in a set, or the index at which it would be inserted. O(log n), and a walk through a leaf.
    package func find(_ value: Value) -> (index: Int, isFound: Bool) {
        assert(layout.collection == .set)
        return PlainCoding.withBytes(value, as: layout.type) { probe in
            switch layout.type {
            case .string, .data:
                return search { element in
                    guard let bytes = element.bytes, let probe else {
                        return (element.bytes == nil ? 0 : 1) - (probe == nil ? 0 : 1)
                    }
                    return Value.order(bytes: bytes, probe)
                }
            default: return search { element in Value.order(element.value, value) }
            }
        }
    }

    package func contains(_ value: Value) -> Bool { find(value).isFound }
}

extension Value {
    /// The set of `values`. If several values are equal in the order, the first one is kept.
    package static func set(of values: [Value]) -> Value {
        var result: [Value] = []
        // The sort is stable.
        for value in values.sorted(by: precedes) where result.last.map({ order($0, value) != 0 }) ?? true {
            result.append(value)
        }
        return .set(result)
    }
}
