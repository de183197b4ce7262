import FirnStorage
import Synchronization

/// The scratch files for one category of nodes, and which of their pages are free.
///
/// `lock` guards the private variables here and the pages of the arenas. It is held at most for a search through pages,
/// and never during a system call. A thread that takes it may hold the version table's lock.
final class SpillPool: @unchecked Sendable {
    private let scratch: ScratchFolder
    /// Whether the nodes are accessed in no order.
    private let isRandom: Bool
    private let lock = Lock(.innermost)
    private var arenas: [SpillArena] = []
    /// The arena and the page at which the search for free pages starts: behind the pages that were found last.
    private var current = 0
    private var position = 0
    /// The cursor that one transaction leaves to the next.
    private var idle = SpillCursor()
    private let hasIdle = Atomic<Bool>(false)

    /// The least size of an arena for many nodes. New arenas grow with the total, so that there are few files.
    static let arenaMinByteCount = 4 << 20
    private static let mostByteCount = 64 << 20
    /// The most pages that a cursor takes, unless one node needs more.
    private static let runLength = 16

    init(_ scratch: ScratchFolder, isRandom: Bool) {
        self.scratch = scratch
        self.isRandom = isRandom
    }

    /// Stops a debug build if the calling thread does not hold the lock, which guards the arenas' pages.
    func assertLocked() { lock.assertHeld() }

    var arenaCount: Int { lock.withLock { arenas.count } }
    var usedPageCount: Int { lock.withLock { arenas.reduce(0) { $0 + $1.usedPageCount } } }

    // MARK: Cursors

    /// Takes the cursor that the last transaction left.
    private func takeIdle() -> SpillCursor {
        lock.withLock {
            hasIdle.store(false, ordering: .relaxed)
            defer { idle = SpillCursor() }
            return idle
        }
    }

    /// Closes the cursor that was kept for the next transaction, if there is one.
    func closeIdle() {
        if hasIdle.load(ordering: .relaxed) { close(takeIdle()) }
    }

    /// Keeps a transaction's cursor for the next one.
    func keep(_ cursor: SpillCursor) {
        guard cursor.arena != nil else { return }
        lock.lock()
        let isFirst = idle.arena == nil
        if isFirst {
            idle = cursor
            hasIdle.store(true, ordering: .relaxed)
        }
        lock.unlock()
        if !isFirst { close(cursor) }
    }

    private func close(_ cursor: SpillCursor) {
        guard let arena = cursor.arena?.takeUnretainedValue() else { return }
        lock.withLock { arena.note(cursor.birth, cursor.pages) }
        arena.leave(cursor.pages)
    }

    /// Returns memory for a node that does not fit in the cursor's pages. Throws if no memory can be made.
    func allocate(byteCount: Int, stamp: UInt64, _ cursor: inout SpillCursor) throws(StorageError)
        -> UnsafeMutableRawPointer
    {
        if cursor.arena == nil {
            cursor = takeIdle()
            cursor.birth = min(cursor.birth, stamp)
            if let memory = cursor.allocate(byteCount: byteCount) { return memory }
        }
        let needed = SpillArena.headerByteCount + byteCount
        var next = try takePages(SpillArena.pages(needed), stamp)
        guard let memory = next.allocate(byteCount: byteCount) else {
            preconditionFailure("Firn: a run of pages is too short")
        }
        if next.remainingByteCount > cursor.remainingByteCount { swap(&next, &cursor) }
        close(next)
        return memory
    }

    private func takePages(_ count: Int, _ stamp: UInt64) throws(StorageError) -> SpillCursor {
        let isLarge = count * SpillArena.pageByteCount > Self.arenaMinByteCount / 4
        if !isLarge {
            let found = lock.withLock { find(count) }
            if let found { return SpillCursor(found.arena, found.pages, birth: stamp) }
        }
        let arena = SpillArena(try makeMemory(isLarge ? count : nil), self)
        let pages = 0..<(isLarge ? count : max(count, Self.runLength))
        lock.lock()
        defer { lock.unlock() }
        arena.take(pages)
        arenas.append(arena)
        if !isLarge {
            current = arenas.count - 1
            position = pages.upperBound
        }
        return SpillCursor(arena, pages, birth: stamp)
    }

    /// Finds free pages and takes them. The search starts behind the pages found last, and continues in the arenas that
    /// have enough free pages to be worth it. The lock is held.
    private func find(_ count: Int) -> (arena: SpillArena, pages: Range<Int>)? {
        lock.assertHeld()
        for step in 0..<(arenas.isEmpty ? 0 : arenas.count + 1) {
            let index = (current + step) % arenas.count
            let arena = arenas[index]
            let free = arena.pageCount - arena.usedPageCount
            if free < count || step > 0 && free < arena.pageCount / (count > 4 ? 2 : 8) { continue }
            let start = step == 0 ? position : 0
            guard let pages = arena.freeRun(from: start, atLeast: count, atMost: max(count, Self.runLength)) else {
                continue
            }
            arena.take(pages)
            current = index
            position = pages.upperBound
            return (arena, pages)
        }
        return nil
    }

    /// Makes and maps a scratch file: for one node of `pageCount` pages, or for many nodes if `pageCount` is nil.
    private func makeMemory(_ pageCount: Int?) throws(StorageError) -> any SharedMemory {
        let total = lock.withLock { arenas.reduce(0) { $0 + $1.byteCount } }
        let many = min(max(total / 16, Self.arenaMinByteCount), Self.mostByteCount) & ~(Self.arenaMinByteCount - 1)
        let byteCount = pageCount.map { $0 * SpillArena.pageByteCount } ?? many
        let memory = try scratch.folder.scratchMemory(byteCount: byteCount)
        if isRandom { memory.adviseRandomAccess() }
        return memory
    }

    /// Removes an arena from the list if all its pages are free, and so releases it.
    func removeIfUnused(_ arena: SpillArena) {
        lock.lock()
        defer { lock.unlock() }
        guard arena.usedPageCount == 0, let index = arenas.firstIndex(where: { $0 === arena }) else { return }
        arenas.remove(at: index)
        if index < current {
            current -= 1
        } else if index == current {
            position = 0
            if current == arenas.count { current = 0 }
        }
    }

    // MARK: Writing out

    /// Writes the pages with nodes of `stamp` or older to their files, and returns their memory to the system.
    /// Pages that were written before are left out. All pages keep their addresses, and are read back when they are
    /// accessed.
    ///
    /// - Parameter again: whether to write pages that were written before, too, so that pages that were read back since
    ///   leave memory again.
    ///
    /// Blocks the caller and nobody else. Cost: O(pages) and the writing.
    func writeOut(
        bornThrough stamp: UInt64, again: Bool = false, while isWanted: () -> Bool
    ) throws(StorageError) {
        for arena in lock.withLock({ arenas }) {
            guard isWanted() else { return }
            let ranges = lock.withLock { arena.takeWritable(bornThrough: stamp, again: again) }
            if ranges.isEmpty { continue }
            do throws(StorageError) { try arena.evict(ranges) } catch {
                lock.withLock { arena.putBack(ranges) }
                throw error
            }
        }
    }
}
