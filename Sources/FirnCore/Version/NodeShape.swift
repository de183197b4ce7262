/// The kind of node that a reference leads to, as far as the node's own bytes do not say it. A walk over raw memory
/// uses it to find the references of a node.
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

    /// Calls `body` with the address of every reference of a node on the heap, and with the shape of its target. A
    /// reference may be 0, or lead to a node of a checkpoint. An address may be unaligned.
    func forEachRef(of node: Node, _ body: (UnsafeMutableRawPointer, NodeShape) -> Void) {
        switch self {
        case .keys: break
        case .chunk(let schema, let rows):
            guard Chunk(node).form == .variable else { return }
            let cell = NodeShape.cell(ElementLayout(schema), CellClass(schema))
            for address in CellRefs.addresses(in: Chunk(node), rows: rows, schema) { body(address, cell) }
        case .cell(let layout, _) where node.kind == .listLeaf:
            ListTree.Leaf(node, layout).block.forEachBlobRef { body($0, self) }
        case .root, .table, .rows, .cell, .tree:
            node.forEachRefField { address, field in
                switch field {
                case .child: body(address, self)
                case .table(let table):
                    guard case .root(let resolvedSchema) = self else { stop(at: node) }
                    body(address, .table(resolvedSchema.tables[table]))
                case .rows:
                    guard case .table(let layout) = self else { stop(at: node) }
                    body(address, .rows(layout))
                case .index, .backlinks: body(address, .tree)
                case .keys: body(address, .keys(rows: node.count))
                case .chunk(let column):
                    guard case .rows(let layout) = self else { stop(at: node) }
                    body(address, .chunk(layout.columns[column], rows: node.count))
                }
            }
        }
    }

    private func stop(at node: Node) -> Never {
        preconditionFailure("Firn: a node of the kind \(node.kind) where another one belongs")
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
    /// Calls `body` with every node on the heap that the version reaches. O(these nodes and their cells of variable
    /// width).
    func forEachHeapNode(_ body: (Node) -> Void) {
        var word = NodeRef(root).word
        NodeShape.root(resolvedSchema).forEachHeapNode(at: &word, body)
    }
}
