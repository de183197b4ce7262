import FirnCore
import FirnStorage
import Foundation

/// Identifies an asynchronous write or commit of a realm, to cancel it: see ``Realm/cancelAsyncWrite(_:)``.
public typealias AsyncTransactionId = UInt32

extension Realm {
    // MARK: Tasks

    /// Runs `block` in a write transaction and commits it, for tasks: suspends where
    /// ``write(withoutNotifying:_:file:line:)`` blocks the thread.
    ///
    /// ```swift
    /// @MainActor func birthday(of dog: Dog) async throws {
    ///     try await realm.asyncWrite { dog.age += 1 }
    /// }
    /// ```
    ///
    /// 1. Waits for the writes that this realm has begun before, and for other writers, in this process and in others.
    ///    The actor does other work meanwhile.
    /// 2. Calls observers with what is due, and runs `block` on the actor. If it throws, its changes are undone.
    /// 3. Commits. From then on this realm shows the changes. Waits until they are durable, as far as
    ///    `Configuration.durability` requires it. Then others see the changes, too.
    /// 4. Calls this realm's observers with them, and returns. Observers of other realms are called at a turn of their
    ///    run loop, queue or actor, unless their tokens are invalidated before.
    ///
    /// If the task is cancelled before the block runs, nothing is written. After that the write is completed.
    ///
    /// Cost: as `write`. Stops the program if the realm is frozen, was opened read-only, or is in a write transaction.
    /// Also stops it if the realm belongs neither to the main actor nor to the actor that calls this.
    ///
    /// - Returns: what the block returns.
    /// - Throws: `CancellationError`, the block's error, or `Realm.Error` with the codes of `write`.
    @discardableResult
    public func asyncWrite<Result>(
        isolation: isolated (any Actor)? = #isolation, file: StaticString = #fileID, line: UInt = #line,
        _ block: () throws -> Result
    ) async throws -> Result {
        let callSite = CallSite(file, line)
        instance.checkAsyncWriting("asyncWrite(_:)")
        instance.checkActor(isolation, "asyncWrite(_:)", instead: "write(_:) or writeAsync(_:onComplete:)")
        if isInWriteTransaction {
            stopProgram(
                "asyncWrite(_:) would wait for the realm's own write transaction. Commit or cancel it first.",
                at: callSite)
        }
        let writes = instance.writes
        let transaction = try await writes.transaction(isolation, configuration.fileURL, at: callSite)
        let committed: (version: UInt64, start: Int64)?
        let result: Result
        do {
            defer { writes.writeEnded() }
            instance.enter(transaction)
            LockRank.expectNone("an asynchronous write is called")
            do { result = try block() } catch {
                if isInWriteTransaction { instance.cancelWrite() }
                throw error
            }
            committed = try storing(
                configuration.fileURL, isInWriteTransaction ? instance.commitWithoutWaiting() : nil)
        }
        if let (version, start) = committed {
            try await instance.published(version, isolation)
            instance.shared.monitor.published(since: start)
        }
        return result
    }

    // MARK: Callbacks

    /// Runs `block` in a write transaction later, and commits it. Does not block the calling thread.
    ///
    /// ```swift
    /// realm.writeAsync { realm.add(dog) } onComplete: { error in
    ///     print(error.map { "not saved: \($0)" } ?? "saved")
    /// }
    /// ```
    ///
    /// The blocks of a realm run one at a time, in the order of the calls. They run at turns of its run loop, queue or
    /// actor, once other writers have finished. A synchronous write goes ahead of the waiting ones. Once a block has
    /// run, this realm shows its changes. Observers are called, and others see the changes, when these are durable.
    ///
    /// Until `onComplete` was called, the realm is kept, so that `Realm` values may be released. If its thread ends
    /// before, or its actor is released, neither block is called. Cost: as `write`, and the waiting takes no thread.
    /// Stops the program on a thread without a running run loop, if the realm is frozen or was opened read-only, and on
    /// the wrong thread.
    ///
    /// - Parameters:
    ///   - file: the call site's file, which messages about held versions name.
    ///   - line: the call site's line.
    ///   - block: changes the data.
    ///   - onComplete: is called on the realm's thread, queue or actor: with nil when the changes are durable, or with
    ///     the `Realm.Error` that `write` would throw. It is not called if the block has ended the transaction by
    ///     itself.
    /// - Returns: the number that ``cancelAsyncWrite(_:)`` takes.
    @discardableResult
    public func writeAsync(
        file: StaticString = #fileID, line: UInt = #line, _ block: @escaping () -> Void,
        onComplete: ((_ error: (any Swift.Error)?) -> Void)? = nil
    ) -> AsyncTransactionId {
        instance.checkAsyncWriting("writeAsync(_:onComplete:)")
        return instance.writes.append(.committing(block, onComplete), at: CallSite(file, line))
    }

    /// Runs `asyncWriteBlock` in a write transaction later. The block commits it, with
    /// ``commitAsyncWrite(allowGrouping:_:)`` or ``commitWrite(withoutNotifying:)``; if it does not, its changes are
    /// undone.
    ///
    /// ```swift
    /// realm.beginAsyncWrite {
    ///     realm.add(dog)
    ///     if dog.isValid { realm.commitAsyncWrite() }
    /// }
    /// ```
    ///
    /// All else is as for ``writeAsync(file:line:_:onComplete:)``. If no transaction can begin, because too many
    /// versions are held or the store has failed, the program stops; `writeAsync` passes such an error on.
    ///
    /// - Returns: the number that ``cancelAsyncWrite(_:)`` takes.
    @discardableResult
    public func beginAsyncWrite(
        file: StaticString = #fileID, line: UInt = #line, _ asyncWriteBlock: @escaping () -> Void
    ) -> AsyncTransactionId {
        instance.checkAsyncWriting("beginAsyncWrite(_:)")
        return instance.writes.append(.block(asyncWriteBlock), at: CallSite(file, line))
    }

    /// Commits the running transaction, however it was begun, without waiting for the disk.
    ///
    /// ```swift
    /// realm.beginWrite()
    /// dog.age += 1
    /// realm.commitAsyncWrite { error in print(error ?? "durable") }
    /// ```
    ///
    /// When it returns, this realm shows the changes. Observers are called, and others see the changes, when they are
    /// durable; freezing waits for that. If the disk fails, the realm returns to the version that is durable.
    ///
    /// Cost: O(changes). Stops the program if no write transaction is running, on a thread without a running run loop,
    /// and on the wrong thread.
    ///
    /// - Parameters:
    ///   - allowGrouping: has no effect. Commits that reach the disk while it is busy always share one sync, and each
    ///     is durable when its block is called.
    ///   - onComplete: is called on the realm's thread, queue or actor: with nil when the changes are durable, or with
    ///     the `Realm.Error` that `commitWrite` would throw.
    /// - Returns: the number that ``cancelAsyncWrite(_:)`` takes.
    @discardableResult
    public func commitAsyncWrite(
        allowGrouping: Bool = false, _ onComplete: ((_ error: (any Swift.Error)?) -> Void)? = nil
    ) -> AsyncTransactionId {
        instance.checkAsyncWriting("commitAsyncWrite(_:)")
        guard isInWriteTransaction else {
            stopProgram(
                "commitAsyncWrite() without a write transaction. Call beginWrite() or beginAsyncWrite(_:) first.")
        }
        return instance.writes.commit(onComplete)
    }

    /// Drops a waiting write: its blocks are not called. For a commit, only its block is dropped; the commit goes on.
    ///
    /// Does nothing if the block has run or is running. O(1). Never throws; it is declared so for programs written for
    /// RealmSwift. Stops the program on the wrong thread.
    public func cancelAsyncWrite(_ asyncTransactionId: AsyncTransactionId) throws {
        instance.check()
        instance.asyncWrites?.cancel(asyncTransactionId)
    }

    /// Whether asynchronous writes of this realm wait or run, or commits of it are not durable yet. O(1). To be read on
    /// the realm's thread, queue or actor, which is not checked.
    public var isPerformingAsynchronousWriteOperations: Bool {
        instance.asyncWrites?.isBusy ?? false || instance.unpublished != nil
    }

    /// Advances to the newest version, for tasks: suspends where `refresh()` reads what other processes have written.
    ///
    /// All else is as for ``refresh(file:line:)``. It also stops the program if the realm belongs neither to the main
    /// actor nor to the actor that calls this.
    ///
    /// - Returns: whether the realm shows a newer version than at the call, or has shown none then. Its actor may have
    ///   advanced it meanwhile, as by ``autorefresh``.
    @discardableResult
    public func asyncRefresh(
        isolation: isolated (any Actor)? = #isolation, file: StaticString = #fileID, line: UInt = #line
    ) async -> Bool {
        checkRefreshable(at: CallSite(file, line))
        instance.checkActor(isolation, "asyncRefresh()", instead: "refresh()")
        guard instance.mayRefresh else { return false }
        let (store, before) = (instance.store, instance.pin?.version)
        await onBlockingThread(isolation) {
            // As in `refresh`, changes that can't be shown here are ignored.
            ignoringError { () throws(StoreError) in try store.catchUp() }
        }
        // The realm may have begun a write meanwhile, and a turn of its actor may have advanced it.
        if instance.mayRefresh { _ = instance.beginOrAdvance(at: CallSite(file, line)) }
        guard let before, let now = instance.pin?.version else { return instance.pin != nil }
        return now > before
    }
}

extension AsyncWrites {
    /// A transaction for a task, on its realm's actor. Throws `CancellationError` if the task is cancelled before.
    fileprivate func transaction(
        _ isolation: isolated (any Actor)?, _ fileURL: URL?, at callSite: CallSite
    ) async throws -> WriteTransaction {
        let wakeup = Wakeup()
        let id = append(.task(wakeup), at: callSite)
        while true {
            await wakeup.wait(isolation)
            if Task.isCancelled {
                leave(id)
                throw CancellationError()
            }
            guard isWaiting(id) else {
                throw Realm.Error(.fail, "The realm's thread has ended before the write began.")
            }
            switch takeTransaction(of: id, at: callSite) {
            case .success(let transaction)?: return transaction
            case .failure(let error)?:
                writeEnded()
                throw Realm.Error(error, fileURL)
            case nil: break
            }
        }
    }
}

extension _RealmInstance {
    /// Waits until a version that this realm has committed is durable. If the commit fails, throws, and the realm no
    /// longer shows the version.
    func published(_ version: UInt64, _ isolation: isolated (any Actor)?) async throws {
        let store = store
        let result: Result<Void, StoreError> = await withCheckedContinuation(isolation: isolation) { waiting in
            store.whenPublished(version) { waiting.resume(returning: $0) }
        }
        commitEnded(version, result)
        if case .failure(let error) = result { throw Realm.Error(error, configuration.fileURL) }
        // The turn calls the actor's observers before the write returns.
        turn()
    }
}
