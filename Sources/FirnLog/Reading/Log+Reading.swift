import FirnStorage

extension Log {
    /// The last version written; in a log opened read-only the last that the writer has published.
    public var writtenVersion: UInt64 { writer?.group.writtenVersion ?? publishedVersion }

    /// The last version known to be on the disk.
    public var durableVersion: UInt64 {
        if let writer {
            // What others have published may be less than durable; their mark tells.
            return writer.lock.isAway && !isClosed.load(ordering: .acquiring)
                ? min(page.durableMark, writer.group.durableVersion) : writer.group.durableVersion
        }
        // As in `publishedVersion`.
        if isPageKept, page.isValid { seenDurable.max(page.durableMark, ordering: .acquiringAndReleasing) }
        return seenDurable.load(ordering: .acquiring)
    }

    /// The last version that may be seen outside its transaction: the last durable one, or with `.relaxed` and `.none` the last written.
    public var publishedVersion: UInt64 {
        if let writer { return writer.group.publishedVersion }
        // While another process takes the store over, the page is nobody's for a moment: then what was seen last holds.
        if isPageKept, page.isValid { seen.max(page.published, ordering: .acquiringAndReleasing) }
        return seen.load(ordering: .acquiring)
    }

    /// Waits until a version above `version` is published, here or by another process, for `milliseconds` at most; returns the newest one.
    /// Blocks: not for threads of Swift's pool.
    public func waitForVersion(after version: UInt64, milliseconds: Int) throws(LogError) -> UInt64 {
        try checkOpen()
        page.wait(nanoseconds: .nanoseconds(milliseconds: milliseconds)) { max(publishedVersion, readable) > version }
        return max(publishedVersion, readable)
    }

    /// What has been published, if only to those who read it: in a log that is open for writing it may be more than this process has read.
    private var readable: UInt64 { writer == nil ? 0 : page.published }

    /// Whether somebody has looked after the page since this log was opened, or did so then.
    private var isPageKept: Bool { unkeptSession.map { $0 != page.session } ?? true }

    /// Why the log takes no more writes: a write or sync failed; nil while all is well. Readers go on.
    public var failure: LogError? { writer?.group.currentFailure }

    /// Whether this process was forked off the one that opened the log: whatever asks something of the log then throws `.forked`.
    public var isForked: Bool { forkMark.isForked }

    /// Throws why nothing can be written: closed, forked, read-only, or a write or sync that failed.
    public func checkWritable() throws(LogError) { _ = try writable() }

    /// The schema in force at the end of the log, as it was handed over; empty where there was none.
    public var schema: [UInt8] {
        writer?.tail.snapshot().schema ?? recoveredSchema
    }

    /// Calls `body` with each whole commit of the versions `version + 1 ... through`, in order. Every byte is checked on the way.
    ///
    /// Cost: O(bytes of these commits, and of those before them in their segment); from a position, of these commits alone.
    ///
    /// - Parameters:
    ///   - position: where an earlier call has ended; it counts where that was at `version`.
    ///   - isOpening: true until `tellOthers` was called: the manifest is then the one whose checkpoint the log was
    ///     opened with. A compactor that had looked for others before this one came may have replaced it, but removes
    ///     nothing that it lists; of a reader without a slot the files are held.
    /// - Returns: where to go on.
    /// - Throws: `.damage` with the place; `.versionNotHere`; whatever `body` throws.
    @discardableResult
    public func replay(
        after version: UInt64, through: UInt64, from position: LogPosition? = nil, isOpening: Bool = false,
        _ body: (inout CommitReader) throws -> Void
    ) throws -> LogPosition? {
        try checkOpen()
        guard through > version else { return position }
        guard through <= writtenVersion else {
            throw LogError(.versionNotHere(through), path: folder.path, detail: "the last is \(writtenVersion)")
        }
        let opened = isOpening ? writer?.tail.snapshot().manifest ?? held?.manifest : nil
        var cursor = LogCursor(folder: isOpening ? folder.reading(held) : folder, manifest: try opened ?? manifest())
        return try cursor.replay(after: version, through: through, from: position, body)
    }

    /// The manifest in force. Who reads beside a writer sees its segments by the file.
    func manifest() throws(LogError) -> Manifest {
        if let writer {
            let known = writer.tail.snapshot().manifest
            if !writer.lock.isAway || page.generation == known.generation { return known }
        }
        return try folder.readManifest()
    }

    func checkOpen() throws(LogError) {
        if isForked { throw LogError(.forked, path: folder.path) }
        if isClosed.load(ordering: .acquiring) { throw LogError(.closed, path: folder.path) }
    }

    /// Ends the log's work: what is written becomes durable, the durable mark is written once more, the file is trimmed, the locks
    /// are given up. A second call does nothing.
    ///
    /// - Parameter isRead: whether files of checkpoints go on being read, until nobody refers to the log any more.
    /// - Throws: what the last sync threw, or the lock that says that files are read. The log is closed all the same.
    public func close(isRead: Bool = false) throws(LogError) {
        guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        // In a forked child threads and locks have stayed with the parent, who goes on.
        if isForked { return }
        var failures: [LogError] = []
        func attempt(_ body: () throws(LogError) -> Void) {
            do throws(LogError) { try body() } catch { failures.append(error) }
        }
        if isRead { attempt { () throws(LogError) in try locks.keepReading() } }
        let readsOn = isRead && failures.isEmpty
        attempt { () throws(LogError) in try endWriting() }
        leaveSlot()
        if readsOn { attempt { () throws(LogError) in try locks.leaveReading(slot: slot) } } else { locks.leave() }
        // Who waits for the writer's lock.
        page.wakeAll()
        if let first = failures.first { throw first }
    }

    private func endWriting() throws(LogError) {
        guard let writer else { return }
        writer.keeper?.stop()
        writer.queue.stop()
        let tail = writer.tail
        tail.begin()
        defer {
            // From here on others write. Whoever comes too late finds that it is not this process's turn.
            if writer.group.currentFailure != nil { writer.group.awaitEndOfRounds() }
            tail.leave()
            writer.lock.close()
            tail.endAppending()
            tail.file.close()
        }
        // Where another process writes, nothing here was left to do when it got the lock.
        guard writer.lock.isReady, writer.group.currentFailure == nil else { return }
        try writer.group.wait(for: writer.group.writtenVersion)
        try tail.writeMark()
        try tail.trim()
        page.writerProcess = 0
    }
}
