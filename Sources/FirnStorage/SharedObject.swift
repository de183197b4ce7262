import CFirn

/// An object that the whole process shares and never frees. It is made at its first use.
///
/// A Swift `static let` is initialised under a lock. If the process forks while another thread holds that lock, the
/// initialisation never ends in the child. The child may want to open a store of its own. Here no thread waits: if two
/// threads make the object at the same time, the first to finish wins. Access costs a load, a comparison and a retain.
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
