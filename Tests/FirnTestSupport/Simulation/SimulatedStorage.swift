import FirnStorage

/// One process's view of a `SimulatedDisk`, and the means to make its calls fail.
///
/// To stop a script between any two calls, run it once and read `callCount`, then run it once for each n below that
/// with `crashAt = n`. The n-th call and all later ones throw an error whose `isSimulatedStop` is true. If that call
/// is a write, the seed decides how much of it has reached the page cache. `disk.powerOff()` or another process of
/// the same disk then shows what is left.
public final class SimulatedStorage: SimulatedNames, Storage, CustomStringConvertible, @unchecked Sendable {
    /// What the disk knows about a process. Guarded by the disk's lock.
    final class Process {
        let number: Int
        var callCount = 0
        var crashAt: Int?
        var crashBefore: (@Sendable (SimulatedCall) -> Bool)?
        var isStopped = false
        var faults: [SimulatedFault] = []
        /// How many calls have failed because of an injected fault.
        var faultCount = 0
        var locks: [LockTable.Owner: SimulatedNode] = [:]
        var beforeCall: (@Sendable (SimulatedCall) -> Void)?
        /// How often the process has accessed its shared memory; see `crashAtAccess`.
        var accessCount = 0
        var crashAtAccess: Int?
        var beforeAccess: (@Sendable (Int) -> Void)?

        init(number: Int) {
            self.number = number
        }

        func stop() {
            isStopped = true
            for (owner, node) in locks {
                node.locks.unlockAll(by: owner)
                node.folderLock.unlockAll(by: owner)
            }
            locks.removeAll()
        }
    }

    /// What happens to a call.
    enum Verdict {
        case proceed
        case fail(StorageError, SimulatedFault.Residue)
        case stop
    }

    init(_ disk: SimulatedDisk, _ process: Process) {
        super.init(disk, process, folder: nil, folderPath: nil)
    }

    /// The first process of a new disk.
    public convenience init(seed: UInt64, capacity: Int? = nil) {
        let disk = SimulatedDisk(seed: seed, capacity: capacity)
        self.init(disk, disk.newProcess().process)
    }

    public func list(_ path: String) throws(StorageError) -> [String] {
        try call(.list, path: path) { (state) throws(StorageError) in
            // Sorted, so that a run is reproducible.
            try tree(state).existingFolder(path, "list").children!.keys.sorted()
        }
    }

    public func syncFolder(_ path: String) throws(StorageError) {
        try syncNames(path) { (state) throws(StorageError) in try tree(state).existingFolder(path, "sync of a folder") }
    }

    public func volume(of path: String) throws(StorageError) -> Volume {
        try call(.volume, path: path) { (state) throws(StorageError) in
            _ = try tree(state).existing(path, "status of the volume")
            return state.currentVolume
        }
    }

    /// How many calls this process has made.
    public var callCount: Int { disk.guarded.withLock { _ in process.callCount } }

    /// The call at which the process stops, counted from 0; nil to let it run.
    public var crashAt: Int? {
        get { disk.guarded.withLock { _ in process.crashAt } }
        set { disk.guarded.withLock { _ in process.crashAt = newValue } }
    }

    /// Stops the process at the first call for which `predicate` is true, as `crashAt` does; nil to let the process
    /// run.
    ///
    /// `predicate` is called with the disk's lock held.
    public func crash(before predicate: (@Sendable (SimulatedCall) -> Bool)?) {
        // As in `removeFaults`.
        let old = disk.guarded.withLock { _ in
            defer { process.crashBefore = predicate }
            return process.crashBefore
        }
        withExtendedLifetime(old) {}
    }

    /// How many of its calls have failed because of an injected fault.
    public var faultCount: Int { disk.guarded.withLock { _ in process.faultCount } }

    /// How often this process has accessed its shared memory, or was about to.
    public var accessCount: Int { disk.guarded.withLock { _ in process.accessCount } }

    /// The access to shared memory before which the process stops, counted from 0; nil to let it run.
    ///
    /// Firn asks for the shared page's bytes again for each word, so this stops a process between any two stores to
    /// the page.
    public var crashAtAccess: Int? {
        get { disk.guarded.withLock { _ in process.crashAtAccess } }
        set { disk.guarded.withLock { _ in process.crashAtAccess = newValue } }
    }

    /// Runs `body` on the calling thread before each access to shared memory, with the number of the access. The
    /// thread may hold locks of the store.
    public func beforeEachAccess(_ body: (@Sendable (Int) -> Void)?) {
        let old = disk.guarded.withLock { _ in
            defer { process.beforeAccess = body }
            return process.beforeAccess
        }
        withExtendedLifetime(old) {}
    }

    /// Whether the process was killed, has reached `crashAt`, or its disk has lost power.
    public var isStopped: Bool { disk.guarded.withLock { _ in process.isStopped } }

    /// Makes calls fail from now on.
    public func inject(_ fault: SimulatedFault) {
        disk.guarded.withLock { _ in process.faults.append(fault) }
    }

    /// Removes all injected faults.
    public func removeFaults() {
        // Released outside the lock: they may hold the last reference to a handle, whose deinit takes the lock.
        let old = disk.guarded.withLock { _ in
            defer { process.faults = [] }
            return process.faults
        }
        withExtendedLifetime(old) {}
    }

    /// Runs `body` on the calling thread before each call, without any lock: to delay a sync, or to let another
    /// process act just then.
    public func beforeEachCall(_ body: (@Sendable (SimulatedCall) -> Void)?) {
        // As in `removeFaults`.
        let old = disk.guarded.withLock { _ in
            defer { process.beforeCall = body }
            return process.beforeCall
        }
        withExtendedLifetime(old) {}
    }

    public var description: String { disk.description }
}
