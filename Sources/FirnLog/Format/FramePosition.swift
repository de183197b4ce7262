/// The position of a commit's frames in the log.
package struct FramePosition: Sendable, Equatable {
    package var segment: UInt32
    /// The range of the commit's bytes in the segment.
    package var range: Range<Int>
    /// The commit's time, in nanoseconds since 1970.
    package var time: Int64
}
