/// What a block of a changeset holds. The documentation's page "The format of changesets" has every byte.
///
/// ```
///  0      1       2            6
/// ┌──────┬───────┬────────────┬──────────────┐
/// │ kind │ flags │ length u32 │ body, length │
/// └──────┴───────┴────────────┴──────────────┘
/// ```
enum BlockKind: UInt8 {
    case schema = 1
    case blob, insert, insertMore, delete, deleteOld, update, updateOld, script, scriptOld, elements, nextKey
}

/// To which cell the elements of an `elements` block belong.
enum ElementsOwner: UInt8 {
    case inserted = 0
    case deleted, updated, updatedOld

    var isOld: Bool { self == .deleted || self == .updatedOld }
}

/// The numbers of the format.
enum ChangesetFormat {
    static let headerByteCount = 6
    /// The block holds values of the version before, and nothing that going forward needs.
    static let oldFlag: UInt8 = 1
    /// A reader that does not know the kind may skip the block.
    static let optionalFlag: UInt8 = 2
    /// Longer values go ahead as blobs, longer collections behind as elements.
    static let cellByteCount = 64 << 10
    /// Keys are below it.
    static let keyLimit: Int64 = 1 << 62
    /// Bytes of blobs before one block.
    static let blobsByteCount = 64 << 20
    /// Blobs before one block. Values of more than `cellByteCount` go ahead alone, of which fewer fit.
    static let blobCount = 1 << 16
    /// Bytes of one blob: a value of the longest kind, or a schema.
    static let blobByteCount = Limits.valueByteCount + 64
    /// Cells in one update block.
    static let updateCellCount = 8192
    /// A column's header when it has nulls, when it has blobs.
    static let nullsBit: UInt8 = 0x40
    static let blobsBit: UInt8 = 0x80

    static func header(_ type: ColumnType, _ collection: CollectionKind = .none) -> UInt8 {
        type.rawValue | collection.rawValue << 4
    }
}

/// Bytes of a changeset that are not what they must be: a damaged file, or a newer Firn's.
public struct ChangesetError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The version whose changeset it is.
    public var version: UInt64
    /// The part, counted from 0.
    public var part: Int
    /// Where in the decompressed part, in bytes.
    public var offset: Int
    /// What was wrong.
    public var reason: String

    public init(version: UInt64, part: Int, offset: Int, reason: String) {
        self.version = version
        self.part = part
        self.offset = offset
        self.reason = reason
    }

    public var description: String {
        "the changeset of version \(version) is damaged at byte \(offset) of its part \(part): \(reason). "
            + "`firn verify` tells what else is; a backup or a checkpoint before that version can be opened"
    }
}
