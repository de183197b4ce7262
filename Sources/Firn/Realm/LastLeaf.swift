import FirnCore

/// The leaf in which an object was found, because the next one is often there too. It holds no reference.
struct LastLeaf {
    private var leaf: Leaf?
    private var table: UnsafeRawPointer?
    /// The core's generation then. The leaf is not read in another one, because it may be gone.
    private var generation: UInt64 = 0

    init() {}

    /// - Parameter table: the address of the object's `TableBinding`.
    init(leaf: Leaf, table: UnsafeRawPointer, generation: UInt64) {
        self.leaf = leaf
        self.table = table
        self.generation = generation
    }

    /// Where an object lies; nil if the leaf does not have it, or is not known to.
    @inline(__always)
    func find(_ key: Int64, table: UnsafeRawPointer, generation: UInt64) -> (leaf: Leaf, row: Int)? {
        guard self.generation == generation, self.table == table, let leaf, let row = leaf.row(of: key) else {
            return nil
        }
        return (leaf, row)
    }
}
