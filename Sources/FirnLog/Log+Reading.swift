import FirnStorage

extension Log {
    /// The last version written; in a log opened read-only the last that the writer has published.
    public var writtenVersion: UInt64 { writer?.group.writtenVersion ?? publishedVersion }

    /// The last version known to be on the disk.
    public var durableVersion: UInt64 {
        if let writer { return writer.group.durableVersion }
        return isFollowing ? page.durableMark : recovery.lastVersion
    }

    /// The last version that may be seen outside its transaction: the last durable one, or with `.relaxed` and `.none` the last written.
    public var publishedVersion: UInt64 {
        if let writer { return writer.group.publishedVersion }
        return isFollowing ? max(page.published, recovery.lastVersion) : recovery.lastVersion
    }

    /// True in a log opened read-only while the state that it was opened with is still the writer's.
    private var isFollowing: Bool { page.isValid(epoch: openedManifest.epoch) }

    /// Why the log takes no more writes: a write or sync failed; nil while all is well. Readers go on.
    public var failure: LogError? { writer?.group.currentFailure }

    /// The schema in force at the end of the log, as it was handed over; empty where there was none.
    public var schema: [UInt8] {
        guard let tail = writer?.tail else { return recoveredSchema }
        tail.begin()
        defer { tail.endAppending() }
        return tail.schema
    }

    /// Calls `body` with each whole commit of the versions `version + 1 ... through`, in order. Every byte is checked on the way.
    ///
    /// Cost: O(bytes of these commits, and of those before them in their segment).
    ///
    /// - Throws: `.damage` with the place; `.versionNotHere`; whatever `body` throws.
    public func replay(
        after version: UInt64, through: UInt64, _ body: (inout CommitReader) throws -> Void
    ) throws {
        try checkOpen()
        guard through > version else { return }
        guard through <= writtenVersion else {
            throw LogError(.versionNotHere(through), path: folder.path, detail: "the last is \(writtenVersion)")
        }
        // A reader beside the writer sees its segments by the manifest.
        let manifest = writer == nil ? try folder.readManifest() : currentManifest()
        try LogCursor(folder: folder, manifest: manifest).replay(after: version, through: through, body)
    }

    private func currentManifest() -> Manifest {
        let tail = writer!.tail
        tail.begin()
        defer { tail.endAppending() }
        return tail.manifest
    }

    func checkOpen() throws(LogError) {
        if isClosed.load(ordering: .acquiring) { throw LogError(.closed, path: folder.path) }
    }

    /// Ends the log's work: what is written becomes durable (unless durability is `.none`), the durable mark is written once more, the file is trimmed, the locks
    /// are given up. A second call does nothing.
    ///
    /// - Throws: what the last sync threw. The log is closed all the same.
    public func close() throws(LogError) {
        guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        defer { locks.leave() }
        guard let writer else { return }
        writer.keeper?.stop()
        writer.queue.stop()
        let tail = writer.tail
        tail.begin()
        defer {
            tail.endAppending()
            tail.file.close()
        }
        guard writer.group.currentFailure == nil else { return }
        try writer.group.wait(for: writer.group.writtenVersion)
        try tail.writeMark()
        try tail.trim()
    }
}
