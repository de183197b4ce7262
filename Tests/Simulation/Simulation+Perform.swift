import FirnCore
import FirnLog
import FirnStorage
import FirnTestSupport

extension Simulation {
    /// Makes a call of the store's API for a process. Nil where it failed for a cause that this run has given; the process may have ended then.
    ///
    /// - Parameters:
    ///   - version: the version that it tries to commit.
    ///   - mayMiss: whether a past version that is asked for may have been let go.
    @discardableResult
    func perform<Result>(
        _ process: SimulatedProcess, attempting version: UInt64? = nil, mayMiss: Bool = false,
        _ body: () throws -> Result
    ) throws -> Result? {
        guard let storage = process.storage else { return nil }
        let faults = storage.faultCount
        process.isBusy = true
        let outcome = Swift.Result { try body() }
        process.isBusy = false
        report.faults += storage.faultCount - faults
        // After a failed write or sync a process is told of it whenever it wants to write.
        if storage.faultCount > faults { process.hasFailed = true }
        if let failure = process.failure {
            process.failure = nil
            throw failure
        }
        switch outcome {
        case .success(let result):
            // It has not noticed: what it did after its end reached nobody.
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
            tell("process \(process.number) is told: \(error)")
            try judge(error, process, hadFault: storage.faultCount > faults, version, mayMiss: mayMiss)
            return nil
        }
    }

    /// Throws where an error has no cause.
    private func judge(
        _ error: any Error, _ process: SimulatedProcess, hadFault: Bool, _ version: UInt64?, mayMiss: Bool
    ) throws {
        let code: StoreError.Code
        switch error {
        case let error as StoreError: code = error.code
        case let error as LogError: code = .log(error)
        default: throw error
        }
        var isExplained = false
        switch code {
        case .damage, .primaryKeyTaken, .schema, .schemaChangedElsewhere, .limit, .readOnly, .versionNotYet, .closed:
            isExplained = false
        case .tooManyActiveVersions: isExplained = process.limitsVersions
        case .versionNotRetained: isExplained = mayMiss
        case .log(let error):
            switch error.code {
            case .damage, .notAStore, .foreignFolder, .newerFormat, .networkFileSystem, .forked, .closed, .tooLarge,
                .readOnly, .tooManyProcesses:
                // Before the first commit the store need not be there.
                isExplained = error.code == .notAStore && process.isReadOnly && ledger.durable == 0
            case .locked:
                // A process that gave the lock up leaves it to the others for 2 ms, whether they still live or not.
                clock.advance(by: 3_000_000)
                let isAlone = !processes.contains { $0 !== process && ($0.store != nil || $0.isBusy) }
                process.lockedCount = isAlone ? process.lockedCount + 1 : 0
                isExplained = process.lockedCount < 4
            case .diskFull:
                isExplained = hadFault || disk.capacity != nil || process.hasFailed
                if let version { ledger.withdraw(version) }
            case .unknownOutcome:
                isExplained = hadFault || process.hasFailed || disk.capacity != nil
                process.hasFailed = true
            case .versionNotHere: isExplained = mayMiss || hadFault
            case .storage(let inner):
                isExplained =
                    hadFault || process.hasFailed || disk.capacity != nil
                    || inner.code == .notFound && process.isReadOnly && ledger.durable == 0
            }
        }
        if !isExplained { throw fail("process \(process.number) was told without a cause: \(error) (\(code))") }
    }
}
