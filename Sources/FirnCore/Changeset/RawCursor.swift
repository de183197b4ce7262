import FirnBytes

/// A position in memory at which bytes are written without a check: the caller has computed a bound for everything
/// that will be written.
///
/// The hot path of a commit writes with it. Everything else uses `ByteWriter`.
struct RawCursor {
    var address: UnsafeMutableRawPointer

    @inline(__always)
    init(_ address: UnsafeMutableRawPointer) { self.address = address }

    @inline(__always)
    mutating func byte(_ value: UInt8) {
        address.storeBytes(of: value, as: UInt8.self)
        address += 1
    }

    @inline(__always)
    mutating func varint(_ value: Int) {
        assert(value >= 0)
        address += Varint.encode(UInt64(truncatingIfNeeded: value), at: address)
    }

    @inline(__always)
    mutating func zigzag(_ value: Int64) {
        address += Varint.encode(Varint.zigzag(value), at: address)
    }

    @inline(__always)
    mutating func bytes(_ source: UnsafeRawPointer, _ count: Int) {
        address.copyMemory(from: source, byteCount: count)
        address += count
    }

    @inline(__always)
    mutating func bytes(_ source: UnsafeRawBufferPointer) {
        guard let base = source.baseAddress else { return }
        bytes(base, source.count)
    }

    /// Writes a bit for each of `count` flags, which are bytes of 0 or 1.
    mutating func bitmap(_ flags: UnsafePointer<UInt8>, _ count: Int) {
        var index = 0
        let raw = UnsafeRawPointer(flags)
        while index &+ 8 <= count {
            // Flags are 0 or 1. The product gathers the lowest bit of each byte in the top byte; the first byte's bit
            // becomes the lowest.
            let eight = UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            byte(UInt8(truncatingIfNeeded: (eight &* 0x0102_0408_1020_4080) >> 56))
            index &+= 8
        }
        guard index < count else { return }
        var last: UInt8 = 0
        for bit in 0..<(count &- index) where flags[index &+ bit] != 0 { last |= 1 << UInt8(bit) }
        byte(last)
    }

    static func bitmapByteCount(_ count: Int) -> Int { (count &+ 7) >> 3 }
}
