import FirnBytes
import FirnStorage

/// What only a log that is open for writing has.
///
/// `scratch` and `encoder` are owned by the appender (see `LogTail`); `spare` is guarded by `spareLock`, which is held for a few instructions.
final class LogWriter: @unchecked Sendable {
    let group: GroupCommit
    let tail: LogTail
    let queue: PartQueue
    let lock: WriterLock
    let follower: LogFollower
    /// nil where the log uses no threads of its own.
    let keeper: LogMaintenanceThread?
    @exclusivity(unchecked) var scratch = ByteWriter(capacity: 4096)
    @exclusivity(unchecked) var encoder = PartEncoder()
    /// Memory of a part that was written, to be filled again.
    private let spareLock = Lock(.innermost)
    @exclusivity(unchecked) private var spare: ByteWriter?

    init(group: GroupCommit, tail: LogTail, lock: WriterLock, follower: LogFollower) {
        self.group = group
        self.tail = tail
        self.lock = lock
        self.follower = follower
        queue = PartQueue(tail: tail)
        keeper = tail.options.usesThreads ? LogMaintenanceThread(tail: tail, group: group, writerLock: lock) : nil
    }

    func takeSpare() -> ByteWriter {
        spareLock.lock()
        defer { spareLock.unlock() }
        return spare.take() ?? ByteWriter()
    }

    func keepSpare(_ buffer: consuming ByteWriter) {
        buffer.removeAll()
        spareLock.lock()
        spare = consume buffer
        spareLock.unlock()
    }
}
