import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

/// A disk may lose the write of a sector that it reported as done (stale), or write it to another sector
/// (misdirected). Checksums alone detect neither, because each sector has content that Firn wrote.
@Suite("A stale or misdirected sector is refused or reported, and never read as data", .timeLimit(.minutes(20)))
struct SpoiledSectorTests {
    /// A log of several segments, and what was committed to it.
    private static func make(_ end: [LogScript.Step]) throws -> (script: LogScript, disk: SimulatedDisk) {
        let steps: [LogScript.Step] = [
            .commit([200]), .wait, .commit([70]), .commit([5]), .wait, .mark, .commit([900]), .wait,
            .abort([3000, 3000]), .commit([5000, 20]), .commit([10]), .wait, .close,
            .open, .commit([30]), .wait, .commit([9000]), .wait, .commit([8]), .wait, .commit([600]), .wait,
        ]
        var traits = DiskTraits()
        traits.remembersSectors = true
        let disk = SimulatedDisk(seed: 1, traits: traits)
        let script = LogScript(steps + end) { $0.segmentByteCount = 8192 }
        if let error = script.run(on: disk.newProcess()) { throw error }
        return (script, disk)
    }

    /// Opens the log on a spoiled disk. Returns whether an acknowledged commit is missing and this was not reported.
    private func losesSilently(_ script: LogScript, disk: SimulatedDisk, context: String) throws -> Bool {
        let log: Log
        do throws(LogError) {
            log = try Log.open(
                script.options, storage: disk.newProcess(), clock: ManualClock(),
                randomness: SeededRandomness(seed: 2))
        } catch {
            if case .storage = error.code { Issue.record("\(context): \(error)") }
            return false
        }
        let last = log.recovery.lastVersion
        let acknowledged = script.acknowledged
        // All data that is shown was committed.
        script.acknowledged = min(last, acknowledged)
        defer { script.acknowledged = acknowledged }
        try script.check(log, context)
        return last < acknowledged && log.recovery.outcome == .clean
    }

    private func spoilEach(_ end: [LogScript.Step]) throws -> (silent: [String], tried: Int) {
        let (script, disk) = try Self.make(end)
        var silent: [String] = []
        let tried = try disk.forEachDamagedSector { spoiled, context in
            if try losesSilently(script, disk: spoiled, context: context) { silent.append(context) }
        }
        return (silent, tried)
    }

    @Test("in a store that was closed") func closed() throws {
        let found = try spoilEach([.close])
        #expect(found.silent == [])
        #expect(found.tried > 600)
    }

    @Test("in a store that was not closed") func open() throws {
        let found = try spoilEach([])
        #expect(found.silent == [])
        #expect(found.tried > 600)
    }
}
