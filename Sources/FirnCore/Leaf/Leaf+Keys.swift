extension Leaf {
    /// The rows' keys where they are not the first one and its successors.
    public var explicitKeys: UnsafePointer<Int64>? { keys.map { UnsafePointer($0) } }
}
