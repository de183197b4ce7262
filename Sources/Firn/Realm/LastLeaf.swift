import FirnCore

/// The leaf in which an object was found, because the next one is often there too. It holds no reference.
struct LastLeaf {
    private var leaf: Leaf?
    private var table: UnsafeRawPointer?
    /// The core's generation at that time. In another generation the leaf is not read, because it may have been freed.
    private var generation: UInt64 = 0

    init() {}

    /// - Parameter table: the address of the object's `TableBinding`.
    init(leaf: Leaf, table: UnsafeRawPointer, generation: UInt64) {
        self.leaf = leaf
        self.table = table
        self.generation = generation
    }

    /// The location of an object; nil if the leaf does not have it, or may be out of date.
    @inline(__always)
    func find(_ key: Int64, table: UnsafeRawPointer, generation: UInt64) -> (leaf: Leaf, row: Int)? {
        guard self.generation == generation, self.table == table, let leaf, let row = leaf.row(of: key) else {
            return nil
        }
        return (leaf, row)
    }
}
