import FirnCore
import Foundation

/// Waits until a store of Firn's has made a checkpoint of what was loaded into it and has removed the log before that,
/// if its rule wants one; for a store that has none yet and is written no more.
func waitForCompactor(_ store: String) throws {
    let limit = now() + 120_000_000_000
    while try logByteCount(store) > CompactionRule().logByteCount.least {
        guard now() < limit else { throw BenchError("the compactor did not come to an end within two minutes") }
        Thread.sleep(forTimeInterval: 0.01)
    }
}

/// Bytes of the commits in a store's log. The newest segment is longer than what was written to it: zeros lie ahead of the
/// writer, and the compactor does not count them.
private func logByteCount(_ store: String) throws -> Int {
    let folder = store + "/log"
    let all = byteCount(ofFilesIn: folder)
    guard let newest = try FileManager.default.contentsOfDirectory(atPath: folder).max() else { return all }
    guard let bytes = FileManager.default.contents(atPath: folder + "/" + newest) else { return all }
    return all - bytes.count + (bytes.lastIndex { $0 != 0 } ?? -1) + 1
}
