/// Says when a store writes a checkpoint by itself.
///
/// A checkpoint is written when the log after the last one has grown beyond a limit (`isDue(log:live:)`). The limit is
/// the size of the live data, but at least 8 MiB and at most 64 MiB. The lower bound keeps small stores from being
/// written all the time. The upper bound exists because opening reads the log after the checkpoint (some 10 ns per
/// byte). If the disk has little space, it is written sooner (`Compactor+Space`).
///
/// A checkpoint adds the nodes that have changed to the files of the checkpoint before, and punches holes where nothing
/// is read any more. Garbage may lie in blocks that also hold live nodes. When such garbage is more than `garbageShare`
/// of the files, the parts with the smallest live share are cleared. Their live nodes are written again, too, so that
/// their blocks become free. So files take at most live / (1 - garbageShare) + log, plus what held versions read beside
/// the newest one. A byte is rewritten at most about once each time that a third of all data has been replaced.
///
/// Closing a store, and ending a process that has it open, writes a checkpoint if the log has grown beyond
/// `closingLogByteCount`.
///
/// Holes can't be punched if the file system does not support that, or if another process has the store open. Then
/// everything is written again instead, and the old files stay as long as a version lies on them.
package struct CompactionRule: Sendable {
    /// If false, only `Store.compact` writes a checkpoint.
    package var isAutomatic = true
    /// The bounds of the log's size, in bytes, above which a checkpoint is due.
    package var logByteCount = (least: 8 << 20, most: 64 << 20)
    /// The bytes of log after a checkpoint beyond which closing the store writes another one, if nobody else has the
    /// store open. So the next opening replays at most that much (some 10 ns per byte).
    package var closingLogByteCount = 1 << 20
    /// The share of garbage in a checkpoint's files above which the live nodes among the garbage are written again.
    package var garbageShare = 0.3
    /// Bytes per second that an automatic checkpoint writes, so that commits beside it are hardly slower; 0 for no
    /// limit.
    package var bytesPerSecond = 64 << 20

    package init() {
        #if DEBUG
            guard TestedMemory.isScarce else { return }
            logByteCount.least = 4 << 10
            closingLogByteCount = 0
        #endif
    }

    func isDue(log: Int, live: Int) -> Bool {
        isAutomatic && log > max(logByteCount.least, min(live, logByteCount.most))
    }
}
