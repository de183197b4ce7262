import FirnStorage

/// One process's view of a `SimulatedDisk`, and the means to make its calls fail.
///
/// To stop a script between any two calls: run it once and read `callCount`, then once for each n below with `crashAt = n`. The
/// n-th call and all after it throw an error whose `isSimulatedStop` is true (where that call is a write, the seed says how much of it
/// has reached the page cache), and `disk.powerOff()` or another process of the same disk shows what is left.
public final class SimulatedStorage: Storage, CustomStringConvertible {
    /// What the disk knows of a process. Guarded by the disk's lock.
    final class Process {
        let number: Int
        var callCount = 0
        var crashAt: Int?
        var crashBefore: (@Sendable (SimulatedCall) -> Bool)?
        var isStopped = false
        var faults: [SimulatedFault] = []
        /// How many calls have failed by order.
        var faultCount = 0
        var locks: [LockTable.Owner: SimulatedNode] = [:]
        var beforeCall: (@Sendable (SimulatedCall) -> Void)?
        /// How often its shared memory was asked for; see `crashAtAccess`.
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

    /// What befalls a call.
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

    /// The process stops at the first call that `picks` picks, as at `crashAt`. It is called with the disk's lock held; nil to let the process run.
    public func crash(before picks: (@Sendable (SimulatedCall) -> Bool)?) {
        // As in `removeFaults`.
        let old = disk.guarded.withLock { _ in
            defer { process.crashBefore = picks }
            return process.crashBefore
        }
        withExtendedLifetime(old) {}
    }

    /// How many of its calls have failed by order.
    public var faultCount: Int { disk.guarded.withLock { _ in process.faultCount } }

    /// How often this process has been about to touch its shared memory.
    public var accessCount: Int { disk.guarded.withLock { _ in process.accessCount } }

    /// The touch of shared memory before which the process stops, counted from 0; nil to let it run. The store's page is asked for anew for each word, so this stops a process between any two stores.
    public var crashAtAccess: Int? {
        get { disk.guarded.withLock { _ in process.crashAtAccess } }
        set { disk.guarded.withLock { _ in process.crashAtAccess = newValue } }
    }

    /// Runs `body` on the calling thread before each touch of shared memory, with its number. The caller may hold locks of the store's.
    public func beforeEachAccess(_ body: (@Sendable (Int) -> Void)?) {
        let old = disk.guarded.withLock { _ in
            defer { process.beforeAccess = body }
            return process.beforeAccess
        }
        withExtendedLifetime(old) {}
    }

    /// Counts a touch of shared memory, which may be where the process stops. True where it still runs.
    func touchSharedMemory() -> Bool {
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

    /// True once it has been killed, or has met `crashAt`, or its disk has lost the power.
    public var isStopped: Bool { disk.guarded.withLock { _ in process.isStopped } }

    /// Makes calls fail from now on.
    public func inject(_ fault: SimulatedFault) {
        disk.guarded.withLock { _ in process.faults.append(fault) }
    }

    /// Calls fail no more.
    public func removeFaults() {
        // Let go of outside the lock: they may be the last to hold a handle, which takes the lock when it goes.
        let old = disk.guarded.withLock { _ in
            defer { process.faults = [] }
            return process.faults
        }
        withExtendedLifetime(old) {}
    }

    /// Runs `body` on the calling thread before each call, without any lock: to hold a sync up, or to let another process act just then.
    public func beforeEachCall(_ body: (@Sendable (SimulatedCall) -> Void)?) {
        // As in `removeFaults`.
        let old = disk.guarded.withLock { _ in
            defer { process.beforeCall = body }
            return process.beforeCall
        }
        withExtendedLifetime(old) {}
    }

    public var description: String { disk.description }

    /// Counts and records a call and lets it happen, fail or be the last.
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
            let place = state.trace.count
            state.trace.append(call)
            defer { state.traceHash.add(state.trace[place]) }
            let verdict = verdict(on: call)
            do throws(StorageError) {
                let result = try body(&state, verdict)
                if case .stop = verdict { throw StorageError.stop(path) }
                return result
            } catch {
                state.trace[place].error = error.code
                throw error
            }
        }
    }

    /// As `call(residue:)`, for changes that happen wholly or not at all: where one fails, its residue says whether it took effect all the same.
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

    /// As `call(residue:)`, for calls that happen wholly or not at all.
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
