extension NodeShape {
    /// Returns the claim for a copy of a node in a file. Returns nil if the shape does not determine the claim, as for
    /// a long key or value of a map.
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
}
