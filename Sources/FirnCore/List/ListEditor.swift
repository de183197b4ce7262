/// Changes one collection within a transaction.
///
/// The editor takes over the cell's content. The caller must store the result of `finish()` in the cell, because the
/// old tree's nodes may be retired by then. A short collection is copied to the scratch memory and edited there. If it
/// grows beyond `Limits.inlineByteCount`, it becomes a tree. A tree that shrinks to half of that or less becomes inline
/// again.
///
/// ```
/// scratch  0                       2080               3136
///         ┌───────────────────────┬──────────────────┬───────────┐
///         │ the inline block      │ one element      │ another   │
///         └───────────────────────┴──────────────────┴───────────┘
/// ```
///
/// The scratch memory (`scratchByteCount` bytes) belongs to the transaction. Only one editor at a time uses it.
struct ListEditor {
    let layout: ElementLayout
    let writer: NodeWriter
    private let scratch: UnsafeMutableRawPointer
    /// The tree's root, 0 while the collection is inline.
    private var root: UInt64
    /// The inline block's length, 0 while the collection is empty or a tree.
    private var length: Int
    /// Whether anything was changed. If not, the result of `finish()` need not be stored.
    private(set) var isChanged = false

    static let scratchByteCount = 4192
    private static let elementOffset = 2080
    private static let otherOffset = 3136

    init(_ cell: ListCell, _ writer: NodeWriter, scratch: UnsafeMutableRawPointer) {
        layout = cell.layout
        self.writer = writer
        self.scratch = scratch
        root = cell.root.word
        length = cell.blockByteCount
        if let block = cell.block { scratch.copyMemory(from: block, byteCount: length) }
    }

    /// The content that the caller must store in the cell.
    enum Result {
        /// The bytes of an inline block, which lie in the scratch memory. An empty collection has no bytes.
        case inline(UnsafeRawBufferPointer)
        /// The root of a tree, for a slot of length `Chunk.Slot.tree`.
        case tree(NodeRef)
    }

    func finish() -> Result {
        root == 0 ? .inline(UnsafeRawBufferPointer(start: scratch, count: length)) : .tree(NodeRef(root))
    }

    /// The current collection. Valid until the next change.
    var cell: ListCell {
        root == 0
            ? ListCell(inline: UnsafeRawBufferPointer(start: scratch, count: length), layout)
            : ListCell(root: NodeRef(root), layout)
    }

    var count: Int { cell.count }

    private var block: ElementBlock { ElementBlock(scratch, layout) }
    private var tree: ListTree { ListTree(layout: layout, writer: writer) }
    private var elementArea: UnsafeMutableRawPointer { scratch + Self.elementOffset }

    // MARK: Elements

    mutating func insert(_ value: Value, at index: Int) {
        insert(encoded: encode(value), at: index)
    }

    /// Inserts an int or link.
    mutating func insert(int64 value: Int64, at index: Int) {
        assert(layout.width == 8)
        insert(encoded: .encode(int64: value, into: elementArea), at: index)
    }

    mutating func append(_ value: Value) { insert(value, at: count) }

    mutating func append(contentsOf values: some Sequence<Value>) {
        var end = count
        for value in values {
            insert(value, at: end)
            end += 1
        }
    }

    /// Appends ints or links, a run at a time, which is much cheaper than one by one.
    mutating func append(int64s values: UnsafeBufferPointer<Int64>) {
        assert(layout.width == 8)
        var rest = values[...]
        while let first = rest.first {
            // The first element takes the usual path, which may add a leaf. Then the last leaf is filled in one step.
            insert(int64: first, at: count)
            rest = rest.dropFirst()
            guard root != 0, layout.form == .fixed, !rest.isEmpty else { continue }
            let taken = tree.fillLast(with: UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: rest)), root: &root)
            rest = rest.dropFirst(taken)
        }
    }

    mutating func remove(at index: Int) {
        precondition(index >= 0 && index < count, "Firn: element \(index) of a collection of \(count)")
        retireBlobs(at: index)
        removeEncoded(at: index)
    }

    mutating func set(_ value: Value, at index: Int) {
        precondition(index >= 0 && index < count, "Firn: element \(index) of a collection of \(count)")
        replace(with: encode(value), at: index)
    }

    mutating func set(int64 value: Int64, at index: Int) {
        assert(layout.width == 8)
        precondition(index >= 0 && index < count, "Firn: element \(index) of a collection of \(count)")
        replace(with: .encode(int64: value, into: elementArea), at: index)
    }

    /// Removes the element at `from` and inserts it so that its new index is `to`.
    mutating func move(from: Int, to: Int) {
        let count = count
        precondition(
            from >= 0 && from < count && to >= 0 && to < count, "Firn: a move from \(from) to \(to) among \(count)")
        guard from != to else { return }
        let location = cell.locate(from)
        let element = location.block.encoded(location.index)
        let area = scratch + Self.otherOffset
        area.copyMemory(from: element.bytes.baseAddress.unsafelyUnwrapped, byteCount: element.bytes.count)
        removeEncoded(at: from)
        insert(
            encoded: EncodedElement(
                bytes: UnsafeRawBufferPointer(start: area, count: element.bytes.count), isNull: element.isNull),
            at: to)
    }

    mutating func removeAll() {
        isChanged = true
        cell.retire(writer)
        root = 0
        length = 0
    }

    // MARK: Encoded elements

    /// Encodes an element into the scratch memory. An entry of a map is passed as a map with only that entry.
    private func encode(_ element: Value) -> EncodedElement {
        guard layout.collection == .map else {
            return .encode(element, layout: layout, into: elementArea, writer: writer)
        }
        let entry = element.onlyEntry
        return PlainCoding.withBytes(.string(entry.key), as: .string) {
            .encode(entry.value, key: $0.unsafelyUnwrapped, layout: layout, into: elementArea, writer: writer)
        }
    }

    mutating func insert(encoded element: EncodedElement, at index: Int) {
        let count = count
        precondition(index >= 0 && index <= count, "Firn: element \(index) inserted into a collection of \(count)")
        precondition(count < Limits.listCount, "Firn: a collection holds at most \(Limits.listCount) elements")
        isChanged = true
        if root != 0 {
            tree.insert(element, at: index, root: &root)
            return
        }
        if length == 0 { length = block.makeEmpty() }
        length = block.insert(element, at: index, length: length)
        promoteIfLong()
    }

    mutating func replace(with element: EncodedElement, at index: Int) {
        isChanged = true
        retireBlobs(at: index)
        if root == 0 {
            length = block.replace(element, at: index, length: length)
            promoteIfLong()
        } else if tree.replace(element, at: index, root: &root) {
            demoteIfShort()
        } else {
            removeEncoded(at: index)
            insert(encoded: element, at: index)
        }
    }

    private func retireBlobs(at index: Int) {
        guard layout.form == .variable else { return }
        let location = cell.locate(index)
        location.block.forEachBlob(location.index..<location.index + 1) { writer.retire($0) }
    }

    private mutating func removeEncoded(at index: Int) {
        isChanged = true
        if root == 0 {
            length = block.remove(at: index, length: length)
        } else {
            tree.remove(at: index, root: &root)
            demoteIfShort()
        }
        // An empty collection has no bytes, so that equal collections are equal byte for byte.
        if root == 0 && length == NodeLayout.ElementBlock.headerByteCount { length = 0 }
    }

    // MARK: Inline or tree

    private mutating func promoteIfLong() {
        guard length > Limits.inlineByteCount else { return }
        let capacity = min(length + length / 2, ListTree.leafByteCount)
        root = NodeRef(tree.makeLeaf(block, length: length, blockCapacity: capacity).node).word
        length = 0
    }

    private mutating func demoteIfShort() {
        let node = NodeRef(root).node
        guard !ListTree.isInner(node), node.capacity <= Limits.inlineByteCount / 2 else { return }
        length = node.capacity
        scratch.copyMemory(from: node.address + NodeLayout.ListLeaf.block, byteCount: length)
        root = 0
        writer.retire(node)
    }
}
