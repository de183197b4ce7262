/// A position between two frames of the log, and what is known there.
struct LogReadPosition: Equatable, Sendable {
    /// The segment, or 0 if the position has yet to be found by its version.
    var segment: UInt32 = 0
    var epoch: UInt32 = 0
    var offset = 0
    /// The chain behind the frame before.
    var chain = FrameChain(crc: 0)
    /// The last version before the position.
    var version: UInt64
    /// When that version was committed; 0 if no frame gave the time.
    var time: Int64 = 0
    /// The highest durable mark of the frames before.
    var mark: UInt64 = 0
    /// The schema in force; nil if no frame since the last position gave one.
    var schema: [UInt8]?
}
