import FirnBytes
import FirnStorage

/// A commit that is being written. It owns the log's tail until it is sealed or aborted; dropping it aborts it.
///
/// A commit of one part is compressed and written by `seal` on the caller's thread, with one `pwrite`. From the second
/// part on, threads of the log compress and write beside the caller.
package struct CommitAppender: ~Copyable {
    private let writer: LogWriter
    /// Retained until the commit has ended: a log that is released closes, and closing waits for the end of the commit.
    private let log: Log
    package let version: UInt64
    /// When the commit began, in nanoseconds since 1970; never earlier than the commit before it.
    package let time: Int64
    private let mayUseReserve: Bool
    /// The end of the log when the commit began.
    private let start: Int
    private let chain: FrameChain
    private var pending: ByteWriter?
    private var pendingKind = LogPartKind.changes
    private var partCount: UInt32 = 0
    private var usesQueue = false
    private var isSealed = false
    private var schema: [UInt8]?

    init(_ writer: LogWriter, of log: Log, version: UInt64, mayUseReserve: Bool) throws(LogError) {
        try writer.beginCommit(version, mayUseReserve: mayUseReserve)
        self.writer = writer
        self.log = log
        self.version = version
        self.mayUseReserve = mayUseReserve
        time = writer.tail.nextTime()
        start = writer.tail.end
        chain = writer.tail.chain
    }

    deinit {
        if !isSealed { writer.cancelCommit(start: start, chain: chain, usesQueue: usesQueue) }
    }

    /// Adds a part. From then on its memory belongs to the log.
    ///
    /// - Throws: `.tooLarge` for a part above `partByteCount` (for a schema: above 16 MiB); the error that writing an
    ///   earlier part threw. Then the commit can only be aborted.
    package mutating func add(_ kind: LogPartKind, _ bytes: consuming ByteWriter) throws(LogError) {
        try checkLength(bytes.count, kind)
        guard Int(partCount) < LogLimits.partCount else {
            throw LogError(
                .tooLarge, path: writer.path, detail: "the commit has more than \(LogLimits.partCount) parts")
        }
        if kind == .schema { schema = bytes.array() }
        try submitPending(isLast: false)
        pending = consume bytes
        pendingKind = kind
    }

    private func checkLength(_ byteCount: Int, _ kind: LogPartKind) throws(LogError) {
        let limit = kind == .schema ? LogLimits.payloadByteCount : writer.tail.options.partByteCount
        guard byteCount <= limit else {
            throw LogError(
                .tooLarge, path: writer.path, detail: "a part has \(byteCount) bytes; the limit is \(limit)")
        }
    }

    /// Returns the error that the caller gets for a failure. A full disk must leave nothing of the commit, so what it
    /// has written is undone first. If undoing fails, the caller gets its error instead.
    private mutating func refusal(_ error: LogError) -> LogError {
        guard error.code == .diskFull else { return error }
        do throws(LogError) {
            try writer.undoWrite(version, start: start, chain: chain, usesQueue: usesQueue)
            usesQueue = false
            return error
        } catch {
            return error
        }
    }

    private mutating func submitPending(isLast: Bool) throws(LogError) {
        // A forked child does not have the threads for which it would wait.
        if writer.isForked { throw LogError(.forked, path: writer.path) }
        guard var raw = pending.take() else { return }
        if !usesQueue {
            usesQueue = true
            writer.queue.begin(version: version, time: time)
        }
        do {
            try writer.queue.submit(&raw, kind: pendingKind.frameKind, part: partCount, isLast: isLast)
        } catch {
            throw refusal(writer.writeFailure(error, version: version))
        }
        partCount += 1
        writer.keepSpare(raw)
    }

    /// Writes what is left and ends the commit. Then it is in the log, but it is durable only when `waitUntilDurable`
    /// has returned.
    ///
    /// - Throws: `.diskFull` (the commit is not in the log, which continues); `.unknownOutcome` (the log takes no
    ///   more writes).
    package consuming func seal() throws(LogError) -> FramePosition {
        if usesQueue {
            try submitPending(isLast: true)
            do {
                try writer.queue.drain()
            } catch {
                throw refusal(writer.writeFailure(error, version: version))
            }
        } else if let raw = pending.take() {
            try writeSinglePart(raw.bytes, pendingKind)
            writer.keepSpare(raw)
        } else {
            try writeSinglePart(UnsafeRawBufferPointer(start: nil, count: 0), .changes)
        }
        isSealed = true
        return writer.endCommit(version, start: start, time: time, schema: schema)
    }

    /// Writes a commit of one part and ends it. The part's memory stays the caller's. Copies and allocates nothing.
    ///
    /// - Throws: the errors of `add` and `seal`.
    package consuming func seal(
        _ kind: LogPartKind, _ bytes: UnsafeRawBufferPointer
    ) throws(LogError) -> FramePosition {
        try checkLength(bytes.count, kind)
        try writeSinglePart(bytes, kind)
        isSealed = true
        return writer.endCommit(
            version, start: start, time: time, schema: kind == .schema ? [UInt8](bytes) : nil)
    }

    private mutating func writeSinglePart(_ bytes: UnsafeRawBufferPointer, _ kind: LogPartKind) throws(LogError) {
        do {
            try writer.writeSinglePart(
                bytes, kind.frameKind, version: version, time: time, mayUseReserve: mayUseReserve)
        } catch {
            throw refusal(error)
        }
    }

    /// Leaves the log as it was before the commit began.
    package consuming func abort() {}
}
