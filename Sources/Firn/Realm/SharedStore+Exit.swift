import FirnCore
import FirnStorage

/// What happens to stores that are open when the process ends: a program keeps its realm in a global and just returns from `main`.
extension SharedStore {
    /// Done once, with the first store that is opened. Where the system refuses, the next opening of such a store replays its log.
    private static let isExitWatched = atProcessExit { SharedStore.prepareForExit() }

    static func watchExit() { _ = isExitWatched }

    private static func prepareForExit() {
        for shared in openStores {
            // Nobody is left to be told. Everything acknowledged is in the log, and the next opening meets what went wrong here.
            _ = Result { () throws(StoreError) in try shared.store.prepareForExit() }
        }
    }
}
