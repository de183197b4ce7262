import FirnCore
import Foundation

/// Waits until a Firn store has made a checkpoint of what was loaded into it, and has removed the log before that, if
/// its rule requires one. The store must have no checkpoint yet, and must not be written any more.
func waitForCompactor(_ store: String) throws {
    let limit = now() + 120_000_000_000
    while try logByteCount(store) > CompactionRule().logByteCount.least {
        guard now() < limit else { throw BenchError("the compactor did not finish within two minutes") }
        Thread.sleep(forTimeInterval: 0.01)
    }
}

/// The bytes of the commits in a store's log. The newest segment is longer than what was written to it: it ends with
/// preallocated zeros, which the compactor does not count.
private func logByteCount(_ store: String) throws -> Int {
    let folder = store + "/log"
    let all = byteCount(ofFilesIn: folder)
    guard let newest = try FileManager.default.contentsOfDirectory(atPath: folder).max() else { return all }
    guard let bytes = FileManager.default.contents(atPath: folder + "/" + newest) else { return all }
    return all - bytes.count + (bytes.lastIndex { $0 != 0 } ?? -1) + 1
}
