import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

@Suite("Every flipped bit is refused or reported, and never read as data", .timeLimit(.minutes(20)))
struct BitFlipTests {
    /// Opens the store with each bit in turn (every `stride`th) flipped.
    func flipEverything(closing: Bool, sizes: [[Int]], segmentByteCount: Int, keepingPage: Bool, stride step: Int = 1)
        throws
    {
        let storage = MemoryStorage()
        var options = LogOptions(folder: "/store", verify: .everything)
        options.segmentByteCount = segmentByteCount
        options.reserveByteCount = 0
        options.usesThreads = false
        let script = LogScript([])
        do {
            let log = try Log.open(
                options, storage: storage, clock: ManualClock(), randomness: SeededRandomness(seed: 1))
            for (index, parts) in sizes.enumerated() {
                let version = UInt64(index + 1)
                script.lengths[version] = parts
                try LogScript.commit(log, version: version, parts)
                try log.waitUntilDurable(version)
            }
            if closing { try log.close() } else { try log.writeMark() }
            script.acknowledged = UInt64(sizes.count)
            script.begun = script.acknowledged
            let files = ["manifest"] + (try storage.list("/store/log")).map { "log/" + $0 }
            options.access = .readOnly
            if !closing { log.abandon() }
            for name in files.sorted() {
                let file = try storage.open("/store/" + name, .readWrite)
                let size = try file.size()
                for bit in Swift.stride(from: 0, to: size * 8, by: step) {
                    var byte: UInt8 = 0
                    _ = try withUnsafeMutableBytes(of: &byte) { try file.read(into: $0, at: bit / 8) }
                    byte ^= 1 << UInt8(bit % 8)
                    try withUnsafeBytes(of: byte) { try file.write($0, at: bit / 8) }
                    if !keepingPage { try? storage.remove("/store/shared") }
                    do throws(LogError) {
                        let opened = try Log.open(options, storage: storage)
                        // If it opens, the flipped bit was reported, and only committed data is shown.
                        #expect(opened.recovery.outcome != .clean, "bit \(bit) of \(name) was not noticed")
                        do { try script.check(opened, "bit \(bit) of \(name)") } catch { Issue.record("\(error)") }
                        try opened.close()
                    } catch {
                        if case .storage = error.code { Issue.record("bit \(bit) of \(name): \(error)") }
                    }
                    byte ^= 1 << UInt8(bit % 8)
                    try withUnsafeBytes(of: byte) { try file.write($0, at: bit / 8) }
                }
            }
            let intact = try Log.open(options, storage: storage)
            #expect(intact.recovery.outcome == .clean)
        }
    }

    @Test("in a small store that was closed, with the shared page and without", arguments: [true, false])
    func small(keepingPage: Bool) throws {
        try flipEverything(
            closing: true, sizes: [[10], [300], [700, 100]], segmentByteCount: 4096, keepingPage: keepingPage)
    }

    @Test("in a store of two segments that was not closed, including the preallocated space")
    func open() throws {
        try flipEverything(
            closing: false, sizes: [[3900], [400], [20]], segmentByteCount: 4096, keepingPage: true, stride: 7)
    }

    /// `FIRN_SLOW=1 swift test -c release -Xswiftc -enable-testing --filter BitFlip`: about eight million openings.
    @Test("in a store of 1 MB", .enabled(if: getenv("FIRN_SLOW") != nil)) func large() throws {
        let step = getenv("FIRN_SLOW").flatMap { Int(String(cString: $0)) } ?? 1
        try flipEverything(
            closing: true, sizes: Array(repeating: [60_000, 60_000], count: 14), segmentByteCount: 256 << 10,
            keepingPage: false, stride: step)
    }
}

extension Log {
    /// Releases the locks, as the end of the process would.
    func abandon() {
        writer?.maintenance?.stop()
        isClosed.store(true, ordering: .releasing)
        locks.releaseAll()
    }
}
