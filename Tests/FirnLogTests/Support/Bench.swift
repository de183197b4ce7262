import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

/// A store on a simulated disk, for tests that damage it.
struct Bench {
    let storage: SimulatedStorage
    var options: LogOptions

    init(seed: UInt64 = 1, capacity: Int? = nil, _ change: (inout LogOptions) -> Void = { _ in }) {
        self.init(SimulatedStorage(seed: seed, capacity: capacity), change)
    }

    init(_ storage: SimulatedStorage, _ change: (inout LogOptions) -> Void = { _ in }) {
        self.storage = storage
        options = LogOptions(folder: "/store", verify: .everything)
        options.usesThreads = false
        options.reserveByteCount = 1024
        options.segmentByteCount = 32 << 10
        change(&options)
    }

    func open(clock: any Clock = ManualClock()) throws(LogError) -> Log {
        try Log.open(options, storage: storage, clock: clock, randomness: SeededRandomness(seed: 1))
    }

    /// The same disk, seen by another process.
    func another() -> Bench { with(storage.disk.newProcess()) }

    /// The disk after a power cut now. `part` is the probability that an unsynced write survives: 1 keeps everything
    /// that was written, 0 only what was synced.
    func afterPowerCut(keeping part: Double, seed: UInt64 = 3) -> Bench {
        with(storage.disk.afterPowerCut(seed: seed, .probability(data: part, names: part)).newProcess())
    }

    private func with(_ storage: SimulatedStorage) -> Bench {
        var other = Bench(storage)
        other.options = options
        return other
    }

    @discardableResult
    func commit(_ log: Log, _ lengths: [Int] = [200]) throws -> UInt64 {
        let version = log.writtenVersion + 1
        try LogScript.commit(log, version: version, lengths)
        return version
    }

    /// Publishes a checkpoint of everything written, and releases the log that it covers, or less of it.
    func publishCheckpoint(_ log: Log, keepingVersionsAfter oldest: UInt64? = nil) throws {
        try log.sealSegment()
        let file = try log.beginCheckpoint(start: 0)
        try [UInt8](repeating: 7, count: 64).withUnsafeBytes { try file.append($0) }
        let version = log.writtenVersion
        try log.publish(
            try file.finish(version: version, time: 0, earlier: [], state: []), keepingVersionsAfter: oldest ?? version)
    }

    func flip(_ path: String, at offset: Int, bit: Int = 0) throws {
        let file = try storage.open(path, .readWrite)
        var byte: UInt8 = 0
        _ = try withUnsafeMutableBytes(of: &byte) { try file.read(into: $0, at: offset) }
        byte ^= 1 << UInt8(bit)
        try withUnsafeBytes(of: byte) { try file.write($0, at: offset) }
        try file.sync()
    }

    /// Replaces the first segment by that of another store, which has other bytes of the same length.
    func takeSegment(of other: Bench, number: Int = 1) throws {
        let path = "/store/log/000000000\(number).segment"
        let (own, theirs) = (try storage.open(path, .readWrite), try other.storage.open(path, .read))
        let bytes = try theirs.read(theirs.size(), at: 0)
        let size = try own.size()
        #expect(try size == bytes.count && own.read(size, at: 0) != bytes)
        try own.write(bytes, at: 0)
    }

    static let segment = "/store/log/0000000001.segment"
}
