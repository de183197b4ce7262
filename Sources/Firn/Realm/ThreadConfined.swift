/// What belongs to a realm and so to the realm's thread, queue or actor.
public protocol ThreadConfined {
    /// The realm that manages it; nil where it is unmanaged.
    var realm: Realm? { get }
    /// Whether it can no longer be used: its row is gone, or its realm was invalidated.
    var isInvalidated: Bool { get }
    /// Whether it shows one version for good and may be read on any thread.
    var isFrozen: Bool { get }
    // What `freeze` and `thaw` do for a call at a place.
    func _freeze(_ file: StaticString, _ line: UInt) -> Self
    func _thaw(_ file: StaticString, _ line: UInt) -> Self?
}

extension ThreadConfined {
    /// The same at the version that its realm shows now: it never changes, and may be read on any thread. Costs O(1), and holding it makes no file grow. What is
    /// frozen already is given as it is.
    ///
    /// Stops the program where it is unmanaged, or its realm is in a write transaction.
    public func freeze(file: StaticString = #fileID, line: UInt = #line) -> Self { _freeze(file, line) }

    /// The same in the calling thread's live realm; itself where it is live; nil where it is there no more. Stops the program where it is unmanaged.
    public func thaw(file: StaticString = #fileID, line: UInt = #line) -> Self? { _thaw(file, line) }
}
