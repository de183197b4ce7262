import FirnStorage
import FirnTestSupport
import Synchronization
import Testing

@testable import FirnLog

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// People move, remove and replace folders and files under open stores. Nothing acknowledged is lost without an error,
/// and no store is touched but the one that is open.
@Suite("A store that is moved, replaced or removed while it is open", .timeLimit(.minutes(20)))
struct ReplacedStoreTests {
    /// All files below a folder, with their bytes. The lock and the page hold no data.
    private func content(_ storage: any Storage, _ path: String) throws -> [String: [UInt8]] {
        var result: [String: [UInt8]] = [:]
        for name in try storage.list(path) where name != "lock" && name != "shared" {
            let inner = path + "/" + name
            if try storage.status(inner)?.kind == .folder {
                result.merge(try content(storage, inner)) { old, _ in old }
            } else {
                let file = try storage.open(inner, .read)
                result[inner] = try file.read(try file.size(), at: 0)
            }
        }
        return result
    }

    /// Removes everything, as `rm -rf` does.
    private func removeAll(_ storage: any Storage, _ path: String) throws {
        if try storage.status(path)?.kind == .folder {
            for name in try storage.list(path) { try removeAll(storage, path + "/" + name) }
        }
        try storage.remove(path)
    }

    private func makeStore(_ bench: Bench, _ folder: String, commits: Int) throws {
        var other = bench.another()
        other.options.folder = folder
        // Another store, with an id of its own.
        let log = try Log.open(
            other.options, storage: other.storage, clock: ManualClock(), randomness: SeededRandomness(seed: 2))
        for _ in 0..<commits { try other.commit(log, [3000]) }
        try log.close()
    }

    private func expectReplaced(_ body: () throws -> Void, sourceLocation: SourceLocation = #_sourceLocation) {
        let error = #expect(throws: LogError.self, sourceLocation: sourceLocation) { try body() }
        let text = error.map { "\($0)" } ?? ""
        #expect(
            text.contains("moved, replaced or removed while the store was open"), "\(text)",
            sourceLocation: sourceLocation)
    }

    @Test("goes on if it is moved as a whole, and leaves alone what stands at its path now", arguments: [true, false])
    func exchanged(isReplaced: Bool) throws {
        let bench = Bench { $0.segmentByteCount = 4096 }
        let log = try bench.open()
        try log.waitUntilDurable(try bench.commit(log))
        let user = bench.storage.disk.newProcess()
        if isReplaced { try makeStore(bench, "/backup", commits: 9) }
        try user.rename("/store", to: "/away")
        if isReplaced { try user.rename("/backup", to: "/store") }
        let before = isReplaced ? try content(user, "/store") : [:]
        for _ in 1...8 { try log.waitUntilDurable(try bench.commit(log, [3000])) }
        try bench.publishCheckpoint(log)
        #expect(try log.removeUnneeded(held: []))
        try log.waitUntilDurable(try bench.commit(log))
        try log.close()
        if isReplaced {
            #expect(try content(user, "/store") == before)
        } else {
            #expect(try user.status("/store") == nil)
        }
        var moved = bench.another()
        moved.options.folder = "/away"
        let again = try moved.open()
        #expect(again.recovery.outcome == .clean && again.recovery.lastVersion == 10)
    }

    @Test("commits nothing any more once it is removed", arguments: [Durability.full, .relaxed(milliseconds: 1)])
    func removed(durability: Durability) throws {
        let bench = Bench { $0.durability = durability }
        let clock = ManualClock()
        let log = try bench.open(clock: clock)
        try log.waitUntilDurable(try bench.commit(log))
        let user = bench.storage.disk.newProcess()
        try removeAll(user, "/store")
        clock.advance(by: 1_000_000)
        expectReplaced {
            try bench.commit(log)
            try log.sync()
        }
        #expect(throws: LogError.self) { try bench.commit(log) }
        #expect(log.durableVersion <= 1)
        // Somebody makes a new store at the path. The old one does nothing to it.
        try makeStore(bench, "/store", commits: 3)
        let before = try content(user, "/store")
        try? log.close()
        #expect(try content(user, "/store") == before)
    }

    @Test(
        "commits nothing any more once one of its files or folders is another one",
        arguments: ["log", "checkpoint", "lock", "log/0000000001.segment"], [true, false])
    func part(_ name: String, isCopied: Bool) throws {
        let bench = Bench()
        let clock = ManualClock()
        let log = try bench.open(clock: clock)
        try bench.publishCheckpoint(log)
        try log.waitUntilDurable(try bench.commit(log))
        let user = bench.storage.disk.newProcess()
        let path = "/store/" + (name.hasSuffix("segment") ? "log/0000000002.segment" : name)
        let exists = try user.status(path) != nil
        let target = exists ? path : "/store/log/0000000001.segment"
        let isFolder = try user.status(target)?.kind == .folder
        // A hard link or a renamed original would keep the number of links above zero.
        try user.rename(target, to: target + ".away")
        if isCopied {
            if isFolder {
                try user.createFolder(target)
            } else {
                let old = try user.open(target + ".away", .read)
                try user.open(target, .create).write(try old.read(old.size(), at: 0), at: 0)
            }
        }
        clock.advance(by: 1_000_000)
        expectReplaced { try log.waitUntilDurable(try bench.commit(log)) }
        #expect(throws: LogError.self) { try bench.commit(log) }
    }

    /// A commit's look at the names may be 1 ms old. A manifest needs a new one.
    @Test("replaces no manifest once one of its files or folders is another one", arguments: ["checkpoint", "lock"])
    func manifest(_ name: String) throws {
        let bench = Bench()
        let log = try bench.open()
        try bench.publishCheckpoint(log)
        try log.waitUntilDurable(try bench.commit(log))
        let user = bench.storage.disk.newProcess()
        let before = try content(user, "/store")["/store/manifest"]
        try user.rename("/store/" + name, to: "/store/away")
        try log.waitUntilDurable(try bench.commit(log))
        expectReplaced { try log.sealSegment() }
        #expect(try content(user, "/store")["/store/manifest"] == before)
    }

    enum Act: CaseIterable { case checkpoint, close, handover }

    /// A commit's look at the names may be 1 ms old. These need a new one, whatever the clock says.
    @Test("looks at the names again", arguments: Act.allCases) func again(_ act: Act) throws {
        let bench = Bench()
        let log = try bench.open()
        try log.waitUntilDurable(try bench.commit(log))
        // From here on no commit is in the open segment, which would be sealed first.
        if act == .checkpoint { try bench.publishCheckpoint(log) }
        let user = bench.storage.disk.newProcess()
        let segment = try #require(try user.list("/store/log").max())
        try user.rename("/store/log/" + segment, to: "/store/log/away")
        let before = try content(user, "/store")
        switch act {
        case .checkpoint: expectReplaced { try bench.publishCheckpoint(log) }
        case .close: expectReplaced { try log.close() }
        case .handover:
            log.releaseWriting()
            #expect(log.failure != nil, "nobody would look any more")
        }
        #expect(try content(user, "/store")["/store/manifest"] == before["/store/manifest"])
        if act == .close {
            #expect(try content(user, "/store")["/store/log/away"]?.count == before["/store/log/away"]?.count)
        }
    }

    /// When a process was killed, the system frees the bytes of its lock file before the lock of the folder.
    @Test("waits for the folder of a process that has just ended") func ending() throws {
        let folder = TemporaryFolder()
        let options = LogOptions(folder: folder.path + "/store")
        try Log.open(options, storage: PosixStorage.shared).close()
        let held = try PosixStorage.shared.openFolder(options.folder)
        #expect(try held.tryLock(exclusive: false))
        let thread = try StorageThread.start(name: "ending") {
            sleepThread(nanoseconds: 200_000_000)
            held.unlock()
        }
        try Log.open(options, storage: PosixStorage.shared).close()
        thread.join()
    }

    /// Sealing makes everything written durable and lists the segment as complete.
    @Test("seals no segment that was removed, and cuts and removes nothing of others", arguments: [true, false])
    func sealed(isClosed: Bool) throws {
        let bench = Bench { $0.durability = .none }
        let log = try bench.open()
        for _ in 1...3 { try bench.commit(log) }
        let user = bench.storage.disk.newProcess()
        try user.remove("/store/log/0000000001.segment")
        try user.open("/store/log/0000000001.segment", .create).write([1, 2, 3], at: 0)
        try user.open("/store/log/0000000002.segment", .create).write([4, 5, 6], at: 0)
        expectReplaced { if isClosed { try log.close() } else { try log.sealSegment() } }
        for number in 1...2 {
            let file = try user.open("/store/log/000000000\(number).segment", .read)
            #expect(try file.read(9, at: 0) == (number == 1 ? [1, 2, 3] : [4, 5, 6]))
        }
    }

    /// Another process has died, and its store was replaced by another one, file by file.
    @Test("is not taken over by a process that knows another store") func takeover() throws {
        let bench = Bench()
        let first = try bench.open()
        try first.waitUntilDurable(try bench.commit(first))
        let second = try bench.another().open()
        try bench.commit(first)
        bench.storage.disk.kill(bench.storage)
        let user = bench.storage.disk.newProcess()
        try makeStore(bench, "/other", commits: 9)
        let other = try user.open("/other/manifest", .read)
        let bytes = try other.read(other.size(), at: 0)
        try user.remove("/store/manifest")
        try user.open("/store/manifest", .create).write(bytes, at: 0)
        let before = try content(user, "/store")
        try second.awaitWriting()
        expectReplaced { _ = try second.readToEnd { _ in } }
        #expect(try content(user, "/store") == before)
    }

    /// A folder of the store that can't be looked at for a moment is no reason to end the writing.
    @Test("goes on if a name could not be looked up") func unseen() throws {
        let bench = Bench()
        let log = try bench.open()
        for name in ["/store/log", "/store/lock", "/store/log/0000000001.segment"] {
            bench.storage.inject(
                SimulatedFault(.permissionDenied, number: 13) { $0.operation == .status && $0.path == name })
            try log.waitUntilDurable(try bench.commit(log))
            #expect(log.failure == nil && bench.storage.faultCount > 0)
            bench.storage.removeFaults()
        }
    }

    /// A backup was restored file by file, into the same folder.
    @Test("does not replace a manifest that it has not read", arguments: [false, true])
    func manifest(isAnotherStores: Bool) throws {
        let bench = Bench { $0.segmentByteCount = 4096 }
        let log = try bench.open()
        let user = bench.storage.disk.newProcess()
        let old = try user.open("/store/manifest", .read)
        var bytes = try old.read(old.size(), at: 0)
        for _ in 1...4 { try log.waitUntilDurable(try bench.commit(log, [3000])) }
        if isAnotherStores {
            // With the same generation. A manifest's file has the one before it, too.
            var manifest = try StoreFolder(path: "/store", storage: user).readManifest()
            manifest.storeID = StoreID(high: 8, low: 9)
            var previous = manifest
            previous.generation -= 1
            bytes = manifest.encode() + previous.encode()
        }
        try user.remove("/store/manifest")
        try user.open("/store/manifest", .create).write(bytes, at: 0)
        expectReplaced { try log.sealSegment() }
        #expect(try user.open("/store/manifest", .read).read(bytes.count, at: 0) == bytes)
        #expect(throws: LogError.self) { try bench.commit(log) }
    }

    @Test("keeps others out although its lock file is removed, and takes no more commits") func lock() throws {
        let bench = Bench()
        let clock = ManualClock()
        let log = try bench.open(clock: clock)
        try log.waitUntilDurable(try bench.commit(log))
        try bench.storage.disk.newProcess().remove("/store/lock")
        let error = #expect(throws: LogError.self) { _ = try bench.another().open() }
        #expect(error?.code == .replaced && error.map { "\($0)" }?.contains("remove, replace and move nothing") == true)
        #expect(throws: LogError.self) { try Log.remove("/store", storage: bench.storage.disk.newProcess()) }
        clock.advance(by: 1_000_000)
        expectReplaced { try log.waitUntilDurable(try bench.commit(log)) }
        try? log.close()
        let again = try bench.another().open()
        #expect(again.recovery.lastVersion >= 1)
    }

    @Test("has one page that its openers share", arguments: [true, false]) func page(isCopied: Bool) throws {
        let bench = Bench { $0.usesThreads = true }
        let log = try bench.open()
        try log.waitUntilDurable(try bench.commit(log))
        let user = bench.storage.disk.newProcess()
        let old = try user.open("/store/shared", .read)
        let bytes = try old.read(old.size(), at: 0)
        try user.remove("/store/shared")
        if isCopied { try user.open("/store/shared", .create).write(bytes, at: 0) }
        let error = #expect(throws: LogError.self) { _ = try bench.another().open() }
        #expect(error?.code == .replaced && error?.path == "/store/shared")
        try log.waitUntilDurable(try bench.commit(log))
        try log.close()
        #expect(try bench.another().open().recovery.lastVersion == 2)
    }

    @Test("is left alone by relative paths and folders that change") func workingFolder() async {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            let storage = PosixStorage.shared
            for name in ["a", "b"] { try storage.createFolder(folder.path + "/" + name) }
            #expect(chdir(folder.path + "/a") == 0)
            var options = LogOptions(folder: "store")
            options.usesThreads = false
            options.segmentByteCount = 4096
            let log = try Log.open(options, storage: storage)
            #expect(chdir(folder.path + "/b") == 0)
            for version in 1...5 as ClosedRange<UInt64> {
                try LogScript.commit(log, version: version, [3000])
                try log.waitUntilDurable(version)
            }
            try log.close()
            #expect(try storage.list(folder.path + "/b").isEmpty)
            options.folder = folder.path + "/a/store"
            #expect(try Log.open(options, storage: storage).recovery.lastVersion == 5)
        }
    }

    @Test("is not followed through a link that is turned to another store") func link() throws {
        let folder = TemporaryFolder()
        let storage = PosixStorage.shared
        func options(_ path: String) -> LogOptions {
            var options = LogOptions(folder: folder.path + path)
            options.usesThreads = false
            options.segmentByteCount = 4096
            return options
        }
        for release in ["/1", "/2"] {
            try storage.createFolder(folder.path + release)
            try Log.open(options(release + "/store"), storage: storage).close()
        }
        #expect(symlink("1", folder.path + "/current") == 0)
        let log = try Log.open(options("/current/store"), storage: storage)
        #expect(unlink(folder.path + "/current") == 0 && symlink("2", folder.path + "/current") == 0)
        let before = try content(storage, folder.path + "/2")
        for version in 1...5 as ClosedRange<UInt64> {
            try LogScript.commit(log, version: version, [3000])
            try log.waitUntilDurable(version)
        }
        try log.close()
        #expect(try content(storage, folder.path + "/2") == before)
        #expect(try Log.open(options("/1/store"), storage: storage).recovery.lastVersion == 5)
    }

    /// A retry once the program has closed some files must succeed: a descriptor that is missing for a moment is no
    /// reason to end the writing.
    @Test("goes on when descriptors run out for a moment") func descriptors() throws {
        let bench = Bench { $0.segmentByteCount = 4096 }
        let log = try bench.open()
        // One after the other, each call of a roll that opens something fails once.
        for number in 0..<8 {
            let opened = Atomic<Int>(0)
            bench.storage.inject(
                SimulatedFault(.tooManyOpenFiles, number: 24) { now in
                    guard [.open, .create, .openFolder].contains(now.operation) else { return false }
                    return opened.add(1, ordering: .relaxed).oldValue == number
                })
            do {
                try log.waitUntilDurable(try bench.commit(log, [3000]))
                try log.sealSegment()
            } catch let error as LogError {
                if case .unknownOutcome = error.code { Issue.record("opening \(number): \(error)") }
            }
            #expect(log.failure == nil, "opening \(number)")
            bench.storage.removeFaults()
        }
        try log.waitUntilDurable(try bench.commit(log))
    }

    /// `cp -r` reads the log before the page, while commits go on. The page then says what the copy lacks.
    @Test("a copy that was made while the store was written says so", arguments: [false, true])
    func copiedWhileWritten(isReader: Bool) throws {
        let bench = Bench()
        let log = try bench.open()
        try log.waitUntilDurable(try bench.commit(log))
        let user = bench.storage.disk.newProcess()
        try copy(user, from: "/store/log", to: "/copy/log")
        for _ in 1...2 { try log.waitUntilDurable(try bench.commit(log)) }
        try copy(user, from: "/store", to: "/copy")
        var copied = bench.another()
        copied.options.folder = "/copy"
        if isReader { copied.options.access = .readOnly }
        let error = #expect(throws: LogError.self) { _ = try copied.open() }
        let text = error.map { "\($0)" } ?? ""
        #expect(
            error?.code == .damage && text.contains("this folder was copied while the store was written"), "\(text)")
        #expect(text.contains("versions 2 to 3 were durable there") && text.contains("firn recover"), "\(text)")
        // The store itself, with the same page, is whole.
        try log.close()
        #expect(try bench.another().open().recovery.lastVersion == 3)
    }

    @Test("a copy of a store that is quiet or closed opens as it is", arguments: [false, true])
    func copiedWhileQuiet(isClosed: Bool) throws {
        let bench = Bench()
        let log = try bench.open()
        for _ in 1...2 { try log.waitUntilDurable(try bench.commit(log)) }
        if isClosed { try log.close() }
        try copy(bench.storage.disk.newProcess(), from: "/store", to: "/copy")
        var copied = bench.another()
        copied.options.folder = "/copy"
        let other = try copied.open()
        #expect(other.recovery.lastVersion == 2)
        try other.waitUntilDurable(try copied.commit(other))
        try other.close()
        #expect(try copied.another().open().recovery.lastVersion == 3)
    }

    /// Copies what is not there yet, as `cp -r --no-clobber` does.
    private func copy(_ storage: any Storage, from: String, to: String) throws {
        guard try storage.status(from)?.kind == .folder else {
            if try storage.status(to) == nil {
                let file = try storage.open(from, .read)
                try storage.open(to, .create).write(try file.read(file.size(), at: 0), at: 0)
            }
            return
        }
        for folder in [splitPath(to).folder, to] where try storage.status(folder) == nil {
            try storage.createFolder(folder)
        }
        for name in try storage.list(from) { try copy(storage, from: from + "/" + name, to: to + "/" + name) }
    }
}
