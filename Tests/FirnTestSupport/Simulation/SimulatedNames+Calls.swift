import FirnStorage

/// How a call is counted, and decided.
extension SimulatedNames {
    /// Counts and records a call, which then proceeds, fails or is the process's last one.
    func call<Result>(
        _ operation: SimulatedCall.Operation, _ path: String, at offset: Int = 0, length: Int = 0,
        residue body: (inout SimulatedDisk.State, SimulatedStorage.Verdict) throws(StorageError) -> Result
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
        _ operation: SimulatedCall.Operation, path: String, at offset: Int = 0,
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
        _ operation: SimulatedCall.Operation, path: String, at offset: Int = 0, length: Int = 0,
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

    private func verdict(on call: SimulatedCall) -> SimulatedStorage.Verdict {
        if process.crashAt.map({ call.index >= $0 }) ?? false || process.crashBefore?(call) ?? false {
            process.stop()
            return .stop
        }
        return fault(of: call).map { .fail($0.error, $0.residue) } ?? .proceed
    }

    /// The fault that applies to a call, which then counts as one of its calls. The disk's lock is held.
    func fault(of call: SimulatedCall) -> (error: StorageError, residue: SimulatedFault.Residue)? {
        for index in process.faults.indices
        where process.faults[index].remaining > 0 && process.faults[index].applies(call) {
            process.faults[index].remaining -= 1
            process.faultCount += 1
            let fault = process.faults[index]
            let error = StorageError(
                fault.code, operation: call.operation.rawValue, path: call.path, number: fault.number)
            return (error, fault.residue)
        }
        return nil
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
}
