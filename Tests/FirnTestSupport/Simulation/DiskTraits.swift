/// How a disk and its file system misbehave beyond what every one of them may do. All of it is off by default.
public struct DiskTraits: Sendable {
    /// The bytes that a power cut leaves either old or new as a whole: 512 or 4096.
    public var sectorSize = 512

    /// A power cut may leave a sector that was being written as garbage: also the part of it that was synced long ago. SQLite calls
    /// a disk that never does so one with "powersafe overwrite".
    public var tearsSectors = false

    /// Blocks that were given back may hold their old bytes again after a power cut, even after a sync.
    public var losesHolePunches = false

    /// Files can be mapped at an address of the caller's choice (`mapPrivately`). Such a mapping shows the file as it was when it was made.
    public var mapsPrivately = false

    /// The disk remembers what its sectors held before, so that `SimulatedDisk.makeStale` and `misdirect` can bring it back. Costs memory for each overwritten sector.
    public var remembersSectors = false

    public init() {}
}
