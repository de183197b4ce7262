/// An element that a search looks at.
struct SearchedElement {
    fileprivate let block: ElementBlock
    fileprivate let index: Int
    /// The start of the element in a variable block.
    fileprivate let address: UnsafeRawPointer?

    /// The key of a map's entry.
    var key: UnsafeRawBufferPointer {
        @inline(__always) get { ElementPart(at: address.unsafelyUnwrapped).bytes.unsafelyUnwrapped }
    }

    /// The plain bytes of an element of variable length; nil for null.
    var bytes: UnsafeRawBufferPointer? {
        @inline(__always) get {
            guard let address else { return block.bytes(index) }
            return ElementPart(at: block.layout.collection == .map ? ElementPart.skip(address) : address).bytes
        }
    }

    var value: Value {
        guard address != nil else { return block.value(index) }
        return bytes.map { PlainCoding.load($0, as: block.layout.type) } ?? .null
    }
}

extension ListCell {
    /// The index of the element for which `order` is 0, or else of the first element for which `order` is positive.
    /// `order` must be negative for all elements before that index, and 0 for at most one element. O(log n) calls of
    /// `order`, and up to one leaf's elements more if their length varies.
    @inline(__always)
    func search(_ order: (SearchedElement) -> Int) -> (index: Int, isFound: Bool) {
        if let block { return ListCell.search(ElementBlock(block, layout), order) }
        guard !root.isNone else { return (0, false) }
        var node = root.node
        var passed = 0
        while ListTree.isInner(node) {
            let inner = ListTree.Inner(node)
            // The last child whose first element is not behind the searched position, or else the first child.
            var low = 0
            var high = node.count - 1
            while low < high {
                let middle = (low + high + 1) >> 1
                let first = ListTree.locate(0, in: NodeRef(inner.refs[middle]), layout).leaf.block
                if order(ListCell.first(of: first)) <= 0 { low = middle } else { high = middle - 1 }
            }
            passed += inner.start(low)
            node = NodeRef(inner.refs[low]).node
        }
        let found = ListCell.search(ListTree.Leaf(node, layout).block, order)
        return (passed + found.index, found.isFound)
    }

    private static func first(of block: ElementBlock) -> SearchedElement {
        SearchedElement(
            block: block, index: 0,
            address: block.layout.form == .variable ? UnsafeRawPointer(block.content) : nil)
    }

    @inline(__always)
    private static func search(_ block: ElementBlock, _ order: (SearchedElement) -> Int) -> (index: Int, isFound: Bool)
    {
        guard block.layout.form == .variable else {
            var low = 0
            var high = block.count
            while low < high {
                let middle = (low + high) >> 1
                let result = order(SearchedElement(block: block, index: middle, address: nil))
                if result == 0 { return (middle, true) }
                if result < 0 { low = middle + 1 } else { high = middle }
            }
            return (low, false)
        }
        var address = UnsafeRawPointer(block.content)
        let count = block.count
        for index in 0..<count {
            let result = order(SearchedElement(block: block, index: index, address: address))
            if result >= 0 { return (index, result == 0) }
            address = block.end(of: address)
        }
        return (count, false)
    }
}
