/// A growing run of bytes in raw memory that one owner holds: what `ByteReader` reads, this writes.
///
/// Appending costs amortised O(1) a byte. `removeAll` keeps the memory, so a writer that is used again and again allocates nothing
/// once it has grown. The memory is freed when the writer goes; handing a writer over (`consuming`) moves it without copying.
public struct ByteWriter: ~Copyable, @unchecked Sendable {
    // Sendable: the memory has exactly one owner, and a value without copies is in one place at a time.
    @usableFromInline var base: UnsafeMutableRawPointer
    @usableFromInline var capacity: Int
    /// Bytes written so far.
    public private(set) var count: Int

    public init(capacity: Int = 256) {
        let capacity = Swift.max(capacity, 16)
        base = .allocate(byteCount: capacity, alignment: 16)
        self.capacity = capacity
        count = 0
    }

    deinit { base.deallocate() }

    /// What was written. Valid until the writer changes or goes.
    public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    /// The same, to be patched in place.
    public var mutableBytes: UnsafeMutableRawBufferPointer {
        mutating get { UnsafeMutableRawBufferPointer(start: base, count: count) }
    }

    /// Forgets what was written and keeps the memory.
    public mutating func removeAll() { count = 0 }

    /// Cuts back to `count` bytes.
    public mutating func truncate(to count: Int) {
        precondition(count >= 0 && count <= self.count, "a writer can only be cut back")
        self.count = count
    }

    /// Makes room for `additional` more bytes at least.
    public mutating func reserve(_ additional: Int) {
        precondition(additional >= 0)
        if capacity &- count < additional { grow(additional) }
    }

    @inline(never)
    private mutating func grow(_ additional: Int) {
        let wanted = Swift.max(count + additional, capacity * 2)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: wanted, alignment: 16)
        larger.copyMemory(from: base, byteCount: count)
        base.deallocate()
        base = larger
        capacity = wanted
    }

    /// Adds `count` bytes whose contents `fill` must write, all of them.
    public mutating func append(count added: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Void) {
        reserve(added)
        fill(UnsafeMutableRawBufferPointer(start: base + count, count: added))
        count &+= added
    }

    public mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        (base + count).copyMemory(from: source, byteCount: bytes.count)
        count &+= bytes.count
    }

    public mutating func append(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { append($0) }
    }

    public mutating func appendZeros(_ added: Int) {
        reserve(added)
        UnsafeMutableRawBufferPointer(start: base + count, count: added).initializeMemory(as: UInt8.self, repeating: 0)
        count &+= added
    }

    /// A fixed-width integer, little-endian.
    @inline(__always)
    public mutating func append<T: FixedWidthInteger & BitwiseCopyable>(_ value: T) {
        reserve(MemoryLayout<T>.size)
        base.storeBytes(of: value.littleEndian, toByteOffset: count, as: T.self)
        count &+= MemoryLayout<T>.size
    }

    public mutating func appendUInt8(_ value: UInt8) { append(value) }
    public mutating func appendUInt16(_ value: UInt16) { append(value) }
    public mutating func appendUInt32(_ value: UInt32) { append(value) }
    public mutating func appendUInt64(_ value: UInt64) { append(value) }
    public mutating func appendInt64(_ value: Int64) { append(value) }

    /// An integer in as few bytes as it needs; see `Varint`.
    public mutating func appendVarint(_ value: UInt64) {
        reserve(Varint.maximumByteCount)
        count &+= Varint.encode(value, at: base + count)
    }

    /// A signed integer in as few bytes as it needs.
    public mutating func appendZigzag(_ value: Int64) {
        appendVarint(Varint.zigzag(value))
    }

    /// Bytes with their length before them.
    public mutating func appendLengthPrefixed(_ bytes: UnsafeRawBufferPointer) {
        appendVarint(UInt64(bytes.count))
        append(bytes)
    }

    /// UTF-8 text with its length in bytes before it.
    public mutating func appendString(_ string: String) {
        var string = string
        string.withUTF8 { appendLengthPrefixed(UnsafeRawBufferPointer($0)) }
    }

    /// Overwrites a fixed-width integer that was written before, as a length that was not known then.
    public mutating func patch<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, at offset: Int) {
        precondition(offset >= 0 && offset <= count - MemoryLayout<T>.size, "a patch lies within what was written")
        base.storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
    }

    /// What was written, as an array: one copy.
    public func array() -> [UInt8] { [UInt8](bytes) }
}
