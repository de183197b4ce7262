import FirnStorage
import FirnTestSupport
import Synchronization
import Testing

@testable import FirnCore

/// Threads of one process apply what another process has published, each for itself.
@Suite(.timeLimit(.minutes(20))) struct CatchUpTests {
    /// A thread that finds nothing unread, because another thread has just read it, must also find it published: it
    /// shows that version next, to a caller who asked for the newest.
    @Test func whatAnotherThreadHasReadIsPublished() throws {
        let disk = SimulatedDisk(seed: 1)
        let writer = try CountedThings.open(on: disk.newProcess())
        let reader = try CountedThings.open(on: disk.newProcess())
        let isOver = Atomic(false)
        let thread = try StorageThread.start(name: "reader") {
            while !isOver.load(ordering: .acquiring) { try? reader.catchUp() }
        }
        var missing = 0
        for value in 1...5_000 as ClosedRange<Int64> {
            try writer.change(3, to: value)
            try reader.catchUp()
            if reader.publishedVersion != writer.publishedVersion { missing += 1 }
        }
        isOver.store(true, ordering: .releasing)
        thread.join()
        #expect(missing == 0)
        try reader.close()
        try writer.close()
    }
}
