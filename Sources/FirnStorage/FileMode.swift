/// Who may read and write a file that Firn makes: the permission bits of the owner, the group and all others, as for
/// `chmod`.
///
/// A new file gets exactly these bits, whatever the process's umask. A wider mode was chosen on purpose, and nobody
/// gets more rights than were asked for.
public struct FileMode: Sendable, Hashable {
    public let bits: UInt16

    /// - Parameter bits: only the bits for reading and writing are used. The owner always gets both.
    public init(_ bits: UInt16) {
        self.bits = bits & 0o666 | 0o600
    }

    /// 0600, and 0700 for folders.
    public static var ownerOnly: FileMode { FileMode(0o600) }

    /// The bits of a folder: whoever may read the folder may also look names up in it.
    public var folderBits: UInt16 { bits | (bits & 0o444) >> 2 }
}

/// How to open a file that processes share: a lock file, or shared memory.
public enum SharedOpening: Sendable {
    /// For writing. The file is created with this mode if nothing has the name.
    case create(FileMode)
    /// An existing file, for writing. Throws `.notFound` if nothing has the name.
    case writable
    /// An existing file, for writing if this user may write to it, otherwise for reading. Throws `.notFound` if nothing
    /// has the name. Nothing is created or made longer.
    case existing

    /// Whether a file is created if nothing has the name.
    package var mayCreate: Bool {
        if case .create = self { true } else { false }
    }
}
