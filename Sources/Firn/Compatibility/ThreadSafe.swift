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
/// Reading it does what ``Realm/resolve(_:file:line:)`` does, in the realm that ``ThreadConfined/thaw(file:line:)``
/// would give. It is nil once the thing no longer exists. It holds the version in which it was set or read last: see
/// <doc:HoldingVersions>.
///
/// As `@ThreadSafe` it wraps a variable, or an argument of a function: `func rename(@ThreadSafe dog: Dog?)`. In Swift's
/// language mode 5 the other thread's closure uses such a variable as it is. In mode 6 the closure takes the wrapper,
/// `_dog`, which is `Sendable`. The wrapper of an argument is made when the function begins, so that must be on the
/// argument's thread.
@propertyWrapper
public final class ThreadSafe<T: ThreadConfined>: Sendable {
    private let handover: Handover<T>

    /// A wrapper of something that a realm manages, or of nil. O(log n) at most. Stops the program if the source is
    /// unmanaged or invalidated, and on the wrong thread.
    public init(wrappedValue: T?) {
        handover = Handover(wrappedValue.map { Carrier($0, at: CallSite(#fileID, #line)) })
    }

    /// The object or collection in the calling thread's realm; nil if it no longer exists. O(log n) at most.
    ///
    /// May be read and set on any thread. Setting it stops the program as ``init(wrappedValue:)`` does.
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
