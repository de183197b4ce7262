extension Snapshot {
    /// Calls `body` with every node that the version reaches. O(nodes, and cells of variable width).
    func forEachNode(_ body: (Node) -> Void) {
        let rootNode = RootNode(root)
        for id in 0..<rootNode.tableCount {
            let word = rootNode.slot(id).pointee
            guard word != 0 else { continue }
            let table = TableNode(NodeRef(word).node)
            let layout = reference.tables[id]
            if table.rows.pointee != 0 { walk(NodeRef(table.rows.pointee).node, layout, body) }
            for column in layout.indexed {
                ColumnIndex.forEachNode(layout.columns[column], NodeRef(table.index(column).pointee), body)
            }
            for column in layout.links { PairTree.forEachNode(NodeRef(table.backlinks(column).pointee), body) }
            body(table.node)
        }
        body(root)
    }

    private func walk(_ node: Node, _ layout: TableLayout, _ body: (Node) -> Void) {
        guard node.isLeaf else {
            let inner = RowNode(node)
            for child in 0..<inner.count { walk(NodeRef(inner.refs[child]).node, layout, body) }
            return body(node)
        }
        let leaf = Leaf(node)
        for column in layout.variable {
            let chunk = leaf.chunk(column)
            let schema = layout.columns[column]
            for row in 0..<leaf.count {
                if schema.collection != .none {
                    ListCell(chunk, row, ElementLayout(schema)).forEachNode(body)
                } else if let (_, own) = chunk.ownNode(row) {
                    body(own)
                }
            }
        }
        for column in 0..<leaf.columnCount where leaf.hasChunk(column) { body(leaf.chunk(column).node) }
        if leaf.keysSlot.pointee != 0 { body(NodeRef(leaf.keysSlot.pointee).node) }
        body(node)
    }
}
