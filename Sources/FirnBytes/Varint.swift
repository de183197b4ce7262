/// Encodes integers in as few bytes as they need (LEB128).
///
/// Each byte holds seven bits, the lowest first. The top bit is set in all bytes but the last.
///
/// ```
/// 300 = 0b10_0101100   →   1_0101100  0_0000010
/// ```
/// Signed integers are mapped to unsigned ones first, so that small negative ones are short too (zigzag). For example,
/// 0, -1, 1 and -2 become 0, 1, 2 and 3.
public enum Varint {
    /// The greatest number of bytes that a 64-bit integer takes.
    public static let maximumByteCount = 10

    /// The number of bytes that `value` takes, 1 to 10.
    @inlinable
    public static func byteCount(_ value: UInt64) -> Int {
        (70 &- (value | 1).leadingZeroBitCount) / 7
    }

    /// Maps a signed integer to an unsigned one.
    @inlinable
    public static func zigzag(_ value: Int64) -> UInt64 {
        UInt64(bitPattern: (value &<< 1) ^ (value &>> 63))
    }

    /// The inverse of `zigzag`.
    @inlinable
    public static func unzigzag(_ value: UInt64) -> Int64 {
        Int64(bitPattern: value &>> 1) ^ -Int64(bitPattern: value & 1)
    }

    /// Writes `value` at `target`, which must have 10 bytes, and returns the number of bytes written.
    @inlinable
    public static func encode(_ value: UInt64, at target: UnsafeMutableRawPointer) -> Int {
        var rest = value
        var count = 0
        while rest >= 0x80 {
            target.storeBytes(of: UInt8(truncatingIfNeeded: rest) | 0x80, toByteOffset: count, as: UInt8.self)
            rest &>>= 7
            count &+= 1
        }
        target.storeBytes(of: UInt8(truncatingIfNeeded: rest), toByteOffset: count, as: UInt8.self)
        return count &+ 1
    }

    /// Appends `value` to an array.
    public static func append(_ value: UInt64, to bytes: inout [UInt8]) {
        withUnsafeTemporaryAllocation(byteCount: maximumByteCount, alignment: 1) { buffer in
            guard let target = buffer.baseAddress else { return }
            bytes.append(contentsOf: UnsafeRawBufferPointer(start: target, count: encode(value, at: target)))
        }
    }
}
