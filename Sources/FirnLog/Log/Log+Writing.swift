import FirnBytes
import FirnStorage

extension Log {
    // MARK: Commits

    /// Begins the commit of `version`, which follows the last version written. At most one commit is begun at a time.
    ///
    /// - Parameter mayUseReserve: true for a commit that removes more than it adds. On a full disk it may take the
    ///   space of the reserve. After that, other commits fail with `.diskFull` until the reserve can be made again.
    package func beginCommit(version: UInt64, mayUseReserve: Bool = false) throws(LogError) -> CommitAppender {
        try CommitAppender(writing(), of: self, version: version, mayUseReserve: mayUseReserve)
    }

    /// Frees the reserve's space for the next commit that may use it, or for a checkpoint. A commit of one part frees
    /// it by itself. A commit of several parts must be written again after this call.
    ///
    /// - Returns: false if it was freed already, or could not be freed.
    package func useReserve() throws(LogError) -> Bool {
        let writer = try writing()
        writer.tail.begin()
        defer { writer.tail.endAppending() }
        return writer.releaseReserve()
    }

    /// Returns memory for a part: the memory of a part written before, if there is any.
    package func takeBuffer() -> ByteWriter { writer?.takeSpare() ?? ByteWriter() }

    /// Sets the schema that new segments begin with. A commit that has a schema part sets it, too.
    package func setSchema(_ bytes: [UInt8]) throws(LogError) {
        let tail = try writable().tail
        tail.begin()
        tail.setSchema(bytes)
        tail.endAppending()
    }

    /// Returns the log's writer. Throws if the log can't be written to.
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

    /// Like `writable`, but throws also if this process does not have the writer lock.
    func writing() throws(LogError) -> LogWriter {
        let writer = try writable()
        guard writer.lock.isReady else {
            throw LogError(.locked(processID: Int32(exactly: page.writerProcess)), path: folder.path)
        }
        return writer
    }

    // MARK: Durability

    /// Returns when `version` is as durable as the log's options require: on the disk with `.full`, otherwise at once.
    ///
    /// If no sync is running, the caller syncs for all. So this blocks, and must not be called on threads of Swift's
    /// pool, which use `whenDurable`.
    ///
    /// - Throws: `.unknownOutcome` if a sync failed before the version was durable.
    package func waitUntilDurable(_ version: UInt64) throws(LogError) {
        try checkOpen()
        guard let writer else { throw LogError(.readOnly, path: folder.path) }
        precondition(version <= writer.group.writtenVersion, "Firn: version \(version) has not been written")
        if writer.group.publishedVersion >= version { return }
        try writer.group.wait(for: version)
        writer.maintenance?.noteCommit()
    }

    /// Calls `done` when `version` is as durable as the log's options require, or can't become so. The call comes at
    /// once on this thread if that is known already, or if the log has no threads. Otherwise it comes on the log's own
    /// thread.
    package func whenDurable(
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
        precondition(version <= writer.group.writtenVersion, "Firn: version \(version) has not been written")
        if writer.group.publishedVersion >= version { return done(.success(())) }
        if let maintenance = writer.maintenance { return maintenance.whenDurable(version, done) }
        do throws(LogError) {
            try writer.group.wait(for: version)
            done(.success(()))
        } catch {
            done(.failure(error))
        }
    }

    /// Makes everything that is written durable, whatever the durability with which the log was opened.
    package func sync() throws(LogError) {
        let group = try writable().group
        try group.wait(for: group.writtenVersion)
    }

    /// Writes the durable mark once more, as an idle log does by itself after `idleMilliseconds`.
    package func writeMark() throws(LogError) {
        let tail = try writable().tail
        tail.begin()
        defer { tail.endAppending() }
        try tail.writeMark()
    }
}
