import FirnCore
import Foundation

/// Waits until a store of Firn's has made a checkpoint of what was loaded into it and has removed the log before that,
/// where its rule wants one; for a store that has none yet and is written no more.
func waitForCompactor(_ store: String) throws {
    let limit = now() + 120_000_000_000
    while byteCount(ofFilesIn: store + "/log") > CompactionRule().logByteCount.least {
        guard now() < limit else { throw BenchError("the compactor did not come to an end within two minutes") }
        Thread.sleep(forTimeInterval: 0.01)
    }
}
