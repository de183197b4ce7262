import CFirn

/// An object that the whole process shares and keeps for ever, made at its first use.
///
/// A `static let` would be made under a lock of Swift's. A fork while another thread has that lock leaves the child
/// with an initialisation that never ends, and the child may open a store of its own. Here nothing is waited for: if
/// two threads make one at a time, the first to be done counts. Getting it costs a load, a comparison and a retain.
enum SharedObject: Int32, CaseIterable {
    case systemClock
    case systemRandomness
    case posixStorage
    case emptyBuffer
    /// For tests only.
    case tests

    func get<Object: AnyObject>(_ make: () -> Object) -> Object {
        if firn_shared_object(rawValue) == nil {
            let made = Unmanaged.passRetained(make())
            if !firn_set_shared_object(rawValue, made.toOpaque()) { made.release() }
        }
        return Unmanaged.fromOpaque(firn_shared_object(rawValue).unsafelyUnwrapped).takeUnretainedValue()
    }
}
