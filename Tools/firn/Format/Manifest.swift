import FirnBytes
import FirnCrypto

/// One generation of the manifest. The file holds the current generation and behind it, unless the store is new, the
/// generation before it.
///
/// ```
///   0 magic FIRNMANI · 8 format u32 · 12 block's length u32 · 16 generation u64 · 24 store id, two u64
///  40 epoch u32 · 44 segments n u32 · 48 required features u32 · 52 optional features u32
///  56 zero u32 · 60 CRC of 0 ..< 60
///  64 checkpoint: id u64 · 72 version u64 · 80 length u64 · 88 CRC u32 · 92 earlier m u32
///  96 created i64 · 104 retention u64 · 112 checkpoint's salt u32, 0 without encryption · 116 zero, 12 bytes
/// 128 n × 48: segment u32 · epoch u32 · state u32 · chain end u32
///             · first version u64 · last version u64 · length u64
///             · end tag u64, of the open segment the salt's first 8 bytes, 0 without encryption
///     m × 32, earlier checkpoints: id u64 · version u64 · length u64 · CRC u32 · salt u32, 0 without encryption
///     if encrypted, 128: algorithm u32 · zero u32 · salt 32 · wrapped key 40 · zero 16 · tag 32
///     zeros · CRC of all before it, the last 4 bytes of the block, whose length is a multiple of 64
/// ```
struct Manifest: Equatable {
    static let magic: UInt64 = 0x494E_414D_4E52_4946
    static let headerByteCount = 128
    static let entryByteCount = 48
    static let checkpointByteCount = 32
    static let byteCountMax = byteCount(
        segments: FormatNumbers.segmentCount, earlier: FormatNumbers.checkpointCount)

    static let encryptionByteCount = 128
    static let tagByteCount = 32

    private static func byteCount(segments: Int, earlier: Int, isEncrypted: Bool = true) -> Int {
        FormatNumbers.aligned(
            headerByteCount + segments * entryByteCount + earlier * checkpointByteCount
                + (isEncrypted ? encryptionByteCount : 0) + 4)
    }

    struct Segment: Equatable {
        var number: UInt32
        var epoch: UInt32
        var firstVersion: UInt64
        /// Where the segment ends; nil for the open segment.
        var seal: Seal?
        /// The first 8 bytes of the open segment's salt, 0 without encryption; nil if no manifest says.
        var saltIdentity: UInt64?
    }

    struct Seal: Equatable {
        var lastVersion: UInt64
        var chainEnd: UInt32
        var byteCount: Int
        /// The first 8 bytes of the tag of the last frame of an encrypted segment; 0 in other segments.
        var endTag: UInt64 = 0
    }

    /// What the manifest of an encrypted store says of its keys.
    struct Encryption: Equatable {
        var wrapped: WrappedKey
        /// The bytes that `tag` authenticates.
        var authenticated: [UInt8]
        var tag: [UInt8]

        /// Whether somebody with the store's key has written the block.
        func isAuthentic(_ keys: StoreKeys) -> Bool { authenticated.withUnsafeBytes { keys.manifestTag($0) } == tag }
    }

    struct Checkpoint: Equatable {
        var id: UInt64
        var version: UInt64
        /// The bytes of its last file.
        var byteCount: UInt64
        /// The checksum of its footer.
        var crc: UInt32
        /// The first 4 bytes of the salt of its last file; 0 without encryption.
        var salt: UInt32 = 0
    }

    var generation: UInt64
    var storeHigh: UInt64
    var storeLow: UInt64
    var epoch: UInt32
    var optionalFeatures: UInt32 = 0
    var encryption: Encryption?
    var checkpoint: Checkpoint?
    /// The checkpoints that past versions are opened from, oldest first.
    var earlier: [Checkpoint] = []
    /// Nanoseconds since 1970.
    var created: Int64
    var segments: [Segment]

    /// The first version that the log holds, or would hold if it were not empty.
    var firstVersion: UInt64 { segments.first?.firstVersion ?? (checkpoint?.version ?? 0) + 1 }

    var storeID: String { hexadecimal(storeHigh, digits: 16) + hexadecimal(storeLow, digits: 16) }

    /// What this release can't read in an intact header, such as "format 2". Returns nil if it can read all of it, or
    /// if the header is damaged. A header has the same form in every release.
    static func unknownFeature(_ bytes: UnsafeRawBufferPointer) -> String? {
        guard bytes.count >= headerByteCount else { return nil }
        let fields = Fields(bytes)
        guard fields.u64(0) == magic, fields.u32(60) == fields.crc(to: 60) else { return nil }
        if fields.u32(8) > FormatNumbers.format { return "format \(fields.u32(8))" }
        switch fields.u32(48) {
        case 0, encryptionFeature: return nil
        // Before its first release, Firn could leave zeros between the frames of a segment.
        case 1: return "the feature sectors"
        case let features: return "features \(features)"
        }
    }

    /// The required feature of an encrypted store.
    private static let encryptionFeature: UInt32 = 2

    /// Whether the manifest with this header is an encrypted store's.
    static func isEncrypted(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count >= headerByteCount else { return false }
        let fields = Fields(bytes)
        return fields.u64(0) == magic && fields.u32(60) == fields.crc(to: 60) && fields.u32(48) == encryptionFeature
    }

    /// Whether a manifest's magic number is at an offset.
    static func begins(_ bytes: [UInt8], at offset: Int) -> Bool {
        guard bytes.count - offset >= headerByteCount else { return false }
        return bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
            == magic.littleEndian
    }

    /// Reads the block at the beginning of `bytes`, and returns how long it is.
    static func read(_ bytes: UnsafeRawBufferPointer) throws(Damage) -> (block: Manifest, byteCount: Int) {
        guard bytes.count >= headerByteCount else {
            throw Damage("it ends after \(bytes.count) bytes, within its header", at: 0)
        }
        let fields = Fields(bytes)
        guard fields.u64(0) == magic else { throw Damage("it does not begin as a manifest does", at: 0) }
        guard fields.u32(60) == fields.crc(to: 60) else {
            throw Damage("the checksum of its header is wrong", at: 0)
        }
        let format = fields.u32(8)
        if let feature = unknownFeature(bytes) { throw Damage("it is of \(feature)") }
        let count = Int(fields.u32(44))
        let earlierCount = Int(fields.u32(92))
        let byteCount = Int(fields.u32(12))
        let isEncrypted = fields.u32(48) == encryptionFeature
        guard format == FormatNumbers.format, count >= 1, count <= FormatNumbers.segmentCount,
            earlierCount <= FormatNumbers.checkpointCount,
            byteCount == Self.byteCount(segments: count, earlier: earlierCount, isEncrypted: isEncrypted),
            byteCount <= bytes.count
        else { throw Damage("its format and lengths do not agree", at: 8) }
        guard fields.u32(byteCount - 4) == fields.crc(to: byteCount - 4) else {
            throw Damage("its checksum is wrong", at: 0)
        }
        let checkpoints = headerByteCount + count * entryByteCount
        let entriesEnd = checkpoints + earlierCount * checkpointByteCount
        let end = entriesEnd + (isEncrypted ? encryptionByteCount : 0)
        guard fields.u32(56) == 0, isZero(bytes, (isEncrypted ? 116 : 112)..<128), isZero(bytes, end..<byteCount - 4)
        else { throw Damage("bytes that must be zero are not", at: 56) }
        var block = Manifest(
            generation: try fields.number(16, "its generation"), storeHigh: fields.u64(24),
            storeLow: fields.u64(32), epoch: try fields.number32(40, "its epoch", upTo: FormatNumbers.epoch),
            optionalFeatures: fields.u32(52), created: fields.i64(96), segments: [])
        if fields.u64(64) != 0 {
            block.checkpoint = try checkpoint(fields, at: 64, what: "its checkpoint")
            block.checkpoint?.salt = fields.u32(112)
        } else if !isZero(bytes, 64..<92) || !isZero(bytes, 112..<116) {
            throw Damage("it has no checkpoint, but fields of one", at: 64)
        }
        for index in 0..<count {
            block.segments.append(
                try entry(fields, index: index, isLast: index == count - 1, block: block, isEncrypted: isEncrypted))
        }
        for index in 0..<earlierCount {
            let at = checkpoints + index * checkpointByteCount
            var entry = try checkpoint(fields, at: at, what: "entry \(index) of its earlier checkpoints")
            entry.salt = fields.u32(at + 28)
            guard entry.salt == 0 || isEncrypted, let live = block.checkpoint, entry.id < live.id,
                entry.version <= live.version, entry.id > block.earlier.last?.id ?? 0,
                entry.version >= block.earlier.last?.version ?? 0
            else { throw Damage("entry \(index) of its earlier checkpoints makes no sense", at: at) }
            block.earlier.append(entry)
        }
        if isEncrypted { block.encryption = try encryption(bytes, at: entriesEnd) }
        return (block, byteCount)
    }

    private static func encryption(_ bytes: UnsafeRawBufferPointer, at: Int) throws(Damage) -> Encryption {
        guard isZero(bytes, at + 4..<at + 8), isZero(bytes, at + 80..<at + 96) else {
            throw Damage("bytes of its encryption that must be zero are not", at: at)
        }
        let number = Fields(bytes).u32(at)
        guard let algorithm = UInt8(exactly: number).flatMap(EncryptionAlgorithm.init(rawValue:)) else {
            throw Damage("it is encrypted with the unknown algorithm \(number)", at: at)
        }
        let tag = at + encryptionByteCount - tagByteCount
        return Encryption(
            wrapped: WrappedKey(
                algorithm: algorithm, salt: [UInt8](bytes[at + 8..<at + 40]), bytes: [UInt8](bytes[at + 40..<at + 80])),
            authenticated: [UInt8](bytes[..<tag]), tag: [UInt8](bytes[tag..<tag + tagByteCount]))
    }

    private static func checkpoint(_ fields: Fields, at: Int, what: String) throws(Damage) -> Checkpoint {
        Checkpoint(
            id: try fields.number(at, "the id of \(what)"),
            version: try fields.number(at + 8, "the version of \(what)"),
            byteCount: UInt64(
                try fields.count(at + 16, "the length of \(what)", upTo: FormatNumbers.fileByteCount)),
            crc: fields.u32(at + 24))
    }

    private static func entry(
        _ fields: Fields, index: Int, isLast: Bool, block: Manifest, isEncrypted: Bool
    ) throws(Damage) -> Segment {
        let at = headerByteCount + index * entryByteCount
        func damage(_ text: String) -> Damage { Damage("entry \(index) of its segments \(text)", at: at) }
        let state = fields.u32(at + 8)
        let what = "of entry \(index) of its segments"
        var segment = Segment(
            number: try fields.number32(at, "the number \(what)", upTo: FormatNumbers.epoch),
            epoch: fields.u32(at + 4), firstVersion: try fields.number(at + 16, "the first version \(what)"))
        guard state == (isLast ? 0 : 1) else { throw damage("has the wrong state") }
        guard segment.firstVersion >= 1, segment.epoch <= block.epoch else { throw damage("makes no sense") }
        let endTag = fields.u64(at + 40)
        guard endTag == 0 || isEncrypted else { throw damage("has bytes that must be zero") }
        let length = try fields.count(at + 32, "the length \(what)", upTo: FormatNumbers.fileByteCount)
        if state == 1 {
            guard length >= SegmentHeader.byteCount else { throw damage("has an impossible length") }
            let last = try fields.number(at + 24, "the last version \(what)")
            segment.seal = Seal(lastVersion: last, chainEnd: fields.u32(at + 12), byteCount: length, endTag: endTag)
            guard last + 1 >= segment.firstVersion else { throw damage("ends before it begins") }
        } else if fields.u32(at + 12) != 0 || fields.u64(at + 24) != 0 || length != 0 {
            throw damage("is open, but says where it ends")
        } else {
            segment.saltIdentity = endTag
        }
        if let previous = block.segments.last {
            guard previous.number < segment.number, previous.epoch <= segment.epoch,
                previous.seal?.lastVersion == segment.firstVersion - 1
            else { throw damage("does not follow the one before it") }
        }
        return segment
    }

    private static func isZero(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Bool {
        UnsafeRawBufferPointer(rebasing: bytes[range]).isAllZero
    }

    /// Appends the bytes of this generation.
    ///
    /// - Parameter sealing: the keys of an encrypted store.
    func write(to writer: inout ByteWriter, _ sealing: StoreSealing? = nil) {
        let start = writer.count
        let byteCount = Self.byteCount(segments: segments.count, earlier: earlier.count, isEncrypted: sealing != nil)
        func crc(_ writer: borrowing ByteWriter) -> UInt32 {
            CRC32C.checksum(UnsafeRawBufferPointer(rebasing: writer.bytes[start...]))
        }
        writer.append(Self.magic)
        writer.append(FormatNumbers.format)
        writer.append(UInt32(byteCount))
        writer.append(generation)
        writer.append(storeHigh)
        writer.append(storeLow)
        writer.append(epoch)
        writer.append(UInt32(segments.count))
        writer.append(sealing == nil ? 0 : Self.encryptionFeature)
        writer.appendZeros(8)
        writer.append(crc(writer))
        writer.append(checkpoint?.id ?? 0)
        writer.append(checkpoint?.version ?? 0)
        writer.append(checkpoint?.byteCount ?? 0)
        writer.append(checkpoint?.crc ?? 0)
        writer.append(UInt32(earlier.count))
        writer.append(created)
        writer.appendZeros(8)
        writer.append(checkpoint?.salt ?? 0)
        writer.appendZeros(12)
        for segment in segments {
            writer.append(segment.number)
            writer.append(segment.epoch)
            writer.append(UInt32(segment.seal == nil ? 0 : 1))
            writer.append(segment.seal?.chainEnd ?? 0)
            writer.append(segment.firstVersion)
            writer.append(segment.seal?.lastVersion ?? 0)
            writer.append(UInt64(segment.seal?.byteCount ?? 0))
            writer.append(segment.seal?.endTag ?? segment.saltIdentity ?? 0)
        }
        for entry in earlier {
            writer.append(entry.id)
            writer.append(entry.version)
            writer.append(entry.byteCount)
            writer.append(entry.crc)
            writer.append(entry.salt)
        }
        if let sealing {
            writer.append(UInt32(sealing.wrapped.algorithm.rawValue))
            writer.append(UInt32(0))
            writer.append(sealing.wrapped.salt)
            writer.append(sealing.wrapped.bytes)
            writer.appendZeros(16)
            writer.append(sealing.keys.manifestTag(UnsafeRawBufferPointer(rebasing: writer.bytes[start...])))
        }
        writer.appendZeros(start + byteCount - 4 - writer.count)
        writer.append(crc(writer))
    }
}

func hexadecimal(_ value: UInt64, digits: Int) -> String {
    let text = String(value, radix: 16)
    return String(repeating: "0", count: max(0, digits - text.count)) + text
}
