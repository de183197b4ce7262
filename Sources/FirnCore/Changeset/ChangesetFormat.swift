/// The kind of a block in a changeset. The documentation's page "The format of changesets" describes every byte.
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
    /// The first block of a part without old values.
    case withoutOld
}

/// The kind of cell that the elements of an `elements` block belong to.
enum ElementsOwner: UInt8 {
    case inserted = 0
    case deleted, updated, updatedOld

    var isOld: Bool { self == .deleted || self == .updatedOld }
}

/// The constants of the format.
enum ChangesetFormat {
    static let headerByteCount = 6
    /// Set if a block holds only values of the version before, which applying the changeset forward does not need.
    static let oldFlag: UInt8 = 1
    /// Set if a reader that does not know the block's kind may skip it.
    static let optionalFlag: UInt8 = 2
    /// Longer values are sent before their block as blobs. Longer collections follow their block as elements.
    static let cellByteCount = 64 << 10
    /// All object keys are below this number.
    static let keyLimit: Int64 = 1 << 62
    /// The most bytes of blobs before one block.
    static let blobsByteCount = 64 << 20
    /// The most blobs before one block. A writer never reaches this number. It writes only values of more than
    /// `cellByteCount` bytes as blobs, and `blobsByteCount` bytes hold fewer than 1,024 of them.
    static let blobCount = 1 << 16
    /// The most bytes of one blob: a value of the longest kind, or a schema.
    static let blobByteCount = Limits.encodedValueByteCount
    /// The most cells in one update block.
    static let updateCellCount = 8192
    /// Bits of a column's header: the column has nulls, the column has blobs.
    static let nullsBit: UInt8 = 0x40
    static let blobsBit: UInt8 = 0x80

    static func header(_ type: ColumnType, _ collection: CollectionKind = .none) -> UInt8 {
        type.rawValue | collection.rawValue << 4
    }
}

/// Bytes of a changeset that are not valid: the file is damaged, or a newer Firn wrote it.
package struct ChangesetDamage: Error, Sendable, Equatable, CustomStringConvertible {
    /// The version that the changeset belongs to.
    package var version: UInt64
    /// The number of the part, counted from 0.
    package var part: Int
    /// The offset in the decompressed part, in bytes.
    package var offset: Int
    /// What is wrong.
    package var reason: String

    package init(version: UInt64, part: Int, offset: Int, reason: String) {
        self.version = version
        self.part = part
        self.offset = offset
        self.reason = reason
    }

    package var description: String {
        "the changeset of version \(version) is damaged at byte \(offset) of its part \(part): \(reason). "
            + "`firn verify` lists all damage, and `firn recover` makes a new store of everything that can still be read"
    }
}
