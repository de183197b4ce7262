import CFirn

/// Calls registered blocks when their thread ends.
///
/// There is one instance per thread, which the system calls when the thread ends. It is used only by its thread, so
/// nothing guards it. The main thread never ends before the process does.
package final class ThreadEnd {
    private struct Entry {
        weak var object: AnyObject?
        let end: (AnyObject) -> Void
    }
    private var entries: [Entry] = []
    /// The objects kept until the thread ends, at most one of each class.
    private var kept: [(type: ObjectIdentifier, object: AnyObject, end: (AnyObject) -> Void)] = []
    /// The number of entries at which the entries of released objects are removed.
    private var limit = 8

    /// Calls `end` with `object` on the calling thread when that thread ends, unless the object is released by then.
    package static func register<Object: AnyObject>(_ object: Object, _ end: @escaping (Object) -> Void) {
        let own = current
        if own.entries.count >= own.limit {
            own.entries.removeAll { $0.object == nil }
            own.limit = max(8, own.entries.count * 2)
        }
        own.entries.append(Entry(object: object) { end(unsafeDowncast($0, to: Object.self)) })
    }

    /// The object of the given class that the calling thread keeps. Nil if there is none.
    package static func kept<Object: AnyObject>(_ type: Object.Type) -> Object? {
        guard let value = firn_thread_end_value() else { return nil }
        let own = Unmanaged<ThreadEnd>.fromOpaque(value).takeUnretainedValue()
        guard let kept = own.kept.first(where: { $0.type == ObjectIdentifier(type) }) else { return nil }
        return unsafeDowncast(kept.object, to: Object.self)
    }

    /// Keeps an object until the calling thread ends. The object replaces any kept object of the same class. When the
    /// thread ends, `end` is called with it, after all registered blocks.
    package static func keep<Object: AnyObject>(_ object: Object, _ end: @escaping (Object) -> Void) {
        let (own, type) = (current, ObjectIdentifier(Object.self))
        let old = own.kept.filter { $0.type == type }
        own.kept.removeAll { $0.type == type }
        own.kept.append((type, object, { end(unsafeDowncast($0, to: Object.self)) }))
        withExtendedLifetime(old) {}
    }

    private static var current: ThreadEnd {
        if let value = firn_thread_end_value() { return Unmanaged<ThreadEnd>.fromOpaque(value).takeUnretainedValue() }
        let own = ThreadEnd()
        let error = firn_thread_set_end(Unmanaged.passRetained(own).toOpaque()) { value in
            let own = Unmanaged<ThreadEnd>.fromOpaque(value).takeRetainedValue()
            for entry in own.entries { if let object = entry.object { entry.end(object) } }
            for kept in own.kept { kept.end(kept.object) }
        }
        precondition(error == 0, "Firn: the system refused to register a call at the end of a thread (errno \(error))")
        return own
    }
}
