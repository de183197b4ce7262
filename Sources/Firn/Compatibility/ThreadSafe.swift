import FirnCore

/// An object or a collection that any thread reads, each in its own realm.
///
/// ```swift
/// let shared = ThreadSafe(wrappedValue: dog)
/// DispatchQueue.global().async {
///     guard let dog = shared.wrappedValue, let realm = dog.realm else { return }     // nil: it was deleted
///     try? realm.write { dog.age += 1 }
/// }
/// ```
///
/// Reading it resolves the object or collection like ``Realm/resolve(_:file:line:)``, in the realm that
/// ``ThreadConfined/thaw(file:line:)`` would give. The result is nil once the object or collection no longer exists.
/// The wrapper holds the version in which it was last set or read: see <doc:HoldingVersions>.
///
/// As `@ThreadSafe` it wraps a variable, or an argument of a function: `func rename(@ThreadSafe dog: Dog?)`. In Swift's
/// language mode 5, the other thread's closure uses such a variable directly. In mode 6 the closure takes the wrapper,
/// `_dog`, which is `Sendable`. The wrapper of an argument is made when the function begins, so the function must be
/// called on the argument's thread.
@propertyWrapper
public final class ThreadSafe<T: ThreadConfined>: Sendable {
    private let handover: Handover<T>

    /// A wrapper of an object or collection that a realm manages, or of nil. O(log n) at most. Stops the program if the
    /// object or collection is unmanaged or invalidated, and on the wrong thread.
    public init(wrappedValue: T?) {
        handover = Handover(wrappedValue.map { Carrier($0, at: CallSite(#fileID, #line)) })
    }

    /// The object or collection in the calling thread's realm; nil if it no longer exists. O(log n) at most.
    ///
    /// May be read and set on any thread. Setting it stops the program in the same cases as ``init(wrappedValue:)``.
    public var wrappedValue: T? {
        get {
            let callSite = CallSite(#fileID, #line)
            guard let carrier = handover.carrier else { return nil }
            let (value, isGone) = carrier.unload(in: carrier.realm.thaw(at: callSite), at: callSite)
            if value != nil || isGone { handover.replace(carrier, by: value.map { Carrier($0, at: callSite) }) }
            return value
        }
        set { _ = handover.exchange(newValue.map { Carrier($0, at: CallSite(#fileID, #line)) }) }
    }
}
