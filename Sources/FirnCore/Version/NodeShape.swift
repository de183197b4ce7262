/// What a reference leads to, as far as the node itself does not say it. A walk over raw memory uses it to find the
/// references of a node.
enum NodeShape {
    case root(ResolvedSchema)
    case table(TableLayout)
    /// The row tree of a table: inner nodes and leaves.
    case rows(TableLayout)
    /// The chunk of a column. The leaf counts `rows` rows of it.
    case chunk(ColumnSchema, rows: Int)
    /// The chunk of a leaf's keys.
    case keys(rows: Int)
    /// A blob, or a node of a collection's tree.
    case cell(ElementLayout, CellClass)
    /// An index, or backlinks.
    case tree

    /// Calls `body` with the address of every reference of a node on the heap, and what it leads to. A reference may
    /// be 0, or lead to a node of a checkpoint. An address may be unaligned.
    func forEachRef(of node: Node, _ body: (UnsafeMutableRawPointer, NodeShape) -> Void) {
        switch self {
        case .root(let resolvedSchema):
            for id in 0..<RootNode(node).tableCount {
                body(UnsafeMutableRawPointer(RootNode(node).slot(id)), .table(resolvedSchema.tables[id]))
            }
        case .table(let layout):
            let table = TableNode(node)
            body(UnsafeMutableRawPointer(table.rows), .rows(layout))
            for column in 0..<table.columnCount {
                body(UnsafeMutableRawPointer(table.index(column)), .tree)
                body(UnsafeMutableRawPointer(table.backlinks(column)), .tree)
            }
        case .rows(let layout):
            guard node.isLeaf else {
                for child in 0..<node.count { body(UnsafeMutableRawPointer(RowNode(node).refs + child), self) }
                return
            }
            let leaf = Leaf(node)
            body(UnsafeMutableRawPointer(leaf.keysSlot), .keys(rows: leaf.count))
            for column in 0..<leaf.columnCount {
                body(
                    UnsafeMutableRawPointer(leaf.chunkSlot(column)),
                    .chunk(layout.columns[column], rows: leaf.count))
            }
        case .chunk(let schema, let rows):
            guard Chunk(node).form == .variable else { return }
            let cell = NodeShape.cell(ElementLayout(schema), CellClass(schema))
            for address in CellRefs.addresses(in: Chunk(node), rows: rows, schema) { body(address, cell) }
        case .cell(let layout, _):
            switch node.kind {
            case .listInner:
                for child in 0..<node.count {
                    body(UnsafeMutableRawPointer(ListTree.Inner(node).refs + child), self)
                }
            case .listLeaf: ListTree.Leaf(node, layout).block.forEachBlobRef { body($0, self) }
            default: break
            }
        case .tree:
            switch node.kind {
            case .integerIndexInner:
                for child in 0..<node.count {
                    body(UnsafeMutableRawPointer(IntegerIndexInner(node).refs + child), self)
                }
            case .bytesIndexInner:
                for child in 0..<node.count { body(UnsafeMutableRawPointer(SlottedPage(node).refSlot(child)), self) }
            default: break
            }
        case .keys: break
        }
    }

    /// Calls `body` with every node on the heap that the reference at an address leads to, parents last. A node in a
    /// checkpoint is skipped with everything below it, because a checkpoint refers to nothing on the heap.
    func forEachHeapNode(at address: UnsafeMutableRawPointer, _ body: (Node) -> Void) {
        let ref = NodeRef(address.loadUnaligned(as: UInt64.self))
        guard !ref.isNone, !ref.isTagged, !ref.node.isOnDisk else { return }
        forEachRef(of: ref.node) { address, shape in shape.forEachHeapNode(at: address, body) }
        body(ref.node)
    }
}

extension Snapshot {
    /// Calls `body` with every node on the heap that the version reaches. O(those nodes, and cells of variable width).
    func forEachHeapNode(_ body: (Node) -> Void) {
        var word = NodeRef(root).word
        NodeShape.root(resolvedSchema).forEachHeapNode(at: &word, body)
    }
}
