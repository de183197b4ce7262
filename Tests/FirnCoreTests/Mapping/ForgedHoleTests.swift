import FirnLog
import ForgedStores
import Testing

@testable import FirnCore
@testable import FirnLog

/// A forged footer lists holes over nodes that the version reaches. Holes are punched, and files of which nothing is
/// left are removed. So a node in a hole is never read.
@Suite(.timeLimit(.minutes(20))) struct ForgedHoleTests {
    private static let person = BaseStore.person

    private static let count: Int64 = 600

    /// A store with `holes`, ranges of offsets in the file of its checkpoint.
    private static func files(_ holes: ([UInt8]) -> [Range<Int>]) throws -> StoreFiles {
        var files = try StoreFiles.made { transaction in
            for id in 0..<count { try BaseStore.add(transaction, table: person, values: [0: .int(id)]) }
        }
        try files.forge { bytes in
            let start = Forging.footerStart(of: bytes)
            var checkpoint = try #require(bytes[start...].withUnsafeBytes { Checkpoint.decode(footer: $0) })
            var state = try CheckpointState.decode(checkpoint.state)
            state.holes = holes(bytes).map {
                $0.lowerBound + checkpoint.ownFile.start..<$0.upperBound + checkpoint.ownFile.start
            }
            checkpoint = Checkpoint(
                version: checkpoint.version, time: checkpoint.time, files: checkpoint.files, state: state.encode())
            bytes.replaceSubrange(start..., with: checkpoint.encodeFooter())
        }
        return files
    }

    private static func id(_ store: Store, _ key: Int64) throws(StoreError) -> Value? {
        let pin = store.pin()
        return try DamageRecord.throwing { () throws(StoreError) in pin.snapshot.table(person).value(0, of: key) }
    }

    @Test func aNodeInAHoleIsRefused() throws {
        let store = try Self.files { [StoreFiles.nodes($0, .leaf)[1]] }.open()
        var refused = 0
        for key in 0..<Self.count {
            do {
                #expect(try Self.id(store, key) == .int(key))
            } catch {
                #expect(error.code == .damage && "\(error)".contains("free space"))
                refused += 1
            }
        }
        #expect(refused > 0 && refused < Self.count)
        let transaction = try store.beginWrite()
        try BaseStore.add(transaction, table: Self.person, values: [0: .int(Self.count)])
        try transaction.commit()
        // The compactor walks through all nodes before it uses a hole.
        #expect(throws: StoreError.self) { try store.compact(garbageShare: 0) }
        try store.close()
    }

    /// A file that consists of a hole is not removed while its nodes are read.
    @Test func aFileThatIsAHoleIsNotRead() throws {
        #expect(throws: StoreError.self) {
            let store = try Self.files { [64..<Forging.footerStart(of: $0)] }.open()
            defer { try? store.close() }
            _ = try Self.id(store, 1)
        }
    }
}
