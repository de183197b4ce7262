import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// The bytes of the blocks that the file system has allocated for the files in `folder`, and for unlinked files from
/// there that are still open or mapped in this process: a store must not hide its size in those.
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
    // A file may be both open and mapped, and more than once.
    var seen = Set<UInt64>()
    for link in unlinkedCandidates(under: folder) {
        var status = stat()
        guard stat(link, &status) == 0, status.st_nlink == 0, status.st_mode & S_IFMT == S_IFREG,
            seen.insert(UInt64(status.st_ino)).inserted
        else { continue }
        blocks += Int(status.st_blocks)
    }
    return blocks * 512
}

/// Paths below /proc that lead to the files from `folder` that this process has open, and to those that it has mapped
/// and that were unlinked since. There are none without /proc. Following the paths of mappings takes the rights of
/// root.
private func unlinkedCandidates(under folder: String) -> [String] {
    let open = ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [])
        .map { "/proc/self/fd/" + $0 }
        .filter { (try? FileManager.default.destinationOfSymbolicLink(atPath: $0))?.hasPrefix(folder) ?? false }
    let mapped = (ProcessFigures.contents(of: "/proc/self/maps") ?? "").split(separator: "\n")
        .filter { $0.hasSuffix(" (deleted)") && $0.contains(folder) }
        .compactMap { $0.split(separator: " ").first }
        .map { range in
            // maps pads addresses with zeros, map_files does not.
            "/proc/self/map_files/"
                + range.split(separator: "-").map { String($0.drop { $0 == "0" }) }.joined(separator: "-")
        }
    return open + mapped
}

/// The sum of the lengths of the files directly in a folder; 0 if there is no folder.
func byteCount(ofFilesIn folder: String) -> Int {
    var sum = 0
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
        var status = stat()
        if lstat(folder + "/" + name, &status) == 0 { sum += Int(status.st_size) }
    }
    return sum
}
