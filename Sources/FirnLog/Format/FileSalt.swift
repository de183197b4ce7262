import FirnBytes
import FirnStorage

/// Random bytes behind the header of an encrypted segment or checkpoint file. The file's key is made from them.
///
/// ```
/// byte 0                     32                      60          64
///      ┌─────────────────────┬───────────────────────┬───────────┐
///      │ random              │ zero                  │ CRC of    │
///      │                     │                       │ 0 ..< 60  │
///      └─────────────────────┴───────────────────────┴───────────┘
/// ```
struct FileSalt: Equatable, Sendable {
    static let byteCount = 64
    private static let randomByteCount = 32

    let bytes: [UInt8]

    /// A new salt.
    init(_ randomness: any Randomness) { bytes = randomness.bytes(Self.randomByteCount) }

    /// Reads a salt from its 64 bytes; nil if they are damaged.
    init?(_ found: UnsafeRawBufferPointer) {
        bytes = [UInt8](found[..<Self.randomByteCount])
        var writer = ByteWriter(capacity: Self.byteCount)
        encode(into: &writer)
        guard writer.bytes.elementsEqual(found) else { return nil }
    }

    func encode(into writer: inout ByteWriter) {
        let start = writer.count
        writer.append(bytes)
        writer.appendZeros(Self.byteCount - 4 - bytes.count)
        writer.append(CRC32C.checksum(UnsafeRawBufferPointer(rebasing: writer.bytes[start...])))
    }

    /// The first 8 bytes, by which a checkpoint's footer identifies its files.
    var identity: UInt64 { bytes.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) } }
}
