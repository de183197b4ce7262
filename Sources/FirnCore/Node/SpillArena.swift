import CFirn
import FirnStorage
import Synchronization

/// Memory for nodes in a mapped scratch file, in pages of 4 KiB.
///
/// The system writes the pages to the file when memory is short, or when it is asked to (`SpillPool.writeOut`). It
/// reads them back when they are accessed. The file has no name, so nothing is left of it whatever happens to the
/// process, and no other process can map it.
///
/// ```
///  0                 16                     page                        page
/// ┌─────────────────┬──────────────────┬───┴─────────────┬─────────────┴────┬──
/// │ arena │ 0       │ node             │ arena │ 0       │ node             │ …
/// └─────────────────┴──────────────────┴─────────────────┴──────────────────┴──
/// ```
///
/// A node in an arena has `Node.spilledBit` set in its kind; the header before the node names the arena.
///
/// **Pages are the unit of allocation** (as lines are in Immix). A transaction puts its nodes one after another into a
/// run of free pages (`SpillCursor`). A page is free again when the last node that overlaps it is freed. So a page
/// holds nodes that were made at about the same time, which a version needs together or not at all.
///
/// For each page, `counts` has the number of nodes that overlap it, plus one while the page belongs to a cursor. Counts
/// are changed atomically; a count leaves 0 only under the pool's lock. That lock also guards `births` and `isWritten`.
/// The thread that frees an arena's last page removes the arena from the pool's list, which unmaps it.
final class SpillArena: @unchecked Sendable {
    static let pageByteCount = 1 << pageShift
    private static let pageShift = 12
    /// Bytes of the header before each node.
    static let headerByteCount = 16

    let base: UnsafeMutableRawPointer
    let pageCount: Int
    fileprivate let counts: UnsafeMutablePointer<UInt32>
    private let memory: any SharedMemory
    /// For each page, the least stamp of a node in it. `.max` for a page that belongs to a cursor.
    private var births: [UInt64]
    private var isWritten: [Bool]
    private let used = Atomic<Int>(0)
    /// The pool outlives all nodes in its arenas.
    private unowned(unsafe) let pool: SpillPool

    init(_ memory: any SharedMemory, _ pool: SpillPool) {
        guard let base = memory.bytes.baseAddress else { preconditionFailure("Firn: a scratch file without memory") }
        self.memory = memory
        self.base = base
        self.pool = pool
        pageCount = memory.bytes.count >> Self.pageShift
        counts = .allocate(capacity: pageCount)
        counts.initialize(repeating: 0, count: pageCount)
        births = [UInt64](repeating: .max, count: pageCount)
        isWritten = [Bool](repeating: false, count: pageCount)
    }

    deinit { counts.deallocate() }

    var byteCount: Int { memory.bytes.count }

    /// The number of pages that are not free.
    var usedPageCount: Int { used.load(ordering: .acquiring) }

    /// The number of pages that `byteCount` bytes need.
    static func pages(_ byteCount: Int) -> Int { (byteCount + pageByteCount - 1) >> pageShift }

    // MARK: Runs of pages (the pool's lock is held)

    /// Returns the first run of at least `least` free pages from `start` on. At most `most` pages of it are returned.
    func freeRun(from start: Int, atLeast least: Int, atMost most: Int) -> Range<Int>? {
        pool.assertLocked()
        var page = start
        while page < pageCount {
            var end = page
            while end < pageCount, end - page < most, firn_atomic_load_32(counts + end) == 0 { end += 1 }
            if end - page >= least { return page..<end }
            page = end + 1
        }
        return nil
    }

    /// Takes a run of free pages for a cursor.
    func take(_ pages: Range<Int>) {
        pool.assertLocked()
        for page in pages {
            firn_atomic_add_32(counts + page, 1)
            births[page] = .max
            isWritten[page] = false
        }
        used.wrappingAdd(pages.count, ordering: .relaxed)
    }

    /// Records the least stamp of the nodes in a cursor's pages. The caller then calls `leave`, without the lock.
    func note(_ birth: UInt64, _ pages: Range<Int>) {
        pool.assertLocked()
        for page in pages { births[page] = birth }
    }

    /// Returns the pages to write for a version with `stamp` as ascending runs of bytes, and marks them as written.
    /// Pages that were written before are included only if `again` is true.
    func takeWritable(bornThrough stamp: UInt64, again: Bool) -> [Range<Int>] {
        pool.assertLocked()
        var result: [Range<Int>] = []
        for page in 0..<pageCount
        where births[page] <= stamp && (again || !isWritten[page]) && firn_atomic_load_32(counts + page) > 0 {
            isWritten[page] = true
            let start = page << Self.pageShift
            let end = start + Self.pageByteCount
            if let last = result.last, last.upperBound == start {
                result[result.count - 1] = last.lowerBound..<end
            } else {
                result.append(start..<end)
            }
        }
        return result
    }

    /// Marks pages as not written, because writing them failed.
    func putBack(_ ranges: [Range<Int>]) {
        pool.assertLocked()
        for range in ranges {
            for page in range.lowerBound >> Self.pageShift..<range.upperBound >> Self.pageShift {
                isWritten[page] = false
            }
        }
    }

    // MARK: Without the lock

    func evict(_ ranges: [Range<Int>]) throws(StorageError) { try memory.evict(ranges) }

    /// Removes a node, or a cursor, from the counts of its pages.
    func leave(_ pages: Range<Int>) {
        var freed = 0
        for page in pages where firn_atomic_add_32(counts + page, .max) == 1 { freed += 1 }
        guard freed > 0 else { return }
        let pool = pool
        if used.wrappingSubtract(freed, ordering: .acquiringAndReleasing).newValue == 0 { pool.removeIfUnused(self) }
    }

    /// Frees a node, whichever arena it is in.
    static func free(_ node: Node) {
        let start = node.address - headerByteCount
        guard let pointer = UnsafeRawPointer(bitPattern: start.load(as: UInt.self)) else {
            preconditionFailure("Firn: a node in a scratch file does not name its arena")
        }
        let arena = Unmanaged<SpillArena>.fromOpaque(pointer).takeUnretainedValue()
        let offset = start - arena.base
        arena.leave(offset >> pageShift..<pages(offset + headerByteCount + node.byteCount))
    }

    /// Adds a node to the counts of the pages that its bytes overlap.
    fileprivate static func countNode(_ counts: UnsafeMutablePointer<UInt32>, _ bytes: Range<Int>) {
        for page in bytes.lowerBound >> pageShift..<pages(bytes.upperBound) { firn_atomic_add_32(counts + page, 1) }
    }
}

/// A run of an arena's pages in which a transaction makes nodes, one after another from the start. It belongs to one
/// thread at a time.
struct SpillCursor {
    /// Nil for a cursor that has no pages.
    private(set) var arena: Unmanaged<SpillArena>?
    private(set) var pages = 0..<0
    /// No node in the pages has a lower stamp.
    var birth = UInt64.max
    // Copies of the arena's fields, so that `allocate` need not access the arena.
    private var base: UnsafeMutableRawPointer?
    private var counts: UnsafeMutablePointer<UInt32>?
    private var next = 0
    private var end = 0

    init() {}

    /// A cursor for pages that were taken for it. They keep the arena alive.
    init(_ arena: SpillArena, _ pages: Range<Int>, birth: UInt64) {
        self.arena = Unmanaged.passUnretained(arena)
        self.pages = pages
        self.birth = birth
        base = arena.base
        counts = arena.counts
        next = pages.lowerBound * SpillArena.pageByteCount
        end = pages.upperBound * SpillArena.pageByteCount
    }

    /// The number of bytes that are left.
    var remainingByteCount: Int { end - next }

    /// Returns memory for a node; nil if it does not fit.
    @inline(__always)
    mutating func allocate(byteCount: Int) -> UnsafeMutableRawPointer? {
        let needed = SpillArena.headerByteCount + byteCount
        guard needed <= end - next, let arena, let base, let counts else { return nil }
        let start = base + next
        start.storeBytes(of: UInt(bitPattern: arena.toOpaque()), as: UInt.self)
        SpillArena.countNode(counts, next..<next + needed)
        next += needed
        return start + SpillArena.headerByteCount
    }
}
