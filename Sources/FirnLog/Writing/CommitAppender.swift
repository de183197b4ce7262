import FirnBytes
import FirnStorage

/// What a part of a commit holds.
public enum LogPartKind: Sendable, Equatable {
    /// The whole schema, as it is from this commit on.
    case schema
    /// Changes, or a piece of them.
    case changes

    var frameKind: FrameHeader.Kind { self == .schema ? .schema : .changes }
}

/// Where a commit's frames lie.
public struct FramePosition: Sendable, Equatable {
    public var segment: UInt32
    /// The commit's first byte in the segment, and the one behind its last.
    public var range: Range<Int>
    /// The commit's time, in nanoseconds since 1970.
    public var time: Int64
}

/// A commit that is being written. It owns the log's tail until it is finished or aborted; letting it go aborts it.
///
/// A commit of one part is compressed and written by `finish` on the caller's thread, with one `pwrite`. With the second part, threads of
/// the log's begin to compress and write beside the caller.
public struct CommitAppender: ~Copyable {
    let log: Log
    public let version: UInt64
    /// When the commit began, in nanoseconds since 1970; never before the last one.
    public let time: Int64
    let mayUseReserve: Bool
    let start: Int
    let chain: UInt32
    private var pending: ByteWriter?
    private var pendingKind = LogPartKind.changes
    private var partCount: UInt32 = 0
    private var usesQueue = false
    private var isFinished = false
    private var schema: [UInt8]?

    init(log: Log, version: UInt64, time: Int64, mayUseReserve: Bool, start: Int, chain: UInt32) {
        self.log = log
        self.version = version
        self.time = time
        self.mayUseReserve = mayUseReserve
        self.start = start
        self.chain = chain
    }

    deinit {
        if !isFinished { log.cancel(start: start, chain: chain, usesQueue: usesQueue) }
    }

    /// Adds a part. The memory is the log's from here on.
    ///
    /// - Throws: `.tooLarge` for a part above `partByteCount` (a schema: 16 MiB); what writing an earlier part threw. The commit can then only be aborted.
    public mutating func add(_ kind: LogPartKind, _ bytes: consuming ByteWriter) throws(LogError) {
        let limit = kind == .schema ? LogLimits.payloadByteCount : log.options.partByteCount
        guard bytes.count <= limit else {
            throw LogError(
                .tooLarge, path: log.folder.path, detail: "a part of \(bytes.count) bytes; the limit is \(limit)")
        }
        guard Int(partCount) < LogLimits.partCount else {
            throw LogError(.tooLarge, path: log.folder.path, detail: "more than \(LogLimits.partCount) parts")
        }
        if kind == .schema { schema = bytes.array() }
        try submitPending(isLast: false)
        pending = consume bytes
        pendingKind = kind
    }

    /// What a failure means. A full disk is the commit's alone, of which nothing stays: that has to be so before the
    /// caller is told.
    private mutating func refusal(_ error: LogError) -> LogError {
        guard error.code == .diskFull else { return error }
        do throws(LogError) {
            try log.takeBack(version: version, start: start, chain: chain, usesQueue: usesQueue)
            usesQueue = false
            return error
        } catch {
            return error
        }
    }

    private mutating func submitPending(isLast: Bool) throws(LogError) {
        // A forked child has none of the threads that it would wait for.
        if log.isForked { throw LogError(.forked, path: log.folder.path) }
        guard var raw = pending.take() else { return }
        let queue = log.partQueue
        if !usesQueue {
            usesQueue = true
            queue.begin(version: version, time: time)
        }
        do {
            try queue.submit(&raw, kind: pendingKind.frameKind, part: partCount, isLast: isLast)
        } catch {
            throw refusal(log.writeFailed(error, version: version))
        }
        partCount += 1
        log.recycle(raw)
    }

    /// Writes what is left and ends the commit. It is in the log now, but durable only when `waitUntilDurable` has returned.
    ///
    /// - Throws: `.diskFull` (the commit is not in the log, which goes on); `.unknownOutcome` (the log takes no more writes).
    public consuming func finish() throws(LogError) -> FramePosition {
        if usesQueue {
            try submitPending(isLast: true)
            do {
                try log.partQueue.drain()
            } catch {
                throw refusal(log.writeFailed(error, version: version))
            }
        } else if let raw = pending.take() {
            try writeOnly(raw.bytes, pendingKind)
            log.recycle(raw)
        } else {
            try writeOnly(UnsafeRawBufferPointer(start: nil, count: 0), .changes)
        }
        let position = log.finished(version: version, start: start, time: time, schema: schema)
        isFinished = true
        return position
    }

    private mutating func writeOnly(_ bytes: UnsafeRawBufferPointer, _ kind: LogPartKind) throws(LogError) {
        do {
            try log.writeOnly(bytes, kind.frameKind, version: version, time: time, mayUseReserve: mayUseReserve)
        } catch {
            throw refusal(error)
        }
    }

    /// Ends a commit of one part, which stays the caller's.
    consuming func finishWith(
        _ kind: LogPartKind, _ bytes: UnsafeRawBufferPointer
    ) throws(LogError) -> FramePosition {
        let limit = kind == .schema ? LogLimits.payloadByteCount : log.options.partByteCount
        guard bytes.count <= limit else {
            throw LogError(
                .tooLarge, path: log.folder.path, detail: "a part of \(bytes.count) bytes; the limit is \(limit)")
        }
        try writeOnly(bytes, kind)
        let position = log.finished(
            version: version, start: start, time: time, schema: kind == .schema ? [UInt8](bytes) : nil)
        isFinished = true
        return position
    }

    /// Leaves the log as it was before the commit began.
    public consuming func abort() {}
}
