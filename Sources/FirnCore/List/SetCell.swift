// A set is a collection whose elements ascend by `Value.order`, one for each position in that order.

extension ListCell {
    /// The index of `value` in a set, or the index at which it would be inserted. O(log n).
    package func find(_ value: Value) -> (index: Int, isFound: Bool) {
        assert(layout.collection == .set)
        return PlainCoding.withBytes(value, as: layout.type) { probe in
            let index = partitionIndex { block, index in
                ListCell.order(block, index, value, probe) < 0
            }
            guard index < count else { return (index, false) }
            let location = locate(index)
            return (index, ListCell.order(location.block, location.index, value, probe) == 0)
        }
    }

    package func contains(_ value: Value) -> Bool { find(value).isFound }

    /// Compares an element with a value whose plain bytes are `probe`.
    private static func order(
        _ block: ElementBlock, _ index: Int, _ value: Value, _ probe: UnsafeRawBufferPointer?
    ) -> Int {
        switch block.layout.type {
        case .string, .data:
            let bytes = block.bytes(index)
            guard let bytes, let probe else { return (bytes == nil ? 0 : 1) - (probe == nil ? 0 : 1) }
            return Value.order(bytes: bytes, probe)
        default:
            return Value.order(block.value(index), value)
        }
    }

    /// The index of the first element for which `isBefore` is false. The elements for which it is true must come
    /// first. O(log n) calls of `isBefore`.
    func partitionIndex(_ isBefore: (ElementBlock, Int) -> Bool) -> Int {
        if let block { return ListCell.partitionIndex(ElementBlock(block, layout), isBefore) }
        guard !root.isNone else { return 0 }
        var node = root.node
        var passed = 0
        while ListTree.isInner(node) {
            let inner = ListTree.Inner(node)
            // The last child for whose first element `isBefore` is true, or else the first child.
            var low = 0
            var high = node.count - 1
            while low < high {
                let middle = (low + high + 1) >> 1
                let first = ListTree.locate(0, in: NodeRef(inner.refs[middle]), layout)
                if isBefore(first.leaf.block, 0) { low = middle } else { high = middle - 1 }
            }
            passed += inner.start(low)
            node = NodeRef(inner.refs[low]).node
        }
        return passed + ListCell.partitionIndex(ListTree.Leaf(node, layout).block, isBefore)
    }

    private static func partitionIndex(_ block: ElementBlock, _ isBefore: (ElementBlock, Int) -> Bool) -> Int {
        var low = 0
        var high = block.count
        while low < high {
            let middle = (low + high) >> 1
            if isBefore(block, middle) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension Value {
    /// The set of some values, of which the first stays of several that are equal in the order.
    package static func set(of values: [Value]) -> Value {
        var result: [Value] = []
        // The sort is stable.
        for value in values.sorted(by: precedes) where result.last.map({ order($0, value) != 0 }) ?? true {
            result.append(value)
        }
        return .set(result)
    }
}
