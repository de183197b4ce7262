import FirnStorage

extension Log {
    /// The last version written; in a log opened read-only, the last one that the writer has published.
    package var writtenVersion: UInt64 { writer?.group.writtenVersion ?? publishedVersion }

    /// The last version known to be on the disk.
    package var durableVersion: UInt64 {
        if let writer {
            // What others have published may not be durable yet; their durable mark shows how much is.
            return writer.lock.isAway && !isClosed.load(ordering: .acquiring)
                ? min(page.durableMark, writer.group.durableVersion) : writer.group.durableVersion
        }
        // The page counts under the same conditions as in `publishedVersion`.
        if isPageMaintained, page.isValid { seenDurable.max(page.durableMark, ordering: .acquiringAndReleasing) }
        return seenDurable.load(ordering: .acquiring)
    }

    /// The last version that may be seen outside its transaction: the last durable one or, with `.relaxed` and
    /// `.none`, the last one written.
    package var publishedVersion: UInt64 {
        if let writer { return writer.group.publishedVersion }
        // While another process takes over the store, the page is invalid for a moment. Then the last version seen
        // counts.
        if isPageMaintained, page.isValid { seen.max(page.published, ordering: .acquiringAndReleasing) }
        return seen.load(ordering: .acquiring)
    }

    /// Whether some process maintained the page when this log was opened, or has done so since.
    private var isPageMaintained: Bool { unmaintainedSession.map { $0 != page.session } ?? true }

    /// Why the log takes no more writes: a write or sync failed. Nil if nothing failed. Readers continue.
    package var failure: LogError? { writer?.group.currentFailure }

    /// Whether this process is a forked child of the one that opened the log: then every call of the log throws
    /// `.forked`.
    package var isForked: Bool { forkMark.isForked }

    /// Throws the reason if nothing can be written: the log is closed, forked or read-only, or a write or sync failed.
    package func checkWritable() throws(LogError) { _ = try writable() }

    /// The schema in force at the end of the log, in the bytes that were given to the log; empty if there is none.
    package var schema: [UInt8] {
        writer?.tail.snapshot().schema ?? recoveredSchema
    }

    /// Calls `body` with each whole commit of the versions `version + 1 ... through`, in order. Every byte is
    /// checked on the way.
    ///
    /// Cost: O(bytes of these commits, and of those before them in their segment); from a position, of these
    /// commits alone. In an encrypted store, the first time, all bytes of a sealed segment at whose end or before it
    /// the replay ends.
    ///
    /// - Parameters:
    ///   - position: the position that an earlier call returned; it is used if it is the one behind `version`.
    ///   - isOpening: true until `publishHoldings` was called. The replay then uses the manifest with whose checkpoint
    ///     the log was opened. A compactor that looked for other processes before this one came may replace that
    ///     manifest, but removes no file that it lists. A reader without a slot holds the files open.
    /// - Returns: the position from which to continue.
    /// - Throws: `.damage` with the file and offset; `.versionNotHere`; whatever `body` throws.
    @discardableResult
    package func replay(
        after version: UInt64, through: UInt64, from position: LogPosition? = nil, isOpening: Bool = false,
        _ body: (inout CommitReader) throws -> Void
    ) throws -> LogPosition? {
        try checkOpen()
        guard through > version else { return position }
        guard through <= readableVersion else {
            throw LogError(.versionNotHere(through), path: folder.path, detail: "the last one is \(readableVersion)")
        }
        let opened = isOpening ? writer?.tail.snapshot().manifest ?? held?.manifest : nil
        var cursor = LogCursor(folder: isOpening ? folder.reading(held) : folder, manifest: try opened ?? manifest())
        let start = position ?? (isOpening ? checkpointPosition : nil)
        return try cursor.replay(after: version, through: through, from: start, body)
    }

    /// The last version that can be read. While `Store.apply` publishes a version of another process, the log does not
    /// yet count it as written, but the page has it already.
    private var readableVersion: UInt64 { writer == nil ? writtenVersion : max(writtenVersion, page.published) }

    /// The manifest in force. A process that reads beside a writer reads it from the file, to see the writer's new
    /// segments.
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

    /// Closes the log: what is written becomes durable, the durable mark is written once more, the file is trimmed,
    /// and the locks are released. A second call does nothing.
    ///
    /// - Parameter isRead: whether checkpoint files are still read after this, until nothing refers to the log any
    ///   more.
    /// - Throws: the error of the last sync, or of the lock that says that checkpoint files are read. The log is
    ///   closed in any case.
    package func close(isRead: Bool = false) throws(LogError) {
        guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        // In a forked child, threads and locks remain the parent's, which continues.
        if isForked { return }
        var failures: [LogError] = []
        func attempt(_ body: () throws(LogError) -> Void) {
            do throws(LogError) { try body() } catch { failures.append(error) }
        }
        if isRead { attempt { () throws(LogError) in try locks.keepReading() } }
        let readsOn = isRead && failures.isEmpty
        attempt { () throws(LogError) in try endWriting() }
        leaveSlot()
        if readsOn { attempt { () throws(LogError) in try locks.leaveReading(slot: slot) } } else { locks.releaseAll() }
        // This wakes the openers that wait for the writer lock.
        page.wakeAll()
        if let first = failures.first { throw first }
    }

    private func endWriting() throws(LogError) {
        guard let writer else { return }
        writer.maintenance?.stop()
        writer.queue.stop()
        let tail = writer.tail
        tail.begin()
        defer {
            // From here on other processes may write. A caller that comes too late finds that this process may not
            // write.
            if writer.group.currentFailure != nil { writer.group.waitForLastRound() }
            tail.stopWriting()
            writer.lock.close()
            tail.endAppending()
            tail.file.close()
        }
        // If another process writes, this one had already made its commits durable when it released the lock.
        guard writer.lock.isReady, writer.group.currentFailure == nil else { return }
        try writer.group.wait(for: writer.group.writtenVersion)
        // Makes the record of ages no older than the frames.
        tail.readClock()
        try tail.writeMark()
        try tail.trim()
        page.writerProcess = 0
    }
}
