import FirnLog
import FirnStorage
import Synchronization

/// How a store is opened.
package struct StoreOptions: Sendable {
    /// Where the log is and how it is written; nil for a store in memory, which is lost when it is closed.
    package var log: LogOptions?
    /// The bytes that the nodes of all versions together may take on the heap. Beyond that, transactions write new
    /// nodes to a scratch file in the store's folder. Stores in memory never spill.
    ///
    /// A store also compacts itself when the newest version has too much outside of its checkpoint. That is more than
    /// this number of bytes, and more than a quarter of the live data, unless the store is encrypted.
    package var transactionMemoryByteCount = 1 << 30
    /// A transaction is refused while more versions than this are active. The newest version is active, and so is each
    /// version that something in this or another process holds. At least 1; nil for no limit.
    package var maximumNumberOfActiveVersions: Int?
    /// A transaction is refused while held versions, in all processes together, retain more memory than this beyond
    /// what the newest version needs. Nil for no limit.
    package var maximumRetainedByteCount: Int?
    /// What a transaction does if one of these two limits refuses it.
    package var activeVersionPolicy = ActiveVersionPolicy.fail
    /// Whether the files of a checkpoint are mapped. If false, the pieces that are needed are read into memory instead.
    /// This is for a volume whose device may vanish, because reading a mapping of it would then stop the program.
    package var readsByMapping = true
    /// The most bytes for what is decrypted of the checkpoints of an encrypted store; nil for no limit. See
    /// `DecryptedMemory`.
    package var decryptedMemoryByteCount: Int? = 1 << 30
    /// Called with damage that a getter meets, before the program stops, because a getter can't throw. It is called
    /// on the thread that met the damage, and must not use the store.
    package var onDamage: (@Sendable (StoreDamage) -> Void)?
    /// Called with each event, on the thread on which it happens and under no lock.
    package var onEvent: (@Sendable (StoreEvent) -> Void)?
    /// When a checkpoint is written.
    package var compaction = CompactionRule()
    /// The bytes by which a transaction's nodes grow between two flushes of `StreamedInserts`. Copying the last leaf
    /// at each flush costs a fiftieth of that.
    package var streamedByteCount = 4 << 20
    /// About the most bytes of the log that are read to open a retained version. One checkpoint is kept per this many
    /// bytes of the log.
    package var historyCheckpointByteCount = 256 << 20
    /// Called while a compaction runs, between writing the checkpoint and replacing the tree that it was written from.
    var duringCompaction: (@Sendable () -> Void)?
    /// Called before memory that versions need is written out. An error that it throws is treated like an error of
    /// the disk.
    var duringSpill: (@Sendable () throws(StorageError) -> Void)?
    /// Which past versions stay openable.
    package var historyRetention = HistoryRetention.none

    package init(log: LogOptions?) { self.log = log }
}

extension StoreOptions {
    /// How the files of a store's checkpoints are read, with memory for what is decrypted of them.
    func makeCheckpointReading() -> CheckpointReading {
        CheckpointReading(
            isByMapping: readsByMapping, onDamage: onDamage,
            decryptedMemory: DecryptedMemory(limit: decryptedMemoryByteCount))
    }

    /// How much may be held.
    func versionLimit() throws(StoreError) -> VersionLimit {
        try VersionLimit(
            versionCount: maximumNumberOfActiveVersions, retainedByteCount: maximumRetainedByteCount,
            policy: activeVersionPolicy, hasFiles: log != nil, isEncrypted: log?.encryptionKey != nil)
    }
}
