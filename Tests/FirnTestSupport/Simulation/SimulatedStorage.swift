import FirnStorage

/// One process's view of a `SimulatedDisk`, and the means to make its calls fail.
///
/// To stop a script between any two calls, run it once and read `callCount`, then run it once for each n below that
/// with `crashAt = n`. The n-th call and all later ones throw an error whose `isSimulatedStop` is true. If that call
/// is a write, the seed decides how much of it has reached the page cache. `disk.powerOff()` or another process of
/// the same disk then shows what is left.
public final class SimulatedStorage: Storage, CustomStringConvertible {
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
            for (owner, node) in locks { node.locks.unlockAll(by: owner) }
            locks.removeAll()
        }
    }

    /// What happens to a call.
    enum Verdict {
        case proceed
        case fail(StorageError, SimulatedFault.Residue)
        case stop
    }

    public let disk: SimulatedDisk
    nonisolated(unsafe) let process: Process

    init(_ disk: SimulatedDisk, _ process: Process) {
        self.disk = disk
        self.process = process
    }

    /// The first process of a new disk.
    public convenience init(seed: UInt64, capacity: Int? = nil) {
        let disk = SimulatedDisk(seed: seed, capacity: capacity)
        self.init(disk, disk.newProcess().process)
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

    /// Counts an access to shared memory, at which the process may stop. True if it still runs.
    func countSharedMemoryAccess() -> Bool {
        let (number, hook) = disk.guarded.withLock { _ in
            defer { process.accessCount += 1 }
            if let crashAt = process.crashAtAccess, process.accessCount >= crashAt, !process.isStopped {
                process.stop()
            }
            return (process.accessCount, process.beforeAccess)
        }
        hook?(number)
        return disk.guarded.withLock { _ in !process.isStopped }
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

    /// Counts and records a call, which then proceeds, fails or is the process's last one.
    func call<Result>(
        _ operation: SimulatedCall.Operation, _ path: String, at offset: Int = 0, length: Int = 0,
        residue body: (inout SimulatedDisk.State, Verdict) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        let (call, hook) = try disk.guarded.withLock { (_) throws(StorageError) in
            guard !process.isStopped else { throw StorageError.stop(path) }
            let call = SimulatedCall(
                process: process.number, index: process.callCount, operation: operation, path: path, offset: offset,
                length: length)
            process.callCount += 1
            return (call, process.beforeCall)
        }
        hook?(call)
        return try disk.guarded.withLock { (state) throws(StorageError) in
            guard !process.isStopped else { throw StorageError.stop(path) }
            let index = state.trace.count
            state.trace.append(call)
            defer { state.traceHash.add(state.trace[index]) }
            let verdict = verdict(on: call)
            do throws(StorageError) {
                let result = try body(&state, verdict)
                if case .stop = verdict { throw StorageError.stop(path) }
                return result
            } catch {
                state.trace[index].error = error.code
                throw error
            }
        }
    }

    /// Like `call(residue:)`, for changes that happen completely or not at all. If one fails, its residue says
    /// whether it took effect all the same.
    func change<Result>(
        _ operation: SimulatedCall.Operation, _ path: String, at offset: Int = 0,
        _ body: (inout SimulatedDisk.State) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        try call(operation, path, at: offset) { (state, verdict) throws(StorageError) in
            switch verdict {
            case .proceed: return try body(&state)
            case .fail(let error, let residue):
                if residue == .all { _ = try body(&state) }
                throw error
            case .stop: throw StorageError.stop(path)
            }
        }
    }

    /// Like `call(residue:)`, for calls that happen completely or not at all.
    func call<Result>(
        _ operation: SimulatedCall.Operation, _ path: String, at offset: Int = 0, length: Int = 0,
        _ body: (inout SimulatedDisk.State) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        try call(operation, path, at: offset, length: length) { (state, verdict) throws(StorageError) in
            switch verdict {
            case .proceed: return try body(&state)
            case .fail(let error, _): throw error
            case .stop: throw StorageError.stop(path)
            }
        }
    }

    private func verdict(on call: SimulatedCall) -> Verdict {
        if process.crashAt.map({ call.index >= $0 }) ?? false || process.crashBefore?(call) ?? false {
            process.stop()
            return .stop
        }
        for index in process.faults.indices
        where process.faults[index].remaining > 0 && process.faults[index].applies(call) {
            process.faults[index].remaining -= 1
            process.faultCount += 1
            let fault = process.faults[index]
            let error = StorageError(
                fault.code, operation: call.operation.rawValue, path: call.path, number: fault.number)
            return .fail(error, fault.residue)
        }
        return .proceed
    }
}
