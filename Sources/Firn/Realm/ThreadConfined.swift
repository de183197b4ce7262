/// Something that belongs to a realm, and so to the realm's thread, queue or actor: an object or a collection.
public protocol ThreadConfined {
    /// The realm that manages it; nil if it is unmanaged.
    var realm: Realm? { get }
    /// Whether it can no longer be used: its row is gone, or its realm was invalidated.
    var isInvalidated: Bool { get }
    /// Whether it shows one version for good and may be read on any thread.
    var isFrozen: Bool { get }
    /// Does what `freeze()` does, for a call at a line of the program.
    func _freeze(_ file: StaticString, _ line: UInt) -> Self
    /// Does what `thaw()` does, for a call at a line of the program.
    func _thaw(_ file: StaticString, _ line: UInt) -> Self?
    /// The same thing in another realm of the store, whether it exists there or not.
    func _moved(to realm: _RealmInstance) -> Self
}

extension ThreadConfined {
    /// The same thing at the version that its realm shows now: it never changes, and may be read on any thread. O(log
    /// n) at most.
    ///
    /// ```swift
    /// nonisolated(unsafe) let frozen = dog.freeze()     // the compiler can't know that it is frozen
    /// DispatchQueue.global().async { print(frozen.name, frozen.owner?.name ?? "") }
    /// ```
    ///
    /// Everything that is reached from it is frozen at the same version. The version is held as long as any of it is,
    /// which makes no file grow: see <doc:HoldingVersions>. If it is frozen already, it is returned itself.
    ///
    /// Frozen results and backlinks of something that is gone are empty. Stops the program if it is unmanaged, or if an
    /// object or the object of a list is gone. Also stops it in a write transaction of its realm, and on the wrong
    /// thread.
    public func freeze(file: StaticString = #fileID, line: UInt = #line) -> Self { _freeze(file, line) }

    /// The same thing in the calling thread's live realm; nil if it no longer exists there. If it is live, it is
    /// returned itself.
    ///
    /// ```swift
    /// if let live = frozen.thaw() { try live.realm?.write { live.age += 1 } }
    /// ```
    ///
    /// It shows what that realm shows, which may be newer data. On a queue or an actor other than the main one, look it
    /// up in a realm that was opened there instead (see `Realm.thaw(file:line:)`). O(log n) at most. May be called on
    /// any thread if it is frozen. Stops the program if it is unmanaged.
    public func thaw(file: StaticString = #fileID, line: UInt = #line) -> Self? { _thaw(file, line) }
}
