/// The meaning of a field that holds a reference, within its node.
enum RefField {
    /// The node of a table, in a root.
    case table(Int)
    /// The row tree of a table.
    case rows
    /// The index of a column, or its backlinks, in a table.
    case index(column: Int)
    case backlinks(column: Int)
    /// The chunk of a leaf's keys, or of one of its columns.
    case keys
    case chunk(column: Int)
    /// A child of an inner node of a tree of any kind.
    case child(Int)
}

extension Node {
    /// Calls `body` with the address and the meaning of each field of the node that holds a reference. A reference may
    /// be 0.
    ///
    /// No other code lists these fields. Walks over memory also need to know what a reference leads to (`NodeShape`),
    /// and validation what it must lead to (`NodeCheck`). Walks over files need only this function
    /// (`OnDiskNode.forEachRef`).
    ///
    /// The function reads the kind, the number of children, tables or columns, and the slots of an index page. So an
    /// on-disk node must have been validated, or `NodeCheck` must have checked exactly these fields.
    ///
    /// Chunks and leaves of lists have references among their values. These are found in three ways:
    ///
    /// * In memory, `CellRefs` finds them through the cells, which takes the column's schema.
    /// * In a file, the cells may be encoded and the reader knows no schema. There a table lists the references, and a
    ///   chunk may name a dictionary.
    /// * Validation trusts neither the cells nor the table. It reads a cell's reference directly after it has checked
    ///   the cell, because finding a cell requires the lengths of all cells before it. Then it compares the table with
    ///   the references that it found.
    func forEachRefField(_ body: (UnsafeMutableRawPointer, RefField) -> Void) {
        switch kind {
        case .root:
            for table in 0..<count { body(address + NodeLayout.Root.table(table), .table(table)) }
        case .table:
            body(address + NodeLayout.Table.rows, .rows)
            for column in 0..<Int(load(NodeLayout.Table.columnCount, as: UInt32.self)) {
                body(address + NodeLayout.Table.index(column), .index(column: column))
                body(address + NodeLayout.Table.backlinks(column), .backlinks(column: column))
            }
        case .leaf:
            body(address + NodeLayout.Leaf.keys, .keys)
            for column in 0..<Int(load(NodeLayout.Leaf.columnCount, as: UInt32.self)) {
                body(address + NodeLayout.Leaf.chunk(column), .chunk(column: column))
            }
        case .rowInner, .integerIndexInner, .bytesIndexInner, .listInner:
            for child in 0..<count { body(childRef(child), .child(child)) }
        case .chunk, .blob, .integerIndexLeaf, .bytesIndexLeaf, .listLeaf: break
        }
    }

    /// The address of the reference to a child of an inner node of a tree of any kind.
    @inline(__always)
    func childRef(_ child: Int) -> UnsafeMutableRawPointer {
        switch kindNumber {
        case Kind.rowInner.rawValue: address + NodeLayout.RowInner.ref(child)
        case Kind.integerIndexInner.rawValue: address + NodeLayout.IntegerIndexInner.ref(child)
        case Kind.listInner.rawValue: address + NodeLayout.ListInner.ref(child)
        case Kind.bytesIndexInner.rawValue:
            address + NodeLayout.BytesIndex.ref(load(NodeLayout.BytesIndex.slot(child), as: UInt64.self))
        default: preconditionFailure("Firn: a node of the kind \(kind) has no children")
        }
    }
}
