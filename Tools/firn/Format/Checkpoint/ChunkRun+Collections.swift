import FirnBytes

extension ChunkRun {
    // MARK: Collections

    /// Calls `body` with each element of a collection, and for a map with its key. The leaves of a long collection
    /// are read one after another. The memory that cells point into is kept until `forget`.
    func forEachElement(_ row: Int, _ body: (UnsafeRawBufferPointer?, Cell) throws -> Void) throws {
        guard case .variable(let texts) = content else { return }
        do {
            let (bytes, length) = try bytes(texts, row)
            switch length {
            case Slot.null: return
            case Slot.blob: throw node.damage("the collection of row \(row) is a blob")
            case Slot.tree:
                let word = UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
                guard
                    let root = try checkpoint.node(
                        OnDiskNode.position(of: word, in: node), of: node, .listInner, .listLeaf)
                else { throw node.damage("the tree of row \(row) is missing") }
                _ = try forEachElement(tree: root, level: root.kind == .listInner ? root.header.width : 0, body)
            default:
                if bytes.count < ElementBlock.headerByteCount { return }
                try forEachElement(block: ElementBlock(bytes, column), of: node, body)
            }
        } catch let error as Damage {
            throw node.damage("the collection of row \(row) can't be read: \(error)")
        }
    }

    /// Visits the elements of the tree below a node. Returns how many there are.
    private func forEachElement(
        tree node: OnDiskNode, level: Int, _ body: (UnsafeRawBufferPointer?, Cell) throws -> Void
    ) throws -> Int {
        if node.kind == .listLeaf {
            guard level == 0 else { throw node.damage("a leaf of a list is at level \(level)") }
            kept.append(node)
            // `body` may call `forget`, which releases the node.
            return try withExtendedLifetime(node) { try forEachElement(leaf: node, body) }
        }
        guard node.header.width == level, level > 0 else {
            throw node.damage("an inner node of a list is of level \(node.header.width) where \(level) should be")
        }
        var total = 0
        for child in 0..<node.count {
            guard let below = try checkpoint.node(node.reference(32 + 8 * child), of: node, .listInner, .listLeaf)
            else {
                throw node.damage("an inner node of a list lacks a child")
            }
            total += try forEachElement(tree: below, level: level - 1, body)
            guard try node.u32(544 + 4 * child) == total else {
                throw node.damage("\(total) elements of a list are counted as \(try node.u32(544 + 4 * child))")
            }
        }
        return total
    }

    private func forEachElement(
        leaf node: OnDiskNode, _ body: (UnsafeRawBufferPointer?, Cell) throws -> Void
    ) throws -> Int {
        let block = try ElementBlock(node.slice(38, node.header.capacity), column)
        guard block.count == node.count, block.count > 0 else {
            throw node.damage("the leaf of a list counts \(node.count) elements, its block \(block.count)")
        }
        var references: [Int] = []
        let start = node.bytes.baseAddress.unsafelyUnwrapped
        try forEachElement(block: block, of: node, references: { references.append($0 - start) }, body)
        try Self.check(references, of: node)
        return block.count
    }

    private func forEachElement(
        block: ElementBlock, of parent: OnDiskNode, references: (UnsafeRawPointer) -> Void = { _ in },
        _ body: (UnsafeRawBufferPointer?, Cell) throws -> Void
    ) throws {
        try block.forEach(
            { reference in
                if let base = reference.baseAddress { references(base) }
                return try self.blob(reference, of: parent)
            }, body)
    }

    // MARK: References

    /// Checks that the references in the rows are exactly those in the node's reference table, since code that moves
    /// a checkpoint's nodes relies on that.
    func checkReferences() throws {
        guard case .variable(let texts) = content else { return }
        guard let heapOffset = texts.heapOffset else { return try Self.check([], of: node) }
        var references: [Int] = []
        for row in 0..<rows {
            let (bytes, length) = try bytes(texts, row)
            let start = heapOffset + texts.slots[row].offset
            if length == Slot.tree || length == Slot.blob {
                references.append(start)
            } else if column.collection != .none, length != Slot.null, bytes.count >= ElementBlock.headerByteCount,
                let base = bytes.baseAddress
            {
                do {
                    try ElementBlock(bytes, column).forEach(
                        { reference in
                            if let address = reference.baseAddress { references.append(start + (address - base)) }
                            return UnsafeRawBufferPointer(start: nil, count: 0)
                        }, decodes: false
                    ) { _, _ in }
                } catch let error as Damage {
                    throw node.damage("the collection of row \(row) can't be read: \(error)")
                }
            }
        }
        try Self.check(references, of: node)
    }

    private static func check(_ references: [Int], of node: OnDiskNode) throws {
        // The reference to a dictionary has a field of its own.
        let isListed = node.kind != .chunk || node.header.form != ChunkForm.dictionary.rawValue
        guard try (isListed ? node.listedReferences() : []).sorted() == references.sorted() else {
            throw node.damage("the reference table of the \(node.kind.name.one) is not that of its values")
        }
    }
}
