import FirnCore
import FirnStorage

/// What happens to stores that are open when the process ends: a program may keep its realm in a global and just
/// return from `main`.
extension SharedStore {
    static func watchExit() { watchExit { SharedStore.prepareForExit() } }

    private static func prepareForExit() {
        for store in storesToEnd {
            // Nobody is left to receive an error. Everything acknowledged is in the log, and the next opening reports
            // what went wrong here.
            ignoringError { () throws(StoreError) in try store.prepareForExit() }
        }
    }
}
