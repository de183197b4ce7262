/// When a store writes a checkpoint by itself.
///
/// A checkpoint is written when the log after the last one has grown beyond `logByteCount(live:)`: the live data, but at least 8 MiB, so that small stores are not written all the time, and at
/// most 64 MiB, as opening reads the log after the checkpoint (some 10 ns a byte).
///
/// It adds what has changed to the files of the one before, and gives the blocks back in which nothing is read any more. When more than `garbageShare` of the files is garbage in blocks that hold something, what lives in those parts of which
/// the least does is written anew too, so that these become free. So files take at most live / (1 - garbageShare) + log, and what versions that are held read beside the newest one; a byte is rewritten at most about once each time that a
/// third of all has been replaced.
///
/// Closing a store, and ending a process with it open, writes a checkpoint if the log has grown beyond `closingLogByteCount`.
///
/// Where blocks can't be given back (the file system can't, or another process has the store open), everything is written anew instead, and the old files stay as long as a version lies on them.
public struct CompactionRule: Sendable {
    /// False: only `Store.compact` writes a checkpoint.
    public var isAutomatic = true
    /// The least and the most that the log after a checkpoint grows to.
    public var logByteCount = (least: 8 << 20, most: 64 << 20)
    /// The log after a checkpoint from which on closing the store writes another one, if nobody else has the store open: so much the next opening may
    /// replay (some 10 ns a byte).
    public var closingLogByteCount = 1 << 20
    /// The share of garbage in a checkpoint's files from which on what lives among it is written anew.
    public var garbageShare = 0.3
    /// Bytes a second that an automatic checkpoint writes, so that commits beside it are hardly slower; 0 for no limit.
    public var bytesPerSecond = 64 << 20

    public init() {}

    func isDue(log: Int, live: Int) -> Bool {
        isAutomatic && log > max(logByteCount.least, min(live, logByteCount.most))
    }
}
