/// A growing run of bytes that is filled by address. Whoever holds it frees it.
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

    /// Room for `added` bytes at the end, counted as written.
    @inline(__always)
    mutating func grow(_ added: Int) -> UnsafeMutableRawPointer {
        if count &+ added > capacity { enlarge(added) }
        let place = base + count
        count &+= added
        return place
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

/// Copies of bytes whose addresses stay until all of them go at once.
struct RawArena {
    private var blocks: [UnsafeMutableRawPointer] = []
    private var used = 0
    private var room = 0
    private static let blockByteCount = 64 << 10

    mutating func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawPointer {
        if used + bytes.count > room {
            room = max(RawArena.blockByteCount, bytes.count)
            blocks.append(.allocate(byteCount: room, alignment: 16))
            used = 0
        }
        guard let last = blocks.last else { return RawArena.nothing }
        let place = last + used
        if let source = bytes.baseAddress { place.copyMemory(from: source, byteCount: bytes.count) }
        used += bytes.count
        return UnsafeRawPointer(place)
    }

    mutating func removeAll() {
        for block in blocks { block.deallocate() }
        blocks.removeAll(keepingCapacity: true)
        used = 0
        room = 0
    }

    /// An address for no bytes.
    static nonisolated(unsafe) let nothing = UnsafeRawPointer(
        UnsafeMutableRawPointer.allocate(byteCount: 16, alignment: 16))
}

/// The bytes of one value of varying length, wherever they lie.
struct Piece {
    var address: UnsafeRawPointer
    /// -1 for null.
    var count: Int
    /// The id of the blob that the value went ahead as, or -1.
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
    /// Bytes that it takes in its block.
    var inlineCount: Int { count > ChangesetFormat.cellByteCount ? 0 : max(count, 0) }
    var isLong: Bool { count > ChangesetFormat.cellByteCount }
}
