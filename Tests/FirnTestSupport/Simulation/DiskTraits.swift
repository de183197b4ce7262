import FirnStorage

/// How a disk and its file system misbehave beyond what any disk may do. Everything is off by default.
public struct DiskTraits: Sendable {
    /// The unit of which a power cut leaves either all old or all new bytes: 512 or 4096.
    public var sectorSize = 512

    /// A power cut may turn a sector that is being written into garbage, including the part of it that was synced
    /// long ago. SQLite calls the opposite "powersafe overwrite".
    public var tearsSectors = false

    /// Punched holes may have their old bytes again after a power cut, even after a sync.
    public var losesHolePunches = false

    /// Files can be mapped to an address that the caller chooses (`mapPrivately`). Such a mapping shows the file as
    /// it was when the mapping was made.
    public var mapsPrivately = false

    /// Reading a checkpoint file never fails and is no call, as if the file had been mapped before. This is for runs
    /// with a key (`FIRN_TEST_KEY`): an encrypted file is not mapped, and getters read it at any time.
    public var readsCheckpointsAsMapped = TestEnvironment.hasKey

    /// The disk remembers the old bytes of its sectors, so that `SimulatedDisk.makeStale` and `misdirect` can restore
    /// them. This costs memory for each overwritten sector.
    public var remembersSectors = false

    public init() {}
}
