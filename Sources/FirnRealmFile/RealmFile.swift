import FirnStorage

/// A file that Realm made, opened for reading: its classes, and their objects column by column.
///
/// It reads the formats 2 to 24, in their normal and in their streaming form (`Realm.writeCopy`), with and without a
/// key, and never writes. Every number in the file is checked before it is used, so a damaged or forged file leads to
/// an error and to nothing else. The layout is drawn in the types that
/// read it.
///
/// ```
/// header: | root 0, 8 | root 1, 8 | "T-DB" 4 | format 0, 1 | format 1, 1 | reserved 1 | flags 1: bit 0 which root |
/// streaming form: root 0 is FFFFFFFFFFFFFFFF, and the file ends with | root 8 | cookie 8 |
/// root: | table names | tables | length of the data | free space, 3 | version | kind of history | ... |
/// ```
///
/// Whoever opens a file makes sure that nobody writes it meanwhile (`RealmFileLock`). One thread uses an object of this
/// type.
public final class RealmFile {
    public let path: String
    /// The format: 2 to 24, or 0 if the file has no commit yet.
    public let format: Int
    /// The classes of the application, in the file's order.
    public internal(set) var classes: [RealmFileClass] = []
    /// The version that the application gave its schema. Nil if it has none.
    public internal(set) var schemaVersion: Int64?
    /// The classes that can't be read, if the file was opened for salvage.
    public internal(set) var damagedClasses: [RealmFileError] = []
    /// The names of tables that are no classes of the application.
    public internal(set) var otherTables: [String] = []
    /// Whether the file belongs to a Realm that was synchronized with a server. Changes that were not sent yet are
    /// lost if it is read by another program.
    public internal(set) var isSynchronized = false
    /// The number of the newest commit.
    public internal(set) var version: UInt64 = 0

    let nodes: FileNodes
    /// Whether the format is at most 9, which have no trees of objects.
    var oldFormat: Bool { format < 10 }

    static let magic: [UInt8] = [0x54, 0x2d, 0x44, 0x42]
    static let headerByteCount = 24
    static let streamingCookie: UInt64 = 0x3034_1252_37e5_26c8
    static let classPrefix = "class_"

    /// How a file is opened.
    public struct Options: Sendable {
        /// The 64 bytes of the file's key.
        public var key: [UInt8]?
        /// Whether the classes that can't be read are left out, and listed in `damagedClasses`.
        public var salvages = false
        /// How many bytes of the file stay in memory between two batches of objects.
        public var memoryLimit = 32 << 20

        public init() {}
    }

    /// Opens a file.
    public convenience init(
        _ storage: any Storage, path: String, _ options: Options = Options()
    ) throws {
        try self.init(stored(storage.open(path, .read)), path: path, options)
    }

    /// Reads an open file.
    public init(_ file: any StorageFile, path: String, _ options: Options = Options()) throws {
        self.path = path
        do {
            let header = try FileHeader(file, options.key)
            if options.key != nil, !PageCipher.isAvailable { throw RealmFileError(.decryptionUnavailable) }
            let pages = try FilePages(file, cipher: options.key.map { PageCipher(key: $0) }, limit: options.memoryLimit)
            nodes = FileNodes(pages)
            guard header.isPresent else {
                format = 0
                return
            }
            let root = try Self.root(pages)
            format = root.reference == 0 ? 0 : root.format
            if root.reference == 0 { return }
            guard root.isKnown else { throw RealmFileError(.unsupportedFormat(root.format)) }
            try readGroup(root, salvages: options.salvages)
        } catch let error as RealmFileError {
            throw error.of(path)
        }
    }
}
