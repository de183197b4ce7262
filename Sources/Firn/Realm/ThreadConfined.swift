/// What belongs to a realm and so to the realm's thread, queue or actor.
public protocol ThreadConfined {
    /// The realm that manages it; nil where it is unmanaged.
    var realm: Realm? { get }
    /// Whether it can no longer be used: its row is gone, or its realm was invalidated.
    var isInvalidated: Bool { get }
    /// Whether it shows one version for good and may be read on any thread.
    var isFrozen: Bool { get }
    /// The same at the version that its realm shows now. O(1).
    func freeze() -> Self
    /// The same in a live realm of the calling thread; nil where it is there no more.
    func thaw() -> Self?
}
