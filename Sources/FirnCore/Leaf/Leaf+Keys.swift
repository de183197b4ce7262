extension Leaf {
    /// The keys of the rows; nil if they are the first key and its successors.
    package var explicitKeys: UnsafePointer<Int64>? { keys.map { UnsafePointer($0) } }
}
