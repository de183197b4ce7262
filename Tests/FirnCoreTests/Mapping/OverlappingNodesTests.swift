import ForgedStores
import Testing

@testable import FirnCore

/// A forged store has correct checksums, but a node lies within the bytes of another one: the references of the inner
/// one become addresses when it is validated.
@Suite("Bytes of a checkpoint that were checked are never changed", .timeLimit(.minutes(20)))
struct OverlappingNodesTests {
    private static let person = BaseStore.person
    private static let photo = 7
    private static let count = 600

    /// The photo of object 0 is a blob. Its bytes contain a copy of the last leaf, and the leaf's parent refers to
    /// that copy.
    private static func overlapping() throws -> StoreFiles {
        var files = try StoreFiles.made { transaction in
            for id in 0..<count {
                var values: [Int: Value] = [0: .int(Int64(id)), 1: .string("name \(id)"), 2: .string("k \(id % 5)")]
                if id == 0 { values[photo] = .data([UInt8](repeating: 7, count: 2000)) }
                try BaseStore.add(transaction, table: person, values: values)
            }
        }
        try files.forge { bytes in
            let blob = try #require(StoreFiles.nodes(bytes, .blob).first)
            let inner = try #require(StoreFiles.nodes(bytes, .rowInner).first).lowerBound
            let last = inner + 544 + 8 * (Int(Forging.get(bytes, offset: inner + 20, UInt32.self)) - 1)
            let leaf = StoreFiles.target(bytes, last)
            let size = Int(Forging.get(bytes, offset: leaf + 28, UInt32.self))
            // Nodes begin at multiples of 32 bytes.
            let offset = blob.lowerBound + 64
            bytes.replaceSubrange(offset..<offset + size, with: bytes[leaf..<leaf + size])
            Forging.put(UInt32(offset / 32), into: &bytes, offset: offset + 12)
            Forging.put(UInt32(0), into: &bytes, offset: offset + 8)
            Forging.put(Forging.crc(bytes, offset..<offset + size), into: &bytes, offset: offset + 8)
            Forging.put(UInt64(offset + 1), into: &bytes, offset: last)
        }
        return files
    }

    private static func read(_ store: Store, column: Int, key: Int64) throws(StoreError) -> Value? {
        let pin = store.pin()
        return try DamageRecord.throwing { () throws(StoreError) in pin.snapshot.table(person).value(column, of: key) }
    }

    @Test("a node within a checked node is refused, and the checked node stays as it is") func innerLast() throws {
        let store = try Self.overlapping().open()
        let before = try #require(try Self.read(store, column: Self.photo, key: 0))
        #expect(throws: StoreError.self) { try Self.read(store, column: 0, key: Int64(Self.count - 1)) }
        #expect(try Self.read(store, column: Self.photo, key: 0) == before)
        try store.close()
    }

    @Test("a node around a checked node is refused") func innerFirst() throws {
        let store = try Self.overlapping().open()
        let before = try #require(try Self.read(store, column: 1, key: Int64(Self.count - 1)))
        #expect(throws: StoreError.self) { try Self.read(store, column: Self.photo, key: 0) }
        #expect(try Self.read(store, column: 1, key: Int64(Self.count - 1)) == before)
        try store.close()
    }

    @Test("verifying finds the overlap") func verify() throws {
        let store = try Self.overlapping().open()
        #expect(throws: StoreError.self) { try store.verify() }
        try store.close()
    }
}
