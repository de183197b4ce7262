import FirnBytes
import FirnStorage

extension Log {
    // MARK: Commits

    /// Begins the commit of `version`, which follows the last one written. At most one is begun at a time.
    ///
    /// - Parameter mayUseReserve: true for a commit that frees room (a delete, a compaction): if the disk is full, it may take the 4 MiB
    ///   that are kept for that. Until the reserve can be made again, other commits then fail with `.diskFull`.
    public func beginCommit(version: UInt64, mayUseReserve: Bool = false) throws(LogError) -> CommitAppender {
        let writer = try writing()
        let tail = writer.tail
        tail.begin()
        do {
            try prepare(writer, mayUseReserve: mayUseReserve)
        } catch {
            tail.endAppending()
            throw error
        }
        precondition(
            version == writer.group.writtenVersion + 1,
            "version \(version) does not follow \(writer.group.writtenVersion), the last one written")
        return CommitAppender(
            log: self, version: version, time: tail.nextTime(), mayUseReserve: mayUseReserve, start: tail.end,
            chain: tail.chain)
    }

    /// Commits `version` with one part that stays the caller's. As `beginCommit`, `add` and `finish`, but copies and allocates nothing.
    public func commit(
        version: UInt64, _ kind: LogPartKind, _ bytes: UnsafeRawBufferPointer, mayUseReserve: Bool = false
    ) throws(LogError) -> FramePosition {
        try beginCommit(version: version, mayUseReserve: mayUseReserve).finishWith(kind, bytes)
    }

    /// Gives the room kept for a full disk to the next commit that may use it; false where it is gone already. A commit of one part takes it by itself; one of many
    /// is written anew.
    public func useReserve() throws(LogError) -> Bool {
        let tail = try writing().tail
        tail.begin()
        defer { tail.endAppending() }
        return releaseReserve(tail)
    }

    /// Memory for a part: of one that was written before, where there is any.
    public func takeBuffer() -> ByteWriter { writer?.takeSpare() ?? ByteWriter() }

    /// The schema that new segments open with. A commit that has a schema part sets it too.
    public func setSchema(_ bytes: [UInt8]) throws(LogError) {
        let tail = try writable().tail
        tail.begin()
        tail.setSchema(bytes)
        tail.endAppending()
    }

    /// The parts of the log that write; throws where it can't.
    func writable() throws(LogError) -> LogWriter {
        try checkOpen()
        guard let writer else { throw LogError(.readOnly, path: folder.path) }
        if let failure = writer.group.currentFailure {
            throw LogError(
                .unknownOutcome(version: writer.group.durableVersion + 1), path: failure.path, offset: failure.offset,
                detail: failure.detail)
        }
        return writer
    }

    /// As `writable`, and while it is this process's turn.
    func writing() throws(LogError) -> LogWriter {
        let writer = try writable()
        guard writer.lock.isReady else {
            throw LogError(.locked(processID: Int32(exactly: page.writerProcess)), path: folder.path)
        }
        return writer
    }

    /// What a commit may need before it begins: a new segment; the reserve.
    private func prepare(_ writer: LogWriter, mayUseReserve: Bool) throws(LogError) {
        let tail = writer.tail
        if tail.isReserveGone, !mayUseReserve {
            guard Log.makeReserve(folder, recovery.storeID, byteCount: options.reserveByteCount) else {
                throw LogError(
                    .diskFull, path: folder.path,
                    detail: "the room kept for deleting has been used, and there is no room to keep some again")
            }
            tail.isReserveGone = false
        }
        if tail.wantsRoll {
            do {
                try tail.roll()
            } catch  where error.code == .diskFull && mayUseReserve && releaseReserve(tail) {
                try tail.roll()
            }
        }
    }

    /// Gives the reserve's room back; false where it is gone already.
    private func releaseReserve(_ tail: LogTail) -> Bool {
        guard !tail.isReserveGone else { return false }
        tail.isReserveGone = true
        return (try? folder.storage.remove(folder.reserve)) != nil
    }

    // MARK: What a CommitAppender calls, as the tail's owner

    var partQueue: PartQueue { writer!.queue }

    /// Writes a commit of one part, by the thread that calls.
    func writeOnly(
        _ raw: UnsafeRawBufferPointer, _ kind: FrameHeader.Kind, version: UInt64, time: Int64, mayUseReserve: Bool
    ) throws(LogError) {
        let writer = self.writer!
        let tail = writer.tail
        let (start, chain) = (tail.end, tail.chain)
        var part = writer.encoder.encode(raw, kind: kind, version: version, part: 0, into: &writer.scratch)
        part.flags.insert(.last)
        do {
            try tail.write(&writer.scratch, part, time: time)
        } catch  where error.code == .noSpace && mayUseReserve && releaseReserve(tail) {
            do {
                try tail.cut(to: start, chain: chain)
                try tail.write(&writer.scratch, part, time: time)
            } catch {
                throw writeFailed(error, version: version)
            }
        } catch {
            throw writeFailed(error, version: version)
        }
    }

    /// What a failed write means: a full disk is the commit's alone; anything else leaves the file's content unknown and ends the writing.
    func writeFailed(_ error: StorageError, version: UInt64) -> LogError {
        let error = LogError(error)
        if error.code == .diskFull { return error }
        writer!.group.fail(error)
        return LogError(.unknownOutcome(version: version), path: error.path, detail: error.detail)
    }

    /// Takes back what a commit has written that a full disk has refused. A write that fails may have written all: then
    /// the whole commit would be found by the next opening, also after a power cut.
    ///
    /// - Throws: `.unknownOutcome` where that fails, which ends the writing.
    func takeBack(version: UInt64, start: Int, chain: UInt32, usesQueue: Bool) throws(LogError) {
        let writer = self.writer!
        if usesQueue { try? writer.queue.drain() }  // what it throws was thrown to the caller
        do throws(LogError) {
            if let failure = writer.group.currentFailure { throw failure }
            try cutOff(writer, start: start, chain: chain)
            writer.group.endJoin()
            try writer.group.syncAll()
        } catch {
            throw LogError(.unknownOutcome(version: version), path: error.path, detail: error.detail)
        }
    }

    /// After a commit's last frame was written.
    func finished(version: UInt64, start: Int, time: Int64, schema: [UInt8]?) -> FramePosition {
        let writer = self.writer!
        let tail = writer.tail
        if let schema { tail.setSchema(schema) }
        let position = FramePosition(
            segment: tail.manifest.openSegment.segment, range: start..<tail.end, time: time)
        writer.group.noteWritten(version)
        sinceCheckpoint.wrappingAdd(position.range.count, ordering: .relaxed)
        let wantsPreallocation = tail.wantsPreallocation
        if wantsPreallocation, writer.keeper == nil { tail.fill() }
        tail.endAppending()
        if let keeper = writer.keeper {
            if wantsPreallocation { keeper.requestPreallocation() }
            keeper.noteCommit()
        }
        return position
    }

    /// A commit that was begun and not finished: nothing of it stays.
    func cancel(start: Int, chain: UInt32, usesQueue: Bool) {
        // In a forked child the commit, the file and the threads that write it are the parent's, who goes on.
        if isForked { return }
        let writer = self.writer!
        let tail = writer.tail
        if usesQueue { try? writer.queue.drain() }  // what it throws was thrown to the caller
        if writer.group.currentFailure == nil, usesQueue || tail.end != start {
            // A failure stays in the group.
            try? cutOff(writer, start: start, chain: chain)
        }
        tail.endAppending()
    }

    /// Cuts off what a commit has written. If that fails, the file's content is unknown and nothing more is written.
    private func cutOff(_ writer: LogWriter, start: Int, chain: UInt32) throws(LogError) {
        do { try writer.tail.cut(to: start, chain: chain) } catch {
            let failure = LogError(error)
            writer.group.fail(failure)
            throw failure
        }
    }

    func recycle(_ buffer: consuming ByteWriter) { writer!.keepSpare(buffer) }

    // MARK: Durability

    /// Returns when `version` is as durable as the log was opened to make it: on the disk with `.full`, else at once.
    ///
    /// A caller that finds no sync running syncs for all; so this blocks, and is not for threads of Swift's pool (see `whenDurable`).
    ///
    /// - Throws: `.unknownOutcome` where a sync failed before the version was durable.
    public func waitUntilDurable(_ version: UInt64) throws(LogError) {
        try checkOpen()
        guard let writer else { throw LogError(.readOnly, path: folder.path) }
        precondition(version <= writer.group.writtenVersion, "version \(version) has not been written")
        if writer.group.publishedVersion >= version { return }
        try writer.group.wait(for: version)
        writer.keeper?.noteCommit()
    }

    /// Calls `done` when `version` is as durable as the log was opened to make it, or can't become so: at once on this thread where
    /// that is known already, else on the log's own.
    public func whenDurable(
        _ version: UInt64, _ done: @escaping @Sendable (Result<Void, LogError>) -> Void
    ) {
        let writer: LogWriter
        do throws(LogError) {
            try checkOpen()
            guard let present = self.writer else { throw LogError(.readOnly, path: folder.path) }
            writer = present
        } catch {
            return done(.failure(error))
        }
        precondition(version <= writer.group.writtenVersion, "version \(version) has not been written")
        if writer.group.publishedVersion >= version { return done(.success(())) }
        if let keeper = writer.keeper { return keeper.whenDurable(version, done) }
        do throws(LogError) {
            try writer.group.wait(for: version)
            done(.success(()))
        } catch {
            done(.failure(error))
        }
    }

    /// Makes all that is written durable, whatever the durability that the log was opened with.
    public func sync() throws(LogError) {
        let group = try writable().group
        try group.wait(for: group.writtenVersion)
    }

    /// Writes the durable mark once more, as an idle log does by itself after `idleMilliseconds`.
    public func writeMark() throws(LogError) {
        let tail = try writable().tail
        tail.begin()
        defer { tail.endAppending() }
        try tail.writeMark()
    }
}
