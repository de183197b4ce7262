import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// Memory in scratch files is allocated by the page, and used again when the last node of a page is freed.
@Suite(.timeLimit(.minutes(20))) struct SpillPoolTests {
    private static let page = SpillArena.pageByteCount

    private func make(_ storage: any Storage = MemoryStorage()) throws -> SpillPool {
        try storage.createFolder("s")
        return SpillPool(ScratchFolder(try storage.openFolder("s"), threshold: 0), isRandom: true)
    }

    /// A node as a writer makes it.
    private func node(_ pool: SpillPool, byteCount: Int, stamp: UInt64 = 1, into cursor: inout SpillCursor) throws
        -> Node
    {
        let memory =
            try cursor.allocate(byteCount: byteCount)
            ?? pool.allocate(byteCount: byteCount, stamp: stamp, &cursor)
        let node = Node(memory)
        node.stamp = stamp
        node.byteCount = byteCount
        node.store(Node.spilledBit | Node.Kind.chunk.rawValue, 16)
        if byteCount > NodeLayout.headerByteCount {
            memory.advanced(by: NodeLayout.headerByteCount).initializeMemory(
                as: UInt8.self, repeating: UInt8(truncatingIfNeeded: stamp),
                count: byteCount - NodeLayout.headerByteCount)
        }
        return node
    }

    private func isIntact(_ node: Node) -> Bool {
        (NodeLayout.headerByteCount..<node.byteCount).allSatisfy {
            node.load($0, as: UInt8.self) == UInt8(truncatingIfNeeded: node.stamp)
        }
    }

    @Test func pagesAreReusedAndArenasAreFreedWithTheirLastNode() throws {
        var chance = SeededRandom(seed: 8)
        let pool = try make()
        var cursor = SpillCursor()
        var alive: [Node] = []
        for stamp in 1...10_000 as ClosedRange<UInt64> {
            let length = chance.below(50) == 0 ? 16 * (2 + chance.below(4000)) : 16 * (2 + chance.below(200))
            alive.append(try node(pool, byteCount: length, stamp: stamp, into: &cursor))
            if alive.count > 300 {
                let gone = alive.remove(at: chance.below(alive.count))
                if !isIntact(gone) { Issue.record("a node was overwritten") }
                SpillArena.free(gone)
            }
            if stamp % 100 == 0 {
                pool.keep(cursor)
                cursor = SpillCursor()
            }
        }
        #expect(alive.allSatisfy(isIntact))
        // 10,000 nodes of 2 KiB have been made, of which 300 are left.
        #expect(pool.arenaCount <= 2)
        #expect(pool.usedPageCount < 900)
        for node in alive { SpillArena.free(node) }
        // The remaining pages are the cursor's.
        #expect(pool.usedPageCount <= 16)
        #expect(pool.arenaCount == 1)
    }

    @Test func aLargeNodeHasAFileOfItsOwn() throws {
        let pool = try make()
        var cursor = SpillCursor()
        let small = try node(pool, byteCount: 64, into: &cursor)
        let large = try node(pool, byteCount: 5 << 20, into: &cursor)
        let huge = try node(pool, byteCount: 16 << 20, into: &cursor)
        #expect(pool.arenaCount == 3)
        let next = try node(pool, byteCount: 64, into: &cursor)
        // The run continues where it was.
        #expect(next.address - small.address == 64 + SpillArena.headerByteCount)
        #expect(isIntact(large) && isIntact(huge))
        SpillArena.free(large)
        SpillArena.free(huge)
        #expect(pool.arenaCount == 1)
        SpillArena.free(small)
        SpillArena.free(next)
    }

    @Test func aNodeThatFillsItsPagesToTheLastByteFreesThem() throws {
        let pool = try make()
        var cursor = SpillCursor()
        for pages in [1, 2, 5, 16, 17, 200] {
            let node = try node(pool, byteCount: pages * Self.page - SpillArena.headerByteCount, into: &cursor)
            #expect(isIntact(node))
            SpillArena.free(node)
        }
        pool.keep(cursor)
        // Two cursors at once: the first continues where the one before ended.
        var cursors = [SpillCursor(), SpillCursor()]
        for index in 0..<2 { SpillArena.free(try node(pool, byteCount: 64, into: &cursors[index])) }
        #expect(pool.usedPageCount > 16)
        for cursor in cursors { pool.keep(cursor) }
        // One cursor is kept for the next transaction; the other's pages are free.
        #expect(pool.usedPageCount <= 16 && pool.arenaCount == 1)
        pool.closeIdle()
        #expect(pool.arenaCount == 0)
    }

    @Test func freeingOnManyThreadsLeavesNothing() throws {
        let pool = try make()
        for round in 0..<5 as Range<UInt64> {
            var cursor = SpillCursor()
            nonisolated(unsafe) var parts: [[Node]] = [[], [], [], []]
            for number in 0..<4000 {
                parts[number % 4].append(try node(pool, byteCount: 16 * (2 + number % 90), into: &cursor))
            }
            let threads = try (0..<4).map { part in
                try StorageThread.start(name: "freeing") { for node in parts[part] { SpillArena.free(node) } }
            }
            // Other nodes are made meanwhile.
            var mine: [Node] = []
            for _ in 0..<1000 { mine.append(try node(pool, byteCount: 512, stamp: round + 1, into: &cursor)) }
            for thread in threads { thread.join() }
            #expect(mine.allSatisfy(isIntact))
            for node in mine { SpillArena.free(node) }
            pool.keep(cursor)
        }
        #expect(pool.usedPageCount <= 16 && pool.arenaCount == 1)
    }

    @Test func spilledNodesKeepTheirAddressesAndTheirPagesAreReused() throws {
        let folder = TemporaryFolder()
        let pool = SpillPool(
            ScratchFolder(try PosixStorage.shared.openFolder(folder.path), threshold: 0), isRandom: false)
        var cursor = SpillCursor()
        var nodes: [Node] = []
        for stamp in 1...3000 as ClosedRange<UInt64> {
            nodes.append(try node(pool, byteCount: 16 * (2 + Int(stamp) % 150), stamp: stamp, into: &cursor))
        }
        #expect(try PosixStorage.shared.list(folder.path).isEmpty)
        for (stamp, again) in [(10, false), (1500, false), (1500, true), (3000, false)] as [(UInt64, Bool)] {
            try pool.writeOut(bornThrough: stamp, again: again) { true }
            #expect(nodes.allSatisfy(isIntact))
        }
        for node in nodes.prefix(2500) { SpillArena.free(node) }
        // Pages that were written out are used again.
        let before = pool.arenaCount
        for stamp in 3001...5000 as ClosedRange<UInt64> {
            nodes.append(try node(pool, byteCount: 1024, stamp: stamp, into: &cursor))
        }
        #expect(pool.arenaCount == before)
        try pool.writeOut(bornThrough: 4000) { true }
        #expect(nodes.dropFirst(2500).allSatisfy(isIntact))
        for node in nodes.dropFirst(2500) { SpillArena.free(node) }
        #expect(pool.usedPageCount <= 16)
    }
}
