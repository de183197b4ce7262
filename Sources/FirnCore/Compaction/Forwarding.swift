import CFirn

/// Where the nodes of a version went when it was written out: from a node's address to its new reference, and for a chunk the number of rows that went along.
///
/// An open-addressing table in raw memory, 16 bytes an entry, as there is one for each node. It belongs to one thread at a time.
final class Forwarding {
    private struct Entry {
        /// The address; 0 where the entry is free.
        var address: UInt
        /// The reference in the lower 48 bits, the rows above.
        var target: UInt64
    }

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
    private func place(of address: UInt) -> Int {
        // Nodes lie on multiples of 16; Fibonacci hashing spreads what is left.
        var place = Int(truncatingIfNeeded: UInt64(address >> 4) &* 0x9E37_79B9_7F4A_7C15 >> 20) & (capacity - 1)
        while entries[place].address != 0, entries[place].address != address { place = (place + 1) & (capacity - 1) }
        return place
    }

    /// The new reference of a node, and the rows that it has of a chunk.
    func find(_ address: UInt) -> (ref: UInt64, rows: Int)? {
        let entry = entries[place(of: address)]
        return entry.address == 0 ? nil : (entry.target & (1 << 48 - 1), Int(entry.target >> 48))
    }

    func set(_ address: UInt, _ ref: UInt64, rows: Int = 0) {
        if count * 3 > capacity * 2 { grow() }
        let place = place(of: address)
        if entries[place].address == 0 { count += 1 }
        entries[place] = Entry(address: address, target: ref | UInt64(rows) << 48)
    }

    /// Calls `body` with each node's address and its new reference.
    func forEach(_ body: (UInt, UInt64) -> Void) {
        for place in 0..<capacity where entries[place].address != 0 {
            body(entries[place].address, entries[place].target & (1 << 48 - 1))
        }
    }

    private func grow() {
        let (old, length) = (entries, capacity)
        capacity *= 2
        entries = Forwarding.makeEntries(capacity)
        for place in 0..<length where old[place].address != 0 {
            entries[self.place(of: old[place].address)] = old[place]
        }
        firn_deallocate(old)
    }
}
