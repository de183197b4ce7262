import FirnLog

/// What a store reports besides results: see `StoreOptions.onEvent`.
package enum StoreEvent: Sendable {
    /// A checkpoint was written, which took this many nanoseconds.
    case compacted(CompactionReport, nanoseconds: Int64)
    /// A checkpoint that was due could not be written.
    case compactionFailed(StoreError)
    /// The system's clock was set by a large amount. This matters because versions are dated by it.
    case clockChanged(ClockChange)
}
