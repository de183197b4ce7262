import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// An operation that the system refused, with the reason.
struct FileProblem: Error, CustomStringConvertible {
    let path: String
    let reason: String
    /// Whether the path does not exist.
    let isMissing: Bool

    /// Takes the reason from `errno`.
    init(_ path: [UInt8]) {
        let number = errno
        self.path = TreePath.text(path)
        reason = String(cString: strerror(number))
        isMissing = number == ENOENT
    }

    init(_ path: [UInt8], _ reason: String) {
        self.path = TreePath.text(path)
        self.reason = reason
        isMissing = false
    }

    var description: String { "\(path): \(reason)" }
}

/// Files by paths of bytes. Foundation supports only paths that are text.
enum FileSystem {
    struct Status {
        var kind: EntryKind
        var size: Int
        var mode: Int
        var seconds: Int
        var nanoseconds: Int
        var device: UInt64
        var node: UInt64

        /// The status of something that the system gives no information about.
        static let unknown = Status(kind: .other, size: 0, mode: 0, seconds: 0, nanoseconds: 0, device: 0, node: 0)

        var modified: Date { Date(timeIntervalSince1970: Double(seconds) + Double(nanoseconds) / 1e9) }
    }

    static func bytes(_ path: String) -> [UInt8] { Array(path.utf8) }

    private static func withPath<Result>(_ path: [UInt8], _ body: (UnsafePointer<CChar>) throws -> Result) rethrows
        -> Result
    {
        try (path.map { CChar(bitPattern: $0) } + [0]).withUnsafeBufferPointer { try body($0.baseAddress!) }
    }

    /// The status of a file or folder, or of a link itself.
    static func status(_ path: [UInt8]) throws(FileProblem) -> Status {
        var found = stat()
        guard withPath(path, { lstat($0, &found) }) == 0 else { throw FileProblem(path) }
        #if canImport(Darwin)
            let time = found.st_mtimespec
        #else
            let time = found.st_mtim
        #endif
        let kind: EntryKind
        switch found.st_mode & S_IFMT {
        case S_IFREG: kind = .file
        case S_IFDIR: kind = .folder
        case S_IFLNK: kind = .link
        default: kind = .other
        }
        return Status(
            kind: kind, size: Int(found.st_size), mode: Int(found.st_mode & 0o7777), seconds: Int(time.tv_sec),
            nanoseconds: Int(time.tv_nsec), device: UInt64(truncatingIfNeeded: found.st_dev),
            node: UInt64(truncatingIfNeeded: found.st_ino))
    }

    /// The names in a folder, in the order of their bytes.
    static func names(_ path: [UInt8]) throws(FileProblem) -> [[UInt8]] {
        guard let folder = withPath(path, { opendir($0) }) else { throw FileProblem(path) }
        defer { closedir(folder) }
        var names: [[UInt8]] = []
        let nameOffset = MemoryLayout<dirent>.offset(of: \.d_name)!
        errno = 0
        while let entry = readdir(folder) {
            let start = (UnsafeRawPointer(entry) + nameOffset).assumingMemoryBound(to: UInt8.self)
            let name = Array(UnsafeBufferPointer(start: start, count: strlen(start)))
            if name != [UInt8(ascii: ".")], name != [UInt8(ascii: "."), UInt8(ascii: ".")] { names.append(name) }
            errno = 0
        }
        guard errno == 0 else { throw FileProblem(path) }
        return names.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// A file's bytes, at most `limit`. Does not follow a link, and does not wait for something that is not a file.
    static func read(_ path: [UInt8], limit: Int) throws(FileProblem) -> [UInt8] {
        let file = withPath(path) { open($0, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC) }
        guard file >= 0 else { throw FileProblem(path) }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: limit)
        var count = 0
        while count < limit {
            let got = bytes.withUnsafeMutableBytes {
                systemRead(file, to: $0.baseAddress! + count, count: limit - count)
            }
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw FileProblem(path) }
            if got == 0 { break }
            count += got
        }
        return Array(bytes[..<count])
    }

    static func target(_ path: [UInt8]) throws(FileProblem) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = bytes.withUnsafeMutableBytes { buffer in
            withPath(path) { readlink($0, buffer.baseAddress!, buffer.count) }
        }
        guard count >= 0 else { throw FileProblem(path) }
        return Array(bytes[..<count])
    }

    // MARK: Changing

    /// Writes a file, and replaces its contents if it exists.
    static func write(_ path: [UInt8], _ bytes: [UInt8]) throws(FileProblem) {
        let file = withPath(path) { open($0, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o644) }
        guard file >= 0 else { throw FileProblem(path) }
        defer { close(file) }
        var count = 0
        while count < bytes.count {
            let put = bytes.withUnsafeBytes {
                systemWrite(file, from: $0.baseAddress! + count, count: bytes.count - count)
            }
            if put < 0, errno == EINTR { continue }
            guard put >= 0 else { throw FileProblem(path) }
            count += put
        }
    }

    static func setSize(_ path: [UInt8], _ size: Int) throws(FileProblem) {
        guard withPath(path, { truncate($0, off_t(size)) }) == 0 else { throw FileProblem(path) }
    }

    /// Sets the permissions and the modification time of a file or folder; of a link only the time.
    static func setStatus(_ path: [UInt8], _ status: Status) throws(FileProblem) {
        if status.kind != .link { try setMode(path, status.mode) }
        var times = [timespec(), timespec()]
        times[0].tv_sec = time_t(status.seconds)
        times[0].tv_nsec = status.nanoseconds
        times[1] = times[0]
        guard withPath(path, { utimensat(AT_FDCWD, $0, times, AT_SYMLINK_NOFOLLOW) }) == 0 else {
            throw FileProblem(path)
        }
    }

    static func setMode(_ path: [UInt8], _ mode: Int) throws(FileProblem) {
        guard withPath(path, { chmod($0, mode_t(mode)) }) == 0 else { throw FileProblem(path) }
    }

    static func makeFolder(_ path: [UInt8]) throws(FileProblem) {
        guard withPath(path, { mkdir($0, 0o755) }) == 0 else { throw FileProblem(path) }
    }

    static func makeLink(_ path: [UInt8], to target: [UInt8]) throws(FileProblem) {
        guard withPath(path, { path in withPath(target) { symlink($0, path) } }) == 0 else { throw FileProblem(path) }
    }

    static func rename(_ path: [UInt8], to new: [UInt8]) throws(FileProblem) {
        guard withPath(path, { path in withPath(new) { systemRename(path, $0) } }) == 0 else { throw FileProblem(path) }
    }

    /// Removes a file or link, or an empty folder.
    static func remove(_ path: [UInt8]) throws(FileProblem) {
        guard withPath(path, { systemRemove($0) }) == 0 else { throw FileProblem(path) }
    }
}

// System calls that have the same names as functions of the type.
private func systemRead(_ file: Int32, to: UnsafeMutableRawPointer, count: Int) -> Int { read(file, to, count) }
private func systemWrite(_ file: Int32, from: UnsafeRawPointer, count: Int) -> Int { write(file, from, count) }
private func systemRename(_ old: UnsafePointer<CChar>, _ new: UnsafePointer<CChar>) -> Int32 { rename(old, new) }
private func systemRemove(_ path: UnsafePointer<CChar>) -> Int32 { remove(path) }
