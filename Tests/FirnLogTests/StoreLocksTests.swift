import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

@Suite("The locks of who has a store open", .timeLimit(.minutes(20))) struct StoreLocksTests {
    @Test("are given back by an opener that could not join") func stopServing() throws {
        let disk = SimulatedStorage(seed: 1)
        try disk.createFolder("/store")
        func locks() throws -> StoreLocks {
            try StoreLocks(StoreFolder(path: "/store", storage: disk.disk.newProcess()))
        }
        let (joining, other) = try (locks(), locks())
        #expect(try other.serve(stays: true) && joining.serve(stays: true))
        #expect(try other.isServed())
        try joining.stopServing()
        #expect(try !other.isServed())
        #expect(try other.beginEnding(), "the other has left")
    }

    /// Otherwise others would give blocks of the files back that it goes on reading.
    @Test("who closes the store and reads on says so without another file") func readingOn() throws {
        let bench = Bench()
        let other = try bench.open()
        let closing = bench.another()
        func close() throws -> Log {
            let log = try closing.open()
            closing.storage.inject(SimulatedFault(.tooManyOpenFiles, number: 24) { $0.operation == .lockFile })
            #expect(!other.isAlone && !other.isOnlyReader)
            try log.close(isRead: true)
            return log
        }
        do {
            let log = try close()
            #expect(other.isAlone && !other.isOnlyReader && other.otherProcesses.isEmpty)
            withExtendedLifetime(log) {}
        }
        #expect(other.isOnlyReader)
    }
}
