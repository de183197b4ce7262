import FirnStorage

@testable import FirnLog

extension Log {
    /// Waits until a version above `version` is published, here or by another process, for `milliseconds` at most.
    /// Returns the newest version.
    func waitForVersion(after version: UInt64, milliseconds: Int) throws(LogError) -> UInt64 {
        try checkOpen()
        page.wait(nanoseconds: .nanoseconds(milliseconds: milliseconds)) { max(publishedVersion, readable) > version }
        return max(publishedVersion, readable)
    }

    /// The version published for readers of the page: in a log that is open for writing, it may be ahead of what
    /// this process has read.
    private var readable: UInt64 { writer == nil ? 0 : page.published }
}
