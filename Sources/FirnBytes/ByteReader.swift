/// Reads untrusted bytes from front to back.
///
/// Whatever the bytes are, a read returns a value and moves on, or throws a `Damage` that says where. If it throws, the
/// position stays as it was. No read traps, and none reads beyond the end.
///
/// The reader does not own the memory, which must outlive the reader and every buffer that it returns. All
/// fixed-width numbers are little-endian and need no alignment.
@frozen
public struct ByteReader {
    /// All bytes, those already read included.
    public let bytes: UnsafeRawBufferPointer
    @usableFromInline var position: Int

    /// The offset of the next byte; 0 ... bytes.count.
    @inlinable public var offset: Int { position }

    @inlinable
    public init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        position = 0
    }

    /// The number of bytes that are left.
    @inlinable public var remaining: Int { bytes.count &- offset }

    @inlinable public var isAtEnd: Bool { offset == bytes.count }

    /// The next `count` bytes, without a copy.
    @inlinable
    public mutating func readBytes(_ count: Int) throws(Damage) -> UnsafeRawBufferPointer {
        guard count >= 0, count <= remaining else { throw overrun(UInt64(bitPattern: Int64(count))) }
        let start = offset
        position &+= count
        return UnsafeRawBufferPointer(rebasing: bytes[start..<offset])
    }

    /// Skips `count` bytes.
    @inlinable
    public mutating func skip(_ count: Int) throws(Damage) {
        guard count >= 0, count <= remaining else { throw overrun(UInt64(bitPattern: Int64(count))) }
        position &+= count
    }

    /// Reads a fixed-width little-endian integer.
    @inlinable @inline(__always)
    public mutating func read<T: FixedWidthInteger & BitwiseCopyable>(_: T.Type = T.self) throws(Damage) -> T {
        let size = MemoryLayout<T>.size
        guard size <= remaining else { throw overrun(UInt64(size)) }
        let value = bytes.loadUnaligned(fromByteOffset: offset, as: T.self)
        position &+= size
        return T(littleEndian: value)
    }

    @inlinable
    public mutating func readUInt8() throws(Damage) -> UInt8 { try read() }
    @inlinable
    public mutating func readUInt16() throws(Damage) -> UInt16 { try read() }
    @inlinable
    public mutating func readUInt32() throws(Damage) -> UInt32 { try read() }
    @inlinable
    public mutating func readUInt64() throws(Damage) -> UInt64 { try read() }
    @inlinable
    public mutating func readInt64() throws(Damage) -> Int64 { try read() }

    /// Reads a `Varint`, which must be in its shortest form.
    @inlinable
    public mutating func readVarint() throws(Damage) -> UInt64 {
        let start = offset
        var value: UInt64 = 0
        var shift: UInt64 = 0
        var next = offset
        while next < bytes.count {
            let byte = bytes[next]
            next &+= 1
            // The tenth byte has only one bit left to add. A last byte of 0 is redundant.
            if shift == 63, byte > 1 { throw Damage(.malformedVarint, offset: start) }
            value |= UInt64(byte & 0x7f) &<< shift
            if byte < 0x80 {
                if byte == 0, shift > 0 { throw Damage(.malformedVarint, offset: start) }
                position = next
                return value
            }
            shift &+= 7
        }
        throw overrun(UInt64(remaining) &+ 1)
    }

    /// Reads a signed integer that was encoded by `Varint.zigzag`.
    @inlinable
    public mutating func readZigzag() throws(Damage) -> Int64 {
        Varint.unzigzag(try readVarint())
    }

    /// Reads a count or length: a varint of at most `limit`, so that a damaged count can't cause a huge allocation.
    @inlinable
    public mutating func readCount(limit: Int) throws(Damage) -> Int {
        let start = offset
        let value = try readVarint()
        guard value <= UInt64(Swift.max(limit, 0)) else {
            position = start
            throw Damage("a count of \(value) is above the limit of \(limit)", at: start)
        }
        return Int(value)
    }

    /// Reads bytes that follow their length, a varint.
    @inlinable
    public mutating func readLengthPrefixed() throws(Damage) -> UnsafeRawBufferPointer {
        let start = offset
        let count = try readVarint()
        guard count <= UInt64(remaining) else {
            let error = overrun(count)
            position = start
            throw error
        }
        return try readBytes(Int(count))
    }

    /// Reads UTF-8 text that follows its length in bytes, a varint.
    @inlinable
    public mutating func readString() throws(Damage) -> String {
        let start = offset
        let text = try readLengthPrefixed()
        guard let string = String(validating: text, as: UTF8.self) else {
            position = start
            throw Damage(.malformedText, offset: start)
        }
        return string
    }

    /// Throws unless every byte was read.
    @inlinable
    public func expectEnd() throws(Damage) {
        if remaining != 0 { throw Damage(.trailing(remaining), offset: offset) }
    }

    @usableFromInline @inline(never)
    func overrun(_ wanted: UInt64) -> Damage {
        Damage(.overrun(wanted: wanted, available: remaining), offset: offset)
    }
}

extension UnsafeRawBufferPointer {
    /// True if every byte is zero, or there are no bytes. It costs about 0.1 ns per byte.
    public var isAllZero: Bool {
        var position = 0
        while position &+ 32 <= count {
            let a = loadUnaligned(fromByteOffset: position, as: UInt64.self)
            let b = loadUnaligned(fromByteOffset: position &+ 8, as: UInt64.self)
            let c = loadUnaligned(fromByteOffset: position &+ 16, as: UInt64.self)
            let d = loadUnaligned(fromByteOffset: position &+ 24, as: UInt64.self)
            if a | b | c | d != 0 { return false }
            position &+= 32
        }
        while position < count {
            if self[position] != 0 { return false }
            position &+= 1
        }
        return true
    }
}
