import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

/// Each record of a commit's durability counts, even if the other records are lost.
@Suite("Durable marks", .timeLimit(.minutes(20))) struct MarkTests {
    @Test("are believed in a frame whose payload is damaged, because its header is intact")
    func markOfADamagedFrame() throws {
        let bench = Bench()
        let log = try bench.open()
        var starts: [Int] = []
        for _ in 0..<3 {
            starts.append(log.writer!.tail.end)
            try log.waitUntilDurable(try bench.commit(log))
        }
        let after = bench.afterPowerCut(keeping: 1)
        try? after.storage.remove("/store/shared")
        // The third frame has the mark that covers the second.
        for start in starts.dropFirst() { try after.flip(Bench.segment, at: start + 90) }
        let error = #expect(throws: LogError.self) { try after.open() }
        #expect(error?.code == .damage, "the second commit was durable")
        // Without the third frame, nothing says that the second was durable.
        try after.flip(Bench.segment, at: starts[1] + 90)
        #expect(try after.open().recovery.lastVersion == 2)
    }

    @Test("of the shared page are in two pairs, written alternately: one is intact whenever the writer stops")
    func pairs() throws {
        for torn in [32, 48] {
            let page = try SharedPage(
                StoreFolder(path: "/", storage: MemoryStorage()), StoreID(high: 1, low: 2), mayCreate: true)
            page.prepare(epoch: 1, durable: 4, published: 4, generation: 1, fresh: true)
            for mark in 5...8 as ClosedRange<UInt64> {
                page.setDurable(mark)
                #expect(page.durableMark == mark)
            }
            page.store(999, torn)
            #expect([7, 8].contains(page.durableMark), "pair \(torn)")
        }
    }

    /// The sync of a mark fails: the system reports its page as clean, and the disk lacks it. A process that takes
    /// over must not continue behind it.
    @Test(
        "that a failed sync may have lost are not where a process that takes over continues",
        // The mark sometimes shares a sector with the next commit, and sometimes has one of its own, which is
        // then lost.
        arguments: (0..<16).map { 100 + 40 * $0 })
    func lostMark(_ length: Int) throws {
        let first = Bench { $0.idleMilliseconds = 60_000 }
        let second = first.another()
        let (log, other) = (try first.open(), try second.open())
        try log.waitUntilDurable(try first.commit(log, [length]))
        first.storage.inject(SimulatedFault(.io, residue: .nothing, times: 1) { $0.operation == .sync })
        #expect(throws: LogError.self) { try log.writeMark() }
        log.releaseWriting()
        try other.awaitWriting()
        let progress = try other.readToEnd { commit in while try commit.next() != nil {} }
        other.advance(to: progress)
        try other.beginWriting()
        try other.waitUntilDurable(try second.commit(other))
        let after = second.afterPowerCut(keeping: 0)
        #expect(try after.open().recovery.lastVersion == 2, "a commit that was acknowledged is gone")
    }

    @Test("a manifest whose second block is not the previous generation is refused") func generations() {
        let first = Manifest(
            storeID: StoreID(high: 7, low: 8), created: 99,
            segments: [Manifest.Segment(segment: 1, epoch: 1, firstVersion: 1)])
        for (current, before) in [(5, 3), (5, 5), (5, 6), (2, 0)] as [(UInt64, UInt64)] {
            var (new, old) = (first, first)
            new.generation = current
            old.generation = before
            let file = new.encode() + old.encode()
            #expect(throws: LogError.self) { try file.withUnsafeBytes { _ = try Manifest.decode(file: $0, path: "") } }
        }
    }
}
