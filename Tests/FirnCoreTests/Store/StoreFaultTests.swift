import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// When its storage fails, a store keeps what was acknowledged, readers continue, and the error says what happened.
@Suite(.timeLimit(.minutes(20))) struct StoreFaultTests {
    private func prepared(_ storage: SimulatedStorage, _ change: (inout LogOptions) -> Void = { _ in }) throws -> (
        StoreScript, Store
    ) {
        let script = StoreScript([.commit(StoreScript.schema), .commit(StoreScript.create(0, 8)), .reopen]) {
            $0.segmentByteCount = 64 << 10
            change(&$0)
        }
        // The run closes the store at its end.
        if let error = script.run(on: storage) { throw error }
        return (script, try StoreScript.open(script.options, storage))
    }

    private static func isSegmentWrite(_ call: SimulatedCall) -> Bool {
        call.operation == .write && call.path.hasSuffix("segment")
    }

    @Test(arguments: [300, 2_300_000]) func aDiskThatFillsDuringACommitFailsOnlyThatTransaction(byteCount: Int) throws {
        for residue in [SimulatedFault.Residue.nothing, .some, .all] {
            let storage = SimulatedStorage(seed: 3)
            let (script, store) = try prepared(storage)
            let before = script.oracle
            let nodes = store.heap.nodeCount
            let transaction = try store.beginWrite()
            try StoreScript.blob(byteCount)(script, transaction)
            storage.inject(SimulatedFault(.noSpace, number: 28, residue: residue, times: 2, when: Self.isSegmentWrite))
            #expect(logCode { try transaction.commit() } == .diskFull)
            #expect(store.heap.nodeCount == nodes)
            storage.removeFaults()
            script.oracle = before
            try script.check(store, "after a full disk")
            // The store continues with the same version number.
            let next = try store.beginWrite()
            try StoreScript.set(0, 3)(script, next)
            #expect(try next.commit().number == 3)
            let fault = script.oracle.check(store.pin().snapshot, "after the next commit")
            #expect(fault == nil)
            let again = try StoreScript.open(script.options, storage.disk.afterPowerCut(seed: 1, .nothing).newProcess())
            let lost = script.oracle.check(again.pin().snapshot, "after a power cut")
            #expect(lost == nil)
        }
    }

    /// The reserve allows objects to be deleted, in one part or many.
    @Test(arguments: [2000, 1_200_000]) func aFullDiskStillAcceptsADeletion(byteCount: Int) throws {
        let storage = SimulatedStorage(seed: 3)
        let (script, store) = try prepared(storage) {
            $0.reserveByteCount = 4 << 20
            $0.durability = .none  // no log space is preallocated
        }
        let transaction = try store.beginWrite()
        try StoreScript.blob(byteCount)(script, transaction)
        try transaction.commit()
        #expect(try storage.status("/store/reserve") != nil)
        storage.disk.capacity = storage.disk.usedByteCount + 64
        #expect(
            logCode {
                let transaction = try store.beginWrite()
                transaction.set(
                    TableID(0), column: 3, key: script.oracle.keys[0][1],
                    to: .string(String(repeating: "x", count: 900)))
                try transaction.commit()
            } == .diskFull)
        // Deletes the object with the long value, whose old value is in the changeset.
        let key = script.oracle.keys[0][0]
        let deleting = try store.beginWrite()
        deleting.delete(TableID(0), key)
        script.oracle.delete(0, key)
        try deleting.commit()
        #expect(try storage.status("/store/reserve") == nil)
        let fault = script.oracle.check(store.pin().snapshot, "after deleting")
        #expect(fault == nil)
        try store.close()
        storage.disk.capacity = nil
        let again = try StoreScript.open(script.options, storage)
        let lost = script.oracle.check(again.pin().snapshot, "after reopening")
        #expect(lost == nil)
    }

    /// What counts is the whole transaction, not one of its tables.
    @Test func aTransactionThatAddsMoreThanItDeletesLeavesTheReserve() throws {
        let storage = SimulatedStorage(seed: 3)
        let (script, store) = try prepared(storage) {
            $0.reserveByteCount = 4 << 20
            $0.durability = .none  // no log space is preallocated
        }
        storage.disk.capacity = storage.disk.usedByteCount + 64
        func change(deleting: Int, creating: Int) throws {
            let transaction = try store.beginWrite()
            try StoreScript.delete(0, deleting)(script, transaction)
            try StoreScript.create(1, creating)(script, transaction)
            try transaction.commit()
        }
        let before = script.oracle
        for (deleting, creating) in [(1, 3), (1, 4)] {
            #expect(logCode { try change(deleting: deleting, creating: creating) } == .diskFull)
            script.oracle = before
            #expect(try storage.status("/store/reserve") != nil)
        }
        try change(deleting: 3, creating: 2)
        #expect(try storage.status("/store/reserve") == nil)
        let fault = script.oracle.check(store.pin().snapshot, "after a transaction that deletes more than it adds")
        #expect(fault == nil)
    }

    @Test func aFailedSyncLeavesTheOutcomeUnknownAndReadersAtThePublishedVersion() throws {
        for residue in [SimulatedFault.Residue.nothing, .some, .all] {
            let storage = SimulatedStorage(seed: 11)
            let (script, store) = try prepared(storage)
            let published = script.oracle
            let held = store.pin()
            let transaction = try store.beginWrite()
            try StoreScript.set(0, 3)(script, transaction)
            storage.inject(SimulatedFault(.io, residue: residue) { $0.operation == .sync })
            #expect(logCode { try transaction.commit() } == .unknownOutcome(version: 3))
            #expect(store.publishedVersion == 2)
            for pin in [held, store.pin()] {
                let fault = published.check(pin.snapshot, "a reader")
                #expect(fault == nil)
            }
            #expect(logCode { _ = try store.beginWrite() } == .unknownOutcome(version: 3))
            #expect(logCode { try store.waitUntilPublished(3) } == .unknownOutcome(version: 3))
            store._checkInvariants()
            try store.close()
            // Reopening decides the outcome. Then the power fails, and the outcome still holds.
            let again = try StoreScript.open(script.options, storage.disk.newProcess())
            let expected = again.publishedVersion == 3 ? script.oracle : published
            let fault = expected.check(again.pin().snapshot, "reopened")
            #expect(fault == nil)
            let later = try StoreScript.open(script.options, storage.disk.afterPowerCut(seed: 4, .nothing).newProcess())
            #expect(later.publishedVersion == again.publishedVersion)
            let lost = expected.check(later.pin().snapshot, "after a power cut")
            #expect(lost == nil)
        }
    }

    @Test func damageIsRefusedWithItsLocationAndNothingIsChanged() throws {
        let storage = SimulatedStorage(seed: 5)
        let (script, store) = try prepared(storage)
        try store.close()
        let path = "/store/log/0000000001.segment"
        let size = try storage.status(path)!.byteCount
        let file = try storage.open(path, .readWrite)
        var byte: UInt8 = 0
        _ = try withUnsafeMutableBytes(of: &byte) { try file.read(into: $0, at: size / 2) }
        byte ^= 4
        try withUnsafeBytes(of: byte) { try file.write($0, at: size / 2) }
        let names = try storage.list("/store/log")
        let error = #expect(throws: StoreError.self) { try StoreScript.open(script.options, storage) }
        guard case .log(let inner) = error?.code else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(inner.code == .damage && inner.path == path && inner.offset.map { $0 <= size / 2 } == true)
        #expect("\(inner)".contains("firn verify"))
        #expect(try storage.list("/store/log") == names && storage.status(path)!.byteCount == size)
    }
}
