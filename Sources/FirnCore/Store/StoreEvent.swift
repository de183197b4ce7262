/// What a store reports besides results: see `StoreOptions.onEvent`.
package enum StoreEvent: Sendable {
    /// A checkpoint was written, in so many nanoseconds.
    case compacted(CompactionReport, nanoseconds: Int64)
    /// A checkpoint that was due could not be written.
    case compactionFailed(StoreError)
}
