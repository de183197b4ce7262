import FirnCore
import FirnLog
import FirnStorage
import FirnTestSupport

extension Simulation {
    /// Makes a call of the store's API for a process.
    ///
    /// Returns nil if the call failed for a cause that this run has given. The process may then have ended.
    ///
    /// - Parameters:
    ///   - version: the version that the call tries to commit.
    ///   - mayMiss: whether the requested past version may have been released. Evaluated after the call, because
    ///     others commit while it is suspended.
    @discardableResult
    func perform<Result>(
        _ process: SimulatedProcess, attempting version: UInt64? = nil, mayMiss: @autoclosure () -> Bool = false,
        _ body: () throws -> Result
    ) throws -> Result? {
        guard let storage = process.storage else { return nil }
        let faults = storage.faultCount
        let changes = capacityChanges
        process.isBusy = true
        let outcome = Swift.Result { try body() }
        process.isBusy = false
        report.faults += storage.faultCount - faults
        // After a failed write or sync, all further writes of the process fail.
        if storage.faultCount > faults { process.hasFailed = true }
        if let failure = process.failure {
            process.failure = nil
            throw failure
        }
        switch outcome {
        case .success(let result):
            // The call did not notice the end of its process. Nothing that it did after that has reached others.
            if storage.isStopped {
                end(process)
                return nil
            }
            if version != nil { process.lockedCount = 0 }
            return result
        case .failure(let error):
            if storage.isStopped {
                end(process)
                return nil
            }
            recordStep("the call of process \(process.number) fails: \(error)")
            try judge(
                error, process: process, hadFault: storage.faultCount > faults, version: version, mayMiss: mayMiss(),
                // The capacity may have changed while the call was suspended.
                mayBeFull: disk.capacity != nil || capacityChanges != changes)
            return nil
        }
    }

    /// Throws if the run has given no cause for an error.
    private func judge(
        _ error: any Error, process: SimulatedProcess, hadFault: Bool, version: UInt64?, mayMiss: Bool,
        mayBeFull: Bool
    ) throws {
        let code: StoreError.Code
        switch error {
        case let error as StoreError: code = error.code
        case let error as LogError: code = .log(error)
        default: throw error
        }
        var isExplained = false
        switch code {
        case .damage, .primaryKeyTaken, .schema, .schemaChangedElsewhere, .limit, .unsupported, .readOnly,
            .versionNotYet, .closed:
            isExplained = false
        case .tooManyActiveVersions: isExplained = process.limitsVersions
        case .versionNotRetained: isExplained = mayMiss
        case .log(let error):
            switch error.code {
            case .replaced: isExplained = process.isReplaced
            case .damage, .notAStore, .foreignFolder, .newerFormat, .networkFileSystem, .forked, .closed, .tooLarge,
                .readOnly, .tooManyProcesses, .key:
                // Before the first durable commit the store may not exist.
                isExplained = error.code == .notAStore && process.isReadOnly && ledger.durable == 0
            case .locked:
                // A process that has released the lock leaves it to the others for 2 ms, even if they have ended
                // meanwhile.
                clock.advance(by: 3_000_000)
                let isAlone = !processes.contains { $0 !== process && ($0.store != nil || $0.isBusy) }
                process.lockedCount = isAlone ? process.lockedCount + 1 : 0
                isExplained = process.lockedCount < 4
            case .diskFull:
                isExplained = hadFault || mayBeFull || process.hasFailed
                if let version { ledger.withdraw(version) }
            case .unknownOutcome:
                isExplained = hadFault || process.hasFailed || mayBeFull
                process.hasFailed = true
            case .versionNotHere: isExplained = mayMiss || hadFault
            case .storage(let inner):
                isExplained =
                    hadFault || process.hasFailed || mayBeFull
                    || inner.code == .notFound && process.isReadOnly && ledger.durable == 0
            }
        }
        if !isExplained { throw fail("a call of process \(process.number) failed without a cause: \(error) (\(code))") }
    }
}
