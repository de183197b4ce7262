@testable import FirnLog

extension Log {
    /// Commits `version` with one part.
    @discardableResult
    func commit(
        version: UInt64, _ kind: LogPartKind, _ bytes: UnsafeRawBufferPointer, mayUseReserve: Bool = false
    ) throws(LogError) -> FramePosition {
        try beginCommit(version: version, mayUseReserve: mayUseReserve).seal(kind, bytes)
    }
}
