import FirnCore
import FirnLog
import FirnStorage
import FirnTestSupport

/// A process of a `Simulation`, and after its end the next one with its number.
final class SimulatedProcess {
    struct HeldVersion {
        let pin: Pin
        let number: UInt64
        let content: Oracle
    }

    let number: Int
    private(set) var storage: SimulatedStorage!
    var store: Store?
    var isReadOnly = false
    var durability = Durability.full
    /// Versions that its program holds.
    var pins: [HeldVersion] = []
    /// The newest version that it has seen.
    var seen: UInt64 = 0
    /// What it has written and not waited for.
    var written: UInt64?
    /// Whether one of its writes or syncs has failed: it writes no more.
    var hasFailed = false
    var limitsVersions = false
    /// How often in a row it was told that another writes.
    var lockedCount = 0
    /// Whether it is in the middle of a step: suspended, if somebody else looks.
    var isBusy = false
    /// What went wrong while it was suspended.
    var failure: (any Error)?

    init(_ number: Int) { self.number = number }

    /// A new process.
    func begin(on disk: SimulatedDisk) {
        storage = disk.newProcess()
        hasFailed = false
        lockedCount = 0
        seen = 0
        written = nil
        pins = []
    }

    func end() {
        pins = []
        store = nil
        written = nil
        storage?.beforeEachCall(nil)
        storage = nil
    }

    func dropPin(_ index: Int) { if index < pins.count { pins.remove(at: index) } }
}
