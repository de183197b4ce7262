/// Remembers the process that made it.
///
/// In a child that was forked off that process, locks, threads and the right to write have stayed with the parent. So
/// the owner of a mark checks it before it uses, frees or cleans up what both processes have. The check costs one
/// load.
@frozen
public struct ForkMark: Sendable {
    @usableFromInline let generation: UInt32

    @inlinable public init() { generation = forkGeneration() }

    /// Whether the calling process was forked off the one that made the mark.
    @inlinable @inline(__always)
    public var isForked: Bool { forkGeneration() != generation }
}
