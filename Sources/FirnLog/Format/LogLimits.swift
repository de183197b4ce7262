/// Every limit of the log. Each is enforced with an error that names it.
public enum LogLimits {
    /// The format that this release writes, and the newest it reads.
    public static let format: UInt16 = 1
    /// Frames begin at multiples of this many bytes.
    public static let frameAlignment = 64
    /// The most a part may hold before compression; Firn's own parts are at most `LogOptions.partByteCount`.
    public static let payloadByteCount = 16 << 20
    /// Segments that one store may list.
    public static let segmentCount = 1 << 20
    /// Checkpoints that one store may list.
    public static let checkpointCount = 1 << 16
    /// Files in the space of one checkpoint.
    public static let checkpointFileCount = 1 << 10
    /// The greatest version, generation and id of a checkpoint, so that counting on from what a file says never overflows. A store that counted up once every nanosecond would reach it after 146 years.
    public static let number: UInt64 = 1 << 62
    /// The greatest epoch, and the greatest number of a segment, for the same reason.
    public static let epoch: UInt32 = 1 << 31
    /// The longest that a sealed segment may claim to be; with `segmentCount` of them, the sum still fits in 63 bits.
    public static let longestSegmentByteCount = 1 << 42
    /// The longest file of a checkpoint, and the greatest place in the space of one.
    public static let checkpointByteCount = 1 << 42
    /// The longest foot of a checkpoint. It is read into memory whole; the schema in it has 16 MiB at most, and the rest is what its holes take.
    public static let footByteCount = 256 << 20
    /// Parts in one commit.
    public static let partCount = 1 << 31
    /// The bytes of a segment, at which the log goes on in a new one. A commit is never split, so one that is longer than a segment
    /// makes a longer segment.
    public static let segmentByteCount = 64 << 20
    /// The file that is kept so that a full disk can still delete.
    public static let reserveByteCount = 4 << 20
    /// The first and the greatest step in which a segment is filled with zeros ahead of the writer.
    public static let fillByteCount = (first: 256 << 10, most: 4 << 20)
    /// Parts of this size and above are written without filling first: for them the cost of lengthening the file is small.
    public static let unfilledPartByteCount = 256 << 10
}
