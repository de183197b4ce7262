import FirnStorage

/// A value behind a lock, for state that any thread may reach. Held over a few instructions only.
final class Guarded<Content>: @unchecked Sendable {
    private let lock = Lock()
    private var content: Content

    init(_ content: Content) { self.content = content }

    func withLock<Result>(_ body: (inout Content) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&content)
    }
}
