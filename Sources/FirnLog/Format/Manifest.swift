import FirnBytes
import FirnCrypto

/// What a store consists of, in the file `manifest`: its identity, its epoch, its live checkpoint and its segments.
///
/// The file holds the current generation and, behind it, the one before (a new store has none). Each is a block
/// under checksums. The file is replaced as a whole: `manifest.new` is written and synced, renamed over `manifest`,
/// and the folder is synced. The block before is never used to open a store; it is there for the tool `firn` when
/// the current one is damaged. Numbers are little-endian.
///
/// ```
/// byte   0                       8           12          16
///        ┌───────────────────────┬───────────┬───────────┐
///        │ FIRNMANI              │ format    │ block     │
///        │                       │           │ byte count│
///     16 ├───────────────────────┼───────────┴───────────┤
///        │ generation            │ store id high         │
///     32 ├───────────────────────┼───────────┬───────────┤
///        │ store id low          │ epoch     │ segments n│
///     48 ├───────────┬───────────┼───────────┼───────────┤
///        │ required  │ optional  │ reserved  │ CRC of    │
///        │ features  │ features  │ (zero)    │ 0 ..< 60  │
///     64 ├───────────┴───────────┼───────────┴───────────┤
///        │ checkpoint id         │ checkpoint version    │   all zero: there is none
///     80 ├───────────────────────┼───────────┬───────────┤
///        │ checkpoint byte count │ its CRC   │ earlier m │
///     96 ├───────────────────────┼───────────┴───────────┤
///        │ created, ns since 1970│ retention             │
///    112 ├───────────┬───────────┴───────────────────────┤
///        │ salt      │ reserved (zero)                   │
///    128 ├───────────────────────────────────────────────┤
///        │ n entries of 48 bytes, oldest segment first   │
///        ├───────────────────────────────────────────────┤
///        │ m earlier checkpoints of 32 bytes, oldest     │
///        │ first: as bytes 64 ..< 92, and its salt       │
///        ├───────────────────────────────────────────────┤
///        │ if encrypted, 128 bytes: see below            │
///        ├───────────────────────────────────────────────┤
///        │ zeros                                         │
///        ├───────────────────────────────────┬───────────┤
///        │                                   │ CRC of all│   the last 4 bytes of the block,
///        └───────────────────────────────────┴───────────┘   whose length is a multiple of 64
///
/// entry  0           4           8           12          16
///        ┌───────────┬───────────┬───────────┬───────────┐
///        │ segment   │ epoch     │ state     │ chain end │
///     16 ├───────────┴───────────┼───────────┴───────────┤
///        │ first version         │ last version          │
///     32 ├───────────────────────┼───────────────────────┤
///        │ byte count            │ end tag, or salt      │
///     48 └───────────────────────┴───────────────────────┘
///
/// encryption
///      0 ┌───────────┬───────────────────────────────────┐
///        │ algorithm │ zero                              │   4 + 4 bytes
///      8 ├───────────┴───────────────────────────────────┤
///        │ salt (32)                                     │
///     40 ├───────────────────────────────────────────────┤
///        │ wrapped data key (40)                         │
///     80 ├───────────────────────────────────────────────┤
///        │ zero (16)                                     │
///     96 ├───────────────────────────────────────────────┤
///        │ tag (32): of all bytes of the block before it │
///    128 └───────────────────────────────────────────────┘
/// ```
///
/// **encryption** is there if the required feature of that name is set. The user's key and the salt give the key that
/// unwraps the data key (`StoreKeys`). Unwrapping fails with any other key, because a key wrap checks itself. The tag
/// is HMAC-SHA256 with a key that comes from the data key. So nobody without the key can list other segments or
/// checkpoints. **salt** is the first 4 bytes of the salt of an encrypted checkpoint's last file; otherwise 0. **end
/// tag, or salt** is 0 in a store without encryption. For a sealed segment, it is the first 8 bytes of the tag of the
/// segment's last frame. For the open segment, it is the first 8 bytes of the salt. So a segment with the same number,
/// of a copy of the store that went its own way, is not taken for this store's.
///
/// **retention** is the history retention that an opener has asked for most recently (`RetentionWord`); 0 if none has
/// asked for any.
///
/// **state** is 0 for the one open segment, which is the last, and 1 for a sealed one. A sealed segment is valid for
/// `byte count` bytes. If the file is longer, recovery cuts it. The segment holds the versions first ... last (last =
/// first - 1: none). It ends with the frame whose header CRC is **chain end**. For the open segment, the byte count,
/// the last version and the chain end are zero.
///
/// The first 64 bytes keep their meaning in every format, so that a reader can distinguish a later format from damage.
/// An unknown bit in **required features** means that this release can't read the store; an unknown bit in **optional
/// features** is ignored.
struct Manifest: Equatable {
    static let magic: UInt64 = 0x494E_414D_4E52_4946  // "FIRNMANI"
    static let headerByteCount = 128
    static let entryByteCount = 48
    static let checkpointByteCount = 32
    static let encryptionByteCount = 128
    private static let tagByteCount = 32

    /// Features beyond the format that a reader must know to read a store.
    struct Features: OptionSet {
        var rawValue: UInt32
        /// Reserved. Stores that prereleases of Firn made may have zeros between the frames of a segment, so that
        /// commits begin in sectors of their own.
        static let sectors = Features(rawValue: 1)
        /// The store is encrypted.
        static let encryption = Features(rawValue: 2)
        /// The features that this release knows.
        static let known: Features = [.encryption]

        /// The names of the features, and the raw value of the features without a name.
        var names: String {
            let unnamed = subtracting([.sectors, .encryption]).rawValue
            return [
                contains(.sectors) ? "sectors" : nil, contains(.encryption) ? "encryption" : nil,
                unnamed == 0 ? nil : "\(unnamed)",
            ].compactMap(\.self).joined(separator: " and ")
        }
    }

    struct Segment: Hashable {
        var segment: UInt32
        var epoch: UInt32
        var isSealed = false
        var chainEnd: UInt32 = 0
        var firstVersion: UInt64
        var lastVersion: UInt64 = 0
        var byteCount: UInt64 = 0
        /// The first 8 bytes of the tag of a sealed segment's last frame; 0 in a store without encryption.
        var endTag: UInt64 = 0
        /// The first 8 bytes of the open segment's salt; 0 in a store without encryption.
        var saltIdentity: UInt64 = 0

        /// Seals the segment at the end of `chain`.
        mutating func seal(lastVersion: UInt64, byteCount: Int, _ chain: FrameChain) {
            isSealed = true
            chainEnd = chain.crc
            endTag = chain.tag.head
            saltIdentity = 0
            self.lastVersion = lastVersion
            self.byteCount = UInt64(byteCount)
        }

        /// Whether the segment can begin with a header.
        func beginsWith(_ header: SegmentHeader) -> Bool {
            header.segment == segment && header.epoch == epoch && header.firstVersion == firstVersion
                && (isSealed || header.salt?.identity ?? 0 == saltIdentity)
        }

        /// Whether a sealed segment ends with the frame that leads to `chain`.
        func endsWith(_ chain: FrameChain) -> Bool { chainEnd == chain.crc && endTag == chain.tag.head }
    }

    struct Checkpoint: Equatable {
        var id: UInt64
        var version: UInt64
        var byteCount: UInt64
        var crc: UInt32
        /// The first 4 bytes of the salt of its last file; 0 in a store without encryption.
        var salt: UInt32 = 0

        /// Whether the checkpoint's numbers are within the limits of `LogLimits`.
        var isPossible: Bool {
            id <= LogLimits.number && version <= LogLimits.number && byteCount <= LogLimits.checkpointByteCount
        }
    }

    var storeID: StoreID
    var generation: UInt64 = 1
    var epoch: UInt32 = 1
    /// The wrapped data key of an encrypted store.
    var encryption: WrappedKey?
    var features: Features { encryption == nil ? [] : .encryption }
    var created: Int64
    var checkpoint: Checkpoint?
    /// Checkpoints older than the live one, from which past versions are opened; oldest first.
    var earlier: [Checkpoint] = []
    /// The history retention that an opener has asked for most recently, whether or not that opener still has the store
    /// open.
    var retention = RetentionWord()
    var segments: [Segment]

    var openSegment: Segment { segments[segments.count - 1] }

    /// The number of bytes of a block before it is rounded up.
    private static func contentByteCount(segments: Int, earlier: Int, isEncrypted: Bool) -> Int {
        headerByteCount + segments * entryByteCount + earlier * checkpointByteCount
            + (isEncrypted ? encryptionByteCount : 0) + 4
    }

    /// Encodes the block of this generation. An encrypted store's block is authenticated with `keys`.
    func encode(_ keys: StoreKeys? = nil) -> [UInt8] {
        encode { bytes in
            guard let keys else { preconditionFailure("Firn: the manifest of an encrypted store needs its keys") }
            return keys.manifestTag(bytes)
        }
    }

    /// Encodes the block of this generation.
    ///
    /// - Parameter tag: makes the 32 bytes that authenticate the bytes before them, if the store is encrypted.
    private func encode(tag: (UnsafeRawBufferPointer) -> [UInt8]) -> [UInt8] {
        let content = Self.contentByteCount(
            segments: segments.count, earlier: earlier.count, isEncrypted: encryption != nil)
        let byteCount = (content + 63) & ~63
        var writer = ByteWriter(capacity: byteCount)
        writer.append(Self.magic)
        writer.append(UInt32(LogLimits.format))
        writer.append(UInt32(byteCount))
        writer.append(generation)
        writer.append(storeID.high)
        writer.append(storeID.low)
        writer.append(epoch)
        writer.append(UInt32(segments.count))
        writer.append(features.rawValue)
        writer.append(UInt32(0))
        writer.append(UInt32(0))
        writer.append(CRC32C.checksum(writer.bytes))
        writer.append(checkpoint?.id ?? 0)
        writer.append(checkpoint?.version ?? 0)
        writer.append(checkpoint?.byteCount ?? 0)
        writer.append(checkpoint?.crc ?? 0)
        writer.append(UInt32(earlier.count))
        writer.append(created)
        writer.append(retention.raw)
        writer.append(checkpoint?.salt ?? 0)
        writer.appendZeros(Self.headerByteCount - writer.count)
        for entry in segments {
            writer.append(entry.segment)
            writer.append(entry.epoch)
            writer.append(UInt32(entry.isSealed ? 1 : 0))
            writer.append(entry.chainEnd)
            writer.append(entry.firstVersion)
            writer.append(entry.lastVersion)
            writer.append(entry.byteCount)
            writer.append(entry.isSealed ? entry.endTag : entry.saltIdentity)
        }
        for entry in earlier {
            writer.append(entry.id)
            writer.append(entry.version)
            writer.append(entry.byteCount)
            writer.append(entry.crc)
            writer.append(entry.salt)
        }
        if let encryption {
            writer.append(UInt32(encryption.algorithm.rawValue))
            writer.append(UInt32(0))
            writer.append(encryption.salt)
            writer.append(encryption.bytes)
            writer.appendZeros(16)
            writer.append(tag(writer.bytes))
        }
        writer.appendZeros(byteCount - 4 - writer.count)
        writer.append(CRC32C.checksum(writer.bytes))
        return writer.array()
    }

    /// Reads a file's blocks: the current one, and the one before it (nil in a new store).
    ///
    /// - Parameter path: the file, which errors name.
    static func decode(
        file bytes: UnsafeRawBufferPointer, path: String
    ) throws(LogError) -> (current: Manifest, previous: Manifest?) {
        let (current, byteCount) = try decode(block: bytes, path: path)
        let rest = UnsafeRawBufferPointer(rebasing: bytes[byteCount...])
        if rest.isEmpty {
            guard current.generation == 1 else {
                throw LogError(Damage("the generation before the current one is missing", at: byteCount), path: path)
            }
            return (current, nil)
        }
        let before: (manifest: Manifest, byteCount: Int)
        do throws(LogError) { before = try decode(block: rest, path: path) } catch {
            guard error.code == .damage else { throw error }
            let damage = Damage("in the generation before the current one, \(error.detail)", at: error.offset ?? 0)
            throw LogError(damage.moved(by: byteCount), path: path)
        }
        guard before.byteCount == rest.count, before.manifest.storeID == current.storeID,
            before.manifest.generation + 1 == current.generation
        else {
            throw LogError(Damage("the generation before the current one does not fit it", at: byteCount), path: path)
        }
        return (current, before.manifest)
    }

    /// Reads the block at the beginning of `bytes`.
    private static func decode(
        block bytes: UnsafeRawBufferPointer, path: String
    ) throws(LogError) -> (manifest: Manifest, byteCount: Int) {
        func damage(_ detail: String, at offset: Int) -> LogError { LogError(Damage(detail, at: offset), path: path) }
        func get<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, _: T.Type = T.self) -> T {
            T(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: T.self))
        }
        guard bytes.count >= headerByteCount else { throw damage("it is too short", at: 0) }
        guard get(0) == magic, get(60) == CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[0..<60])) else {
            throw damage("the checksum of its header is wrong", at: 0)
        }
        let format: UInt32 = get(8)
        guard format <= LogLimits.format else { throw LogError(.newerFormat(found: format), path: path) }
        let features = Features(rawValue: get(48))
        guard features.isSubset(of: .known) else {
            throw LogError(.newerFormat(found: format), path: path, detail: "it needs the features \(features.names)")
        }
        let byteCount = Int(get(12, UInt32.self))
        let count = Int(get(44, UInt32.self))
        let earlierCount = Int(get(92, UInt32.self))
        guard format == LogLimits.format, byteCount % 64 == 0, byteCount <= bytes.count, count >= 1,
            count <= LogLimits.segmentCount, earlierCount <= LogLimits.checkpointCount,
            byteCount
                == (contentByteCount(
                    segments: count, earlier: earlierCount, isEncrypted: features.contains(.encryption)) + 63) & ~63
        else { throw damage("its lengths do not agree", at: 8) }
        guard get(byteCount - 4) == CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[0..<(byteCount - 4)])) else {
            throw damage("its checksum is wrong", at: 0)
        }
        let checkpointID: UInt64 = get(64)
        guard get(16, UInt64.self) <= LogLimits.number, get(40, UInt32.self) <= LogLimits.epoch else {
            throw damage("its generation or epoch is beyond what a store can reach", at: 16)
        }
        var manifest = Manifest(
            storeID: StoreID(high: get(24), low: get(32)), generation: get(16), epoch: get(40), created: get(96),
            checkpoint: checkpointID == 0
                ? nil
                : Checkpoint(id: checkpointID, version: get(72), byteCount: get(80), crc: get(88), salt: get(112)),
            retention: RetentionWord(raw: get(104)), segments: [])
        guard manifest.checkpoint?.isPossible ?? true,
            manifest.checkpoint?.salt ?? 0 == 0 || features.contains(.encryption)
        else {
            throw damage("its checkpoint makes no sense", at: 64)
        }
        for index in 0..<count {
            let at = headerByteCount + index * entryByteCount
            let state: UInt32 = get(at + 8)
            let entry = Segment(
                segment: get(at), epoch: get(at + 4), isSealed: state == 1, chainEnd: get(at + 12),
                firstVersion: get(at + 16), lastVersion: get(at + 24), byteCount: get(at + 32),
                endTag: state == 1 ? get(at + 40) : 0, saltIdentity: state == 1 ? 0 : get(at + 40))
            let previous = manifest.segments.last
            guard state <= 1, entry.isSealed == (index < count - 1), entry.firstVersion >= 1,
                entry.segment <= LogLimits.epoch, entry.epoch <= manifest.epoch,
                entry.firstVersion <= LogLimits.number, entry.lastVersion <= LogLimits.number,
                entry.byteCount <= LogLimits.longestSegmentByteCount,
                !entry.isSealed || entry.byteCount % 64 == 0 && entry.byteCount >= SegmentHeader.byteCount,
                get(at + 40) == 0 || features.contains(.encryption),
                previous == nil
                    || previous!.segment < entry.segment && previous!.lastVersion &+ 1 == entry.firstVersion
                        && previous!.epoch <= entry.epoch,
                !entry.isSealed || entry.lastVersion &+ 1 >= entry.firstVersion
            else { throw damage("entry \(index) of its segments makes no sense", at: at) }
            manifest.segments.append(entry)
        }
        for index in 0..<earlierCount {
            let at = headerByteCount + count * entryByteCount + index * checkpointByteCount
            let entry = Checkpoint(
                id: get(at), version: get(at + 8), byteCount: get(at + 16), crc: get(at + 24), salt: get(at + 28))
            let next = manifest.earlier.last
            guard let live = manifest.checkpoint, entry.isPossible, entry.salt == 0 || features.contains(.encryption),
                entry.id > next?.id ?? 0, entry.id < live.id,
                entry.version >= next?.version ?? 0, entry.version <= live.version
            else {
                throw damage("entry \(index) of its earlier checkpoints makes no sense", at: at)
            }
            manifest.earlier.append(entry)
        }
        let at = headerByteCount + count * entryByteCount + earlierCount * checkpointByteCount
        if features.contains(.encryption) {
            guard let algorithm = EncryptionAlgorithm(rawValue: UInt8(truncatingIfNeeded: get(at, UInt32.self))) else {
                throw LogError(
                    .newerFormat(found: format), path: path, detail: "it is encrypted with an unknown algorithm")
            }
            manifest.encryption = WrappedKey(
                algorithm: algorithm, salt: [UInt8](bytes[at + 8..<at + 40]), bytes: [UInt8](bytes[at + 40..<at + 80]))
        }
        // There is only one way to encode a manifest, so this finds everything that was not checked above: reserved
        // bytes and padding.
        let encoded = manifest.encode { before in [UInt8](bytes[before.count..<before.count + tagByteCount]) }
        guard encoded.elementsEqual(bytes[0..<byteCount]) else {
            throw damage("a byte that is reserved is not 0", at: 0)
        }
        return (manifest, byteCount)
    }
}

extension Manifest.Segment {
    /// The open segment with this header.
    init(_ header: SegmentHeader) {
        self.init(
            segment: header.segment, epoch: header.epoch, firstVersion: header.firstVersion,
            saltIdentity: header.salt?.identity ?? 0)
    }
}
