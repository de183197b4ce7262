import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// Like the log's `SpoiledSectorTests`, with checkpoints: each sector has content that Firn wrote, but elsewhere or
/// at another time.
@Suite(
    "A stale or misdirected sector of any file is refused or reported, and never read as objects",
    .timeLimit(.minutes(20)))
struct SpoiledSectorTests {
    private static func make(_ traits: DiskTraits) throws -> (script: StoreScript, disk: SimulatedDisk) {
        let disk = SimulatedDisk(seed: 1, traits: traits)
        let script = StoreScript([
            .commit(StoreScript.schema), .commit(StoreScript.create(0, 4)), .commit(StoreScript.create(1, 2)),
            .compact(whole: true), .commit(StoreScript.editLists), .commit(StoreScript.blob(2000)),
            .commit(StoreScript.set(0, 3)), .compact(whole: false), .commit(StoreScript.set(0, 3)),
            .compact(whole: true), .commit(StoreScript.editLists), .reopen, .commit(StoreScript.blob(900)),
            .commit(StoreScript.delete(0, 1)),
        ])
        if let error = script.run(on: disk.newProcess()) { throw error }
        return (script, disk)
    }

    /// Opens the store on a spoiled disk and reads all of it. Returns whether a version is missing and this was not
    /// reported.
    private func losesSilently(_ script: StoreScript, disk: SimulatedDisk, context: String) throws -> Bool {
        let store: Store
        do throws(StoreError) {
            store = try StoreScript.open(script.options, disk.newProcess())
        } catch {
            if case .log(let inner) = error.code, case .storage = inner.code { Issue.record("\(context): \(error)") }
            return false
        }
        let pin = store.pin()
        if let expected = script.versions[pin.version] {
            let fault = expected.check(pin.snapshot, "version \(pin.version)")
            #expect(fault == nil, "\(context)")
            store._checkInvariants()
        } else {
            #expect(pin.version == 0 && pin.snapshot.schema.tables.isEmpty, "\(context)")
        }
        return pin.version < script.acknowledged && store.recovery?.outcome == .clean
    }

    @Test func eachSectorInTurn() throws {
        var traits = DiskTraits()
        traits.remembersSectors = true
        let (script, disk) = try Self.make(traits)
        #expect(
            try disk.filePaths.contains { try $0.hasSuffix(".checkpoint") && !disk.overwrittenSectors(of: $0).isEmpty })
        var silent: [String] = []
        let tried = try disk.forEachDamagedSector { spoiled, context in
            if try losesSilently(script, disk: spoiled, context: context) { silent.append(context) }
        }
        #expect(silent == [])
        #expect(tried > 400)
    }
}
