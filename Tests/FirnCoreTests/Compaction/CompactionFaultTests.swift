import FirnLog
import FirnStorage
import FirnTestSupport
import Foundation
import Testing

@testable import FirnCore

/// A compaction whose storage fails leaves the store as it was; damage to its files is found and reported.
@Suite(.timeLimit(.minutes(20))) struct CompactionFaultTests {
    private func prepared(_ storage: any Storage) throws -> (StoreScript, Store) {
        let script = StoreScript([
            .commit(StoreScript.schema), .commit(StoreScript.create(0, 4)), .commit(StoreScript.create(1, 2)),
            .compact(whole: true), .commit(StoreScript.editLists), .commit(StoreScript.blob(2000)), .reopen,
        ]) { $0.segmentByteCount = 64 << 10 }
        if let error = script.run(on: storage) { throw error }
        return (script, try StoreScript.open(script.options, storage))
    }

    @Test(arguments: [false, true]) func aFullDiskLeavesTheOldStateIntact(isWhole: Bool) throws {
        for residue in [SimulatedFault.Residue.nothing, .some, .all] {
            let storage = SimulatedStorage(seed: 9)
            let (script, store) = try prepared(storage)
            let (nodes, version) = (store.heap.nodeCount, store.publishedVersion)
            let files = Set(try storage.list("/store/checkpoint"))
            storage.inject(
                SimulatedFault(.noSpace, number: 28, residue: residue, times: 1) {
                    $0.operation == .write && $0.path.hasSuffix("checkpoint")
                })
            #expect(logCode { _ = try store.compact(garbageShare: isWhole ? -1 : 10) } == .diskFull)
            storage.removeFaults()
            #expect(store.heap.nodeCount == nodes && store.publishedVersion == version)
            #expect(Set(try storage.list("/store/checkpoint")) == files)
            try script.check(store, "after a full disk")
            // The store continues to work, and the next attempt succeeds.
            try script.commit(StoreScript.set(0, 3), to: store)
            #expect(try store.compact(garbageShare: isWhole ? -1 : 10)?.isWhole == isWhole)
            try script.check(store, "compacted at last")
            let again = try StoreScript.open(script.options, storage.disk.afterPowerCut(seed: 1, .nothing).newProcess())
            try script.check(again, "after a power cut")
        }
    }

    /// Changes every byte of a checkpoint's files in turn: opening with all checks refuses, and names the file.
    @Test func everyBitOfACheckpointIsChecksummed() throws {
        let storage = MemoryStorage()
        let (script, store) = try prepared(storage)
        try store.compact(garbageShare: 10)
        try store.close()
        let names = try storage.list("/store/checkpoint").sorted()
        #expect(names.count == 2)
        for name in names {
            let path = "/store/checkpoint/" + name
            let file = try storage.open(path, .readWrite)
            let size = try file.size()
            var bytes = [UInt8](repeating: 0, count: size)
            _ = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
            // Each byte in turn, and another bit for each neighbouring byte. The footer of an earlier file is no
            // longer used.
            let isLast = name == names.last
            let footerByteCount = isLast ? 0 : Int(bytes[size - 8]) | Int(bytes[size - 7]) << 8
            for offset in 0..<(size - footerByteCount) {
                var changed = bytes[offset] ^ 1 << UInt8(offset & 7)
                try withUnsafeBytes(of: &changed) { try file.write($0, at: offset) }
                do {
                    _ = try StoreScript.open(script.options, storage)
                    Issue.record("\(name) opened with byte \(offset) of \(size) changed")
                } catch {
                    #expect("\(error)".contains(name), "byte \(offset): \(error)")
                }
                try withUnsafeBytes(of: &bytes[offset]) { try file.write($0, at: offset) }
            }
        }
        try script.check(try StoreScript.open(script.options, storage), "repaired")
    }

    /// A getter that meets damage calls `onDamage`, then stops with the file, the offset and the tool.
    @Test func aReadOfDamagedDataCallsOnDamageAndStops() async {
        await #expect(processExitsWith: .exitCode(7)) {
            let folder = TemporaryFolder()
            var options = StoreOptions(log: LogOptions(folder: folder.path + "/store"))
            options.onDamage = { damage in
                // The exit code says that `onDamage` was called.
                exit(damage.path.hasSuffix(".checkpoint") && damage.description.contains("firn verify") ? 7 : 1)
            }
            let store = try Store(options, storage: PosixStorage.shared)
            try People.fill(store, 2000)
            try store.compact()
            try store.close()
            let file = try PosixStorage.shared.open(folder.path + "/store/checkpoint/0000000001.checkpoint", .readWrite)
            var zeros = [UInt8](repeating: 0xA5, count: 4096)
            try zeros.withUnsafeMutableBytes { try file.write(UnsafeRawBufferPointer($0), at: 8192) }
            let pin = try Store(options, storage: PosixStorage.shared).pin()
            let view = pin.snapshot.table(TableID(0))
            for position in 0..<view.count {
                let (leaf, row) = view.location(at: position)
                for column in 0..<3 { _ = view.value(column, leaf: leaf, row: row) }
            }
        }
    }
}
