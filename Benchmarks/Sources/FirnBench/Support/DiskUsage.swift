import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// Bytes of the blocks that the file system has allocated for what lies in `folder`, and for unlinked files that lay
/// there and are still open in this process: a store must not hide its size in those.
func allocatedBytes(under folder: String) -> Int {
    var blocks = 0
    if let walker = FileManager.default.enumerator(atPath: folder) {
        for case let name as String in walker {
            var status = stat()
            if lstat(folder + "/" + name, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
                blocks += Int(status.st_blocks)
            }
        }
    }
    for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
        var status = stat()
        let link = "/proc/self/fd/" + name
        guard stat(link, &status) == 0, status.st_nlink == 0, status.st_mode & S_IFMT == S_IFREG,
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: link), target.hasPrefix(folder)
        else { continue }
        blocks += Int(status.st_blocks)
    }
    return blocks * 512
}
