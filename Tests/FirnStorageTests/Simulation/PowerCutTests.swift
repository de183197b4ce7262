import FirnStorage
import FirnTestSupport
import Testing

/// What a power cut may leave: each fault that `SimulatedDisk` models does happen, and durable data survives.
@Suite(.timeLimit(.minutes(20))) struct PowerCutTests {
    static let sector = 512

    /// A disk with a durable folder `d` and a durable file `d/f` of `sectors` sectors of 1s.
    private func makeDisk(sectors: Int = 4) throws -> (SimulatedDisk, SimulatedStorage, any StorageFile) {
        let disk = SimulatedDisk(seed: 1)
        let storage = disk.newProcess()
        try storage.createFolder("d")
        try storage.syncFolder("/")
        let file = try storage.open("d/f", .create)
        try file.write(Array(repeating: 1, count: sectors * Self.sector), at: 0)
        try file.sync()
        try storage.syncFolder("d")
        return (disk, storage, file)
    }

    /// The contents of `path` after power cuts with many seeds; nil if it is gone.
    private func outcomes(
        _ disk: SimulatedDisk, path: String, survival: SimulatedDisk.Survival = .seeded,
        seeds: Range<UInt64> = 0..<300
    ) throws -> [[UInt8]?] {
        try seeds.map { seed in
            let storage = disk.afterPowerCut(seed: seed, survival).newProcess()
            guard try storage.status(path) != nil else { return nil }
            let file = try storage.open(path, .read)
            return try file.read(try file.size(), at: 0)
        }
    }

    @Test func syncedBytesSurvive() throws {
        let (disk, _, _) = try makeDisk()
        for bytes in try outcomes(disk, path: "d/f") {
            #expect(bytes == Array(repeating: 1, count: 4 * Self.sector), "\(disk)")
        }
    }

    @Test func unsyncedWritesMayBeDroppedTornBetweenSectorsAndReordered() throws {
        let (disk, _, file) = try makeDisk()
        try file.write(Array(repeating: 2, count: 2 * Self.sector), at: 0)
        try file.write(Array(repeating: 3, count: 2 * Self.sector), at: 2 * Self.sector)
        var seen: Set<[UInt8]> = []
        for bytes in try outcomes(disk, path: "d/f") {
            let bytes = try #require(bytes)
            let sectors = stride(from: 0, to: bytes.count, by: Self.sector).map { Set(bytes[$0..<($0 + Self.sector)]) }
            #expect(sectors.allSatisfy { $0.count == 1 }, "a sector is written completely or not at all")
            seen.insert(sectors.map { $0.first! })
        }
        #expect(seen.contains([1, 1, 1, 1]), "dropped")
        #expect(seen.contains([2, 2, 3, 3]), "kept")
        #expect(seen.contains([2, 1, 1, 1]) || seen.contains([1, 2, 1, 1]), "torn")
        #expect(seen.contains([1, 1, 3, 3]), "the second before the first")
        #expect(seen.count == 16)
    }

    @Test func aSectorMayHoldAnyOfItsStatesSinceTheSync() throws {
        let (disk, _, file) = try makeDisk(sectors: 1)
        try file.write([2], at: 0)
        try file.write([3], at: 0)
        let seen = Set(try outcomes(disk, path: "d/f").map { $0!.first! })
        #expect(seen == [1, 2, 3])
    }

    @Test func theLengthMaySurviveWithoutTheDataAndTheDataWithoutTheLength() throws {
        let (disk, _, file) = try makeDisk(sectors: 1)
        try file.write(Array(repeating: 2, count: 2 * Self.sector), at: Self.sector)
        let seen = Set(try outcomes(disk, path: "d/f").map { $0! })
        let base = Array(repeating: UInt8(1), count: Self.sector)
        let zeros = Array(repeating: UInt8(0), count: Self.sector)
        let twos = Array(repeating: UInt8(2), count: Self.sector)
        #expect(seen == [base, base + zeros + zeros, base + twos + zeros, base + zeros + twos, base + twos + twos])
    }

    @Test func aTruncationMayBeUndone() throws {
        let (disk, _, file) = try makeDisk(sectors: 2)
        try file.truncate(to: 100)
        #expect(Set(try outcomes(disk, path: "d/f").map { $0!.count }) == [100, 2 * Self.sector])
        try file.sync()
        #expect(Set(try outcomes(disk, path: "d/f").map { $0!.count }) == [100])
    }

    @Test func aNewFileIsLostUnlessItsFolderWasSynced() throws {
        let (disk, storage, _) = try makeDisk()
        let file = try storage.open("d/new", .create)
        try file.write([5], at: 0)
        try file.sync()
        #expect(Set(try outcomes(disk, path: "d/new")) == [nil, [5]])
        try storage.syncFolder("d")
        #expect(Set(try outcomes(disk, path: "d/new")) == [[5]])
        // Syncing a folder is not enough as long as the folder's own name is not durable.
        try storage.createFolder("e")
        try storage.open("e/x", .create).sync()
        try storage.syncFolder("e")
        #expect(Set(try outcomes(disk, path: "e/x")) == [nil, []])
        try storage.syncFolder("/")
        #expect(Set(try outcomes(disk, path: "e/x")) == [[]])
    }

    @Test func aRemovalMayBeUndone() throws {
        let (disk, storage, _) = try makeDisk()
        try storage.remove("d/f")
        #expect(Set(try outcomes(disk, path: "d/f").map { $0 == nil }) == [true, false])
        try storage.syncFolder("d")
        #expect(Set(try outcomes(disk, path: "d/f").map { $0 == nil }) == [true])
    }

    @Test func aRenameIsAtomicAndMaySurviveWithoutTheData() throws {
        let (disk, storage, _) = try makeDisk(sectors: 1)
        let old = Array(repeating: UInt8(1), count: Self.sector)
        let new = try storage.open("d/f.new", .create)
        try new.write([9, 9], at: 0)
        try storage.rename("d/f.new", to: "d/f")
        // The rename may become durable without the data: then an empty or zeroed file replaces a good one.
        #expect(Set(try outcomes(disk, path: "d/f")) == [old, [], [0, 0], [9, 9]])
        for seed in 0..<100 as Range<UInt64> {
            #expect(try disk.afterPowerCut(seed: seed).newProcess().status("d/f") != nil, "seed \(seed)")
        }
        try new.sync()
        #expect(Set(try outcomes(disk, path: "d/f")) == [old, [9, 9]])
        try storage.syncFolder("d")
        #expect(Set(try outcomes(disk, path: "d/f")) == [[9, 9]])
        #expect(Set(try outcomes(disk, path: "d/f.new")) == [nil])
    }

    @Test func nameChangesMayBeReordered() throws {
        let (disk, storage, _) = try makeDisk()
        _ = try storage.open("d/a", .create)
        _ = try storage.open("d/b", .create)
        let seen = Set(
            try (0..<300 as Range<UInt64>).map { try disk.afterPowerCut(seed: $0).newProcess().list("d") })
        #expect(seen == [["f"], ["a", "f"], ["b", "f"], ["a", "b", "f"]])
    }

    @Test func afterAFailedSyncReadsShowBytesThatNoLaterSyncSaves() throws {
        let (disk, storage, file) = try makeDisk(sectors: 2)
        storage.inject(SimulatedFault(.io, residue: .nothing) { $0.operation == .sync })
        try file.write([2, 2], at: 0)
        expect(.io) { try file.sync() }
        #expect(try file.read(2, at: 0) == [2, 2])
        #expect(try disk.newProcess().open("d/f", .read).read(2, at: 0) == [2, 2])
        // The next sync finds clean pages and succeeds.
        try file.sync()
        try file.write([3], at: Self.sector)
        try file.sync()
        let cut = disk.powerOff(.everything).newProcess()
        let reopened = try cut.open("d/f", .read)
        #expect(try reopened.read(2, at: 0) == [1, 1])
        #expect(try reopened.read(1, at: Self.sector) == [3])
    }

    @Test func aFailedSyncMayHaveSavedAnyPart() throws {
        var seen: Set<[UInt8]> = []
        for seed in 0..<100 as Range<UInt64> {
            let storage = SimulatedStorage(seed: seed)
            let file = try storage.open("f", .create)
            try file.write(Array(repeating: 1, count: 2 * Self.sector), at: 0)
            try file.sync()
            try storage.syncFolder("/")
            storage.inject(SimulatedFault(.io, residue: .some) { $0.operation == .sync })
            try file.write(Array(repeating: 2, count: 2 * Self.sector), at: 0)
            expect(.io) { try file.sync() }
            let bytes = try storage.disk.powerOff().newProcess().open("f", .read).read(2 * Self.sector, at: 0)
            seen.insert([bytes[0], bytes[Self.sector]])
        }
        #expect(seen == [[1, 1], [1, 2], [2, 1], [2, 2]])
    }

    @Test func aFailedSyncOfAFolderMayLoseItsNames() throws {
        let (disk, storage, _) = try makeDisk()
        storage.inject(SimulatedFault(.io, residue: .nothing) { $0.operation == .syncFolder })
        _ = try storage.open("d/new", .create)
        expect(.io) { try storage.syncFolder("d") }
        #expect(try storage.status("d/new") != nil)
        try storage.syncFolder("d")
        #expect(Set(try outcomes(disk, path: "d/new", survival: .everything, seeds: 0..<3)) == [nil])
    }

    @Test func sharedMemoryIsLostOrKeptSectorBySector() throws {
        let disk = SimulatedDisk(seed: 3)
        let storage = disk.newProcess()
        let memory = try storage.sharedMemory("shared", byteCount: 2 * Self.sector)
        try storage.syncFolder("/")
        memory.bytes[0] = 1
        memory.bytes[Self.sector] = 1
        let seen = Set(
            try outcomes(disk, path: "shared").map { $0!.enumerated().filter { $0.element == 1 }.map(\.offset) })
        #expect(seen.isSuperset(of: [[], [0], [Self.sector], [0, Self.sector]]))
        withExtendedLifetime(memory) {}
    }

    @Test func aPowerCutStopsEveryProcess() throws {
        let (disk, storage, file) = try makeDisk()
        let other = disk.newProcess()
        let cut = disk.powerOff()
        #expect(storage.isStopped && other.isStopped)
        #expect(throws: StorageError.self) { try file.write([1], at: 0) }
        let lock = try cut.newProcess().lockFile("d/lock")
        #expect(try lock.tryLock(0, exclusive: true))
    }

    @Test func theSameSeedGivesTheSameOutcome() throws {
        func run(_ seed: UInt64) throws -> String {
            let disk = SimulatedDisk(seed: seed)
            let storage = disk.newProcess()
            let file = try storage.open("a", .create)
            try storage.syncFolder("/")
            for round in 0..<20 { try file.write([UInt8](repeating: UInt8(round), count: 700), at: round * 600) }
            let cut = disk.powerOff().powerOff()
            let after = try cut.newProcess().open("a", .read)
            return try after.read(20_000, at: 0).description + cut.description
        }
        #expect(try run(7) == run(7))
        #expect(try run(7) != run(8))
    }
}
