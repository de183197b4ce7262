/// Writes what `ByteReader` reads: a growing run of bytes in raw memory, with a single owner.
///
/// Appending costs amortised O(1) per byte. `removeAll` keeps the memory, so a writer that is used again and again
/// allocates nothing once it has grown. The memory is freed with the writer. Passing a writer on (`consuming`) moves
/// it without copying.
@frozen
public struct ByteWriter: ~Copyable, @unchecked Sendable {
    // Sendable: the memory has exactly one owner, and a value that can't be copied is on one thread at a time.
    @usableFromInline var base: UnsafeMutableRawPointer
    @usableFromInline var capacity: Int
    @usableFromInline var used: Int

    @inlinable
    public init(capacity: Int = 256) {
        let capacity = Swift.max(capacity, 16)
        base = .allocate(byteCount: capacity, alignment: 16)
        self.capacity = capacity
        used = 0
    }

    @inlinable deinit { base.deallocate() }

    /// The number of bytes written so far.
    @inlinable public var count: Int { used }

    /// The bytes written so far. Valid until the writer changes or is destroyed.
    @inlinable public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    /// The bytes written so far, for changing them in place.
    public var mutableBytes: UnsafeMutableRawBufferPointer {
        @inlinable mutating get { UnsafeMutableRawBufferPointer(start: base, count: count) }
    }

    /// Removes all bytes but keeps the memory.
    @inlinable
    public mutating func removeAll() { used = 0 }

    /// Removes all bytes after the first `count`.
    @inlinable
    public mutating func truncate(to count: Int) {
        precondition(count >= 0 && count <= used, "Firn: a writer can only be truncated to at most what was written")
        used = count
    }

    /// Makes room for at least `additional` more bytes.
    @inlinable
    public mutating func reserve(_ additional: Int) {
        precondition(additional >= 0, "Firn: a writer can't make room for fewer than no bytes")
        if capacity &- count < additional { grow(additional) }
    }

    @inline(never)
    @usableFromInline
    mutating func grow(_ additional: Int) {
        let wanted = Swift.max(count + additional, capacity * 2)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: wanted, alignment: 16)
        larger.copyMemory(from: base, byteCount: count)
        base.deallocate()
        base = larger
        capacity = wanted
    }

    /// Appends `count` bytes. `fill` must write all of them.
    @inlinable
    public mutating func append(count added: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Void) {
        reserve(added)
        fill(UnsafeMutableRawBufferPointer(start: base + count, count: added))
        used &+= added
    }

    @inlinable
    public mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        (base + count).copyMemory(from: source, byteCount: bytes.count)
        used &+= bytes.count
    }

    @inlinable
    public mutating func append(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { append($0) }
    }

    @inlinable
    public mutating func appendZeros(_ added: Int) {
        reserve(added)
        UnsafeMutableRawBufferPointer(start: base + count, count: added).initializeMemory(as: UInt8.self, repeating: 0)
        used &+= added
    }

    /// Appends a fixed-width integer, little-endian.
    @inlinable @inline(__always)
    public mutating func append<T: FixedWidthInteger & BitwiseCopyable>(_ value: T) {
        reserve(MemoryLayout<T>.size)
        base.storeBytes(of: value.littleEndian, toByteOffset: count, as: T.self)
        used &+= MemoryLayout<T>.size
    }

    /// Appends an integer in as few bytes as it needs; see `Varint`.
    @inlinable
    public mutating func appendVarint(_ value: UInt64) {
        reserve(Varint.maximumByteCount)
        used &+= Varint.encode(value, at: base + count)
    }

    /// Appends bytes after their length as a varint.
    @inlinable
    public mutating func appendLengthPrefixed(_ bytes: UnsafeRawBufferPointer) {
        appendVarint(UInt64(bytes.count))
        append(bytes)
    }

    /// Appends UTF-8 text after its length in bytes as a varint.
    @inlinable
    public mutating func appendString(_ string: String) {
        var string = string
        string.withUTF8 { appendLengthPrefixed(UnsafeRawBufferPointer($0)) }
    }

    /// A copy of the bytes as an array.
    @inlinable
    public func array() -> [UInt8] { [UInt8](bytes) }
}
