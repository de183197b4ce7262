import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

@Suite("The locks of processes that have a store open", .timeLimit(.minutes(20))) struct StoreLocksTests {
    @Test("are released by an opener that could not join") func releasedAfterFailedJoin() throws {
        let disk = SimulatedStorage(seed: 1)
        try disk.createFolder("/store")
        func locks() throws -> StoreLocks {
            try StoreLocks(StoreFolder(path: "/store", storage: disk.disk.newProcess()))
        }
        let (joining, other) = try (locks(), locks())
        #expect(
            try other.registerWriter(writesFinalCheckpoint: true) && joining.registerWriter(writesFinalCheckpoint: true)
        )
        #expect(try other.isOpenForWriting())
        try joining.unregisterWriter()
        #expect(try !other.isOpenForWriting())
        #expect(try other.beginEnding(), "the other has left")
    }

    /// A process that is stopped while it opens the store may have looked up its lock file's name long before.
    @Test("are refused if their file was replaced before the folder was locked", arguments: [false, true])
    func replacedBeforeTheFolder(isFirst: Bool) throws {
        let disk = SimulatedStorage(seed: 1)
        try disk.createFolder("/store")
        func locks() throws -> StoreLocks {
            try StoreLocks(StoreFolder(path: "/store", storage: disk.disk.newProcess()))
        }
        let opening = try locks()
        #expect(try opening.tryLockWriter())
        try opening.registerOpen()
        try disk.remove("/store/lock")
        if !isFirst {
            // Somebody else is the first opener of the new file.
            let other = try locks()
            #expect(try other.tryLockWriter() && other.beginRecovery())
            try other.registerOpen()
            try other.lockFolder(isFirst: true)
        }
        let error = #expect(throws: LogError.self) { try opening.lockFolder(isFirst: isFirst) }
        #expect(error?.code == .replaced)
    }

    /// Otherwise other processes would punch holes in the files that it still reads.
    @Test("a process that closes the store but reads on says so without another file") func stillReading() throws {
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
