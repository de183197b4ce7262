import FirnStorage
import FirnTestSupport
import Foundation

@testable import FirnLog

/// Waits until nothing in this process has the store open any more. A thread of the store's may hold it for a moment
/// after the last realm is released.
func waitUntilClosed(_ url: URL) -> Bool {
    TestTimeout.awaits {
        guard let folder = try? StoreFolder(path: url.path, storage: PosixStorage.shared),
            let locks = try? StoreLocks(folder)
        else { return false }
        defer { locks.releaseAll() }
        return (try? locks.claimAll()) ?? false
    }
}
