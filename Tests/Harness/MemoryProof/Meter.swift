import FirnCore
import FirnStorage
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Prints the time and the memory that each step took.
///
/// A thread measures the process's memory every 10 ms. `resident` and `own` are the highest values that it has
/// measured.
final class Meter: Sendable {
    private let folder: String
    private let resident = Atomic<Int>(0)
    private let own = Atomic<Int>(0)

    init(folder: String) {
        self.folder = folder
        print(line("", "s", "resident", "own", "heap", "files"))
        do {
            try StorageThread.start(name: "meter") { [self] in
                while true {
                    measure()
                    sleepThread(nanoseconds: 10_000_000)
                }
            }
        } catch { fail("the measuring thread does not start: \(error)") }
    }

    func step(_ name: String, store: Store, _ body: () throws -> Void) throws {
        try timed(name, store: { store }, body)
    }

    func opening(_ name: String, _ body: () throws -> Store) throws -> Store {
        var store: Store?
        try timed(name, store: { store }) { store = try body() }
        guard let store else { fail("no store was opened") }
        return store
    }

    private func timed(_ name: String, store: () -> Store?, _ body: () throws -> Void) throws {
        resident.store(0, ordering: .relaxed)
        own.store(0, ordering: .relaxed)
        let start = SystemClock.shared.monotonic()
        try body()
        let time = Double(SystemClock.shared.monotonic() - start) / 1e9
        measure()
        let tenths = Int(time * 10)
        print(
            line(
                name, "\(tenths / 10).\(tenths % 10)", mebibytes(resident.load(ordering: .relaxed)),
                mebibytes(own.load(ordering: .relaxed)), mebibytes(store()?.heap.byteCount ?? 0), mebibytes(fileBytes())
            ))
        fflush(nil)
        if let failure = store()?.compactionFailure { throw failure }
    }

    private func measure() {
        resident.max(Self.status("VmRSS:"), ordering: .relaxed)
        own.max(Self.status("RssAnon:"), ordering: .relaxed)
    }

    /// A value of /proc/self/status, in bytes.
    private static func status(_ name: String) -> Int {
        let descriptor = open("/proc/self/status", O_RDONLY)
        guard descriptor >= 0 else { return 0 }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 8192)
        let count = read(descriptor, &bytes, bytes.count)
        for line in bytes[..<max(count, 0)].split(separator: 10) {
            let words = String(decoding: line, as: UTF8.self).split { $0 == " " || $0 == "\t" }
            if words.first == Substring(name), words.count > 1, let number = Int(words[1]) { return number << 10 }
        }
        return 0
    }

    /// The allocated bytes of all files in the folder.
    private func fileBytes() -> Int {
        func total(_ path: String) -> Int {
            guard let status = try? PosixStorage.shared.status(path) else { return 0 }
            guard status.kind == .folder else { return status.allocatedByteCount }
            return ((try? PosixStorage.shared.list(path)) ?? []).reduce(0) { $0 + total(path + "/" + $1) }
        }
        return total(folder)
    }

    private func mebibytes(_ byteCount: Int) -> String { String((byteCount + 1 << 19) >> 20) }

    private func line(_ name: String, _ figures: String...) -> String {
        var line = name + String(repeating: " ", count: max(0, 44 - name.count))
        for figure in figures { line += String(repeating: " ", count: max(1, 10 - figure.count)) + figure }
        return line
    }
}
