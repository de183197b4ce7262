/// Every limit of the log. Each is enforced with an error that names it.
package enum LogLimits {
    /// The format that this release writes, and the newest it reads.
    package static let format: UInt16 = 1
    /// Frames begin at multiples of this many bytes.
    package static let frameAlignment = 64
    /// The most bytes before compression that a reader accepts in a part. Firn writes parts of at most
    /// `LogOptions.partByteCount`.
    package static let payloadByteCount = 16 << 20
    /// The number of segments that one store may list.
    package static let segmentCount = 1 << 20
    /// The number of checkpoints that one store may list.
    package static let checkpointCount = 1 << 16
    /// The number of files in one checkpoint mapping.
    package static let checkpointFileCount = 1 << 10
    /// The greatest version, generation and id of a checkpoint, so that incrementing a number from a file never
    /// overflows. A store that counted up once every nanosecond would reach it after 146 years.
    package static let number: UInt64 = 1 << 62
    /// The greatest epoch, and the greatest number of a segment. Incrementing either never overflows.
    package static let epoch: UInt32 = 1 << 31
    /// The greatest length that the manifest may state for a sealed segment; with `segmentCount` of them, the sum
    /// still fits in 63 bits.
    package static let longestSegmentByteCount = 1 << 42
    /// The greatest length of a checkpoint file, and the greatest offset in a checkpoint mapping.
    package static let checkpointByteCount = 1 << 42
    /// The greatest length of a checkpoint's footer. The footer is read into memory as one block; its schema has at
    /// most 16 MiB, and the rest is for its list of holes.
    package static let footerByteCount = 256 << 20
    /// The number of parts in one commit.
    package static let partCount = 1 << 31
    /// The most openers that may have a store open at the same time. One process may have several openers.
    package static let openerCount = 60
    /// The length at which a segment is sealed and the log continues in a new one. A commit is never split between
    /// segments, so a commit that is longer than a segment makes a longer segment.
    package static let segmentByteCount = 64 << 20
    /// The greatest length of the reserve (`LogReserve`). That file is removed when the disk is full, so that a
    /// transaction that removes more than it adds can still commit.
    package static let reserveByteCount = 4 << 20
    /// The first and the greatest step in which zeros are preallocated behind the tail.
    package static let preallocationByteCount = (first: 256 << 10, most: 4 << 20)
    /// The system is asked to begin writing frames of at least this size to the disk at once. So the sync has less to
    /// wait for.
    package static let writebackByteCount = 256 << 10
}
