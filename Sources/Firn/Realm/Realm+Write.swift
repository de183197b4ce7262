import FirnCore
import FirnStorage

extension Realm {
    /// Runs `block` in a write transaction and commits it. If the block throws, its changes are undone and its error thrown on; if it ends the
    /// transaction by itself, nothing more is done.
    ///
    /// Begins by waiting for other writers and advancing to the newest version. Returns when the changes are durable, as the configuration has it.
    ///
    /// If what the block changes meets damage in the files, nothing more is changed, and this throws at the end of the block. What the block reads after that stops the program, after `Configuration.onDamage`,
    /// as there is no right answer any more.
    ///
    /// - Parameter tokens: observers of this realm that shall not be told. Of what others have written they are.
    /// - Returns: what the block returns.
    /// - Throws: the block's error, or `Realm.Error` where the commit failed, or where the transaction could not begin: with `.tooManyActiveVersions` where more is
    ///   held than the configuration allows.
    @discardableResult
    public func write<Result>(
        withoutNotifying tokens: [NotificationToken] = [], _ block: () throws -> Result, file: StaticString = #fileID,
        line: UInt = #line
    ) throws -> Result {
        try instance.beginWrite(at: CallSite(file, line))
        let result: Result
        LockRank.expectNone("a write block is called")
        do { result = try block() } catch {
            if isInWriteTransaction { instance.cancelWrite() }
            throw error
        }
        if isInWriteTransaction { try instance.commitWrite(withoutNotifying: tokens) }
        return result
    }

    /// Begins a write transaction, waiting for other writers. Stops the program where that is not possible, with the text that `tryBeginWrite()` throws.
    public func beginWrite(file: StaticString = #fileID, line: UInt = #line) {
        do { try instance.beginWrite(at: CallSite(file, line)) } catch {
            fatalError("Firn: beginWrite() at \(file):\(line) failed: \(error) Use tryBeginWrite() to handle this.")
        }
    }

    /// Begins a write transaction, waiting for other writers.
    ///
    /// - Throws: `Realm.Error` where the store takes no writes; with `.tooManyActiveVersions` where more is held than the configuration allows, at once or
    ///   after waiting, as its `activeVersionPolicy` has it.
    public func tryBeginWrite(file: StaticString = #fileID, line: UInt = #line) throws {
        try instance.beginWrite(at: CallSite(file, line))
    }

    /// Commits the transaction, and returns when it is durable, as the configuration has it.
    ///
    /// - Parameter tokens: observers of this realm that shall not be told. Of what others have written they are.
    /// - Throws: `Realm.Error` where the changes could not be written; they are undone then.
    public func commitWrite(withoutNotifying tokens: [NotificationToken] = []) throws {
        try instance.commitWrite(withoutNotifying: tokens)
    }

    /// Undoes all that was done since the transaction began. Objects made in it become invalid.
    ///
    /// The realm then shows at least the version that the transaction began on: if that is another thread's commit which is still on its way to the disk, this waits for it.
    public func cancelWrite() { instance.cancelWrite() }
}

extension RealmInstance {
    func beginWrite(at place: CallSite) throws {
        check()
        if isFrozen { fatalError("Firn: a frozen realm can't be written. Thaw it and write to the live one.") }
        if configuration.readOnly { fatalError("Firn: the realm was opened read-only. Open it for writing.") }
        stopIfInTransaction()
        // Observers see what is due before the transaction begins.
        advance(at: place)
        // A block may have begun one and left it open. This thread would wait for itself.
        stopIfInTransaction()
        // The version shown is let go for the transaction's base, so it must not be held by what the realm only remembers.
        frozenNow = nil
        if store.isBeingWritten, let scheduler, shared.isWritten(here: scheduler) { stopForOwnTransaction() }
        do throws(StoreError) { enter(try store.beginWrite(replacing: pin, at: place)) } catch {
            throw Realm.Error(error, configuration.fileURL)
        }
    }

    /// Another realm of the store, which was opened here with other classes, is in a transaction.
    @inline(never)
    private func stopForOwnTransaction() -> Never {
        fatalError(
            "Firn: a write would wait for itself: another realm of the same store, opened with other objectTypes or for another queue, is in a write transaction on this thread, queue or actor. Commit or cancel that before, or use one realm for both."
        )
    }

    private func stopIfInTransaction() {
        guard isInTransaction else { return }
        fatalError("Firn: the realm is in a write transaction already. Commit or cancel it before beginning another.")
    }

    func commitWrite(withoutNotifying tokens: [NotificationToken]) throws {
        check()
        guard let transaction else {
            fatalError("Firn: commitWrite() without a write transaction. Call beginWrite() before.")
        }
        observers.checkTokens(tokens, of: self)
        let base = transaction.base
        do throws(StoreError) {
            let committed = try transaction.commit(pins: !tokens.isEmpty || observers.wantOldValues)
            leaveTransaction()
            committedOwn(committed, from: base, skipping: tokens)
        } catch {
            leaveTransaction(base: base.version)
            throw Realm.Error(error, configuration.fileURL)
        }
    }

    func cancelWrite() {
        check()
        guard let transaction else {
            fatalError("Firn: cancelWrite() without a write transaction. Call beginWrite() before.")
        }
        let base = transaction.base.version
        transaction.cancel()
        leaveTransaction(base: base)
    }
}
