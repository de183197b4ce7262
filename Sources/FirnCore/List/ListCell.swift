/// A collection as stored in a row: its element block, or the root of its tree.
///
/// It is a view that owns nothing. It is valid as long as the version that it was read from is pinned, and until the
/// thread has read 16 other chunks (`Node.isScratch`). Within a write transaction, it is valid until the row or the
/// collection is written.
@frozen
package struct ListCell {
    package let layout: ElementLayout
    /// The block if the collection is short; nil if it is empty or a tree.
    @usableFromInline let block: UnsafeRawPointer?
    /// The tree's root, if the collection is long.
    @usableFromInline let root: NodeRef
    /// The block's length.
    @usableFromInline let blockByteCount: Int

    /// The collection in a row of a chunk. A null cell is an empty collection.
    @inlinable @inline(__always)
    package init(chunk: Chunk, row: Int, layout: ElementLayout) {
        self.init(chunk.cell(row), layout)
    }

    @inlinable @inline(__always)
    package init(_ cell: VariableCell, _ layout: ElementLayout) {
        if let root = cell.tree {
            self.init(root: root, layout)
        } else {
            assert(cell.length != Chunk.Slot.blob, "Firn: a collection is stored as a blob")
            self.init(
                inline: UnsafeRawBufferPointer(start: cell.address, count: cell.isNull ? 0 : Int(cell.length)), layout)
        }
    }

    /// A collection that is stored inline. Without bytes the collection is empty.
    @inlinable @inline(__always)
    package init(inline bytes: UnsafeRawBufferPointer, _ layout: ElementLayout) {
        self.layout = layout
        // A block begins with its count.
        let isEmpty = bytes.count < NodeLayout.ElementBlock.headerByteCount
        block = isEmpty ? nil : bytes.baseAddress
        blockByteCount = isEmpty ? 0 : bytes.count
        root = .none
    }

    /// A collection that is a tree.
    @inlinable @inline(__always)
    package init(root: NodeRef, _ layout: ElementLayout) {
        self.layout = layout
        block = nil
        blockByteCount = 0
        self.root = root
    }

    /// The number of elements. O(1).
    package var count: Int {
        if let block { return Int(block.loadUnaligned(as: UInt16.self)) }
        return root.isNone ? 0 : ListTree.count(root.node)
    }

    package var isEmpty: Bool { count == 0 }

    /// The block that contains the element at `index`, and the element's index in that block. O(log n).
    @inline(__always)
    func locate(_ index: Int) -> (block: ElementBlock, index: Int) {
        locateBlock(index).location
    }

    /// As `locate`, with the block's length.
    @inline(__always)
    private func locateBlock(_ index: Int) -> (location: (block: ElementBlock, index: Int), byteCount: Int) {
        assert(index >= 0 && index < count, "Firn: element \(index) of \(count)")
        if let block { return ((ElementBlock(block, layout), index), blockByteCount) }
        let location = ListTree.locate(index, in: root, layout)
        return ((location.leaf.block, location.index), location.leaf.length)
    }

    // MARK: One element

    /// The element's value (in a map, the entry's value). O(log n), plus a walk through the leaf if elements vary in
    /// length.
    package func value(at index: Int) -> Value {
        let location = locate(index)
        return location.block.value(location.index)
    }

    package func isNull(at index: Int) -> Bool {
        let location = locate(index)
        return location.block.isNull(location.index)
    }

    /// The plain bytes of an element's value: the UTF-8 of a string, or the tag and payload of a mixed value. Nil for
    /// null.
    package func bytes(at index: Int) -> UnsafeRawBufferPointer? {
        let location = locate(index)
        return location.block.bytes(location.index)
    }

    /// A fixed-width element in its in-memory type: `Int64` for ints and links, and so on. A null's bytes are zeros.
    package func load<T: BitwiseCopyable>(at index: Int, as type: T.Type = T.self) -> T {
        let location = locate(index)
        assert(layout.width == MemoryLayout<T>.size, "Firn: an element of \(layout.width) bytes read as \(T.self)")
        return location.block.values.loadUnaligned(fromByteOffset: location.index &* MemoryLayout<T>.size, as: T.self)
    }

    /// The int or link at `index`.
    package func int64(at index: Int) -> Int64 { load(at: index) }

    // MARK: Runs

    /// The elements as one run if they are fixed, never null and in one block; nil otherwise.
    ///
    /// Costs a few loads and allocates nothing. The run is not aligned: use `loadUnaligned`. It is valid until other
    /// chunks and collections are read (`Node.isScratch`).
    @inlinable @inline(__always)
    package var contiguousElements: (start: UnsafeRawPointer, count: Int)? {
        if let block {
            guard layout.form == .fixed else { return nil }
            return (block + NodeLayout.ElementBlock.headerByteCount, Int(block.loadUnaligned(as: UInt16.self)))
        }
        return _contiguousTreeElements
    }

    @usableFromInline
    var _contiguousTreeElements: (start: UnsafeRawPointer, count: Int)? {
        guard layout.form == .fixed, !root.isNone, !ListTree.isInner(root.node) else { return nil }
        return (UnsafeRawPointer(ListTree.Leaf(root.node, layout).block.content), root.node.count)
    }

    /// Calls `body` with the elements of fixed width block by block, until it returns false. `body` gets the start of a
    /// run's values, their null flags (nil if the elements have none) and the number of values.
    package func forEachRun(
        _ range: Range<Int>? = nil,
        _ body: (_ values: UnsafeRawPointer, _ nullFlags: UnsafePointer<UInt8>?, _ count: Int) -> Bool
    ) {
        assert(layout.form != .variable, "Firn: elements that vary in length have no runs")
        forEachBlock(range ?? 0..<count) { block, range in
            let flags = UnsafePointer(block.content.assumingMemoryBound(to: UInt8.self)) + range.lowerBound
            return body(
                block.values + range.lowerBound * layout.width, layout.form == .nullable ? flags : nil, range.count)
        }
    }

    /// Calls `body` with each block that the range covers and the indices in it, until it returns false. The block is
    /// valid during the call, whatever `body` reads, but not longer.
    func forEachBlock(_ range: Range<Int>, _ body: (ElementBlock, Range<Int>) -> Bool) {
        assert(range.lowerBound >= 0 && range.upperBound <= count)
        var next = range.lowerBound
        while next < range.upperBound {
            let (location, byteCount) = locateBlock(next)
            let end = min(location.block.count, location.index + range.upperBound - next)
            let bytes = UnsafeRawBufferPointer(start: location.block.base, count: byteCount)
            let goesOn = ScratchNode.holding(bytes) {
                body(ElementBlock($0.baseAddress.unsafelyUnwrapped, layout), location.index..<end)
            }
            guard goesOn else { return }
            next += end - location.index
        }
    }

    /// Calls `body` with the value of each element in order, until it returns false.
    package func forEach(_ range: Range<Int>? = nil, _ body: (Value) -> Bool) {
        forEachBytes(range) { _, bytes in body(bytes.map { PlainCoding.load($0, as: layout.type) } ?? .null) }
    }

    /// Calls `body` with the key (in a map) and the plain bytes of each element in order, until it returns false.
    /// Allocates nothing.
    package func forEachBytes(
        _ range: Range<Int>? = nil, _ body: (_ key: UnsafeRawBufferPointer?, _ bytes: UnsafeRawBufferPointer?) -> Bool
    ) {
        forEachBlock(range ?? 0..<count) { block, range in
            guard layout.form == .variable else {
                for index in range where !body(nil, block.bytes(index)) { return false }
                return true
            }
            var address = block.address(range.lowerBound)
            for _ in range {
                var key: UnsafeRawBufferPointer?
                if layout.collection == .map {
                    let part = ElementPart(at: address)
                    key = part.bytes
                    address = part.end
                }
                let part = ElementPart(at: address)
                address = part.end
                guard body(key, part.bytes) else { return false }
            }
            return true
        }
    }

    /// The values of all elements. Once damage has been met there may be fewer, which is harmless, because nothing uses
    /// them then. O(n).
    package var values: [Value] {
        var result: [Value] = []
        result.reserveCapacity(min(count, ListCell.mostReserved))
        forEach {
            result.append($0)
            return ListCell.goesOn(after: result.count)
        }
        return result
    }

    /// The most elements that memory is reserved for in advance. A damaged tree may count more elements than it has.
    static let mostReserved = 1 << 16

    /// Whether a loop that copies all elements should continue after `count` elements. False soon after damage was met.
    @inline(__always)
    static func goesOn(after count: Int) -> Bool { count & 255 != 0 || !DamageRecord.isSet }

    /// The whole collection as one value.
    package var collectionValue: Value {
        switch layout.collection {
        case .map: .map(entries)
        case .set: .set(values)
        case .list, .none: .list(values)
        }
    }

    // MARK: Searching

    /// The first index at or after `start` whose element is the int or link `key`. O(n), a run at a time.
    package func firstIndex(of key: Int64, from start: Int = 0) -> Int? {
        assert(layout.width == 8)
        var passed = start
        var found: Int?
        forEachRun(start..<max(start, count)) { values, flags, count in
            for index in 0..<count
            where values.loadUnaligned(fromByteOffset: index &* 8, as: Int64.self) == key && flags?[index] ?? 0 == 0 {
                found = passed + index
                return false
            }
            passed += count
            return true
        }
        return found
    }

    /// The first index whose element is equal to `value`. O(n).
    package func firstIndex(of value: Value) -> Int? {
        var index = 0
        var found: Int?
        forEach {
            if $0 == value { found = index }
            index += 1
            return found == nil
        }
        return found
    }

    /// Calls `body` with every node that belongs to the collection alone: the tree's nodes and blobs.
    func forEachNode(_ body: (Node) -> Void) {
        if !root.isNone {
            ListTree.forEachNode(root, layout: layout, body)
        } else if let block {
            ElementBlock(block, layout).forEachBlob(0..<count, body)
        }
    }

    /// Retires every node of this collection, because its row is deleted or gets another collection.
    func retire(_ writer: NodeWriter) {
        forEachNode { writer.retire($0) }
    }
}
