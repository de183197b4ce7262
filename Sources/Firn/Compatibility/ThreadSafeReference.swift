import FirnCore
import FirnStorage

/// A reference to an object or a collection, which can be passed to another thread, queue or actor and resolved there
/// once.
///
/// ```swift
/// let reference = ThreadSafeReference(to: dog)
/// DispatchQueue.global().async {
///     guard let realm = try? Realm(), let dog = realm.resolve(reference) else { return }   // nil: it was deleted
///     try? realm.write { dog.age += 1 }
/// }
/// ```
///
/// Until it is resolved or released, the reference holds the version that its realm showed. So a realm that has read
/// nothing yet finds even an object that was deleted meanwhile. Holding the version makes no file grow: see
/// <doc:HoldingVersions>.
///
/// ``ThreadSafe`` can be read any number of times. Frozen objects and collections need neither: see ``Frozen``.
public struct ThreadSafeReference<Confined: ThreadConfined>: Sendable {
    private let handover: Handover<Confined>

    /// A reference to an object or collection that a realm manages. O(log n) at most.
    ///
    /// If the reference is made in a write transaction, it is resolved in the newest version. Stops the program if the
    /// object or collection is unmanaged or invalidated, and on the wrong thread.
    public init(to threadConfined: Confined, file: StaticString = #fileID, line: UInt = #line) {
        handover = Handover(Carrier(threadConfined, at: CallSite(file, line)))
    }

    /// Whether the reference has been resolved, so that it can't be resolved again. O(1). May be read on any thread.
    public var isInvalidated: Bool { handover.carrier == nil }

    fileprivate func resolve(in realm: _RealmInstance, at callSite: CallSite) -> Confined? {
        guard let carrier = handover.exchange(nil) else {
            stopProgram(
                "a ThreadSafeReference can be resolved once. Make another one, or use @ThreadSafe, which can be read again.",
                at: callSite)
        }
        return carrier.unload(in: realm, at: callSite).content
    }
}

extension Realm {
    /// The object or collection of a reference, in this realm; nil if it no longer exists, or if it belongs to another
    /// store.
    ///
    /// A realm that has read nothing yet shows the version that the reference holds from then on, until the realm
    /// advances. A realm that shows an older version advances to the newest version. O(log n) at most. Stops the
    /// program if the reference was resolved before, if this realm is frozen or lacks the class, and on the wrong
    /// thread.
    public func resolve<Confined: ThreadConfined>(
        _ reference: ThreadSafeReference<Confined>, file: StaticString = #fileID, line: UInt = #line
    ) -> Confined? {
        instance.check()
        let callSite = CallSite(file, line)
        if isFrozen {
            stopProgram(
                "a reference can't be resolved in a frozen realm. Resolve it in a live one.", at: callSite)
        }
        return reference.resolve(in: instance, at: callSite)
    }
}
