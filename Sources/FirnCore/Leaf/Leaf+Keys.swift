extension ChunkLayout {
    /// The layout of the chunk that holds a leaf's keys.
    static var keys: ChunkLayout { ChunkLayout(form: .fixed, width: MemoryLayout<Int64>.size) }
}

extension Leaf {
    /// The keys of the rows; nil if they are the first key and its successors.
    package var explicitKeys: UnsafePointer<Int64>? { keys.map { UnsafePointer($0) } }
}
