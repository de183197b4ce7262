import CFirn

/// Maps the nodes of a version to their new references, under which they were written. For a chunk, it also has the
/// number of rows that were written.
///
/// It is an open-addressing table in raw memory, with 16 bytes per entry, because there is one entry for each node.
/// It belongs to one thread at a time.
final class Forwarding {
    private struct Entry {
        /// The address; 0 if the entry is free.
        var address: UInt
        /// The reference in the lower 48 bits, the number of rows above them.
        var target: UInt64
    }

    private static let refMask: UInt64 = 1 << 48 - 1

    private var entries: UnsafeMutablePointer<Entry>
    private var capacity: Int
    private(set) var count = 0

    init(capacity wanted: Int = 1 << 10) {
        capacity = 1 << 10
        while capacity < wanted * 2 { capacity *= 2 }
        entries = Forwarding.makeEntries(capacity)
    }

    deinit { firn_deallocate(entries) }

    private static func makeEntries(_ capacity: Int) -> UnsafeMutablePointer<Entry> {
        guard let memory = firn_allocate_zeros(capacity, MemoryLayout<Entry>.stride) else {
            fatalError("Firn: there is no memory left for a table of \(capacity) nodes")
        }
        return memory.assumingMemoryBound(to: Entry.self)
    }

    @inline(__always)
    private func index(of address: UInt) -> Int {
        // Nodes lie at multiples of 16; Fibonacci hashing spreads the other bits.
        var index = Int(truncatingIfNeeded: UInt64(address >> 4) &* 0x9E37_79B9_7F4A_7C15 >> 20) & (capacity - 1)
        while entries[index].address != 0, entries[index].address != address { index = (index + 1) & (capacity - 1) }
        return index
    }

    /// Returns the new reference of a node and, for a chunk, the number of its written rows. Nil if the node was not
    /// written.
    func find(_ address: UInt) -> (ref: UInt64, rows: Int)? {
        let entry = entries[index(of: address)]
        return entry.address == 0 ? nil : (entry.target & Self.refMask, Int(entry.target >> 48))
    }

    func set(_ address: UInt, _ ref: UInt64, rows: Int = 0) {
        if count * 3 > capacity * 2 { grow() }
        let index = index(of: address)
        if entries[index].address == 0 { count += 1 }
        entries[index] = Entry(address: address, target: ref | UInt64(rows) << 48)
    }

    /// Calls `body` with each node's address and its new reference.
    func forEach(_ body: (UInt, UInt64) -> Void) {
        for index in 0..<capacity where entries[index].address != 0 {
            body(entries[index].address, entries[index].target & Self.refMask)
        }
    }

    /// Replaces each reference by what `body` returns for it.
    func updateRefs(_ body: (UInt64) -> UInt64) {
        for index in 0..<capacity where entries[index].address != 0 {
            let target = entries[index].target
            entries[index].target = target & ~Self.refMask | body(target & Self.refMask)
        }
    }

    private func grow() {
        let (old, length) = (entries, capacity)
        capacity *= 2
        entries = Forwarding.makeEntries(capacity)
        for index in 0..<length where old[index].address != 0 {
            entries[self.index(of: old[index].address)] = old[index]
        }
        firn_deallocate(old)
    }
}
