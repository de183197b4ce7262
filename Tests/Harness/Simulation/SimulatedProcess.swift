import FirnCore
import FirnLog
import FirnStorage
import FirnTestSupport

/// A process of a `Simulation`. After its end, the object stands for the next process with its number.
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
    /// The versions that its program holds.
    var pins: [HeldVersion] = []
    /// The newest version that it has seen.
    var seen: UInt64 = 0
    /// The version that it has committed without waiting, if any.
    var written: UInt64?
    /// Whether one of its writes or syncs has failed. Then it takes no more writes.
    var hasFailed = false
    /// Whether files of the store that it has open were moved, replaced or removed.
    var isReplaced = false
    var limitsVersions = false
    /// How often in a row a call failed because another process writes.
    var lockedCount = 0
    /// Whether it is in the middle of a step. If another process takes a step then, this one is suspended.
    var isBusy = false
    /// The error of a step that another process took while this one was suspended.
    var failure: (any Error)?

    init(_ number: Int) { self.number = number }

    /// Starts a new process.
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
