/// Distinguishes a file or folder from all others on a machine, for as long as it exists.
public struct FileIdentity: Sendable, Hashable {
    public var device: UInt64
    /// The number of its inode.
    public var number: UInt64

    public init(device: UInt64, number: UInt64) {
        self.device = device
        self.number = number
    }
}

/// The file or folder that has a name.
public struct FileStatus: Sendable, Equatable {
    public enum Kind: Sendable { case file, folder, other }
    public var kind: Kind
    /// Length in bytes.
    public var byteCount: Int
    /// Bytes allocated on the device.
    public var allocatedByteCount: Int
    public var identity: FileIdentity
    /// The number of names that lead to the file (hard links).
    public var linkCount: Int
    /// Who may read and write.
    public var mode: FileMode

    public init(
        kind: Kind, byteCount: Int, allocatedByteCount: Int, identity: FileIdentity, linkCount: Int = 1,
        mode: FileMode = .ownerOnly
    ) {
        self.kind = kind
        self.linkCount = linkCount
        self.mode = mode
        self.identity = identity
        self.byteCount = byteCount
        self.allocatedByteCount = allocatedByteCount
    }
}

/// The volume that contains a file or folder.
public struct Volume: Sendable, Equatable {
    /// The file system's name, for example `ext4` or `nfs`; its number in hexadecimal if it is unknown.
    public var fileSystem: String
    /// True for network file systems, whose locks and mappings do not work between machines.
    public var isNetwork: Bool
    /// Bytes free for this user.
    public var availableByteCount: Int

    public init(fileSystem: String, isNetwork: Bool, availableByteCount: Int) {
        self.fileSystem = fileSystem
        self.isNetwork = isNetwork
        self.availableByteCount = availableByteCount
    }
}
