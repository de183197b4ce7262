import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// Whatever single bit of a store is flipped, opening it with `verify: .everything` refuses or reports it: never a wrong answer, never a trap.
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
                    #expect(store.recovery?.outcome != .clean, "bit \(bit) of \(name) went unseen")
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
        let whole = try StoreScript.open(reading, storage)
        #expect(whole.recovery?.outcome == .clean)
        try script.check(whole, "whole again")
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
        // Primes, so that every place of a byte is met.
        try flipEverything(script, stride: keepingPage ? 11 : 13, keepingPage: keepingPage)
    }

    /// `FIRN_SLOW=1 swift test -c release -Xswiftc -enable-testing --filter StoreBitFlipTests`: every bit; `FIRN_SLOW=97` every 97th.
    @Test(.enabled(if: TestEnvironment.value("FIRN_SLOW") != nil)) func inAStoreOfOneMegabyte() throws {
        let script = StoreScript(
            [.commit(StoreScript.schema), .commit(StoreScript.create(0, 40))]
                + (0..<10).map { .commit(StoreScript.blob(180_000 + $0)) }
        ) { $0.segmentByteCount = 256 << 10 }
        try flipEverything(
            script, stride: TestEnvironment.value("FIRN_SLOW").flatMap { Int($0) } ?? 1, keepingPage: false)
    }
}
