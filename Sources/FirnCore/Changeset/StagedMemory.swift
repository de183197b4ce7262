/// A growing run of bytes that is filled by address. Its owner frees it (`dispose`).
struct RawStack {
    private(set) var base: UnsafeMutableRawPointer
    private(set) var count = 0
    private var capacity: Int

    init(capacity: Int) {
        base = .allocate(byteCount: capacity, alignment: 16)
        self.capacity = capacity
    }

    func dispose() { base.deallocate() }

    mutating func removeAll() { count = 0 }

    mutating func truncate(to count: Int) {
        assert(count <= self.count)
        self.count = count
    }

    /// Adds `added` bytes at the end, counts them as written, and returns their address.
    @inline(__always)
    mutating func grow(_ added: Int) -> UnsafeMutableRawPointer {
        if count &+ added > capacity { enlarge(added) }
        let address = base + count
        count &+= added
        return address
    }

    @inline(never)
    private mutating func enlarge(_ added: Int) {
        capacity = max(capacity * 2, count + added)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
        larger.copyMemory(from: base, byteCount: count)
        base.deallocate()
        base = larger
    }
}

/// Copies of byte ranges. Their addresses stay valid until `removeAll`.
struct RawArena {
    private var blocks: [UnsafeMutableRawPointer] = []
    private var used = 0
    private var capacity = 0
    private static let blockByteCount = 64 << 10

    mutating func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawPointer {
        if used + bytes.count > capacity {
            capacity = max(RawArena.blockByteCount, bytes.count)
            blocks.append(.allocate(byteCount: capacity, alignment: 16))
            used = 0
        }
        guard let last = blocks.last else { return RawArena.nothing }
        let address = last + used
        if let source = bytes.baseAddress { address.copyMemory(from: source, byteCount: bytes.count) }
        used += bytes.count
        return UnsafeRawPointer(address)
    }

    mutating func removeAll() {
        for block in blocks { block.deallocate() }
        blocks.removeAll(keepingCapacity: true)
        used = 0
        capacity = 0
    }

    /// An address for empty byte ranges.
    static nonisolated(unsafe) let nothing = UnsafeRawPointer(
        UnsafeMutableRawPointer.allocate(byteCount: 16, alignment: 16))
}

/// The bytes of one value of varying length, wherever they lie.
struct Piece {
    var address: UnsafeRawPointer
    /// -1 for null.
    var count: Int
    /// The id of the blob that holds the value, or -1 if there is none.
    var blob: Int = -1

    @inline(__always)
    init(_ bytes: UnsafeRawBufferPointer?) {
        if let bytes {
            address = bytes.baseAddress ?? RawArena.nothing
            count = bytes.count
        } else {
            address = RawArena.nothing
            count = -1
        }
    }

    init(_ address: UnsafeRawPointer, _ count: Int) {
        self.address = address
        self.count = count
    }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: address, count: max(count, 0)) }
    /// The number of the value's bytes in its block. 0 for null, and for a long value, which is in a blob.
    var inlineCount: Int { count > ChangesetFormat.cellByteCount ? 0 : max(count, 0) }
    var isLong: Bool { count > ChangesetFormat.cellByteCount }
}
