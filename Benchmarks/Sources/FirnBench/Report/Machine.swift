import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// What a reader must know about the machine to judge a figure.
enum Machine {
    static func line(folder: String) -> String {
        var name = utsname()
        uname(&name)
        let information = ProcessInfo.processInfo
        return [
            "\(processor ?? text(name.machine)), \(information.activeProcessorCount) cores",
            "\(information.physicalMemory >> 30) GiB of memory", "\(text(name.sysname)) \(text(name.release))",
            "a system call (getppid) \(Figure.text(systemCall)) ns", "stores on \(fileSystem(of: folder)).",
        ].joined(separator: ", ")
    }

    /// The nanoseconds of the cheapest system call. If that is expensive, so is everything that commits or locks.
    private static var systemCall: Double {
        let calls = 100_000
        var sum = 0
        let time = nanoseconds { for _ in 0..<calls { sum += Int(getppid()) } }
        escape(sum)
        return time / Double(calls)
    }

    static func today() -> String {
        let format = ISO8601DateFormatter()
        return format.string(from: Date())
    }

    private static var processor: String? {
        ProcessFigures.contents(of: "/proc/cpuinfo")?.split(separator: "\n").first { $0.hasPrefix("model name") }?
            .split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) }
    }

    /// The type and the device of the mount that `folder` is on.
    private static func fileSystem(of folder: String) -> String {
        let mounts = ProcessFigures.contents(of: "/proc/self/mounts") ?? ""
        var best = (length: -1, text: "an unknown file system")
        for line in mounts.split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count > 3 else { continue }
            let point = String(fields[1])
            if point == "/" || folder == point || folder.hasPrefix(point + "/"), point.count >= best.length {
                let journal = fields[3].contains("data=") ? ", \(fields[3])" : ""
                best = (point.count, "\(fields[2])\(journal) (\(fields[0]))")
            }
        }
        return best.text
    }

    private static func text<Field>(_ field: Field) -> String {
        withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
