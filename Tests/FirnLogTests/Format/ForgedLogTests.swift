import FirnBytes
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnLog

@Suite("A forged manifest or page is an error, whatever its checksums say", .timeLimit(.minutes(20)))
struct ForgedLogTests {
    private static func options(_ access: LogOptions.Access = .readWrite(waitMilliseconds: 0)) -> LogOptions {
        var options = LogOptions(folder: "/store", access: access)
        options.usesThreads = false
        return options
    }

    private static func open(_ storage: any Storage, _ access: LogOptions.Access = .readWrite(waitMilliseconds: 0))
        throws -> Log
    {
        try Log.open(options(access), storage: storage, clock: ManualClock(), randomness: SeededRandomness(seed: 1))
    }

    /// Replaces a new store's manifest by a forged one, and expects an error from opening it for writing and for
    /// reading.
    private static func expectError(_ forge: (inout Manifest) -> Void) throws {
        let storage = MemoryStorage()
        try open(storage).close()
        let folder = try StoreFolder(path: "/store", storage: storage)
        var manifest = try folder.readManifest()
        forge(&manifest)
        let file = try storage.open("/store/manifest", .readWrite)
        let bytes = manifest.encode()
        try bytes.withUnsafeBytes { try file.write($0, at: 0) }
        try file.truncate(to: bytes.count)
        file.close()
        #expect(throws: LogError.self) { try open(storage) }
        #expect(throws: LogError.self) { try open(storage, .readOnly) }
    }

    private static func sealed(_ segment: UInt32, versions: ClosedRange<UInt64>, byteCount: UInt64)
        -> Manifest.Segment
    {
        Manifest.Segment(
            segment: segment, epoch: 1, isSealed: true, firstVersion: versions.lowerBound,
            lastVersion: versions.upperBound, byteCount: byteCount)
    }

    @Test("lengths of segments whose sum overflows") func sums() throws {
        let byteCount = UInt64(Int.max / 2) & ~63
        try Self.expectError { manifest in
            manifest.segments = [
                Self.sealed(1, versions: 1...1, byteCount: byteCount),
                Self.sealed(2, versions: 2...2, byteCount: byteCount),
                Self.sealed(3, versions: 3...3, byteCount: byteCount),
                Manifest.Segment(segment: 4, epoch: 1, firstVersion: 4),
            ]
        }
    }

    @Test("numbers after which there are no more") func numbers() throws {
        try Self.expectError { $0.epoch = .max }
        try Self.expectError { manifest in
            manifest.epoch = .max
            manifest.segments[0].epoch = .max
        }
        try Self.expectError { $0.generation = .max }
        try Self.expectError { $0.segments[0].segment = .max }
        try Self.expectError { $0.segments[0].firstVersion = .max }
        try Self.expectError { manifest in
            manifest.segments = [
                Self.sealed(1, versions: 1...(.max - 1), byteCount: 64),
                Manifest.Segment(segment: 2, epoch: 1, firstVersion: .max),
            ]
        }
        for checkpoint in [
            Manifest.Checkpoint(id: .max, version: 1, byteCount: 128, crc: 0),
            Manifest.Checkpoint(id: 1, version: .max, byteCount: 128, crc: 0),
            Manifest.Checkpoint(id: 1, version: 1, byteCount: .max, crc: 0),
            Manifest.Checkpoint(id: 1, version: 1, byteCount: 1 << 63, crc: 0),
        ] {
            try Self.expectError { $0.checkpoint = checkpoint }
        }
    }

    @Test("a checkpoint file that is shorter than a footer") func shortCheckpoint() throws {
        for length in [0, 1, 7, 8, 71] {
            let storage = MemoryStorage()
            try Self.open(storage).close()
            let folder = try StoreFolder(path: "/store", storage: storage)
            var manifest = try folder.readManifest()
            manifest.checkpoint = Manifest.Checkpoint(id: 1, version: 0, byteCount: UInt64(length), crc: 0)
            let file = try storage.open("/store/manifest", .readWrite)
            try manifest.encode().withUnsafeBytes { try file.write($0, at: 0) }
            file.close()
            let checkpoint = try folder.open(folder.checkpoint(1), .create)
            try checkpoint.truncate(to: length)
            checkpoint.close()
            #expect(throws: LogError.self) { try Self.open(storage) }
        }
    }

    @Test("a file whose name is the greatest number, which has no successor") func names() throws {
        #expect(StoreFolder.checkpointID(of: "18446744073709551615.checkpoint") == nil)
        #expect(StoreFolder.checkpointID(of: "0000000007.checkpoint") == 7)
    }

    @Test("words of the shared page that no process would write", arguments: [.max, 1 << 63, 1 << 62] as [UInt64])
    func page(_ word: UInt64) throws {
        let storage = MemoryStorage()
        let first = try Self.open(storage)
        let page = try storage.sharedMemory("/store/shared", byteCount: 4096)
        for offset in stride(from: 32, to: 4096, by: 8) where offset != 80 && offset != 104 {
            let before = page.bytes.load(fromByteOffset: offset, as: UInt64.self)
            page.bytes.storeBytes(of: word, toByteOffset: offset, as: UInt64.self)
            _ = first.otherProcesses
            _ = first.heldByOthers
            _ = first.oldestVersionNeededByOthers
            // Opening may succeed or throw; it neither stops the program nor waits forever.
            if let second = try? Self.open(storage) { try? second.close() }
            page.bytes.storeBytes(of: before, toByteOffset: offset, as: UInt64.self)
        }
        _ = try first.commit(version: 1, .changes, UnsafeRawBufferPointer(start: nil, count: 0))
        try first.close()
        let again = try Self.open(storage)
        #expect(again.recovery.lastVersion == 1)
        try again.close()
    }
}
