import FirnBytes
import FirnStorage

/// The header of a file in the folder `checkpoint`. Such a file holds the nodes that one checkpoint wrote, and a footer
/// that describes the whole checkpoint. Numbers are little-endian.
///
/// The files of a checkpoint lie one behind the other in one **checkpoint mapping**, a range of addresses. Each file
/// begins at a multiple of 64 KiB. So a node in one file refers to a node in another by its offset in the mapping. A
/// later checkpoint of the same mapping adds a file with the nodes that have changed. It no longer lists files without
/// a node that is needed. A checkpoint that writes all nodes begins a mapping of its own. FirnCore defines the nodes
/// (`OnDiskNode`); each carries its own checksum.
///
/// ```
/// byte   0                       8           12          16
///        ┌───────────────────────┬───────────┬───────────┐
///        │ FIRNCHKP              │ format    │ 0         │
///     16 ├───────────────────────┴───────────┴───────────┤
///        │ store id (high, low)                          │
///     32 ├───────────────────────┬───────────────────────┤
///        │ file id               │ start in the mapping  │
///     48 ├───────────┬───────────┴───────────┬───────────┤
///        │ more: 0   │ 0                     │ CRC of    │
///        │ or 64     │                       │ 0 ..< 60  │
///     64 ├───────────┴───────────────────────┴───────────┤
///        │ nodes, each at a multiple of 32 bytes         │
///        ├───────────────────────┬───────────────────────┤   a multiple of 64
/// footer │ FIRNFOOT              │ file id               │   offsets from here on are in the footer
///     16 ├───────────────────────┼───────────────────────┤
///        │ version               │ time, ns since 1970   │
///     32 ├───────────────────────┼───────────┬───────────┤
///        │ bytes of header and   │ files n   │ bytes of  │
///        │ nodes                 │           │ state     │
///     48 ├───────────────────────┴───────────┴───────────┤
///        │ n files of the mapping, in order, this one    │
///        │ the last: id, start, byte count (24 bytes),   │
///        │ and if encrypted, the salt's first 8 bytes    │
///        ├───────────────────────────────────────────────┤
///        │ state: FirnCore's (where the root is, the     │
///        │ schema, …)                                    │
///        ├───────────────────────────────────┬───────────┤
///        │ zeros                             │ byte      │   of the footer, which ends with the file,
///        │                                   │count│ CRC │   at a multiple of 64
///        └───────────────────────────────────┴─────┴─────┘
/// ```
///
/// In an encrypted store, `more` is 64, and 64 bytes of salt follow the header (`FileSalt`). All that follows is
/// encrypted: see `CheckpointBlocks`. The offsets of nodes are those without encryption.
struct CheckpointHeader: Equatable {
    static let byteCount = 64
    /// The number of bytes of the header of an encrypted file.
    static let encryptedByteCount = byteCount + FileSalt.byteCount
    static let magic: UInt64 = 0x504B_4843_4E52_4946  // "FIRNCHKP"

    var storeID: StoreID
    var id: UInt64
    var start: UInt64
    var salt: FileSalt?

    func encode() -> [UInt8] {
        var writer = ByteWriter(capacity: Self.encryptedByteCount)
        writer.append(Self.magic)
        writer.append(UInt32(LogLimits.format))
        writer.append(UInt32(0))
        writer.append(storeID.high)
        writer.append(storeID.low)
        writer.append(id)
        writer.append(start)
        writer.append(UInt32(salt == nil ? 0 : FileSalt.byteCount))
        writer.appendZeros(8)
        writer.append(CRC32C.checksum(writer.bytes))
        salt?.encode(into: &writer)
        return writer.array()
    }
}

/// The version, files and state of one checkpoint. They are stored in the footer of the checkpoint's last file, which
/// `CheckpointHeader` draws.
package struct Checkpoint: Sendable, Equatable {
    static let magic: UInt64 = 0x544F_4F46_4E52_4946  // "FIRNFOOT"
    static let headerByteCount = 48
    static let fileByteCount = 24
    static let encryptedFileByteCount = 32

    /// One file of the mapping.
    package struct File: Sendable, Equatable {
        package var id: UInt64
        /// The offset in the mapping at which the file begins, a multiple of 64 KiB.
        package var start: Int
        /// The number of bytes of the file's header and nodes. The footer follows behind them.
        package var byteCount: Int
        /// In an encrypted store, the first 8 bytes of the file's salt: no other file has it. Otherwise 0.
        var saltIdentity: UInt64 = 0

        package init(id: UInt64, start: Int, byteCount: Int) {
            self.id = id
            self.start = start
            self.byteCount = byteCount
        }

        /// The file's range of the mapping, without the footer.
        package var range: Range<Int> { start..<(start + byteCount) }

        /// The part of `range` that holds nodes.
        package var nodes: Range<Int> { (start + CheckpointHeader.byteCount)..<(start + byteCount) }
    }

    /// The version that the checkpoint holds.
    package var version: UInt64
    /// When that version was committed, in nanoseconds since 1970.
    package var time: Int64
    /// The files of the mapping, in ascending order of their start. This checkpoint wrote the last file, whose id is
    /// also the checkpoint's.
    package var files: [File]
    /// FirnCore's data about the checkpoint: where the root is, the schema, and more.
    package var state: [UInt8]
    /// The length of the checkpoint's own file, and the CRC of its footer. Nil until the file has been written.
    var end: (byteCount: UInt64, crc: UInt32)?

    package static func == (left: Checkpoint, right: Checkpoint) -> Bool {
        left.version == right.version && left.time == right.time && left.files == right.files
            && left.state == right.state
    }

    package init(version: UInt64, time: Int64, files: [File], state: [UInt8]) {
        self.version = version
        self.time = time
        self.files = files
        self.state = state
    }

    /// The file that this checkpoint wrote.
    package var ownFile: File { files[files.count - 1] }

    package var id: UInt64 { ownFile.id }

    /// The part of the own file's salt that the manifest lists: its first 4 bytes. 0 if the store is not encrypted.
    var listedSalt: UInt32 { UInt32(truncatingIfNeeded: ownFile.saltIdentity) }

    /// The number of bytes of header and nodes of the checkpoint's own file.
    var ownByteCount: Int { ownFile.byteCount }

    /// The number of bytes of the headers and nodes of all files.
    package var byteCount: Int { files.reduce(0) { $0 + $1.byteCount } }

    /// Encodes the footer.
    ///
    /// - Parameter isEncrypted: whether it is for an encrypted store. The footer is then encrypted as a whole
    ///   (`CheckpointBlocks`).
    func encodeFooter(isEncrypted: Bool = false) -> [UInt8] {
        let perFile = isEncrypted ? Self.encryptedFileByteCount : Self.fileByteCount
        let content = Self.headerByteCount + files.count * perFile + state.count + 8
        let byteCount = (content + 63) & ~63
        var writer = ByteWriter(capacity: byteCount)
        writer.append(Self.magic)
        writer.append(id)
        writer.append(version)
        writer.append(time)
        writer.append(UInt64(ownByteCount))
        writer.append(UInt32(files.count))
        writer.append(UInt32(state.count))
        for file in files {
            writer.append(file.id)
            writer.append(UInt64(file.start))
            writer.append(UInt64(file.byteCount))
            if isEncrypted { writer.append(file.saltIdentity) }
        }
        writer.append(state)
        writer.appendZeros(byteCount - 8 - writer.count)
        writer.append(UInt32(byteCount))
        writer.append(CRC32C.checksum(writer.bytes))
        return writer.array()
    }

    /// Decodes a footer; nil if the bytes are not a valid footer.
    static func decode(footer bytes: UnsafeRawBufferPointer, isEncrypted: Bool = false) -> Checkpoint? {
        let perFile = isEncrypted ? encryptedFileByteCount : fileByteCount
        func get<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, _: T.Type = T.self) -> T {
            T(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: T.self))
        }
        guard bytes.count >= headerByteCount + fileByteCount + 8, bytes.count % 64 == 0, get(0) == magic,
            get(bytes.count - 8) == UInt32(truncatingIfNeeded: bytes.count),
            get(bytes.count - 4) == CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[0..<(bytes.count - 4)]))
        else { return nil }
        let count = Int(get(40, UInt32.self))
        let stateByteCount = Int(get(44, UInt32.self))
        let stateStart = headerByteCount + count * perFile
        guard count >= 1, count <= LogLimits.checkpointFileCount, stateStart + stateByteCount + 8 <= bytes.count else {
            return nil
        }
        var files: [File] = []
        for index in 0..<count {
            let at = headerByteCount + index * perFile
            let start: UInt64 = get(at + 8)
            let length: UInt64 = get(at + 16)
            guard start <= LogLimits.checkpointByteCount, length <= LogLimits.checkpointByteCount, length >= 64,
                length % 32 == 0, get(at, UInt64.self) <= LogLimits.number,
                start % UInt64(ReservedMemory.alignment) == 0,
                files.last.map({ UInt64($0.start + $0.byteCount) <= start }) ?? true
            else { return nil }
            var file = File(id: get(at), start: Int(start), byteCount: Int(length))
            if isEncrypted { file.saltIdentity = get(at + 24) }
            files.append(file)
        }
        let checkpoint = Checkpoint(
            version: get(16), time: get(24), files: files,
            state: [UInt8](bytes[stateStart..<(stateStart + stateByteCount)]))
        // There is only one way to encode a footer, so this also finds reserved bytes and padding that are not zero.
        guard get(8) == checkpoint.id, checkpoint.encodeFooter(isEncrypted: isEncrypted).elementsEqual(bytes) else {
            return nil
        }
        return checkpoint
    }
}
