import FirnStorage
import FirnTestSupport
import Testing

/// What an open file promises, in every implementation of `Storage`.
@Suite(.timeLimit(.minutes(20))) struct FileConformanceTests {
    @Test(arguments: StorageKind.allCases)
    func bytesWrittenAreReadBackAndGapsAreZero(_ kind: StorageKind) throws {
        let fixture = kind.make()
        let file = try fixture.open("a", .create)
        try file.write([1, 2, 3], at: 0)
        try file.write([9], at: 10_000)
        #expect(try file.size() == 10_001)
        #expect(try file.read(5, at: 0) == [1, 2, 3, 0, 0])
        #expect(try file.read(100, at: 9_999) == [0, 9])
        #expect(try file.read(100, at: 10_001) == [])
        #expect(try file.read(100, at: 99_999) == [])
        try file.write([], at: 50_000)
        #expect(try file.size() == 10_001)
        try file.sync()
        file.startWriteback(0..<10_001)
        #expect(try fixture.open("a", .read).read(3, at: 0) == [1, 2, 3])
        #expect(file.path == fixture.path("a"))
    }

    @Test(arguments: StorageKind.allCases)
    func openModesAreEnforced(_ kind: StorageKind) throws {
        let fixture = kind.make()
        expect(.notFound) { _ = try fixture.open("a", .read) }
        expect(.notFound) { _ = try fixture.open("a", .readWrite) }
        try fixture.open("a", .create).write([1], at: 0)
        expect(.exists) { _ = try fixture.open("a", .create) }
        try fixture.open("a", .readWrite).write([2], at: 1)
        let reader = try fixture.open("a", .read)
        #expect(try reader.read(9, at: 0) == [1, 2])
        expect(.notWritable) { try reader.write([3], at: 0) }
        expect(.notWritable) { try reader.truncate(to: 0) }
        #expect(try reader.read(9, at: 0) == [1, 2])
    }

    @Test(arguments: StorageKind.allCases)
    func truncatingCutsAndLengthensWithZeros(_ kind: StorageKind) throws {
        let file = try kind.make().open("a", .create)
        try file.write(Array(repeating: 7, count: 5000), at: 0)
        try file.truncate(to: 3)
        #expect(try file.size() == 3)
        try file.truncate(to: 6)
        #expect(try file.read(10, at: 0) == [7, 7, 7, 0, 0, 0])
        try file.write([8], at: 4999)
        #expect(try file.read(4997, at: 3) == Array(repeating: 0, count: 4996) + [8])
    }

    @Test(arguments: StorageKind.allCases)
    func deallocatedBlocksReadAsZerosAndTheLengthIsKept(_ kind: StorageKind) throws {
        let fixture = kind.make()
        let file = try fixture.open("a", .create)
        try file.write(Array(repeating: 7, count: 100_000), at: 0)
        try file.sync()
        let region = try file.map(0..<100_000)
        let before = try #require(try fixture.storage.status(fixture.path("a")))
        guard try file.deallocate(8192..<81_920) else { return #expect(kind == .posix) }
        #expect(try file.size() == 100_000)
        #expect(try file.read(100_000, at: 0).enumerated().allSatisfy { $1 == (8192..<81_920 ~= $0 ? 0 : 7) })
        withExtendedLifetime(region) { #expect(region.bytes[8191] == 7 && region.bytes[81_920] == 7) }
        try file.sync()
        if kind == .posix {
            let after = try #require(try fixture.storage.status(fixture.path("a")))
            #expect(after.allocatedByteCount <= before.allocatedByteCount - 73_728)
        }
        #expect(try file.deallocate(8192..<8192))
        for range in [4096..<5000, 1..<8192, 98_304..<102_400] {
            expectInputError { _ = try file.deallocate(range) }
        }
        expect(.notWritable) { _ = try fixture.open("a", .read).deallocate(0..<4096) }
        file.close()
        expect(.closed) { _ = try file.deallocate(0..<4096) }
    }

    @Test(arguments: StorageKind.allCases)
    func negativeOffsetsAreRefused(_ kind: StorageKind) throws {
        let file = try kind.make().open("a", .create)
        expectInputError { _ = try file.read(1, at: -1) }
        expectInputError { try file.write([1], at: -1) }
        expectInputError { try file.truncate(to: -1) }
    }

    @Test(arguments: StorageKind.allCases)
    func lengthsThatNoFileCanHaveAreRefused(_ kind: StorageKind) throws {
        let file = try kind.make().open("a", .create)
        for offset in [Int.max, Int.max - 1, 1 << 62] {
            expectInputError { try file.write([1, 2], at: offset) }
            expectInputError { try file.truncate(to: offset + (offset == 1 << 62 ? 1 : 0)) }
        }
        #expect(try file.size() == 0)
    }

    @Test(arguments: StorageKind.allCases)
    func aClosedFileRefusesEverything(_ kind: StorageKind) throws {
        let file = try kind.make().open("a", .create)
        file.close()
        file.close()
        expect(.closed) { _ = try file.size() }
        expect(.closed) { _ = try file.read(1, at: 0) }
        expect(.closed) { try file.write([1], at: 0) }
        expect(.closed) { try file.sync() }
        expect(.closed) { try file.truncate(to: 0) }
        expect(.closed) { _ = try file.map(0..<1) }
        file.startWriteback(0..<1)
    }

    @Test(arguments: StorageKind.allCases)
    func anOpenFileOutlivesItsName(_ kind: StorageKind) throws {
        let fixture = kind.make()
        let file = try fixture.open("a", .create)
        try file.write([1, 2], at: 0)
        try fixture.storage.remove(fixture.path("a"))
        #expect(try fixture.storage.status(fixture.path("a")) == nil)
        try file.write([3], at: 2)
        #expect(try file.read(3, at: 0) == [1, 2, 3])
        #expect(try fixture.open("a", .create).size() == 0)
    }

    @Test(arguments: StorageKind.allCases)
    func aMappingShowsTheBytesAndLaterWrites(_ kind: StorageKind) throws {
        let fixture = kind.make()
        let file = try fixture.open("a", .create)
        try file.truncate(to: 200_000)
        try file.write([1, 2, 3], at: 65_536)
        let region = try file.map(65_536..<200_000)
        #expect(region.bytes.count == 200_000 - 65_536)
        #expect(Array(region.bytes.prefix(4)) == [1, 2, 3, 0])
        try file.write([4], at: 65_539)
        #expect(region.bytes[3] == 4)
        // Far enough that the buffer of a file in memory must grow and move.
        try file.write([9], at: 5_000_000)
        try file.write([5, 6], at: 199_998)
        #expect(Array(region.bytes.suffix(2)) == [5, 6])
        let later = try file.map(4_980_736..<5_000_001)
        withExtendedLifetime(later) {
            #expect(later.bytes.last == 9)
        }
        try file.write([7], at: 70_000)
        #expect(region.bytes[70_000 - 65_536] == 7)
        file.close()
        try fixture.storage.remove(fixture.path("a"))
        #expect(region.bytes[3] == 4)
        withExtendedLifetime(region) {}
    }

    @Test(arguments: StorageKind.allCases)
    func aMappingBeyondTheEndOrUnalignedIsRefused(_ kind: StorageKind) throws {
        let file = try kind.make().open("a", .create)
        try file.truncate(to: 100_000)
        expectInputError { _ = try file.map(0..<100_001) }
        expectInputError { _ = try file.map(4096..<8192) }
        expectInputError { _ = try file.map(0..<0) }
        expectInputError { _ = try file.map(-65_536..<10) }
        let region = try file.map(0..<100_000)
        withExtendedLifetime(region) {
            #expect(region.bytes.allSatisfy { $0 == 0 })
        }
    }

    @Test(arguments: StorageKind.allCases)
    func threadsWriteConcurrently(_ kind: StorageKind) throws {
        let file = try kind.make().open("a", .create)
        let failures = Lock(.unranked)
        nonisolated(unsafe) var failureCount = 0
        let threads = try (0..<4).map { number in
            try StorageThread.start(name: "writer \(number)") {
                for round in 0..<200 {
                    do {
                        try file.write(
                            Array(repeating: UInt8(number * 50 + round % 50), count: 100),
                            at: (round * 4 + number) * 100)
                    } catch {
                        failures.withLock { failureCount += 1 }
                    }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(failureCount == 0)
        #expect(try file.size() == 80_000)
        for number in 0..<4 {
            for round in 0..<200 {
                let expected = Array(repeating: UInt8(number * 50 + round % 50), count: 100)
                #expect(try file.read(100, at: (round * 4 + number) * 100) == expected)
            }
        }
    }

    @Test(arguments: StorageKind.allCases)
    func closingDuringOtherCallsIsSafe(_ kind: StorageKind) throws {
        let fixture = kind.make()
        let other = try fixture.open("other", .create)
        for round in 0..<50 {
            let file = try fixture.open("f\(round)", .create)
            let thread = try StorageThread.start(name: "writer") {
                while true {
                    do {
                        try file.write([1], at: 0)
                    } catch {
                        return
                    }
                }
            }
            file.close()
            // The new file gets the number of the descriptor that was closed.
            let next = try fixture.open("g\(round)", .create)
            thread.join()
            #expect(try next.size() == 0)
        }
        #expect(try other.size() == 0)
    }
}
