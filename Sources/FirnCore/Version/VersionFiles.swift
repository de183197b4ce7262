/// The mapped files that hold a version's older nodes.
///
/// The entry of each active version holds them, so they stay mapped while anything reaches the version. Versions need
/// to know no more of them than this. The one conforming type is `CheckpointMapping`.
protocol VersionFiles: AnyObject, Sendable {
    /// Notes that no version after the one with `stamp` reaches these nodes of the files. Returns their bytes.
    func addDead(_ nodes: [(address: UInt, byteCount: Int)], after stamp: UInt64) -> Int
}
