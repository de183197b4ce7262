import FirnStorage

/// When a commit counts as done.
public enum Durability: Sendable, Equatable {
    /// When it is on the disk: a power cut loses nothing that was acknowledged.
    case full
    /// When it is written. It is on the disk at most this many milliseconds (at least 1, a century at most) and the time of a sync later; a power cut may lose the commits of that time,
    /// the newest ones, and never a part of one. If the disk fails meanwhile, the next commit says so. A process that returns from `main` or calls `exit` syncs before it ends; of one that is killed
    /// nothing is lost, but the operating system decides when it reaches the disk.
    case relaxed(milliseconds: Int)
    /// When it is written. Firn syncs only when it seals a segment (each 64 MiB), before a checkpoint takes the place of the log, and
    /// when the log is closed: till then the operating system decides
    /// what reaches the disk, and when. The end of the process loses nothing.
    case none
}

/// What to read when a store is opened.
public enum VerifyOnOpen: Sendable, Equatable {
    /// The manifest, each segment's head, and all of the newest segment. The rest is checked when it is first read.
    case directory
    /// Every byte.
    case everything
    /// Every byte of a log, and of a checkpoint, shorter than 1 MiB, which takes less than a millisecond; of longer ones as `directory`.
    case everythingOfSmall

    /// Whether all of a log, or of a checkpoint, of so many bytes is read.
    public func includes(_ byteCount: Int) -> Bool {
        switch self {
        case .directory: false
        case .everything: true
        case .everythingOfSmall: byteCount < 1 << 20
        }
    }
}

/// How a store is opened.
public struct LogOptions: Sendable {
    public enum Access: Sendable, Equatable {
        /// Reads beside whoever writes; creates and changes nothing, and needs no permission to write (see `Log.openForReading`).
        case readOnly
        /// Reads and writes, beside other processes that do: who commits waits for those who are committing. Opening waits this many milliseconds for a process that is just
        /// opening the store too, and recovering it; then it fails with `.locked`.
        case readWrite(waitMilliseconds: Int)
    }

    /// The store's folder. It is created where nothing bears the name and its parent exists.
    public var folder: String
    public var access: Access
    public var durability: Durability
    public var verify: VerifyOnOpen
    /// Who may read and write the files that are created. Those that are there keep the mode they have.
    public var fileMode = FileMode.ownerOnly
    /// The length at which a segment is sealed, a multiple of 64 and at least 4 KiB.
    public var segmentByteCount = LogLimits.segmentByteCount
    /// The most that a part holds before compression; what is longer is refused.
    public var partByteCount = 1 << 20
    /// The sector of a disk whose writes of a sector may be torn by a power cut, a power of two from 512 to 65,536; 0 (the default) for
    /// a disk that writes sectors whole or not at all.
    ///
    /// A commit is written behind the one before, so a write begins in the sector that holds the end of commits already synced. A disk
    /// that spoils the whole sector when power fails amid such a write would take those with it. Nearly all disks write sectors of 512
    /// or 4,096 bytes atomically, or with a capacitor; SQLite assumes the same ("powersafe overwrite"). With a sector given here, each
    /// group of commits that one sync makes durable begins in a sector of its own. The system writes whole pages, so 4,096 is the
    /// least that helps where files are cached. Cost: up to that many bytes of log a sync.
    public var sectorByteCount = 0
    /// The room that is kept so that a full disk can still delete; 0 keeps none.
    public var reserveByteCount = LogLimits.reserveByteCount
    /// Whether whoever opens the log writes a checkpoint before it ends, so that another process that ends leaves it to
    /// this one (`Log.beginEnding`).
    public var endsWithCheckpoint = true
    /// How long the log must have been quiet before it writes its durable mark once more.
    public var idleMilliseconds = 200
    /// False does all work on the threads that call, in an order that depends on nothing but the calls: for simulations. Who would have to wait for another process to write
    /// is told `.locked` then.
    public var usesThreads = true

    public init(
        folder: String, access: Access = .readWrite(waitMilliseconds: 10_000), durability: Durability = .full,
        verify: VerifyOnOpen = .directory
    ) {
        self.folder = folder
        self.access = access
        self.durability = durability
        self.verify = verify
    }
}
