import FirnBytes

/// The 64 bytes that a checkpoint's file begins with:
///
/// ```
///  0 magic FIRNCHKP · 8 format u32 · 12 zero u32 · 16 store id, two u64
/// 32 file id u64 · 40 start in the mapping u64 · 48 salt follows: 0 or 64 u32 · 52 zero u64 · 60 CRC of bytes 0 ..< 60
/// ```
struct CheckpointHeader {
    static let byteCount = 64
    static let magic: UInt64 = 0x504B_4843_4E52_4946

    var storeHigh: UInt64
    var storeLow: UInt64
    var id: UInt64
    var start: UInt64

    static func read(_ bytes: UnsafeRawBufferPointer) throws(Damage) -> CheckpointHeader {
        guard bytes.count >= byteCount else {
            throw Damage("the file ends after \(bytes.count) bytes, within the checkpoint's header")
        }
        let fields = Fields(bytes)
        guard fields.u64(0) == magic else { throw Damage("the file does not begin with a checkpoint's header") }
        guard fields.u32(60) == fields.crc(to: 60) else {
            throw Damage("the checksum of the checkpoint's header is wrong")
        }
        guard fields.u32(8) == FormatNumbers.format else {
            throw Damage("the checkpoint is of format \(fields.u32(8))")
        }
        let salt = Int(fields.u32(48))
        guard fields.u32(12) == 0, salt == 0 || salt == SealedParts.saltByteCount, fields.u64(52) == 0 else {
            throw Damage("the checkpoint's header has bytes that must be zero")
        }
        return CheckpointHeader(
            storeHigh: fields.u64(16), storeLow: fields.u64(24), id: fields.u64(32), start: fields.u64(40))
    }

    func write(to writer: inout ByteWriter, hasSalt: Bool) {
        let start = writer.count
        writer.append(Self.magic)
        writer.append(FormatNumbers.format)
        writer.append(UInt32(0))
        writer.append(storeHigh)
        writer.append(storeLow)
        writer.append(id)
        writer.append(self.start)
        writer.append(UInt32(hasSalt ? SealedParts.saltByteCount : 0))
        writer.appendZeros(8)
        writer.append(CRC32C.checksum(UnsafeRawBufferPointer(rebasing: writer.bytes[start...])))
    }
}

/// The footer of a checkpoint's file: the version, the files of the mapping, and the state.
///
/// ```
///  0 magic FIRNFOOT · 8 file id u64 · 16 version u64 · 24 time i64 · 32 bytes of header and nodes u64
/// 40 files n u32 · 44 bytes of the state u32 · 48 n × 24: id u64 · start u64 · byte count u64
///    state: root's position u64 · highest stamp u64 · garbage u64, bit 63 if holes follow · holes · schema
///    holes: count · for each: distance from the end of the one before · length; in units of 32 bytes, all varints
///    zeros · byte count of the footer u32 · CRC of all before it u32: the last 4 bytes of the footer,
///    whose length is a multiple of 64
/// ```
struct CheckpointFooter {
    static let magic: UInt64 = 0x544F_4F46_4E52_4946
    static let headerByteCount = 48
    static let fileByteCount = 24
    /// In an encrypted store, each file has the first 8 bytes of its salt, too.
    static let encryptedFileByteCount = 32
    static let stateByteCount = 24
    /// The bytes at the end of a footer, which hold its length and checksum.
    static let tailByteCount = 8
    static let byteCountMax = FormatNumbers.aligned(
        headerByteCount + FormatNumbers.checkpointFileCount * encryptedFileByteCount + stateByteCount
            + holesByteCount + FormatNumbers.payloadByteCount + tailByteCount)
    /// The most bytes that a list of holes takes.
    static let holesByteCount = 1 << 28
    private static let holesBit: UInt64 = 1 << 63

    struct File: Equatable {
        var id: UInt64
        /// Its first position in the mapping.
        var start: Int
        /// The bytes of its header and nodes.
        var byteCount: Int
        /// The first 8 bytes of its salt; 0 without encryption.
        var salt: UInt64 = 0
        /// The position in the mapping at which its nodes end.
        var end: Int { start + byteCount }
    }

    var version: UInt64
    /// Nanoseconds since 1970.
    var time: Int64
    /// The files of the mapping, the own one last.
    var files: [File]
    /// The file that this footer ends.
    var ownFile: File { files[files.count - 1] }
    /// The part of its salt that the manifest lists: the first 4 bytes.
    var listedSalt: UInt32 { UInt32(truncatingIfNeeded: ownFile.salt) }
    /// The root's position in the mapping.
    var root: Int
    /// The highest stamp of any node of the version.
    var stamp: UInt64
    /// Roughly how many bytes of nodes, apart from holes, the version does not reach.
    var garbage: UInt64
    /// The ranges of the mapping that must not be read, since their blocks may have been returned to the file system.
    /// They are in ascending order.
    var holes: [Range<Int>]
    var holeByteCount: Int { holes.reduce(0) { $0 + $1.count } }
    var schema: DecodedSchema
    /// The schema as it is stored.
    var schemaBytes: [UInt8]
    var crc: UInt32
    var byteCount: Int

    /// The length of the footer that ends with these 8 bytes; nil if a file of `fileByteCount` bytes can't have such
    /// a footer.
    static func byteCount(tail: UnsafeRawBufferPointer, fileByteCount: Int) -> Int? {
        guard tail.count == tailByteCount else { return nil }
        let count = Int(Fields(tail).u32(0))
        guard count % FormatNumbers.alignment == 0, count > headerByteCount, count <= byteCountMax,
            count <= fileByteCount - CheckpointHeader.byteCount
        else { return nil }
        return count
    }

    static func read(_ bytes: UnsafeRawBufferPointer, isEncrypted: Bool = false) throws(Damage) -> CheckpointFooter {
        guard bytes.count >= headerByteCount + tailByteCount, bytes.count <= byteCountMax else {
            throw Damage("the checkpoint's footer has an impossible length", at: 0)
        }
        let fields = Fields(bytes)
        let crc = fields.u32(bytes.count - 4)
        guard fields.u64(0) == magic else { throw Damage("no footer of a checkpoint begins here", at: 0) }
        guard crc == fields.crc(to: bytes.count - 4) else {
            throw Damage("the checksum of the checkpoint's footer is wrong", at: 0)
        }
        let count = Int(fields.u32(40))
        let stateStart = headerByteCount + count * (isEncrypted ? encryptedFileByteCount : fileByteCount)
        let stateEnd = stateStart + Int(fields.u32(44))
        guard count >= 1, count <= FormatNumbers.checkpointFileCount, stateEnd - stateStart >= stateByteCount,
            FormatNumbers.aligned(stateEnd + tailByteCount) == bytes.count,
            Int(fields.u32(bytes.count - 8)) == bytes.count
        else { throw Damage("the lengths in the checkpoint's footer do not agree", at: 40) }
        guard UnsafeRawBufferPointer(rebasing: bytes[stateEnd..<bytes.count - tailByteCount]).isAllZero else {
            throw Damage("the checkpoint's footer has bytes that must be zero", at: stateEnd)
        }
        let files = try files(fields, count, isEncrypted: isEncrypted)
        guard files[count - 1].id == fields.u64(8), UInt64(files[count - 1].byteCount) == fields.u64(32) else {
            throw Damage("the last file in the checkpoint's footer is not the footer's own file", at: 8)
        }
        let flagged = fields.u64(stateStart + 16)
        var schemaStart = stateStart + stateByteCount
        var holes: [Range<Int>] = []
        if flagged & holesBit != 0 {
            var reader = ByteReader(UnsafeRawBufferPointer(rebasing: bytes[schemaStart..<stateEnd]))
            do throws(Damage) { holes = try readHoles(&reader, files) } catch {
                throw Damage("the holes in the checkpoint's footer can't be read: \(error)", at: schemaStart)
            }
            schemaStart += reader.offset
        }
        let schemaBytes = UnsafeRawBufferPointer(rebasing: bytes[schemaStart..<stateEnd])
        guard schemaBytes.count <= FormatNumbers.payloadByteCount else {
            throw Damage("the checkpoint's schema has \(schemaBytes.count) bytes", at: schemaStart)
        }
        let schema: DecodedSchema
        do throws(Damage) {
            schema = try DecodedSchema.read(schemaBytes)
        } catch {
            throw Damage("the checkpoint's schema can't be read: \(error)", at: schemaStart)
        }
        let version = try fields.number(16, "the checkpoint's version")
        let root = try fields.count(
            stateStart, "the position of the checkpoint's root", upTo: FormatNumbers.mappingByteCount)
        let stamp = try fields.number(stateStart + 8, "the checkpoint's highest stamp")
        guard flagged & ~holesBit <= UInt64(FormatNumbers.fileByteCount) else {
            throw Damage("the checkpoint's garbage is \(flagged & ~holesBit) bytes", at: stateStart + 16)
        }
        return CheckpointFooter(
            version: version, time: fields.i64(24), files: files, root: root, stamp: stamp,
            garbage: flagged & ~holesBit, holes: holes, schema: schema, schemaBytes: [UInt8](schemaBytes), crc: crc,
            byteCount: bytes.count)
    }

    private static func readHoles(
        _ reader: inout ByteReader, _ files: [File]
    ) throws(Damage) -> [Range<Int>] {
        let count = try reader.readCount(limit: reader.remaining / 2)
        let limit = FormatNumbers.mappingByteCount / NodeHeader.unit
        var holes: [Range<Int>] = []
        var end = 0
        var file = 0
        for _ in 0..<count {
            let at = reader.offset
            let start = end + (try reader.readCount(limit: limit)) * NodeHeader.unit
            end = start + (try reader.readCount(limit: limit)) * NodeHeader.unit
            // Both files and holes are in ascending order.
            while file + 1 < files.count, files[file + 1].start <= start { file += 1 }
            guard end > start, start - files[file].start >= CheckpointHeader.byteCount, end <= files[file].end else {
                throw Damage("a hole from \(start) to \(end) lies in no file", at: at)
            }
            holes.append(start..<end)
        }
        return holes
    }

    private static func files(_ fields: Fields, _ count: Int, isEncrypted: Bool) throws(Damage) -> [File] {
        var files: [File] = []
        for index in 0..<count {
            let at = headerByteCount + index * (isEncrypted ? encryptedFileByteCount : fileByteCount)
            let what = "of file \(index) in the checkpoint's footer"
            let file = File(
                id: try fields.number(at, "the id \(what)"),
                start: try fields.count(at + 8, "the beginning \(what)", upTo: FormatNumbers.fileByteCount),
                byteCount: try fields.count(at + 16, "the length \(what)", upTo: FormatNumbers.fileByteCount),
                salt: isEncrypted ? fields.u64(at + 24) : 0)
            guard file.start % FormatNumbers.checkpointAlignment == 0, file.byteCount >= CheckpointHeader.byteCount,
                file.byteCount % FormatNumbers.alignment == 0, files.last?.end ?? 0 <= file.start,
                !files.contains(where: { $0.id == file.id })
            else { throw Damage("file \(index) in the checkpoint's footer makes no sense", at: at) }
            files.append(file)
        }
        return files
    }
}
