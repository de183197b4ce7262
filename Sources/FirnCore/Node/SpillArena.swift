import CFirn
import FirnStorage
import Synchronization

/// Memory for nodes in a scratch file that is mapped, in pages of 4 KiB. The system writes its pages out when memory is short, or when it is asked to (`SpillPool.writeOut`), and reads them back when they are
/// touched. The file has no name, so nothing is left of it whatever happens to the process, and no other process can map it.
///
/// ```
///  0                 16                     page                        page
/// ┌─────────────────┬──────────────────┬───┴─────────────┬─────────────┴────┬──
/// │ arena │ 0       │ node             │ arena │ 0       │ node             │ …
/// └─────────────────┴──────────────────┴─────────────────┴──────────────────┴──
/// ```
///
/// A node in an arena bears `Node.spilledBit` in its kind; the word before it names the arena.
///
/// **Pages are what is given out and taken back** (as Immix does with its lines): a transaction puts its nodes one behind the other into a run of free pages (`SpillCursor`), and a page is free again when
/// the last node that touches it is. So a page holds what was made at about the same time, which is what a version needs or doesn't.
///
/// `counts` has, for each page, the nodes that touch it, and one more while it belongs to a cursor; it is changed atomically. Only under the pool's lock does a count leave 0.
/// `births` and `isWritten` are guarded by that lock too. Whoever frees an arena's last page has it taken off the pool's list, and the mapping goes.
final class SpillArena: @unchecked Sendable {
    static let pageByteCount = 1 << pageShift
    private static let pageShift = 12
    /// Bytes before a node.
    static let headByteCount = 16

    let base: UnsafeMutableRawPointer
    let pageCount: Int
    fileprivate let counts: UnsafeMutablePointer<UInt32>
    private let memory: any SharedMemory
    /// By page: the least stamp of a node in it. `.max` for a page that belongs to a cursor.
    private var births: [UInt64]
    private var isWritten: [Bool]
    private let used = Atomic<Int>(0)
    /// It outlives all its nodes.
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

    /// Pages that are not free.
    var usedPageCount: Int { used.load(ordering: .acquiring) }

    /// Pages that so many bytes need.
    static func pages(_ byteCount: Int) -> Int { (byteCount + pageByteCount - 1) >> pageShift }

    // MARK: Runs of pages (the pool's lock is held)

    /// The first run of free pages from `start` on that is long enough.
    func freeRun(from start: Int, atLeast least: Int, atMost most: Int) -> Range<Int>? {
        var page = start
        while page < pageCount {
            var end = page
            while end < pageCount, end - page < most, firn_atomic_load_32(counts + end) == 0 { end += 1 }
            if end - page >= least { return page..<end }
            page = end + 1
        }
        return nil
    }

    /// Gives a run to a cursor.
    func take(_ pages: Range<Int>) {
        for page in pages {
            firn_atomic_add_32(counts + page, 1)
            births[page] = .max
            isWritten[page] = false
        }
        used.wrappingAdd(pages.count, ordering: .relaxed)
    }

    /// Says of a cursor's pages since when nodes were made in them; `leave` follows, without the lock.
    func note(_ birth: UInt64, _ pages: Range<Int>) {
        for page in pages { births[page] = birth }
    }

    /// The pages to be written out for a version with `stamp`; those that were before only where it is to be done `again`. Runs of bytes, ascending.
    func takeWritable(bornThrough stamp: UInt64, again: Bool) -> [Range<Int>] {
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

    /// They could not be written out.
    func putBack(_ ranges: [Range<Int>]) {
        for range in ranges {
            for page in range.lowerBound >> Self.pageShift..<range.upperBound >> Self.pageShift {
                isWritten[page] = false
            }
        }
    }

    // MARK: Without the lock

    func giveBack(_ ranges: [Range<Int>]) throws(StorageError) { try memory.giveBack(ranges) }

    /// One that touched these pages touches them no more.
    func leave(_ pages: Range<Int>) {
        var freed = 0
        for page in pages where firn_atomic_add_32(counts + page, .max) == 1 { freed += 1 }
        guard freed > 0 else { return }
        let pool = pool
        if used.wrappingSubtract(freed, ordering: .acquiringAndReleasing).newValue == 0 { pool.removeIfUnused(self) }
    }

    /// A node of some arena is free.
    static func free(_ node: Node) {
        let start = node.address - headByteCount
        guard let pointer = UnsafeRawPointer(bitPattern: start.load(as: UInt.self)) else {
            preconditionFailure("Firn: a spilled node without its arena")
        }
        let arena = Unmanaged<SpillArena>.fromOpaque(pointer).takeUnretainedValue()
        let offset = start - arena.base
        arena.leave(offset >> pageShift..<pages(offset + headByteCount + node.byteCount))
    }

    fileprivate static func touch(_ counts: UnsafeMutablePointer<UInt32>, _ bytes: Range<Int>) {
        for page in bytes.lowerBound >> pageShift..<pages(bytes.upperBound) { firn_atomic_add_32(counts + page, 1) }
    }
}

/// Where a transaction makes its nodes: a run of an arena's pages, filled from its beginning. It belongs to one thread at a time.
struct SpillCursor {
    /// Nil for a cursor that has no pages.
    private(set) var arena: Unmanaged<SpillArena>?
    private(set) var pages = 0..<0
    /// No node in the pages is older than this.
    var birth = UInt64.max
    // The arena's, to be had without it.
    private var base: UnsafeMutableRawPointer?
    private var counts: UnsafeMutablePointer<UInt32>?
    private var next = 0
    private var end = 0

    init() {}

    /// A cursor for pages that were taken for it, which keep the arena alive.
    init(_ arena: SpillArena, _ pages: Range<Int>, birth: UInt64) {
        self.arena = Unmanaged.passUnretained(arena)
        self.pages = pages
        self.birth = birth
        base = arena.base
        counts = arena.counts
        next = pages.lowerBound * SpillArena.pageByteCount
        end = pages.upperBound * SpillArena.pageByteCount
    }

    /// Bytes that are left.
    var room: Int { end - next }

    /// Memory for a node; nil where there is no room.
    @inline(__always)
    mutating func allocate(byteCount: Int) -> UnsafeMutableRawPointer? {
        let needed = SpillArena.headByteCount + byteCount
        guard needed <= end - next, let arena, let base, let counts else { return nil }
        let place = base + next
        place.storeBytes(of: UInt(bitPattern: arena.toOpaque()), as: UInt.self)
        SpillArena.touch(counts, next..<next + needed)
        next += needed
        return place + SpillArena.headByteCount
    }
}
