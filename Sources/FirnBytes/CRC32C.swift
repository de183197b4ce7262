import CFirn

/// The checksum in everything that Firn reads back: CRC-32C (Castagnoli), by the processor's instruction if it has one.
///
/// It detects every single-bit error, every odd number of wrong bits, and every burst of up to 32 bits. It is no
/// defence against somebody who forges a file on purpose.
public enum CRC32C {
    /// The checksum of `bytes`, continued from `crc`, the checksum of the bytes before them (0 at the start).
    ///
    /// It costs about 9 ns for 200 bytes, and 0.04 ns per byte for long runs.
    @inlinable
    public static func checksum(_ bytes: UnsafeRawBufferPointer, from crc: UInt32 = 0) -> UInt32 {
        firn_crc32c(crc, bytes.baseAddress, bytes.count)
    }

    /// The checksum of an array's bytes.
    @inlinable
    public static func checksum(_ bytes: [UInt8], from crc: UInt32 = 0) -> UInt32 {
        bytes.withUnsafeBytes { checksum($0, from: crc) }
    }
}
