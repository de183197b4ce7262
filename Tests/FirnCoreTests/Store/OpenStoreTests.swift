import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A folder that is not a store, or may not be used, is refused with a typed error that names it; nothing is changed
/// or lost.
@Suite(.timeLimit(.minutes(20))) struct OpenStoreTests {
    private func opening(
        _ folder: String, storage: any Storage, access: LogOptions.Access = .readWrite(waitMilliseconds: 0)
    ) -> LogError.Code? {
        logCode {
            var options = LogOptions(folder: folder, access: access)
            options.usesThreads = false
            let store = try Store(StoreOptions(log: options), storage: storage)
            try store.close()
        }
    }

    private func write(_ bytes: [UInt8], path: String, storage: any Storage) throws {
        let file = try storage.open(path, .create)
        try bytes.withUnsafeBytes { try file.write($0, at: 0) }
    }

    @Test func whateverIsNotAStoreIsRefusedAndUnchanged() throws {
        let storage = MemoryStorage()
        try storage.createFolder("/a")
        try write([1, 2, 3], path: "/a/file", storage: storage)
        try write(
            [UInt8](repeating: 0, count: 16) + Array("T-DB".utf8) + [0, 0, 0, 0], path: "/a/old.realm", storage: storage
        )
        #expect(opening("/a/file", storage: storage) == .notAStore)
        #expect(opening("/a/old.realm", storage: storage) == .notAStore)
        #expect(opening("/a", storage: storage) == .foreignFolder)
        #expect(try storage.list("/a").sorted() == ["file", "old.realm"])
        // An empty folder becomes a store, but a reader refuses it.
        try storage.createFolder("/empty")
        #expect(opening("/empty", storage: storage, access: .readOnly) == .notAStore)
        #expect(opening("/empty", storage: storage) == nil)
        guard case .storage(let inner) = opening("/nowhere", storage: storage, access: .readOnly) else {
            Issue.record("no error")
            return
        }
        #expect(inner.code == .notFound)
    }

    @Test func aNetworkFileSystemIsRefused() {
        let storage = SimulatedStorage(seed: 1)
        storage.disk.volume = Volume(fileSystem: "nfs", isNetwork: true, availableByteCount: .max)
        #expect(opening("/a", storage: storage) == .networkFileSystem("nfs"))
    }

    @Test func aNewerFormatIsRefusedWithItsNumber() throws {
        let storage = MemoryStorage()
        #expect(opening("/a", storage: storage) == nil)
        // Format 9, with the correct checksum.
        let file = try storage.open("/a/manifest", .readWrite)
        var header = [UInt8](repeating: 0, count: 64)
        _ = try header.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
        header[8] = 9
        let checksum = Self.crc32c(header[..<60])
        withUnsafeBytes(of: checksum.littleEndian) { header.replaceSubrange(60..<64, with: $0) }
        try header.withUnsafeBytes { try file.write($0, at: 0) }
        #expect(opening("/a", storage: storage) == .newerFormat(found: 9))
    }

    private static func crc32c(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        var result: UInt32 = ~0
        for byte in bytes {
            result ^= UInt32(byte)
            for _ in 0..<8 { result = result & 1 == 0 ? result >> 1 : (result >> 1) ^ 0x82F6_3B78 }
        }
        return ~result
    }

    /// Whichever call lacks permission, opening throws an error that says so, or the store works without that call.
    @Test func missingPermissionsAreReportedAndNothingIsLost() throws {
        func make() throws -> (SimulatedStorage, StoreScript) {
            let storage = SimulatedStorage(seed: 1)
            let script = StoreScript([.commit(StoreScript.schema), .commit(StoreScript.create(0, 2))])
            if let error = script.run(on: storage) { throw error }
            return (storage, script)
        }
        let (first, script) = try make()
        let before = first.callCount
        try StoreScript.open(script.options, first).close()
        let calls = first.callCount - before
        var refused = 0
        for call in 0..<calls {
            let (storage, script) = try make()
            let from = storage.callCount
            storage.inject(
                SimulatedFault(.permissionDenied, number: 13, residue: .nothing, times: 100) { $0.index >= from + call }
            )
            do throws(StoreError) {
                try StoreScript.open(script.options, storage).close()
            } catch {
                refused += 1
                guard case .log(let inner) = error.code else {
                    Issue.record("\(error)")
                    continue
                }
                switch inner.code {
                case .storage(let storage):
                    #expect(storage.code == .permissionDenied && "\(error)".contains("permission"))
                case .unknownOutcome: #expect(inner.detail.contains("permission"))
                default: Issue.record("call \(call): \(error)")
                }
            }
            storage.removeFaults()
            storage.disk.kill(storage)
            try script.check(
                try StoreScript.open(script.options, storage.disk.newProcess()),
                "permission denied from call \(call) on")
        }
        #expect(refused > 5)
    }

    /// Without threads, a store can't wait for another writer.
    @Test func aStoreThatCannotWaitForAnotherWriterThrows() throws {
        let storage = MemoryStorage()
        var options = LogOptions(folder: "/a")
        options.usesThreads = false
        let store = try Store(StoreOptions(log: options), storage: storage)
        let other = try Store(StoreOptions(log: options), storage: storage)
        #expect(logCode { _ = try other.beginWrite() } == .locked(processID: currentProcessID()))
        try store.close()
        try other.beginWrite().commit()
    }

    @Test func writingToAClosedOrReadOnlyStoreThrows() throws {
        let storage = MemoryStorage()
        let script = StoreScript([.commit(StoreScript.schema), .commit(StoreScript.create(0, 3))])
        if let error = script.run(on: storage) { throw error }
        let closed = try #require(script.store)
        #expect(throws: StoreError.self) { try closed.beginWrite() }
        // A pinned version stays readable.
        try script.check(closed, "closed")
        var reading = script.options
        reading.access = .readOnly
        let reader = try StoreScript.open(reading, storage)
        let error = #expect(throws: StoreError.self) { try reader.beginWrite() }
        #expect(error?.code == .readOnly)
        try script.check(reader, "read-only")
    }

    /// If a store's folder is removed while the process has it open, each operation succeeds or throws, and never
    /// traps; readers are not affected.
    @Test func aStoreWhoseFolderIsRemovedWhileItIsOpenNeverTraps() throws {
        let folder = TemporaryFolder()
        let storage = PosixStorage.shared
        let script = StoreScript([]) {
            $0.folder = folder.path + "/store"
            $0.usesThreads = true
        }
        let store = try StoreScript.open(script.options, storage)
        try script.commit(StoreScript.schema, to: store)
        try script.commit(StoreScript.create(0, 5), to: store)
        let published = script.oracle
        let pin = store.pin()
        for name in ["log", "checkpoint", ""] {
            let path = script.options.folder + (name.isEmpty ? "" : "/" + name)
            for file in try storage.list(path) where unlink(path + "/" + file) == 0 {}
            rmdir(path)
        }
        var codes: [LogError.Code] = []
        for _ in 0..<6 {
            // Until the open segment is full, commits go to a file without a name; the step to the next segment
            // fails.
            if let code = logCode({ try script.commit(StoreScript.blob(3000), to: store) }) { codes.append(code) }
        }
        #expect(!codes.isEmpty)
        for code in codes {
            switch code {
            case .unknownOutcome, .storage: break
            default: Issue.record("\(code)")
            }
        }
        let fault = published.check(pin.snapshot, "a reader of a store that was deleted")
        #expect(fault == nil)
        _ = logCode { try store.close() }
    }

    #if os(Linux)
        @Test func aForkedChildCannotUseTheStoreAndDoesTheParentNoHarm() async {
            await #expect(processExitsWith: .success) {
                let folder = TemporaryFolder()
                let script = StoreScript([]) {
                    $0.folder = folder.path + "/store"
                    $0.usesThreads = true
                    $0.segmentByteCount = 1 << 20
                }
                let store = try StoreScript.open(script.options, PosixStorage.shared)
                try script.commit(StoreScript.schema, to: store)
                try script.commit(StoreScript.create(0, 5), to: store)
                // A transaction is open while the process forks: the child must not wait for it.
                let open = try store.beginWrite()
                try StoreScript.set(0, 3)(script, open)
                let child = forked {
                    func isForked(_ body: () throws -> Void) -> Bool {
                        do { try body() } catch {
                            if case .log(let inner)? = (error as? StoreError)?.code { return inner.code == .forked }
                        }
                        return false
                    }
                    guard isForked({ _ = try store.beginWrite() }) else { return 1 }
                    guard isForked({ try store.waitUntilPublished(2) }) else { return 2 }
                    guard isForked({ try open.commit() }) else { return 3 }
                    guard (try? store.close()) != nil else { return 4 }
                    return 0
                }
                #expect(end(of: child) == .exited(0))
                try open.commit()
                try script.commit(StoreScript.create(0, 2), to: store)
                let fault = script.oracle.check(store.pin().snapshot, "the parent")
                #expect(fault == nil)
                try store.close()
                let again = try StoreScript.open(script.options, PosixStorage.shared)
                let lost = script.oracle.check(again.pin().snapshot, "the parent's store, reopened")
                #expect(lost == nil)
                #expect(again.recovery?.outcome == .clean && again.publishedVersion == 4)
            }
        }
    #endif

    @Test func onlyScratchFilesOfFirnAreRemovedByOpening() throws {
        let storage = MemoryStorage()
        #expect(opening("/a", storage: storage) == nil)
        for name in ["scratch.txt", "scratch.1f.2e"] { try write([1], path: "/a/" + name, storage: storage) }
        #expect(opening("/a", storage: storage) == nil)
        let names = try storage.list("/a")
        #expect(names.contains("scratch.txt") && !names.contains("scratch.1f.2e"))
    }
}
