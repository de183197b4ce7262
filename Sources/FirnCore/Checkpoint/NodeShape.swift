/// What a reference leads to, as far as its node does not say it: with it a walk over raw memory knows where the references of a node lie.
enum NodeShape {
    case root(ResolvedSchema)
    case table(TableLayout)
    /// The row tree of a table: inner nodes and leaves.
    case rows(TableLayout)
    /// The chunk of a column, of which a leaf counts `rows` rows.
    case chunk(ColumnSchema, rows: Int)
    /// The chunk of a leaf's keys.
    case keys(rows: Int)
    /// A blob, or a node of a collection's tree.
    case cell(ElementLayout, CellClass)
    /// An index, or backlinks.
    case tree

    /// Calls `body` with the place of every reference of a node on the heap, and what it leads to. A reference may be 0, or lead to a node of a checkpoint. A place may be unaligned.
    func forEachRef(of node: Node, _ body: (UnsafeMutableRawPointer, NodeShape) -> Void) {
        switch self {
        case .root(let reference):
            for id in 0..<RootNode(node).tableCount {
                body(UnsafeMutableRawPointer(RootNode(node).slot(id)), .table(reference.tables[id]))
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
            for place in CellRefs.places(in: Chunk(node), rows: rows, schema) { body(place, cell) }
        case .cell(let layout, _):
            switch node.kind {
            case .listInner:
                for child in 0..<node.count {
                    body(UnsafeMutableRawPointer(ListTree.Inner(node).refs + child), self)
                }
            case .listLeaf: ListTree.Leaf(node, layout).block.forEachBlobPlace { body($0, self) }
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

    /// What a copy of a node has to be in a file; nil where the shape does not tell: a long key or value of a map.
    func claim(_ node: Node) -> NodeClaim? {
        switch self {
        case .root: NodeClaim(.root)
        case .table(let layout): NodeClaim(.table(layout.id.index))
        case .rows(let layout): NodeClaim(.rows(layout.id.index))
        case .chunk(let schema, let rows): NodeClaim(.chunk(CellClass(schema)), count: rows)
        case .keys(let rows): NodeClaim(.keys, count: rows)
        case .cell(let layout, let cells):
            node.kindNumber == Node.Kind.blob.rawValue
                ? layout.collection == .map ? nil : NodeClaim(.blob(cells.value)) : NodeClaim(.list(cells))
        case .tree:
            switch node.kind {
            case .integerIndexInner, .integerIndexLeaf: NodeClaim(.pairs)
            default: NodeClaim(.bytes)
            }
        }
    }

    /// Calls `body` with every node on the heap that the reference at a place leads to, parents last. What lies in a checkpoint is passed over with all below it: a checkpoint refers to
    /// nothing on the heap.
    func forEachHeapNode(at place: UnsafeMutableRawPointer, _ body: (Node) -> Void) {
        let ref = NodeRef(place.loadUnaligned(as: UInt64.self))
        guard !ref.isNone, !ref.isTagged, !ref.node.isOnDisk else { return }
        forEachRef(of: ref.node) { place, shape in shape.forEachHeapNode(at: place, body) }
        body(ref.node)
    }
}

extension Snapshot {
    /// Calls `body` with every node on the heap that the version reaches. O(those nodes, and cells of variable width).
    func forEachHeapNode(_ body: (Node) -> Void) {
        var word = NodeRef(root).word
        NodeShape.root(reference).forEachHeapNode(at: &word, body)
    }
}
