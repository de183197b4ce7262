import FirnLog
import FirnSimulation
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// The volume of an open store becomes read-only: somebody mounts it so, or the system does after an error. Commits
/// fail with an error that says so, reading goes on, and nothing that was acknowledged is lost.
@Suite(.timeLimit(.minutes(20))) struct ReadOnlyVolumeTests {
    /// - Parameter syncs: whether syncs still succeed: then everything that was written before is on the disk. If the
    ///   system has made the volume read-only after an error, they fail.
    private static func makeReadOnly(_ storage: SimulatedStorage, syncs: Bool) {
        storage.inject(
            SimulatedFault(.readOnlyFileSystem, number: 30, residue: .nothing, times: .max) { call in
                switch call.operation {
                // A file that is there is opened for reading instead.
                case .lockFile, .sharedMemory: false
                case .sync, .syncFolder: !syncs
                case .tryLock: call.offset == 0 && call.path.hasSuffix("/lock")
                default: call.operation.changesDisk
                }
            })
    }

    /// A store whose last commits are acknowledged and behind its checkpoint.
    private static func open(_ storage: SimulatedStorage, _ durability: Durability) throws -> (StoreScript, Store) {
        let script = StoreScript([
            .commit(StoreScript.schema), .commit(StoreScript.create(0, 8)), .compact(whole: true),
        ]) {
            $0.segmentByteCount = 64 << 10
            $0.durability = durability
        }
        // The run closes the store at its end.
        if let error = script.run(on: storage) { throw error }
        let store = try StoreScript.open(script.options, storage)
        for step in 0..<3 { try script.commit(StoreScript.create(1, 2 + step), to: store) }
        return (script, store)
    }

    private static func expectReadOnly(_ error: StoreError?, _ location: SourceLocation = #_sourceLocation) {
        let text = error.map { "\($0)" } ?? "nothing was thrown"
        #expect(
            text.contains("the file system is mounted read-only") && text.contains("/store")
                && text.contains("mount it for writing"), "\(text)", sourceLocation: location)
    }

    @Test(arguments: [Durability.full, .none, .relaxed(milliseconds: 1000)], [true, false])
    func commitsFailWithTheReasonAndNothingAcknowledgedIsLost(durability: Durability, syncs: Bool) throws {
        let storage = SimulatedStorage(seed: 3)
        let (script, store) = try Self.open(storage, durability)
        let acknowledged = script.acknowledged
        let durable = try #require(store.log?.durableVersion)
        #expect(durability == .full ? durable == acknowledged : durable < acknowledged)
        let held = store.pin()
        Self.makeReadOnly(storage, syncs: syncs)
        let before = script.oracle
        let transaction = try store.beginWrite()
        try StoreScript.set(0, 3)(script, transaction)
        let failure = #expect(throws: StoreError.self) { try transaction.commit() }
        Self.expectReadOnly(failure)
        guard case .log(let inner) = failure?.code else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(inner.code == .unknownOutcome(version: acknowledged + 1))
        let changed = script.oracle
        script.oracle = before

        // Reading goes on.
        #expect(store.publishedVersion == acknowledged)
        for pin in [held, store.pin()] {
            let fault = before.check(pin.snapshot, "a reader of a read-only volume")
            #expect(fault == nil)
        }
        Self.expectReadOnly(#expect(throws: StoreError.self) { _ = try store.beginWrite() })
        Self.expectReadOnly(#expect(throws: StoreError.self) { _ = try store.compact() })
        store._checkInvariants()
        try store.verify()
        try store.close()

        // It can be opened for reading only.
        Self.expectReadOnly(#expect(throws: StoreError.self) { _ = try StoreScript.open(script.options, storage) })
        var reading = script.options
        reading.access = .readOnly
        do {
            let reader = try StoreScript.open(reading, storage)
            // What was never synced is for the next writer to find.
            #expect(reader.publishedVersion >= durable && reader.publishedVersion <= acknowledged)
            let fault = script.versions[reader.publishedVersion]?.check(reader.pin().snapshot, "opened for reading")
            #expect(fault == nil)
            try reader.close()
        } catch {
            // Syncing is the only way to find out what the disk has.
            #expect(!syncs && "\(error)".contains("it can't be determined whether its last bytes are on the disk"))
        }

        // Mounted for writing again, and after a power cut.
        storage.removeFaults()
        for isCut in [false, true] {
            let disk = isCut ? storage.disk.afterPowerCut(seed: 5, .nothing).newProcess() : storage
            let store = try StoreScript.open(script.options, disk)
            #expect(store.publishedVersion >= acknowledged)
            let expected = store.publishedVersion == acknowledged ? before : changed
            let fault = expected.check(store.pin().snapshot, "mounted for writing again")
            #expect(fault == nil)
            let next = try store.beginWrite()
            next.set(TableID(0), column: 0, key: before.keys[0][0], to: .int(77))
            next.cancel()
            try store.compact()
            store._checkInvariants()
            try store.close()
        }
    }

    /// The failure of a checkpoint's file says nothing about the log, so commits go on.
    @Test func aCheckpointThatFailsLeavesTheStoreAsItWas() throws {
        let storage = SimulatedStorage(seed: 3)
        let (script, store) = try Self.open(storage, .full)
        let names = try storage.list("/store/checkpoint")
        for _ in 0..<2 {
            storage.inject(
                SimulatedFault(.readOnlyFileSystem, number: 30, residue: .nothing, times: .max) { call in
                    call.path.contains("/checkpoint/") && call.operation.changesDisk
                })
            Self.expectReadOnly(#expect(throws: StoreError.self) { _ = try store.compact() })
            storage.removeFaults()
            #expect(try storage.list("/store/checkpoint") == names)
            try script.commit(StoreScript.create(1, 2), to: store)
            try script.check(store, "after a failed checkpoint")
        }
        #expect(try store.compact() != nil)
        try script.check(store, "after a checkpoint")
        try store.close()
        let again = try StoreScript.open(script.options, storage.disk.afterPowerCut(seed: 5, .nothing).newProcess())
        try script.check(again, "after a power cut")
        try again.close()
    }

    /// Closing writes what it can: nobody can do anything about the rest, and the next opening replays it.
    @Test(arguments: [Durability.full, .none, .relaxed(milliseconds: 1000)], [true, false])
    func closingEndsAlthoughNothingCanBeWritten(durability: Durability, syncs: Bool) throws {
        let storage = SimulatedStorage(seed: 3)
        let (script, store) = try Self.open(storage, durability)
        let pin = store.pin()
        Self.makeReadOnly(storage, syncs: syncs)
        do throws(StoreError) { try store.close() } catch { Self.expectReadOnly(error) }
        let fault = script.oracle.check(pin.snapshot, "a version of a closed store")
        #expect(fault == nil)
        #expect(throws: StoreError.self) { _ = try store.beginWrite() }
        storage.removeFaults()
        let again = try StoreScript.open(script.options, storage.disk.newProcess())
        try script.check(again, "opened again")
        try again.close()
    }
}
