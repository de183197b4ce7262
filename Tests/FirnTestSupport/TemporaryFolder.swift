import FirnStorage

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A new folder on disk, which is removed with its contents when the last reference goes.
public final class TemporaryFolder: Sendable {
    public let path: String

    public init() {
        let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(base)/firn-test-XXXXXX".utf8CString)
        precondition(mkdtemp(&template) != nil, "no temporary folder could be made in \(base) (errno \(errno))")
        path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }

    deinit {
        Self.remove(path)
    }

    private static func remove(_ path: String) {
        let storage = PosixStorage.shared
        for name in (try? storage.list(path)) ?? [] {
            let child = path + "/" + name
            // This tries unlink first instead of asking for the status, which would follow a link out of the folder.
            if unlink(child) != 0 { remove(child) }
        }
        rmdir(path)
    }
}
