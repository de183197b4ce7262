import FirnCrypto
import FirnStorage

/// When a commit counts as done.
package enum Durability: Sendable, Equatable {
    /// A commit is done when it is on the disk: a power cut loses nothing that was acknowledged.
    case full
    /// A commit is done when it is written. It is on the disk at most this many milliseconds (from 1 to a century) plus
    /// the time of a sync later. A power cut may lose the commits of that time, which are the newest ones, but never a
    /// part of a commit. If the disk fails meanwhile, the next commit throws. A process that returns from `main` or
    /// calls `exit` syncs before it ends. If a process is killed, nothing is lost, but the operating system decides
    /// when its commits reach the disk.
    case relaxed(milliseconds: Int)
    /// A commit is done when it is written. Firn syncs only when it seals a segment (each 64 MiB), before a checkpoint
    /// replaces the log, and when the log is closed. Until then the operating system decides what reaches the disk, and
    /// when. The end of the process loses nothing.
    case none
}

/// How much of a store is read and checked when it is opened.
package enum VerifyOnOpen: Sendable, Equatable {
    /// The manifest, each segment's header, and all of the newest segment. The rest is checked when it is first read.
    case directory
    /// Every byte.
    case everything
    /// Every byte of a log, or of a checkpoint, that is shorter than 1 MiB, which takes less than a millisecond. A
    /// longer log or checkpoint is checked as by `directory`.
    case everythingOfSmall

    /// Whether all of a log, or of a checkpoint, with this many bytes is read.
    package func includes(_ byteCount: Int) -> Bool {
        switch self {
        case .directory: false
        case .everything: true
        case .everythingOfSmall: byteCount < 1 << 20
        }
    }
}

/// How a store is opened.
package struct LogOptions: Sendable {
    package enum Access: Sendable, Equatable {
        /// Reads beside processes that write. Creates and changes nothing, and needs no permission to write (see
        /// `Log.openForReading`).
        case readOnly
        /// Reads and writes, beside other processes that do so: a commit waits for those of other processes. If
        /// another process is opening and recovering the store at the same time, opening waits this many
        /// milliseconds for it and then fails with `.locked`.
        case readWrite(waitMilliseconds: Int)
    }

    /// The store's folder. It is created if nothing exists at the path and its parent exists.
    package var folder: String
    package var access: Access
    package var durability: Durability
    package var verify: VerifyOnOpen
    /// Who may read and write the files that are created. Existing files keep their mode.
    package var fileMode = FileMode.ownerOnly
    /// The user's key of an encrypted store. A store that is made with a key is encrypted.
    package var encryptionKey = EncryptionKey.ofTests
    /// How a store that is made with a key is encrypted; nil if this build can't encrypt. Stores that exist keep their
    /// algorithm.
    package var encryptionAlgorithm = EncryptionAlgorithm.preferred
    /// The length at which a segment is sealed, a multiple of 64 and at least 4 KiB.
    package var segmentByteCount = LogLimits.segmentByteCount
    /// The most bytes that a part holds before compression; a longer part is refused.
    package var partByteCount = 1 << 20
    /// The size of the reserve: 0 keeps none, and nil follows the size of the store (`LogReserve`). The reserve is
    /// removed when the disk is full, so that a transaction that removes more than it adds can still commit.
    package var reserveByteCount: Int?
    /// Whether the opener of this log writes a checkpoint before it ends. If it does, another process that ends earlier
    /// can leave the checkpoint to it (`Log.beginEnding`).
    package var endsWithCheckpoint = true
    /// How many milliseconds the log must have been idle before it writes its durable mark once more.
    package var idleMilliseconds = 200
    var idleNanoseconds: Int64 { .nanoseconds(milliseconds: max(idleMilliseconds, 1)) }
    /// If false, all work is done on the calling threads, in an order that depends only on the calls: for simulations.
    /// A call that would have to wait because another process is writing then throws `.locked`.
    package var usesThreads = true

    package init(
        folder: String, access: Access = .readWrite(waitMilliseconds: 10_000), durability: Durability = .full,
        verify: VerifyOnOpen = .directory
    ) {
        self.folder = folder
        self.access = access
        self.durability = durability
        self.verify = verify
    }
}
