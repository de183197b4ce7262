import CFirn

/// Nodes on their way into a checkpoint's file: each is built where it will be written from, sealed, and followed by the next.
struct NodeBuffer: ~Copyable {
    /// Bytes from which on the buffer is written. A commit's sync waits for what the system is just writing out, so the pieces are small: at the compactor's pace one goes every millisecond.
    static let pieceByteCount = 64 << 10

    private var memory: UnsafeMutableRawPointer
    private var capacity: Int
    private(set) var count = 0
    /// Where in its space the next node will lie, less what the buffer holds.
    private var place: Int
    /// The first units of the nodes, counted from the file's start.
    private(set) var starts = BitSet(count: 0)
    private let fileStart: Int

    /// - Parameters:
    ///   - place: where in its space the first node will lie.
    ///   - fileStart: where its file begins.
    init(place: Int, fileStart: Int) {
        self.place = place
        self.fileStart = fileStart
        capacity = 1 << 20
        memory = .allocate(byteCount: capacity, alignment: 64)
    }

    deinit { memory.deallocate() }

    /// Where in its space the next node will lie.
    var end: Int { place + count }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory, count: count) }

    mutating func removeAll() {
        place += count
        count = 0
    }

    /// Adds a node whose bytes `fill` writes, and returns where in its space it lies. What `fill` does not write is
    /// zero, and not what the program's memory held.
    mutating func append(byteCount: Int, _ fill: (UnsafeMutableRawPointer) -> Void) -> Int {
        let length = OnDiskNode.roundUp(byteCount)
        if count + length > capacity { grow(count + length) }
        let address = memory + count
        address.initializeMemory(as: UInt8.self, repeating: 0, count: length)
        fill(address)
        let placed = end
        OnDiskNode.seal(address, byteCount: length, place: placed)
        starts.insert((placed - fileStart) / OnDiskNode.unit)
        count += length
        return placed
    }

    private mutating func grow(_ wanted: Int) {
        capacity = max(wanted, capacity * 2)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 64)
        larger.copyMemory(from: memory, byteCount: count)
        memory.deallocate()
        memory = larger
    }
}
