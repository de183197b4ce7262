import FirnTestSupport
import Foundation

@testable import Firn

/// Checks at the end of a test run that no test has left a realm open.
///
/// A realm lives as long as it counts an accessor, a collection, an observer or a `Realm` value. So one that is still
/// there when all tests have ended has been counted once too often, or something keeps a reference that nobody needs.
enum LeftOpen {
    // Set before the process ends.
    nonisolated(unsafe) private static var seconds = 0

    /// Makes the process fail at its end if anything is left open after some seconds, since releases may wait for
    /// their threads.
    static func check(seconds: Int = 30) {
        Self.seconds = seconds
        atexit {
            if TestTimeout.awaits(within: LeftOpen.seconds, { LeftOpen.callSites.isEmpty }) { return }
            for site in LeftOpen.callSites.sorted() {
                FileHandle.standardError.write(Data("error: the realm opened at \(site) is still open\n".utf8))
            }
            // The handlers that were registered before this one would close what is open.
            _exit(1)
        }
    }

    /// Where the realms were opened that are open now; the name of the store for one that has no realm.
    static var callSites: [String] {
        let stores = SharedStore.registry.withLock { $0.open.values.compactMap(\.store) }
        return stores.flatMap { store in
            let instances = store.instances.withLock { instances in
                (instances.live.values + Array(instances.frozen.values)).compactMap(\.object)
            }
            if instances.isEmpty { return ["\(store.identity)"] }
            // What was released elsewhere waits for a turn of the realm, which may not come any more.
            let left = instances.filter { instance in
                let (all, released) = (instance.core.pointee.accessors, instance.core.pointee.released)
                return released == 0 || all != released
            }
            return left.map { "\($0.openedAt) (\(store.identity))" }
        }
    }
}
