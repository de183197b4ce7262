import FirnCore
import FirnStorage

extension Realm {
    /// Runs `block` in a write transaction and commits it.
    ///
    /// ```swift
    /// let id = try realm.write {
    ///     let dog = realm.create(Dog.self, value: ["name": "Rex"])
    ///     dog.age += 1
    ///     return dog.id
    /// }
    /// ```
    ///
    /// 1. Advances to the newest version, and calls observers with what is due. Then waits for other writers, in this
    ///    process and in others, and begins from the version that is newest then.
    /// 2. Runs `block`. If it throws, its changes are undone and its error is thrown on. If it ends the transaction by
    ///    itself, nothing more is done.
    /// 3. Commits, and returns when the changes are durable, as far as `Configuration.durability` requires it.
    ///    Observers of the realm have been called by then. Observers of objects and collections are called at the next
    ///    turn of the run loop, queue or actor.
    ///
    /// Cost: O(changes), the block's and the observers' work, and with `.full` durability one sync of the disk, which
    /// commits of several threads share. The calling thread is blocked while it waits for other writers and for the
    /// disk.
    ///
    /// Stops the program if the realm is frozen, was opened read-only or is in a write transaction already, and on the
    /// wrong thread. Also stops it if another realm of the store is in a write transaction on this thread.
    ///
    /// If a change that the block makes meets damage in the files, nothing more is changed, and this throws at the end
    /// of the block. If the block reads anything after that, the program stops, after `Configuration.onDamage`, because
    /// there is no right answer any more.
    ///
    /// - Parameters:
    ///   - tokens: observers of this realm that are not called for these changes. They are called for what others have
    ///     written. A token of another realm stops the program.
    ///   - block: changes the data. An object that the block creates may be used after it.
    ///   - file: the call site's file, which messages about held versions name.
    ///   - line: the call site's line.
    /// - Returns: what the block returns.
    /// - Throws: the block's error, or `Realm.Error`. Unless the code is `.writeFailed`, nothing was changed:
    ///   - `.tooManyActiveVersions`: more versions or memory are held than the configuration allows. The block was
    ///     not run.
    ///   - `.outOfDiskSpace`: the disk is full. The store can still be used: a write that removes more bytes than it
    ///     adds frees space.
    ///   - `.writeFailed`: a write or sync failed. Whether the commit is in the store is unknown until the store is
    ///     opened again. Until then the realm shows the version before, and no write begins.
    ///   - `.invalidDatabase`: the transaction met damage.
    ///   - `.schemaMismatch`: another process has changed the schema so that this one can't go on.
    ///   - `.invalidInput`: the commit is too large.
    ///   - `.fail`: the store has been closed.
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

    /// Begins a write transaction, waiting for other writers. Stops the program if that is not possible, with the
    /// text of the error that `tryBeginWrite()` throws, and whenever `write` stops it.
    ///
    /// The transaction ends with the last reference to the realm: its changes are undone then, which is logged as a
    /// warning. A transaction begun in a turn of a run loop, a block of a queue or a job of an actor keeps the realm.
    /// The realm is kept until that turn, block or job ends.
    public func beginWrite(file: StaticString = #fileID, line: UInt = #line) {
        do { try tryBeginWrite(file: file, line: line) } catch {
            stopProgram(
                "beginWrite() failed: \(error) Use tryBeginWrite() to handle this.", at: CallSite(file, line))
        }
    }

    /// Begins a write transaction, waiting for other writers: what `write` does before it runs its block.
    ///
    /// ```swift
    /// try realm.tryBeginWrite()
    /// realm.add(dog)
    /// try realm.commitWrite()
    /// ```
    ///
    /// Cost: O(1), and the observers' work; the calling thread is blocked while it waits. Stops the program whenever
    /// `write` stops it.
    ///
    /// - Throws: `Realm.Error` with one of these codes:
    ///   - `.tooManyActiveVersions`: more is held than the configuration allows. With `ActiveVersionPolicy.wait` this
    ///     is thrown only after waiting.
    ///   - `.writeFailed`: an earlier commit failed.
    ///   - `.schemaMismatch`: another process has changed the schema so that this one can't go on.
    ///   - `.invalidDatabase`, or the code of the file system's error: the log can't be read.
    ///   - `.fail`: the store has been closed.
    public func tryBeginWrite(file: StaticString = #fileID, line: UInt = #line) throws {
        try instance.beginWrite(at: CallSite(file, line))
        instance.keepForTransaction()
    }

    /// Commits the transaction, and returns when it is durable, as far as the configuration requires it: what `write`
    /// does after its block.
    ///
    /// Cost: the cost of `write`. Stops the program if no write transaction is running, and on the wrong thread.
    ///
    /// - Parameter tokens: observers of this realm that are not called for these changes. They are called for what
    ///   others have written. A token of another realm stops the program.
    /// - Throws: `Realm.Error`, with the codes of `write`. The transaction has ended then, and its changes are not
    ///   shown.
    public func commitWrite(withoutNotifying tokens: [NotificationToken] = []) throws {
        try instance.commitWrite(withoutNotifying: tokens)
    }

    /// Undoes everything that was done since the transaction began, and ends it. Objects created in it become
    /// invalid, as do unmanaged objects that were added in it. O(changes).
    ///
    /// The realm then shows at least the version that the transaction began from. If that is another thread's commit
    /// which is still on its way to the disk, this waits for it. It does not wait in an asynchronous write, after which
    /// the realm shows the published version. Stops the program if no write transaction is running, and on the wrong
    /// thread.
    public func cancelWrite() { instance.cancelWrite() }
}
