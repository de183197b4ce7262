import FirnStorage
import Synchronization

/// Nodes of one sort in scratch files: the pages that they lie on, free and taken.
///
/// `lock` guards what is private here and the arenas' pages. It is held for a search through pages at most, and over no system call. The version table's lock may be held by who takes it.
final class SpillPool: @unchecked Sendable {
    private let place: ScratchFolder
    /// Whether its nodes are touched in no order.
    private let isRandom: Bool
    private let lock = Lock(.innermost)
    private var arenas: [SpillArena] = []
    /// Where the last pages were found: free ones are looked for behind them first.
    private var current = 0
    private var position = 0
    /// What one transaction leaves to the next.
    private var idle = SpillCursor()
    private let hasIdle = Atomic<Bool>(false)

    /// The least size of an arena. It grows with what there is, so that the files stay few.
    static let leastByteCount = 4 << 20
    private static let mostByteCount = 64 << 20
    /// Pages that a cursor takes at most, if one node needs no more.
    private static let runLength = 16

    init(_ place: ScratchFolder, isRandom: Bool) {
        self.place = place
        self.isRandom = isRandom
    }

    var arenaCount: Int { lock.withLock { arenas.count } }
    var usedPageCount: Int { lock.withLock { arenas.reduce(0) { $0 + $1.usedPageCount } } }

    // MARK: Cursors

    /// What the last transaction has left.
    private func takeIdle() -> SpillCursor {
        lock.withLock {
            hasIdle.store(false, ordering: .relaxed)
            defer { idle = SpillCursor() }
            return idle
        }
    }

    /// Leaves nothing to the next transaction.
    func dropIdle() {
        if hasIdle.load(ordering: .relaxed) { close(takeIdle()) }
    }

    /// Leaves a transaction's cursor to the next.
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

    /// Memory for a node for which the cursor has no room. Throws where there is none.
    func allocate(byteCount: Int, stamp: UInt64, _ cursor: inout SpillCursor) throws(StorageError)
        -> UnsafeMutableRawPointer
    {
        if cursor.arena == nil {
            cursor = takeIdle()
            cursor.birth = min(cursor.birth, stamp)
            if let memory = cursor.allocate(byteCount: byteCount) { return memory }
        }
        let needed = SpillArena.headByteCount + byteCount
        var next = try takePages(SpillArena.pages(needed), stamp)
        guard let memory = next.allocate(byteCount: byteCount) else {
            preconditionFailure("Firn: a run of pages is too short")
        }
        if next.room > cursor.room { swap(&next, &cursor) }
        close(next)
        return memory
    }

    private func takePages(_ count: Int, _ stamp: UInt64) throws(StorageError) -> SpillCursor {
        let isLarge = count * SpillArena.pageByteCount > Self.leastByteCount / 4
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

    /// Finds free pages and takes them: behind the last ones, then in the other arenas that have enough to be worth looking at. The lock is held.
    private func find(_ count: Int) -> (arena: SpillArena, pages: Range<Int>)? {
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

    /// A new scratch file, mapped: for a node of so many pages alone, or for many.
    private func makeMemory(_ pageCount: Int?) throws(StorageError) -> any SharedMemory {
        let total = lock.withLock { arenas.reduce(0) { $0 + $1.byteCount } }
        let many = min(max(total / 16, Self.leastByteCount), Self.mostByteCount) & ~(Self.leastByteCount - 1)
        let byteCount = pageCount.map { $0 * SpillArena.pageByteCount } ?? many
        let memory = try place.storage.scratchMemory(in: place.folder, byteCount: byteCount)
        if isRandom { memory.willBeTouchedAtRandom() }
        return memory
    }

    /// Takes an arena off the list in which nothing is left, and so lets it go.
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

    /// Writes out the pages with nodes as old as `stamp` or older that have not been written out before, and gives their memory back to the system. They stay where they are, and are read back when they are touched.
    ///
    /// - Parameter again: also those that have been: what was read since goes again.
    ///
    /// Blocks; nobody else waits for it. Cost: O(pages) and the writing.
    func writeOut(
        bornThrough stamp: UInt64, again: Bool = false, while isWanted: () -> Bool
    ) throws(StorageError) {
        for arena in lock.withLock({ arenas }) {
            guard isWanted() else { return }
            let ranges = lock.withLock { arena.takeWritable(bornThrough: stamp, again: again) }
            if ranges.isEmpty { continue }
            do throws(StorageError) { try arena.giveBack(ranges) } catch {
                lock.withLock { arena.putBack(ranges) }
                throw error
            }
        }
    }
}
