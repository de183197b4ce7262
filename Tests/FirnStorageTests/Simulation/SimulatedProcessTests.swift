import FirnStorage
import FirnTestSupport
import Testing

/// Injected faults, full disks, stops between calls, and processes that share a simulated disk.
@Suite(.timeLimit(.minutes(20))) struct SimulatedProcessTests {
    @Test func aCallCanFailByItsNumber() throws {
        let storage = SimulatedStorage(seed: 1)
        let file = try storage.open("f", .create)
        storage.inject(SimulatedFault(.io, residue: .nothing, atCall: 2))
        try file.write([1], at: 0)
        expect(.io) { try file.write([2], at: 0) }
        #expect(try file.read(9, at: 0) == [1])
        try file.write([3], at: 0)
        #expect(storage.callCount == 5)
    }

    @Test func callsCanFailByTheirKind() throws {
        let storage = SimulatedStorage(seed: 1)
        _ = try storage.open("good", .create)
        let file = try storage.open("bad", .create)
        storage.inject(
            SimulatedFault(.noSpace, number: 28, times: 2) { $0.operation == .write && $0.path.hasSuffix("bad") })
        try storage.open("good", .readWrite).write([1], at: 0)
        expect(.noSpace) { try file.write([1], at: 0) }
        expect(.noSpace) { try file.write([1], at: 0) }
        try file.write([1], at: 0)
        storage.inject(SimulatedFault(.permissionDenied, times: .max) { $0.operation == .open })
        expect(.permissionDenied) { _ = try storage.open("good", .read) }
        expect(.permissionDenied) { _ = try storage.open("good", .read) }
        storage.removeFaults()
        _ = try storage.open("good", .read)
    }

    @Test func aFailedWriteMayHaveWrittenAnyPart() throws {
        var lengths: Set<Int> = []
        for seed in 0..<60 as Range<UInt64> {
            let storage = SimulatedStorage(seed: seed)
            let file = try storage.open("f", .create)
            storage.inject(SimulatedFault(.io) { $0.operation == .write })
            expect(.io) { try file.write(Array(repeating: 1, count: 100), at: 0) }
            lengths.insert(try file.size())
        }
        #expect(lengths.contains(0) && lengths.contains(100) && lengths.count > 5)
    }

    @Test func aFullDiskAcceptsWhatFitsAndMoreOnceSpaceIsFreed() throws {
        let disk = SimulatedDisk(seed: 1, capacity: 1000)
        let storage = disk.newProcess()
        let file = try storage.open("f", .create)
        let other = try storage.open("g", .create)
        try other.write(Array(repeating: 1, count: 300), at: 0)
        expect(.noSpace) { try file.write(Array(repeating: 2, count: 800), at: 0) }
        #expect(try file.size() == 700)
        #expect(disk.usedByteCount == 1000)
        #expect(try storage.volume(of: "/").availableByteCount == 0)
        try file.write(Array(repeating: 3, count: 700), at: 0)
        expect(.noSpace) { try other.write([1], at: 300) }
        expect(.noSpace) { _ = try storage.sharedMemory("shared", byteCount: 10) }
        other.close()
        try storage.remove("g")
        #expect(try storage.volume(of: "/").availableByteCount == 300)
        try file.write(Array(repeating: 4, count: 300), at: 700)
        try file.truncate(to: 100)
        #expect(disk.usedByteCount == 100)
        disk.capacity = nil
        try file.write([1], at: 1_000_000)
    }

    @Test func aScriptCanBeStoppedAtEveryCall() throws {
        // Two files are replaced one after the other. Each must be either old or new, and the second may be new only
        // if the first is.
        func script(_ storage: SimulatedStorage) throws -> [String] {
            var acknowledged: [String] = []
            for name in ["a", "b"] {
                let file = try storage.open(name + ".new", .create)
                try file.write(Array(repeating: 7, count: 1500), at: 0)
                try file.sync()
                try storage.rename(name + ".new", to: name)
                try storage.syncFolder("/")
                acknowledged.append(name)
            }
            return acknowledged
        }
        let trial = SimulatedStorage(seed: 0)
        _ = try script(trial)
        let count = trial.callCount
        #expect(count == 10)
        #expect(trial.disk.ioTrace.filter(\.operation.changesDisk).count == 10)
        var outcomes: Set<[String]> = []
        for stop in 0...count {
            for seed in 0..<20 as Range<UInt64> {
                let storage = SimulatedStorage(seed: seed)
                storage.crashAt = stop
                var acknowledged = 0
                do {
                    acknowledged = try script(storage).count
                    #expect(stop == count)
                } catch let error as StorageError {
                    #expect(error.isSimulatedStop && storage.isStopped)
                    acknowledged = stop / 5
                }
                let names = try storage.disk.powerOff().newProcess().list("/").filter { !$0.hasSuffix(".new") }
                #expect(names.count >= acknowledged, "stop \(stop): \(storage)")
                outcomes.insert(names)
            }
        }
        #expect(outcomes == [[], ["a"], ["a", "b"]])
    }

    @Test func aWriteMayBeStoppedHalfway() throws {
        var lengths: Set<Int> = []
        for seed in 0..<60 as Range<UInt64> {
            let storage = SimulatedStorage(seed: seed)
            storage.crashAt = 1
            let file = try storage.open("f", .create)
            #expect(throws: StorageError.self) { try file.write(Array(repeating: 1, count: 100), at: 0) }
            // The page cache outlives the process.
            lengths.insert(try storage.disk.newProcess().status("f")!.byteCount)
        }
        #expect(lengths.contains(0) && lengths.contains(100) && lengths.count > 5)
    }

    @Test func aStoppedProcessDoesNothingMore() throws {
        let storage = SimulatedStorage(seed: 1)
        let file = try storage.open("f", .create)
        let lock = try storage.lockFile("lock")
        storage.crashAt = 2
        for _ in 0..<2 {
            do {
                try file.sync()
                Issue.record("a stopped process went on")
            } catch {
                #expect(error.isSimulatedStop)
            }
        }
        #expect(throws: StorageError.self) { _ = try storage.open("f", .read) }
        #expect(throws: StorageError.self) { _ = try lock.tryLock(0, exclusive: true) }
        file.startWriteback(0..<10)
        file.close()
        lock.close()
    }

    @Test func processesExcludeEachOtherUntilOneDies() throws {
        let disk = SimulatedDisk(seed: 1)
        let first = disk.newProcess()
        let second = disk.newProcess()
        let held = try first.lockFile("lock")
        #expect(try held.tryLock(0, exclusive: true))
        let waiting = try second.lockFile("lock")
        #expect(try !waiting.tryLock(0, exclusive: true))
        let file = try first.open("f", .create)
        try file.write([1], at: 0)
        disk.kill(first)
        #expect(try waiting.tryLock(0, exclusive: true))
        #expect(try second.open("f", .read).read(1, at: 0) == [1], "the page cache outlives the process")
        #expect(throws: StorageError.self) { try file.write([2], at: 0) }
        held.close()
        #expect(try waiting.tryLock(0, exclusive: true))
    }

    @Test func processesShareMemoryAndFiles() throws {
        let disk = SimulatedDisk(seed: 1)
        let a = try disk.newProcess().sharedMemory("shared", byteCount: 4096)
        let b = try disk.newProcess().sharedMemory("shared", byteCount: 4096)
        SharedWord(a.bytes.baseAddress!).store(7)
        #expect(SharedWord(b.bytes.baseAddress!).load() == 7)
        withExtendedLifetime((a, b)) {}
    }

    @Test func anotherProcessCanActJustBeforeACall() throws {
        let disk = SimulatedDisk(seed: 1)
        let first = disk.newProcess()
        let second = disk.newProcess()
        _ = try first.open("f", .create)
        first.beforeEachCall { call in
            if call.operation == .open { try? second.remove("f") }
        }
        expect(.notFound) { _ = try first.open("f", .read) }
    }

    @Test func theTraceListsTheCalls() throws {
        let storage = SimulatedStorage(seed: 77)
        let file = try storage.open("log", .create)
        try file.write([1, 2, 3], at: 64)
        try file.sync()
        try file.write([4], at: 67)
        try file.sync()
        expect(.notFound) { try storage.remove("none") }
        let disk = storage.disk
        #expect(disk.count(.sync) == 2)
        #expect(disk.count(.sync, suffix: "log") == 2)
        #expect(disk.count(.sync, suffix: "other") == 0)
        #expect(disk.ioTrace[1].offset == 64 && disk.ioTrace[1].length == 3)
        #expect(disk.ioTrace.last?.error == .notFound)
        #expect(disk.description.contains("seed 77") && disk.description.contains("p1#1 write log @64 +3"))
        #expect(
            disk.powerOff().description.contains("p1#1 write log @64 +3"), "a disk keeps its trace over a power cut")
        disk.clearTrace()
        #expect(disk.ioTrace.isEmpty)
    }

    @Test func aTestCanSetTheVolume() throws {
        let disk = SimulatedDisk(seed: 1)
        disk.volume = Volume(fileSystem: "nfs", isNetwork: true, availableByteCount: 5)
        #expect(try disk.newProcess().volume(of: "/") == disk.volume)
    }
}
