// A set is a collection whose elements ascend by `Value.order`, one per place in that order.

extension ListCell {
    /// Where `value` stands in a set, or where it would be inserted. O(log n).
    public func find(_ value: Value) -> (index: Int, isFound: Bool) {
        assert(layout.collection == .set)
        return PlainCoding.withBytes(value, as: layout.type) { probe in
            let index = partitionIndex { block, index in
                ListCell.order(block, index, value, probe) < 0
            }
            guard index < count else { return (index, false) }
            let place = locate(index)
            return (index, ListCell.order(place.block, place.index, value, probe) == 0)
        }
    }

    public func contains(_ value: Value) -> Bool { find(value).isFound }

    /// An element against a value whose plain bytes are `probe`.
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

    /// The first place whose element is not before what is sought, in a collection in which those that are come first. O(log n) calls of `isBefore`.
    func partitionIndex(_ isBefore: (ElementBlock, Int) -> Bool) -> Int {
        if let block { return ListCell.partitionIndex(ElementBlock(block, layout), isBefore) }
        guard !root.isNone else { return 0 }
        var node = root.node
        var passed = 0
        while ListTree.isInner(node) {
            let inner = ListTree.Inner(node)
            // The last child whose first element is before, or the first child.
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

extension ListEditor {
    /// Puts `value` into a set; gives back its place, or nil where an element stands there already.
    @discardableResult
    mutating func insertMember(_ value: Value) -> Int? {
        let place = cell.find(value)
        guard !place.isFound else { return nil }
        insert(value, at: place.index)
        return place.index
    }

    /// Takes `value` out of a set; gives back where it stood, or nil where it did not.
    @discardableResult
    mutating func removeMember(_ value: Value) -> Int? {
        let place = cell.find(value)
        guard place.isFound else { return nil }
        remove(at: place.index)
        return place.index
    }
}
