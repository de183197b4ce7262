import FirnBytes
import FirnStorage
import Synchronization

/// The parts of a log that only exist if it is open for writing, and the steps of a commit (`LogWriter+Commits`).
///
/// `scratch` and `encoder` belong to the appender (see `LogTail`). `spareLock` guards `spare`; it is held for a few
/// instructions. `byteCountSinceCheckpoint`, `isShortOfSpace` and `isReserveUsed` are atomic, because any thread may
/// read them as an estimate.
final class LogWriter: @unchecked Sendable {
    let group: GroupCommit
    let tail: LogTail
    let queue: PartQueue
    let lock: WriterLock
    let follower: LogFollower
    let reserve: LogReserve
    /// Nil if the log uses no threads of its own.
    let maintenance: LogMaintenanceThread?
    /// The bytes of the commits since the last checkpoint began.
    let byteCountSinceCheckpoint = Atomic<Int>(0)
    /// Set when the disk is full, until there is space again.
    let isShortOfSpace: Atomic<Bool>
    /// A copy of the tail's `isReserveGone` that any thread may read.
    let isReserveUsed: Atomic<Bool>
    @exclusivity(unchecked) var scratch = ByteWriter(capacity: 4096)
    @exclusivity(unchecked) var encoder: PartEncoder
    /// The memory of a part that was written, to be used again.
    private let spareLock = Lock(.innermost)
    @exclusivity(unchecked) private var spare: ByteWriter?
    private let forkMark = ForkMark()

    init(group: GroupCommit, tail: LogTail, lock: WriterLock, follower: LogFollower, reserve: LogReserve) {
        self.group = group
        self.tail = tail
        self.lock = lock
        self.follower = follower
        self.reserve = reserve
        isShortOfSpace = Atomic(tail.isReserveGone)
        isReserveUsed = Atomic(tail.isReserveGone)
        encoder = PartEncoder(isEncrypting: tail.isEncrypting)
        queue = PartQueue(tail: tail)
        maintenance =
            tail.options.usesThreads
            ? LogMaintenanceThread(tail: tail, group: group, writerLock: lock, reserve: reserve) : nil
    }

    /// The folder's path, for errors.
    var path: String { tail.folder.path }

    /// Whether this process was forked off the one that opened the log.
    var isForked: Bool { forkMark.isForked }

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
