/// Who may read and write a file that Firn makes: the permission bits of the owner, the group and all others, as `chmod` counts them.
///
/// A new file gets exactly these, whatever the process's umask: who asks for a wider mode means it, and nobody gets more than was asked for.
public struct FileMode: Sendable, Hashable {
    public let bits: UInt16

    /// - Parameter bits: of these the bits for reading and writing count. The owner always has both.
    public init(_ bits: UInt16) {
        self.bits = bits & 0o666 | 0o600
    }

    /// 0600, and 0700 for folders.
    public static var ownerOnly: FileMode { FileMode(0o600) }

    /// Those of a folder: who may read in it may also look a name up.
    public var folderBits: UInt16 { bits | (bits & 0o444) >> 2 }
}

/// How a file is opened that processes share: a lock file, or shared memory.
public enum SharedOpening: Sendable {
    /// For writing. It is created with this mode where nothing bears the name.
    case create(FileMode)
    /// As it is, for writing if this user may write it, else for reading. Where nothing bears the name it throws `.notFound`; nothing is created or made longer.
    case existing
}
