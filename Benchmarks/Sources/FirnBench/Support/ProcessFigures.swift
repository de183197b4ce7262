#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What the kernel counts for this process.
enum ProcessFigures {
    /// A field of `/proc/self/<file>`, in the units of that file; nil if there is no such file (macOS).
    static func field(_ name: String, of file: String) -> Int? {
        guard let text = contents(of: "/proc/self/" + file) else { return nil }
        for line in text.split(separator: "\n") where line.hasPrefix(name + ":") {
            let digits = line.dropFirst(name.count + 1).drop { $0 == " " || $0 == "\t" }.prefix { $0.isNumber }
            return Int(digits)
        }
        return nil
    }

    static var residentBytes: Int { field("VmRSS", of: "status").map { $0 << 10 } ?? maximumByUsage }

    /// The resident memory that belongs to no file; nil on macOS.
    static var anonymousBytes: Int? { field("RssAnon", of: "status").map { $0 << 10 } }

    /// The most that was resident since `resetPeak()` (since the start of the process on macOS).
    static var peakBytes: Int { field("VmHWM", of: "status").map { $0 << 10 } ?? maximumByUsage }

    /// The bytes passed to write calls so far.
    static var bytesWritten: Int? { field("wchar", of: "io") }

    static func resetPeak() {
        let file = open("/proc/self/clear_refs", O_WRONLY)
        guard file >= 0 else { return }
        _ = write(file, "5", 1)
        close(file)
    }

    private static var maximumByUsage: Int {
        var usage = rusage()
        #if canImport(Glibc)
            getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
            return usage.ru_maxrss << 10
        #else
            getrusage(RUSAGE_SELF, &usage)
            return usage.ru_maxrss
        #endif
    }

    static func contents(of path: String) -> String? {
        let file = open(path, O_RDONLY)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(file, &block, block.count)
            guard count > 0 else { break }
            bytes += block[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
