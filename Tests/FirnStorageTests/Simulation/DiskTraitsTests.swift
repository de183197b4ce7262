import FirnStorage
import FirnTestSupport
import Testing

/// The faults of worse disks, and calls that fail after they took effect: each does happen in the simulation.
@Suite(.timeLimit(.minutes(20))) struct DiskTraitsTests {
    private func makeDisk(
        _ change: (inout DiskTraits) -> Void
    ) throws -> (SimulatedDisk, SimulatedStorage, any StorageFile) {
        var traits = DiskTraits()
        change(&traits)
        let disk = SimulatedDisk(seed: 1, traits: traits)
        let storage = disk.newProcess()
        let file = try storage.open("f", .create)
        try storage.syncFolder("/")
        return (disk, storage, file)
    }

    @Test(arguments: [512, 4096])
    func aTornSectorIsGarbageIncludingItsSyncedBytes(sector: Int) throws {
        let (disk, _, file) = try makeDisk {
            $0.sectorSize = sector
            $0.tearsSectors = true
        }
        // Two sectors are synced; then a few bytes are appended in the second one.
        try file.write(Array(repeating: 1, count: sector + 100), at: 0)
        try file.sync()
        try file.write(Array(repeating: 2, count: 50), at: sector + 100)
        var torn = 0
        for seed in 0..<100 as Range<UInt64> {
            let after = try disk.afterPowerCut(seed: seed).newProcess().open("f", .read)
            #expect(
                try after.read(sector, at: 0) == Array(repeating: 1, count: sector),
                "a sector that is not written does not change")
            if try after.read(100, at: sector) != Array(repeating: 1, count: 100) { torn += 1 }
        }
        #expect(torn > 5 && torn < 60)
    }

    @Test func withoutTearingASyncedByteSurvivesWhateverIsWrittenNextToIt() throws {
        let (disk, _, file) = try makeDisk { _ in }
        try file.write(Array(repeating: 1, count: 100), at: 0)
        try file.sync()
        try file.write(Array(repeating: 2, count: 50), at: 100)
        for seed in 0..<100 as Range<UInt64> {
            let after = try disk.afterPowerCut(seed: seed).newProcess().open("f", .read)
            #expect(try after.read(100, at: 0) == Array(repeating: 1, count: 100))
        }
    }

    @Test(arguments: [false, true])
    func deallocatedBlocksMayReappearInAnyOrder(evenAfterASync: Bool) throws {
        let (disk, _, file) = try makeDisk { $0.losesHolePunches = evenAfterASync }
        try file.write(Array(repeating: 1, count: 3 * 4096), at: 0)
        try file.sync()
        #expect(try file.deallocate(0..<(2 * 4096)))
        #expect(try file.read(1, at: 0) == [0])
        if evenAfterASync { try file.sync() }
        var seen: Set<[UInt8]> = []
        for seed in 0..<100 as Range<UInt64> {
            let after = try disk.afterPowerCut(seed: seed).newProcess().open("f", .read)
            let blocks = try (0..<3).map { block in
                let bytes = Set(try after.read(4096, at: block * 4096))
                #expect(bytes.count == 1, "a block comes back completely or not at all")
                return bytes.first!
            }
            seen.insert(blocks)
        }
        #expect(seen == (evenAfterASync ? [[1, 1, 1]] : [[1, 1, 1], [0, 1, 1], [1, 0, 1], [0, 0, 1]]))
    }

    @Test func aCallMayFailAndYetHaveTakenEffect() throws {
        let (_, storage, file) = try makeDisk { _ in }
        try file.write(Array(repeating: 1, count: 100), at: 0)
        for operation in [SimulatedCall.Operation.rename, .truncate, .createFolder, .remove] {
            storage.inject(SimulatedFault(.io, residue: .all) { $0.operation == operation })
        }
        expect(.io) { try file.truncate(to: 10) }
        #expect(try file.size() == 10)
        expect(.io) { try storage.rename("f", to: "g") }
        #expect(try storage.list("/") == ["g"])
        expect(.io) { try storage.createFolder("d") }
        #expect(try storage.list("/") == ["d", "g"])
        expect(.io) { try storage.remove("g") }
        #expect(try storage.list("/") == ["d"])
        #expect(storage.faultCount == 4)
        storage.inject(SimulatedFault(.io, residue: .nothing) { $0.operation == .remove })
        expect(.io) { try storage.remove("d") }
        #expect(try storage.list("/") == ["d"])
    }

    @Test func aSectorMayBeStaleOrHoldTheBytesOfAnother() throws {
        let (disk, storage, file) = try makeDisk { $0.remembersSectors = true }
        let other = try storage.open("other", .create)
        try other.write(Array(repeating: 9, count: 1024), at: 0)
        try other.sync()
        for value in 1...3 as ClosedRange<UInt8> {
            try file.write(Array(repeating: value, count: 1024), at: 0)
            try file.sync()
        }
        #expect(disk.filePaths == ["/f", "/other"])
        #expect(try disk.overwrittenSectors(of: "/f") == [0, 512])
        #expect(try disk.makeStale("/f", at: 0))
        #expect(try file.read(1024, at: 0) == Array(repeating: 2, count: 512) + Array(repeating: 3, count: 512))
        #expect(try disk.misdirect("/f", at: 512, to: "/other", at: 0))
        #expect(try file.read(1, at: 512) == [2])
        #expect(try other.read(1024, at: 0) == Array(repeating: 3, count: 512) + Array(repeating: 9, count: 512))
        let after = disk.afterPowerCut(seed: 1)
        #expect(
            try after.newProcess().open("f", .read).read(1, at: 0) == [2],
            "the stale sector must be on the disk, not only in the page cache")
    }

    /// After the crash, nothing that the process still does reaches other processes.
    @Test func aProcessEndsBetweenTwoStoresToSharedMemory() throws {
        for end in 0...4 {
            let storage = SimulatedStorage(seed: 1)
            let memory = try storage.sharedMemory("shared", byteCount: 4096)
            let other = try storage.disk.newProcess().sharedMemory("shared", byteCount: 4096)
            storage.crashAtAccess = end
            for index in 0..<4 { SharedLongWord(memory.bytes.baseAddress! + 8 * index).store(UInt64(index) + 1) }
            let seen = (0..<4).map { SharedLongWord(other.bytes.baseAddress! + 8 * $0).load() }
            #expect(seen == (0..<4).map { $0 < end ? UInt64($0) + 1 : 0 })
            #expect(storage.isStopped == (end < 4))
            // The process itself still sees its own stores.
            #expect(SharedLongWord(memory.bytes.baseAddress! + 24).load() == 4)
        }
    }

    @Test func aFileCanBeMappedAtAnAddress() throws {
        let (_, storage, file) = try makeDisk { $0.mapsPrivately = true }
        try file.write(Array(repeating: 5, count: 70_000), at: 0)
        let memory = try ReservedMemory(byteCount: 128 << 10)
        storage.inject(SimulatedFault(.outOfMemory) { $0.operation == .map })
        expect(.outOfMemory) { _ = try memory.map(file, length: 70_000, at: 0) }
        #expect(try memory.map(file, length: 70_000, at: 0))
        #expect((memory.base + 69_999).load(as: UInt8.self) == 5)
        let (_, _, unmapped) = try makeDisk { _ in }
        try unmapped.write([1], at: 0)
        #expect(try memory.map(unmapped, length: 1, at: 0) == false)
    }

    @Test func equalRunsHaveTheSameTraceHash() throws {
        func run(_ count: Int) throws -> UInt64 {
            let storage = SimulatedStorage(seed: 3)
            let file = try storage.open("f", .create)
            for offset in 0..<count { try file.write([1], at: offset) }
            storage.disk.clearTrace()
            return storage.disk.traceHash
        }
        #expect(try run(5) == run(5))
        #expect(try run(5) != run(6))
    }
}
