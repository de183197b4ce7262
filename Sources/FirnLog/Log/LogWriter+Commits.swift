import FirnBytes
import FirnStorage

/// The steps of a commit, in order: `beginCommit`, `writeSinglePart` (or the part queue), `endCommit`. If a step
/// fails: `writeFailure`, `undoWrite` if the disk is full, and `cancelCommit`, which releases the tail.
///
/// The tail's appender calls all of them (see `LogTail`).
extension LogWriter {
    /// Becomes the tail's appender, and prepares what the commit may need: a new segment, the reserve.
    func beginCommit(_ version: UInt64, mayUseReserve: Bool) throws(LogError) {
        try maintenance?.startIfNeeded()
        tail.begin()
        do {
            try prepare(mayUseReserve: mayUseReserve)
        } catch {
            tail.endAppending()
            throw error
        }
        precondition(
            version == group.writtenVersion + 1,
            "Firn: version \(version) does not follow version \(group.writtenVersion), the last one written")
    }

    private func prepare(mayUseReserve: Bool) throws(LogError) {
        if tail.isReserveGone, !mayUseReserve {
            guard restoreReserve() else {
                throw LogError(
                    .diskFull, path: path,
                    detail:
                        "the reserve for deleting has been used; to make it again, \(2 * reserve.byteCount(for: tail.storeByteCount)) bytes must be free"
                )
            }
        }
        if tail.wantsRoll {
            do {
                try tail.roll()
            } catch  where error.code == .diskFull {
                isShortOfSpace.store(true, ordering: .relaxed)
                guard mayUseReserve, releaseReserve() else { throw error }
                try tail.roll()
            }
            reserve.grow(for: tail)
        }
    }

    /// Frees the reserve's space.
    ///
    /// - Returns: false if it was freed already, or could not be freed.
    func releaseReserve() -> Bool {
        guard !tail.isReserveGone else { return false }
        noteReserve(isThere: false)
        isShortOfSpace.store(true, ordering: .relaxed)
        return reserve.remove()
    }

    /// Makes the reserve again if it was used. Called by the appender.
    ///
    /// - Returns: false if there is no space for it.
    func restoreReserve() -> Bool {
        guard tail.isReserveGone else { return true }
        guard reserve.make(for: tail.storeByteCount) else { return false }
        noteReserve(isThere: true)
        return true
    }

    /// Called by the appender.
    func noteReserve(isThere: Bool) {
        tail.isReserveGone = !isThere
        isReserveUsed.store(!isThere, ordering: .relaxed)
    }

    /// Compresses and writes a commit of one part on the calling thread.
    func writeSinglePart(
        _ raw: UnsafeRawBufferPointer, _ kind: FrameHeader.Kind, version: UInt64, time: Int64, mayUseReserve: Bool
    ) throws(LogError) {
        let (start, chain) = (tail.end, tail.chain)
        var part = encoder.encode(raw, kind: kind, version: version, part: 0, into: &scratch)
        part.flags.insert(.last)
        do {
            try tail.write(&scratch, part, time: time)
        } catch  where error.code == .noSpace && mayUseReserve && releaseReserve() {
            do {
                try tail.cut(to: start, chain: chain)
                // The first attempt has encrypted the part in place.
                part = encoder.encode(raw, kind: kind, version: version, part: 0, into: &scratch)
                part.flags.insert(.last)
                try tail.write(&scratch, part, time: time)
            } catch {
                throw writeFailure(error, version: version)
            }
        } catch {
            throw writeFailure(error, version: version)
        }
    }

    /// Returns the error to throw for a failed write. A full disk fails this commit alone. After any other failure the
    /// file's content is unknown, and the log takes no more writes.
    func writeFailure(_ error: StorageError, version: UInt64) -> LogError {
        let error = LogError(error)
        if error.code == .diskFull {
            isShortOfSpace.store(true, ordering: .relaxed)
            return error
        }
        group.fail(error)
        return LogError(.unknownOutcome(version: version), path: error.path, detail: error.detail)
    }

    /// Removes what a commit has written when the disk is full. This is necessary because a write that fails may have
    /// written everything. The next opening, also after a power cut, would then find the complete commit.
    ///
    /// - Throws: `.unknownOutcome` if that fails. Then nothing more is written.
    func undoWrite(_ version: UInt64, start: Int, chain: FrameChain, usesQueue: Bool) throws(LogError) {
        if usesQueue { try? queue.drain() }  // the caller already got its error
        do throws(LogError) {
            if let failure = group.currentFailure { throw failure }
            try cut(to: start, chain: chain)
            try group.syncAll()
        } catch {
            throw LogError(.unknownOutcome(version: version), path: error.path, detail: error.detail)
        }
    }

    /// Ends a commit whose last frame was written, and releases the tail.
    func endCommit(_ version: UInt64, start: Int, time: Int64, schema: [UInt8]?) -> FramePosition {
        if let schema { tail.setSchema(schema) }
        let position = FramePosition(
            segment: tail.manifest.openSegment.segment, range: start..<tail.end, time: time)
        group.noteWritten(version)
        byteCountSinceCheckpoint.wrappingAdd(position.range.count, ordering: .relaxed)
        let wantsPreallocation = tail.wantsPreallocation
        if wantsPreallocation, maintenance == nil { tail.preallocate() }
        tail.endAppending()
        if let maintenance {
            if wantsPreallocation { maintenance.requestPreallocation() }
            maintenance.noteCommit()
        }
        return position
    }

    /// Ends a commit that was begun but not sealed. Nothing of it stays.
    func cancelCommit(start: Int, chain: FrameChain, usesQueue: Bool) {
        // In a forked child the commit, the file and the threads that write it belong to the parent, which continues.
        if isForked { return }
        if usesQueue { try? queue.drain() }  // the caller already got its error
        if group.currentFailure == nil, usesQueue || tail.end != start {
            // The group records a failure.
            try? cut(to: start, chain: chain)
        }
        tail.endAppending()
    }

    /// Cuts off what a commit has written. If that fails, the file's content is unknown and nothing more is written.
    private func cut(to start: Int, chain: FrameChain) throws(LogError) {
        do { try tail.cut(to: start, chain: chain) } catch {
            let failure = LogError(error)
            group.fail(failure)
            throw failure
        }
    }
}
