import FirnLog

extension Store {
    /// Writes a checkpoint of the newest version, removes the log before it, and frees the memory of that version's
    /// nodes. These are then read from the checkpoint.
    ///
    /// Readers and the writer continue meanwhile; the writer waits for a few milliseconds while the manifest is
    /// replaced.
    ///
    /// If more than a sixteenth of the checkpoint before is no longer reached, everything is written again. So the
    /// files become about as small as they can be. But while an older version is held, its files stay, so everything
    /// would be stored twice. Then the compaction does only what the rule would do.
    ///
    /// Cost: O(what changed since the last checkpoint), or O(everything).
    ///
    /// If there is too little space for writing everything, it works in several steps. Each moves only as much as there
    /// is space for.
    ///
    /// - Throws: `.log(.diskFull)` if there is not even space for what has changed. Then the store is unchanged.
    /// - Returns: nil if the store is in memory, nothing was written since the last checkpoint, or another process is
    ///   writing one.
    @discardableResult
    package func compact() throws(StoreError) -> CompactionReport? {
        // The holder of an older version keeps its files, so everything would be stored twice.
        if versions.withLock({ $0.activeCount(without: nil) > 1 }) {
            return try compact(garbageShare: options.compaction.garbageShare, rewritesAll: false)
        }
        return try compact(garbageShare: 1.0 / 16)
    }

    /// - Parameter rewritesAll: whether everything is written again if the share is exceeded, and not only the parts
    ///   with the smallest live share.
    @discardableResult
    package func compact(garbageShare: Double, rewritesAll: Bool = true) throws(StoreError) -> CompactionReport? {
        try checkWritable()
        return try compactor.compact(
            CheckpointOptions(garbageShare: garbageShare, rewritesAll: rewritesAll, limiter: nil))
    }

    /// Removes the files that versions have released since the last time, unless another process is doing that. The
    /// first commit after the release does it, too. Costs two loads if there is nothing to do.
    package func removeReleased() throws(StoreError) { try compactor.removeReleased() }

    /// Why the last automatic checkpoint could not be written; nil if it could. It is tried again after the next
    /// commits.
    package var compactionFailure: StoreError? { compaction.thread.lastFailure }

    /// The bytes of the checkpoint's files and of the log.
    package var fileByteCount: Int { compactor.fileByteCount }

    /// About how many bytes a compacted store has.
    package var usedByteCount: Int { compactor.liveStoredByteCount + heap.byteCount }

    /// Whether the pin's version is the newest one, but with another tree by now, so that only the pin holds the old
    /// tree.
    package func isSuperseded(_ pin: Pin) -> Bool {
        if versions.isPublishedTree(pin) { return false }
        let newest = versions.published
        return newest.version == pin.version && newest.stamp != pin.stamp
    }

    /// The store's compactor.
    var compactor: Compactor { Compactor(store: self) }

    /// Starts a checkpoint if the rule wants one, or the removal of files that versions have released. Called after
    /// each commit. Costs six loads and compares.
    @inline(__always)
    func startCheckpointIfDue() {
        guard let log,
            log.byteCountSinceCheckpoint > options.compaction.logByteCount.least || fileReferences.hasReleased
                || compaction.deferredHoles.areMany || heap.byteCount > options.transactionMemoryByteCount
                || compactor.mayBeShortOfSpace(log)
        else { return }
        compactor.startIfDue(log)
    }
}
