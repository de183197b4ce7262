import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// If any single bit of a store is flipped, opening it with `verify: .everything` refuses or reports it: never a
/// wrong answer, never a trap.
@Suite(.timeLimit(.minutes(TestEnvironment.minutes))) struct StoreBitFlipTests {
    /// Makes a store by a script, and opens it with each bit (every `stride`th) of each file flipped in turn.
    private func flipEverything(_ script: StoreScript, stride step: Int = 1, keepingPage: Bool) throws {
        let storage = MemoryStorage()
        if let error = script.run(on: storage) { throw error }
        var reading = script.options
        reading.access = .readOnly
        let files = ["manifest"] + (try storage.list("/store/log")).map { "log/" + $0 }.sorted()
        #expect(files.count > 1)
        var (flipped, refused) = (0, 0)
        for name in files {
            let file = try storage.open("/store/" + name, .readWrite)
            for bit in Swift.stride(from: 0, to: try file.size() * 8, by: step) {
                var byte: UInt8 = 0
                _ = try withUnsafeMutableBytes(of: &byte) { try file.read(into: $0, at: bit / 8) }
                byte ^= 1 << UInt8(bit % 8)
                try withUnsafeBytes(of: byte) { try file.write($0, at: bit / 8) }
                if !keepingPage { try? storage.remove("/store/shared") }
                flipped += 1
                do throws(StoreError) {
                    let store = try StoreScript.open(reading, storage)
                    #expect(store.recovery?.outcome != .clean, "bit \(bit) of \(name) was not noticed")
                    let pin = store.pin()
                    let fault = script.versions[pin.version]?.check(pin.snapshot, "bit \(bit) of \(name)")
                    #expect(fault == nil)
                    try store.close()
                } catch {
                    refused += 1
                    guard case .log(let inner) = error.code else {
                        Issue.record("bit \(bit) of \(name) passed the checksums: \(error)")
                        continue
                    }
                    if case .storage = inner.code { Issue.record("bit \(bit) of \(name): \(error)") }
                }
                byte ^= 1 << UInt8(bit % 8)
                try withUnsafeBytes(of: byte) { try file.write($0, at: bit / 8) }
            }
        }
        let intact = try StoreScript.open(reading, storage)
        #expect(intact.recovery?.outcome == .clean)
        try script.check(intact, "intact again")
        if step == 1 || flipped > 100_000 {
            print("\(flipped) bits flipped, \(refused) refused, \(flipped - refused) reported")
        }
    }

    @Test(arguments: [true, false]) func inASmallStore(keepingPage: Bool) throws {
        let script = StoreScript([
            .commit(StoreScript.schema), .commit(StoreScript.create(0, 3)), .commit(StoreScript.blob(1200)),
            .commit(StoreScript.editLists),
            .commit(StoreScript.delete(0, 1)),
        ])
        // The strides are primes, so that every bit of a byte is flipped.
        try flipEverything(script, stride: keepingPage ? 11 : 13, keepingPage: keepingPage)
    }

    /// Flips all bits in each kind of file: a manifest, a segment with a commit, a checkpoint.
    @Test func everyBitOfEveryKindOfFile() throws {
        let storage = MemoryStorage()
        var options = LogOptions(folder: "/store", verify: .everything)
        options.usesThreads = false
        options.reserveByteCount = 0
        let store = try StoreScript.open(options, storage)
        let setUp = try store.beginWrite()
        try setUp.changeSchema(
            to: StoreSchema(tables: [
                TableSchema(name: "T", primaryKey: 0, columns: [ColumnSchema(name: "i", type: .int)])
            ]))
        try setUp.commit()
        func create(_ id: Int64) throws {
            let transaction = try store.beginWrite()
            var row = transaction.beginRow(TableID(0))
            transaction.fill(&row, column: 0, value: .int(id))
            try transaction.endRow(row)
            try transaction.commit()
        }
        try create(7)
        #expect(try store.compact() != nil)
        try create(8)
        try store.close()
        options.access = .readOnly
        let files = try ["log", "checkpoint"].flatMap { folder in
            try storage.list("/store/" + folder).map { folder + "/" + $0 }
        }
        #expect(files.count == 2)
        for name in files + ["manifest"] {
            let file = try storage.open("/store/" + name, .readWrite)
            var bytes = [UInt8](repeating: 0, count: try file.size())
            _ = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
            for bit in 0..<bytes.count * 8 {
                var changed = bytes[bit / 8] ^ 1 << UInt8(bit % 8)
                try withUnsafeBytes(of: &changed) { try file.write($0, at: bit / 8) }
                do throws(StoreError) {
                    let opened = try StoreScript.open(options, storage)
                    // A commit that was torn while it was written may be cut off if that is reported.
                    #expect(opened.recovery?.outcome != .clean, "bit \(bit) of \(name) was not noticed")
                    let view = opened.pin().snapshot.table(TableID(0))
                    #expect(view.firstKey(primaryKeyInt: 7) == 0 && view.count <= 2, "bit \(bit) of \(name)")
                    try opened.close()
                } catch {
                    #expect("\(error)".contains("/store/"), "bit \(bit) of \(name): \(error)")
                }
                try withUnsafeBytes(of: &bytes[bit / 8]) { try file.write($0, at: bit / 8) }
            }
        }
        let opened = try StoreScript.open(options, storage)
        #expect(opened.pin().snapshot.table(TableID(0)).count == 2)
        try opened.close()
    }

    /// `FIRN_SLOW=1 swift test -c release -Xswiftc -enable-testing --filter StoreBitFlipTests` flips every bit;
    /// `FIRN_SLOW=97` every 97th.
    @Test(.enabled(if: TestEnvironment.value("FIRN_SLOW") != nil)) func inAStoreOfOneMegabyte() throws {
        let script = StoreScript(
            [.commit(StoreScript.schema), .commit(StoreScript.create(0, 40))]
                + (0..<10).map { .commit(StoreScript.blob(180_000 + $0)) }
        ) { $0.segmentByteCount = 256 << 10 }
        try flipEverything(
            script, stride: TestEnvironment.value("FIRN_SLOW").flatMap { Int($0) } ?? 1, keepingPage: false)
    }
}
