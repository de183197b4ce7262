import FirnCore
import FirnLog
import FirnStorage
import Testing

@testable import FirnTool

@Suite("A store whose sync groups begin in sectors of their own", .timeLimit(.minutes(20))) struct SectorTests {
    private static func make() throws -> SampleStore {
        let sample = SampleStore(empty: ())
        var options = LogOptions(folder: SampleStore.path)
        options.usesThreads = false
        options.sectorByteCount = 4096
        let store = try Store(StoreOptions(log: options), storage: sample.storage, clock: sample.clock)
        let schema = try store.beginWrite()
        try schema.changeSchema(to: SampleStore.schema)
        try schema.commit()
        for name in ["Ada", "Grace"] {
            let transaction = try store.beginWrite()
            try SampleStore.add(transaction, table: SampleStore.person, values: [0: .string(name)])
            try transaction.commit()
        }
        try store.close()
        return sample
    }

    @Test("is verified, listed and copied") func read() throws {
        let sample = try Self.make()
        let run = try Run.verify(sample.storage)
        #expect(run.status == .fine, "\(run.out)")
        #expect(try Run.log(sample.storage).out.split(separator: "\n").count == 3)
        #expect(try Run.show(sample.storage, 3).out.contains("Grace"))
        #expect(try Run.replay(sample.storage, to: 3).status == .fine)
        #expect(try Run.verify(sample.storage, path: "/new").status == .fine)
    }

    @Test("a bit between two frames is found") func gap() throws {
        let sample = try Self.make()
        let path = try #require(try sample.files().first { $0.hasSuffix(".segment") })
        let bytes = try sample.bytes(path)
        // The frame of version 2 begins at the second sector; zeros lie before it.
        let gap = try #require((4096..<8192).last { bytes[$0] != 0 }) + 100
        #expect(gap < 8192 && bytes.count > 8192)
        try sample.flip(path, byte: gap, bit: 3)
        #expect(try Run.verify(sample.storage).status == .damage)
        #expect(throws: StoreError.self) {
            try Store(StoreOptions(log: LogOptions(folder: SampleStore.path)), storage: sample.storage)
        }
    }
}
