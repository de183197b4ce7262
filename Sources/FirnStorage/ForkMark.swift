/// Remembers the process in which it was made.
///
/// Locks, threads and the right to write stay with the parent when a child is forked off. So the owner of a mark checks
/// the mark before it uses, frees or cleans up anything that both processes have. The check costs one load.
@frozen
public struct ForkMark: Sendable {
    @usableFromInline let generation: UInt32

    @inlinable public init() { generation = forkGeneration() }

    /// Whether the calling process was forked off the process in which the mark was made.
    @inlinable @inline(__always)
    public var isForked: Bool { forkGeneration() != generation }
}
