import CFirn

/// Calls registered blocks when their thread ends.
///
/// There is one instance per thread. The system calls it when the thread ends. It belongs to its thread, so nothing
/// guards it. The main thread never ends before the process does.
package final class ThreadEnd {
    private struct Entry {
        weak var object: AnyObject?
        let end: (AnyObject) -> Void
    }
    private var entries: [Entry] = []
    /// The number of entries at which those whose objects are gone are dropped.
    private var limit = 8

    /// Calls `end` with `object` on the calling thread when that thread ends, unless the object is gone by then.
    package static func register<Object: AnyObject>(_ object: Object, _ end: @escaping (Object) -> Void) {
        let own = current
        if own.entries.count >= own.limit {
            own.entries.removeAll { $0.object == nil }
            own.limit = max(8, own.entries.count * 2)
        }
        own.entries.append(Entry(object: object) { end(unsafeDowncast($0, to: Object.self)) })
    }

    private static var current: ThreadEnd {
        if let value = firn_thread_end_value() { return Unmanaged<ThreadEnd>.fromOpaque(value).takeUnretainedValue() }
        let own = ThreadEnd()
        let error = firn_thread_set_end(Unmanaged.passRetained(own).toOpaque()) { value in
            let own = Unmanaged<ThreadEnd>.fromOpaque(value).takeRetainedValue()
            for entry in own.entries { if let object = entry.object { entry.end(object) } }
        }
        precondition(error == 0, "Firn: the system refused to register a call at the end of a thread (errno \(error))")
        return own
    }
}
