import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The disk space and memory that a store uses, measured again and again.
struct StoreUse {
    /// Allocated bytes, by purpose.
    struct Files {
        var log = 0
        /// The files of the live checkpoint.
        var checkpoint = 0
        /// The files of earlier checkpoints, which held versions need, and of the one that is being written.
        var held = 0
        /// Files without a name that are still mapped or open, and everything that is neither log nor checkpoint.
        var other = 0
        /// Nodes that were not to be held in memory: scratch files, which have no name.
        var scratch = 0

        /// Everything but the scratch files, which stand for memory.
        var all: Int { log + checkpoint + held + other }
    }

    private let store: Store
    private let path: String
    /// The files at each look, as multiples of the live data after the log's allowance is subtracted: what the newest
    /// version needs, and everything.
    private(set) var needed: [Double] = []
    private(set) var all: [Double] = []
    /// The greatest size of all files that a glance saw, while a checkpoint was being written or not.
    private(set) var peak = 0.0
    /// The files of the look at which they were largest.
    private(set) var worst = Files()
    /// The greatest number of bytes in scratch files at the looks that count files without a name.
    private(set) var scratch = 0
    /// Heap bytes at each look.
    private(set) var heap: [Int] = []
    private(set) var nodes: [Int] = []
    private(set) var versions: [Int] = []
    private var live = 0
    private var looks = 0
    private var lastID: UInt64 = 0
    private(set) var checkpointCount = 0

    init(_ store: Store, _ path: String) {
        self.store = store
        self.path = path
    }

    /// The bytes of a store that holds only the newest version.
    private func measureLive() throws -> Int {
        let storage = MemoryStorage()
        try Store.writeCopy(of: store.pin(), to: "/copy", storage: storage)
        return try storage.list("/copy/checkpoint").reduce(0) {
            $0 + (try storage.status("/copy/checkpoint/" + $1)?.byteCount ?? 0)
        }
    }

    /// The size of the log that the rule allows.
    private var allowance: Int {
        let rule = store.options.compaction.logByteCount
        return max(rule.least, min(live, rule.most))
    }

    mutating func look(_ pins: [Pin]) throws {
        if looks % 60 == 0 { live = try measureLive() }
        let files = try measure(isThorough: looks % 60 == 0)
        looks += 1
        scratch = max(scratch, files.scratch)
        if files.all > worst.all { worst = files }
        needed.append(Double(files.all - files.held - allowance) / Double(live))
        all.append(Double(files.all - allowance) / Double(live))
        heap.append(store.heap.byteCount)
        nodes.append(store.heap.nodeCount)
        versions.append(store.activeVersions.count)
        let id = store.log?.checkpoint?.id ?? 0
        if id != lastID { checkpointCount += 1 }
        lastID = id
        // There are no files but those that a version needs.
        var wanted = Set(store.log?.checkpoint?.files.map(\.id) ?? [])
        for pin in pins { wanted.formUnion(pin.mapping?.files.map(\.id) ?? []) }
        let found = try PosixStorage.shared.list(path + "/checkpoint").map { UInt64($0.prefix(10)) ?? 0 }
        #expect(found.sorted() == wanted.sorted(), "minute \(looks)")
    }

    /// Measures only the files, at any moment.
    mutating func glance() throws {
        guard live > 0 else { return }
        peak = max(peak, Double(try measure(isThorough: false).all - allowance) / Double(live))
    }

    private func measure(isThorough: Bool) throws -> Files {
        var files = Files()
        let live = Set(store.log?.checkpoint?.files.map(\.id) ?? [])
        // A file that is removed meanwhile has no size.
        func size(_ name: String) throws -> Int {
            try PosixStorage.shared.status(path + "/" + name)?.allocatedByteCount ?? 0
        }
        for name in try PosixStorage.shared.list(path) where name != "log" && name != "checkpoint" {
            files.other += try size(name)
        }
        for name in try PosixStorage.shared.list(path + "/log") { files.log += try size("log/" + name) }
        for name in try PosixStorage.shared.list(path + "/checkpoint") {
            let byteCount = try size("checkpoint/" + name)
            if live.contains(UInt64(name.prefix(10)) ?? 0) {
                files.checkpoint += byteCount
            } else {
                files.held += byteCount
            }
        }
        if isThorough {
            let nameless = namelessByteCounts()
            files.other += nameless.other
            files.scratch = nameless.scratch
        }
        return files
    }

    /// Bytes of files below the folder that are mapped or open and no longer have a name.
    private func namelessByteCounts() -> (scratch: Int, other: Int) {
        #if os(Linux)
            var byNode: [String: Int] = [:]
            var scratch = 0
            for line in Self.text(of: "/proc/self/maps").split(separator: "\n")
            where line.hasSuffix("(deleted)") && line.contains(path) {
                let words = line.split(separator: " ")
                let ends = words[0].split(separator: "-").compactMap { Int($0, radix: 16) }
                // The system shows a file that never had a name by its number.
                if line.contains("/#") || line.contains("/scratch.") {
                    scratch += ends[1] - ends[0]
                } else {
                    byNode[String(words[4]), default: 0] += ends[1] - ends[0]
                }
            }
            for name in (try? PosixStorage.shared.list("/proc/self/fd")) ?? [] {
                var link = [CChar](repeating: 0, count: 4096)
                let length = readlink("/proc/self/fd/" + name, &link, link.count - 1)
                let target = String(decoding: link[..<max(length, 0)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
                guard target.hasPrefix(path), target.hasSuffix("(deleted)"), let number = Int32(name) else { continue }
                var status = stat()
                if fstat(number, &status) == 0 { byNode[String(status.st_ino)] = Int(status.st_blocks) * 512 }
            }
            return (scratch, byNode.values.reduce(0, +))
        #else
            return (0, 0)
        #endif
    }

    /// The bytes of this process's pages that are in memory.
    static var residentByteCount: Int {
        let words = text(of: "/proc/self/statm").split(separator: " ")
        return (words.count > 1 ? Int(words[1]) ?? 0 : 0) * 4096
    }

    /// The text of a file of /proc; empty if there is none.
    private static func text(of path: String) -> String {
        let descriptor = open(path, O_RDONLY)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &piece, piece.count)
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += piece[..<count]
        }
    }

    /// Whether the second half of the figures is, on average, less than 1.25 times the first half.
    static func isFlat(_ figures: [Int]) -> Bool {
        let half = figures.count / 2
        let (first, second) = (figures[..<half].reduce(0, +), figures[half...].reduce(0, +))
        return Double(second) / Double(figures.count - half) < 1.25 * Double(first) / Double(half)
    }
}
