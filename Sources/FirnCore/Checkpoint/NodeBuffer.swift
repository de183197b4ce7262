import CFirn

/// Collects the nodes that go into a checkpoint's file. Each is built where it will be written from, sealed, and
/// followed by the next.
struct NodeBuffer: ~Copyable {
    /// The number of bytes at which the buffer is written to the file. A commit's sync waits for what the system is
    /// writing out at that moment, so the pieces are small. At the compactor's rate, one piece is written every
    /// millisecond.
    static let pieceByteCount = 64 << 10

    private var memory: UnsafeMutableRawPointer
    private var capacity: Int
    private(set) var count = 0
    /// The offset in the mapping where the buffer's first byte will lie.
    private var offset: Int
    /// The first units of the nodes, counted from the file's start.
    private(set) var starts = BitSet(count: 0)
    private let fileStart: Int

    /// - Parameters:
    ///   - offset: the offset in the mapping where the first node will lie.
    ///   - fileStart: the offset in the mapping where the nodes' file begins.
    init(offset: Int, fileStart: Int) {
        self.offset = offset
        self.fileStart = fileStart
        capacity = 1 << 20
        memory = .allocate(byteCount: capacity, alignment: 64)
    }

    deinit { memory.deallocate() }

    /// The offset in the mapping where the next node will lie.
    var end: Int { offset + count }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory, count: count) }

    mutating func removeAll() {
        offset += count
        count = 0
    }

    /// Adds a node whose bytes `fill` writes, and returns the offset in the mapping where it will lie. Bytes that
    /// `fill` does not write are zero; they never hold what was in the program's memory.
    mutating func append(byteCount: Int, _ fill: (UnsafeMutableRawPointer) -> Void) -> Int {
        let length = OnDiskNode.roundUp(byteCount)
        if count + length > capacity { grow(count + length) }
        let address = memory + count
        address.initializeMemory(as: UInt8.self, repeating: 0, count: length)
        fill(address)
        let position = end
        OnDiskNode.seal(address, byteCount: length, offset: position)
        starts.insert((position - fileStart) / OnDiskNode.unit)
        count += length
        return position
    }

    private mutating func grow(_ wanted: Int) {
        capacity = max(wanted, capacity * 2)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 64)
        larger.copyMemory(from: memory, byteCount: count)
        memory.deallocate()
        memory = larger
    }
}
