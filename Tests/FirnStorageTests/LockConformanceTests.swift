@testable import FirnStorage
import FirnTestSupport
import Testing

#if os(Linux)
    import Glibc
#endif

/// What lock files and shared memory promise, in every implementation of `Storage`.
@Suite(.timeLimit(.minutes(20))) struct LockConformanceTests {
    @Test(arguments: StorageKind.allCases)
    func anExclusiveLockExcludesEveryOtherHandle(_ kind: StorageKind) throws {
        let fixture = kind.make()
        let a = try fixture.storage.lockFile(fixture.path("lock"))
        let b = try fixture.storage.lockFile(fixture.path("lock"))
        #expect(try a.tryLock(0, exclusive: true))
        #expect(try a.tryLock(0, exclusive: true))
        #expect(try !b.tryLock(0, exclusive: true))
        #expect(try !b.tryLock(0, exclusive: false))
        #expect(try b.tryLock(1, exclusive: true))
        #expect(try !a.tryLock(1, exclusive: false))
        try b.unlock(0)
        #expect(try !b.tryLock(0, exclusive: true))
        try a.unlock(0)
        try a.unlock(0)
        #expect(try b.tryLock(0, exclusive: true))
    }

    @Test(arguments: StorageKind.allCases)
    func sharedLocksCoexistAndCanBeUpgradedWhenAlone(_ kind: StorageKind) throws {
        let fixture = kind.make()
        let a = try fixture.storage.lockFile(fixture.path("lock"))
        let b = try fixture.storage.lockFile(fixture.path("lock"))
        #expect(try a.tryLock(5, exclusive: false))
        #expect(try b.tryLock(5, exclusive: false))
        #expect(try !a.tryLock(5, exclusive: true))
        try b.unlock(5)
        #expect(try a.tryLock(5, exclusive: true))
        #expect(try !b.tryLock(5, exclusive: false))
        #expect(try a.tryLock(5, exclusive: false))
        #expect(try b.tryLock(5, exclusive: false))
    }

    @Test(arguments: StorageKind.allCases)
    func askingWhetherAByteIsLockedChangesNothing(_ kind: StorageKind) throws {
        let fixture = kind.make()
        let a = try fixture.storage.lockFile(fixture.path("lock"))
        let b = try fixture.storage.lockFile(fixture.path("lock"))
        #expect(try !a.isLocked(7, exclusive: true))
        #expect(try a.tryLock(7, exclusive: false))
        // A handle's own lock never excludes it. Another handle's shared lock excludes only an exclusive lock.
        #expect(try !a.isLocked(7, exclusive: true))
        #expect(try b.isLocked(7, exclusive: true))
        #expect(try !b.isLocked(7, exclusive: false))
        #expect(try a.tryLock(7, exclusive: true))
        #expect(try b.isLocked(7, exclusive: false))
        #expect(try !b.isLocked(8, exclusive: true))
        try a.unlock(7)
        #expect(try !b.isLocked(7, exclusive: true))
        #expect(try a.tryLock(7, exclusive: true))
        a.close()
        #expect(try !b.isLocked(7, exclusive: true))
        expect(.closed) { _ = try a.isLocked(7, exclusive: true) }
    }

    @Test(arguments: StorageKind.allCases)
    func closingOrReleasingAHandleReleasesItsLocks(_ kind: StorageKind) throws {
        let fixture = kind.make()
        let b = try fixture.storage.lockFile(fixture.path("lock"))
        do {
            let a = try fixture.storage.lockFile(fixture.path("lock"))
            #expect(try a.tryLock(0, exclusive: true))
            #expect(try !b.tryLock(0, exclusive: true))
            a.close()
            a.close()
            #expect(try b.tryLock(0, exclusive: true))
            expect(.closed) { _ = try a.tryLock(0, exclusive: true) }
            try b.unlock(0)
        }
        var a: (any StorageLock)? = try fixture.storage.lockFile(fixture.path("lock"))
        #expect(try a?.tryLock(0, exclusive: true) == true)
        #expect(try !b.tryLock(0, exclusive: true))
        a = nil
        #expect(try b.tryLock(0, exclusive: true))
    }

    @Test(arguments: StorageKind.allCases)
    func sharedMemoryIsSharedZeroedAndSeparateForEachFile(_ kind: StorageKind) throws {
        let fixture = kind.make()
        let a = try fixture.storage.sharedMemory(fixture.path("shared"), byteCount: 8192)
        let b = try fixture.storage.sharedMemory(fixture.path("shared"), byteCount: 8192)
        #expect(a.bytes.count == 8192 && a.bytes.allSatisfy { $0 == 0 })
        #expect(try fixture.storage.status(fixture.path("shared"))?.byteCount == 8192)
        a.bytes[100] = 7
        #expect(b.bytes[100] == 7)
        #expect(try fixture.open("shared", .read).read(1, at: 100) == [7])
        withExtendedLifetime((a, b)) {}
        expectInputError { _ = try fixture.storage.sharedMemory(fixture.path("shared"), byteCount: 0) }
    }

    @Test(arguments: StorageKind.allCases)
    func sharedMemoryKeepsWhatTheFileHeld(_ kind: StorageKind) throws {
        let fixture = kind.make()
        try fixture.open("shared", .create).write(Array(repeating: 3, count: 10_000), at: 0)
        let memory = try fixture.storage.sharedMemory(fixture.path("shared"), byteCount: 8192)
        withExtendedLifetime(memory) {
            #expect(memory.bytes.allSatisfy { $0 == 3 })
        }
        #expect(try fixture.storage.status(fixture.path("shared"))?.byteCount == 10_000)
    }

    /// The memory has no name, so no other process can map it, whatever its process number is.
    @Test(arguments: StorageKind.allCases)
    func scratchMemoryIsZeroedAndPrivate(_ kind: StorageKind) throws {
        let fixture = kind.make()
        try fixture.storage.createFolder(fixture.path("folder"))
        let folder = try fixture.storage.openFolder(fixture.path("folder"))
        let all = try (0..<3).map { _ in try folder.scratchMemory(byteCount: 1 << 20) }
        #expect(all.allSatisfy { $0.bytes.count == 1 << 20 && $0.bytes.allSatisfy { $0 == 0 } })
        for (number, memory) in all.enumerated() { memory.bytes[70_000] = UInt8(number + 1) }
        #expect(all.map { $0.bytes[70_000] } == [1, 2, 3])
        #expect(try fixture.storage.list(fixture.path("folder")).isEmpty)
        try all[0].evict([65536..<1 << 20])
        #expect(all[0].bytes[70_000] == 1)
        expectInputError { _ = try folder.scratchMemory(byteCount: 0) }
        withExtendedLifetime(all) {}
    }

    /// On a file system that can't make a file without a name.
    @Test func namedScratchMemoryIsPrivateToo() throws {
        let folder = TemporaryFolder()
        let open = try #require(try PosixStorage.shared.openFolder(folder.path) as? PosixFolder)
        let a = try PosixSharedMemory(scratchIn: open, byteCount: 8192, allowsNameless: false)
        let b = try PosixSharedMemory(scratchIn: open, byteCount: 8192, allowsNameless: false)
        a.bytes[0] = 1
        #expect(b.bytes.allSatisfy { $0 == 0 } && a.bytes[0] == 1)
        #expect(try PosixStorage.shared.list(folder.path).isEmpty)
        withExtendedLifetime((a, b)) {}
    }

    @Test func scratchMemorySkipsNamesThatAreTaken() throws {
        let folder = TemporaryFolder()
        let seed: UInt64 = 7
        let names = SeededRandomness(seed: seed)
        let taken = (0..<3).map { _ in folder.path + "/" + ScratchName.next(names) }
        for path in taken {
            let file = try PosixStorage.shared.open(path, .create)
            try file.write([1, 2, 3], at: 0)
            file.close()
        }
        let open = try #require(try PosixStorage.shared.openFolder(folder.path) as? PosixFolder)
        let memory = try PosixSharedMemory(
            scratchIn: open, byteCount: 8192, allowsNameless: false, random: SeededRandomness(seed: seed))
        #expect(memory.bytes.allSatisfy { $0 == 0 })
        memory.bytes[0] = 9
        for path in taken {
            #expect(try PosixStorage.shared.status(path)?.byteCount == 3, "the existing file was used")
        }
        #expect(try PosixStorage.shared.list(folder.path).count == 3)
    }

    @Test(arguments: StorageKind.allCases)
    func aLockFileDetectsThatItWasRemovedOrReplaced(_ kind: StorageKind) throws {
        let fixture = kind.make()
        let lock = try fixture.storage.lockFile(fixture.path("lock"))
        #expect(try lock.isNamed())
        try fixture.storage.remove(fixture.path("lock"))
        #expect(try !lock.isNamed())
        let other = try fixture.storage.lockFile(fixture.path("lock"))
        #expect(try !lock.isNamed() && other.isNamed())
        lock.close()
        expect(.closed) { _ = try lock.isNamed() }
    }

    @Test func linksAreDetected() throws {
        let folder = TemporaryFolder()
        let storage = PosixStorage.shared
        try storage.createFolder(folder.path + "/folder")
        #expect(symlink(folder.path + "/folder", folder.path + "/link") == 0)
        #expect(symlink("nowhere", folder.path + "/broken") == 0)
        #expect(try storage.isLink(folder.path + "/link") && storage.isLink(folder.path + "/broken"))
        #expect(try !storage.isLink(folder.path + "/folder") && !storage.isLink(folder.path + "/none"))
    }

    @Test(arguments: StorageKind.allCases)
    func evictedMemoryRemainsReadableAndWritable(_ kind: StorageKind) throws {
        let fixture = kind.make()
        let count = 1 << 20
        let memory = try fixture.storage.sharedMemory(fixture.path("scratch"), byteCount: count)
        try fixture.storage.remove(fixture.path("scratch"))
        for index in 0..<count { memory.bytes[index] = UInt8(truncatingIfNeeded: index / 4096) }
        try memory.evict([0..<8192, 65536..<count])
        #if os(Linux)
            if kind == .posix {
                var pages = [UInt8](repeating: 0, count: count / 4096)
                #expect(mincore(memory.bytes.baseAddress!, count, &pages) == 0)
                let resident = pages.indices.count(where: { ($0 < 2 || $0 >= 16) && pages[$0] & 1 != 0 })
                // The system may keep some pages.
                #expect(resident < 60)
            }
        #endif
        memory.bytes[70000] = 200
        try memory.evict([65536..<count])
        try memory.evict([])
        let isSame = (0..<count).allSatisfy {
            memory.bytes[$0] == ($0 == 70000 ? 200 : UInt8(truncatingIfNeeded: $0 / 4096))
        }
        #expect(isSame)
    }

    @Test(arguments: StorageKind.allCases)
    func sharedWordsCountAndCompare(_ kind: StorageKind) throws {
        let fixture = kind.make()
        let memory = try fixture.storage.sharedMemory(fixture.path("shared"), byteCount: 4096)
        let word = SharedWord(memory.bytes.baseAddress! + 64)
        let long = SharedLongWord(memory.bytes.baseAddress! + 128)
        let threads = try (0..<4).map { _ in
            try StorageThread.start(name: "adder") {
                for _ in 0..<1000 {
                    word.add(1)
                    var seen = long.load()
                    while true {
                        let result = long.compareExchange(expected: seen, desired: seen + (1 << 40))
                        if result.exchanged { break }
                        seen = result.original
                    }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(word.load() == 4000)
        #expect(long.load() == 4000 << 40)
        #expect(word.exchange(5) == 4000)
        #expect(word.compareExchange(expected: 4, desired: 6) == (false, 5))
        #expect(word.compareExchange(expected: 5, desired: 6) == (true, 5))
        word.store(.max)
        #expect(word.add(2) == .max)
        #expect(word.load() == 1)
        #expect(long.exchange(1) == 4000 << 40)
        #expect(long.add(1) == 1)
        long.store(9)
        #expect(long.load() == 9)
        withExtendedLifetime(memory) {}
    }
}
