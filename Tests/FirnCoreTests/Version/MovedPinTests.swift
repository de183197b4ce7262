import FirnStorage
import FirnTestSupport
import Foundation
import Testing

@testable import FirnCore

/// A pin that its only holder moves is, in all that anyone sees, a new pin and the end of the old one.
@Suite(.timeLimit(.minutes(20))) struct MovedPinTests {
    @Test func aPinWithoutAnotherReferenceMovesAndFreesItsVersion() throws {
        let store = try CountedThings.open(versions: 1)
        var pin: Pin? = store.pin(at: CallSite("old", 1))
        let identity = pin.map(ObjectIdentifier.init)
        try store.rewriting(1).commit()
        #expect(store.refusal() != nil)
        pin = store.pin(replacing: &pin, at: CallSite("new", 2))
        #expect(pin.map(ObjectIdentifier.init) == identity, "it was moved")
        let moved = try #require(pin)
        #expect(moved.version == 2 && moved.callSite.description == "new:2" && moved.stamp == store.versions.tip.stamp)
        #expect(Store.isRewritten(moved.snapshot, 1))
        let active = store.activeVersions
        #expect(active.map(\.number) == [2] && active[0].holders == 1 && active[0].pinnedAt == ["new:2"])
        #expect(store.heap.nodeCount == store.reachedNodeCount([moved]))
        try store.change()
        store._checkInvariants()
    }

    @Test func aPinWithAnotherReferenceStaysWhereItIs() throws {
        let store = try CountedThings.open()
        var pin: Pin? = store.pin()
        let other = try #require(pin)
        try store.rewriting(1).commit()
        pin = store.pin(replacing: &pin, at: CallSite("new", 2))
        #expect(pin !== other && pin?.version == 2 && other.version == 1)
        #expect(Store.isRewritten(other.snapshot, 7))
        #expect(store.activeVersions.map(\.number) == [1, 2])
        store._checkInvariants()
    }

    @Test func withoutAPinTheNewestVersionIsPinned() throws {
        let store = try CountedThings.open()
        var none: Pin?
        let pin = store.pin(replacing: &none, at: CallSite("new", 2))
        #expect(pin.version == 1 && none == nil)
    }

    /// The old tree goes with the last pin on it, although the version is the same.
    @Test func aPinMovesToTheTreeOfACompaction() throws {
        let store = try CountedThings.open(on: MemoryStorage())
        var pin: Pin? = store.pin()
        try store.compact()
        #expect(pin.map(store.isSuperseded) == true)
        pin = store.pin(replacing: &pin, at: CallSite("new", 2))
        #expect(pin.map(store.isSuperseded) == false && pin?.version == 1)
        #expect(store.activeVersions.map(\.holders) == [1])
        #expect(store.heap.nodeCount == store.reachedNodeCount([]))
        store._checkInvariants()
        pin = nil
        try store.close()
    }

    @Test func aTransactionBeginsOnThePinOfItsOnlyHolder() throws {
        let store = try CountedThings.open()
        var pin: Pin? = store.pin(at: CallSite("old", 1))
        var transaction = try store.beginWrite(replacing: OwnPin(&pin), at: CallSite("write", 2))
        #expect(transaction.base === pin && pin?.callSite.description == "write:2")
        #expect(store.activeVersions.map(\.pinnedAt) == [["write:2"]])
        transaction.cancel()
        // With another reference, or on an older version, it begins on a pin of its own.
        do {
            let other = pin
            transaction = try store.beginWrite(replacing: OwnPin(&pin), at: CallSite("write", 3))
            #expect(transaction.base !== pin && pin?.callSite.description == "write:2")
            transaction.set(CountedThings.table, column: 1, key: 0, to: .int(5))
            try transaction.commit()
            withExtendedLifetime(other) {}
        }
        transaction = try store.beginWrite(replacing: OwnPin(&pin), at: CallSite("write", 4))
        #expect(transaction.base !== pin && transaction.base.version == 2 && pin?.version == 1)
        #expect(store.activeVersions.map(\.pinnedAt) == [["write:2"], ["write:4"]])
        transaction.cancel()
        store._checkInvariants()
    }

    /// A transaction that waits for a holder goes on once the holder has moved its pin.
    @Test func aMovedPinWakesAWaitingTransaction() throws {
        let store = try CountedThings.open(versions: 1, policy: .wait(seconds: 600))
        var pin: Pin? = store.pin()
        try store.change()
        let done = DispatchSemaphore(value: 0)
        nonisolated(unsafe) var failure: (any Error)?
        Thread.detachNewThread {
            do { try store.change() } catch { failure = error }
            done.signal()
        }
        store.awaitWaiters(1)
        pin = store.pin(replacing: &pin, at: CallSite("new", 2))
        #expect(done.wait(timeout: .testTimeout) == .success && failure == nil)
        #expect(store.publishedVersion == 3 && pin?.version == 2)
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>) func movesAndPinsInAnyOrderCountWhatIsHeld(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let store = try CountedThings.open(on: MemoryStorage())
        var pins: [Pin?] = []
        /// What each version has as the count of thing 0.
        var content: [UInt64: Int64] = [1: 0]
        for step in 0..<600 {
            switch random.below(10) {
            case 0...2:
                let value = Int64(step)
                try store.change(0, to: value)
                content[store.publishedVersion] = value
            case 3, 4: pins.append(store.pin())
            case 5 where !pins.isEmpty: pins.remove(at: random.below(pins.count))
            case 6 where !pins.isEmpty:
                let index = random.below(pins.count)
                pins.append(pins[index]?.again())
            case 7 where random.below(6) == 0: try store.compact()
            default:
                guard !pins.isEmpty else { continue }
                let index = random.below(pins.count)
                let isShared = random.below(3) == 0
                let other = isShared ? pins[index] : nil
                pins[index] = store.pin(replacing: &pins[index], at: CallSite("moved", UInt(step)))
                withExtendedLifetime(other) {}
                #expect(pins[index]?.version == store.publishedVersion)
            }
            for pin in pins {
                let pin = try #require(pin)
                let found = pin.snapshot.table(CountedThings.table).value(1, of: 0)
                guard found == content[pin.version].map(Value.int) else {
                    Issue.record("seed \(seed), step \(step): version \(pin.version) shows another's data")
                    return
                }
            }
            let held = Set(pins.compactMap { $0?.version }).union([store.publishedVersion])
            #expect(store.activeVersions.map(\.number) == held.sorted(), "seed \(seed), step \(step)")
            #expect(store.activeVersions.reduce(0) { $0 + $1.holders } == pins.count)
            if step % 50 == 0 {
                store._checkInvariants()
                store.versions.checkCounts()
            }
        }
        pins = []
        #expect(store.heap.nodeCount == store.reachedNodeCount([]))
        try store.close()
    }
}
