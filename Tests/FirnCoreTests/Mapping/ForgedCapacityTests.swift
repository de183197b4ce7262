import FirnStorage
import ForgedStores
import Testing

@testable import FirnCore

@Suite("A checkpoint node has the capacity that its writers rely on", .timeLimit(.minutes(20)))
struct ForgedCapacityTests {
    private static let person = BaseStore.person

    private static func files(_ count: Int) throws -> StoreFiles {
        try StoreFiles.made { transaction in
            for id in 0..<count { try BaseStore.add(transaction, table: person, values: [0: .int(Int64(id))]) }
        }
    }

    /// Expects that verifying everything throws, and that a transaction that needs the node throws, too.
    private static func expectDamage(
        _ files: StoreFiles, text: String, _ change: (WriteTransaction) throws -> Void
    ) throws {
        let store = try files.open()
        let error = #expect(throws: StoreError.self) { try store.verify() }
        #expect(error?.description.contains(text) == true, "\(error as Any)")
        // A store that accepts the node is not written to: the transaction would write beyond the node's end.
        guard error != nil else { return }
        #expect(throws: StoreError.self) {
            let transaction = try store.beginWrite()
            try change(transaction)
            try transaction.commit()
        }
        try store.close()
    }

    @Test("a node check refuses a small leaf that is not the root of its index") func smallLeaf() {
        let writer = NodeWriter(stamp: 1)
        let schema = ResolvedSchema(BaseStore.schema)
        func isFaulty(_ node: Node, _ role: NodeRole, level: Int?) -> Bool {
            var check = NodeCheck(
                node: node, claim: NodeClaim(role, level: level, count: 1), schema: schema, isOpened: true)
            return (try? check.check()) == nil
        }
        for capacity in [4, 16, 64] {
            let leaf = IntegerIndexLeaf.make(capacity: capacity, writer)
            leaf.insert(7, 7, at: 0)
            #expect(!isFaulty(leaf.node, .pairs, level: nil))
            #expect(isFaulty(leaf.node, .pairs, level: 0) == (capacity < 64), "\(capacity)")
            NodeHeap.free(leaf.node)
        }
        for byteCount in [256, 1024, 4096] {
            let page = SlottedPage.make(level: 0, byteCount: byteCount, writer)
            IndexKey.withInt(7) { page.insert($0, 7, at: 0) }
            #expect(!isFaulty(page.node, .bytes, level: nil))
            #expect(isFaulty(page.node, .bytes, level: 0) == (byteCount < 4096), "\(byteCount)")
            NodeHeap.free(page.node)
        }
        writer.dispose().deallocate()
    }

    /// A write would take such a node for a leaf, and fill it with pairs.
    @Test("an inner node with the form or the capacity of a leaf", arguments: [UInt32(0), 16, 64, .max])
    func innerAsProgression(capacity: UInt32) throws {
        var files = try Self.files(5000)
        files.forge { bytes in
            var forged = 0
            for inner in StoreFiles.nodes(bytes, .integerIndexInner).map(\.lowerBound) {
                Forging.put(IntegerIndexLeaf.progressionForm, into: &bytes, offset: inner + NodeLayout.Header.form)
                Forging.put(capacity, into: &bytes, offset: inner + NodeLayout.Header.capacity)
                forged += 1
            }
            #expect(forged > 0)
        }
        try Self.expectDamage(files, text: "an inner node of an index") { transaction in
            try BaseStore.add(transaction, table: Self.person, values: [0: .int(70_000)])
        }
    }

    /// A deletion would move entries of the leaf before it into this leaf.
    @Test("a small leaf that is not the root of its index") func smallLeafOfAFile() throws {
        var files = try Self.files(68)
        files.forge { bytes in
            var forged = 0
            for leaf in StoreFiles.nodes(bytes, .integerIndexLeaf).map(\.lowerBound)
            where Forging.get(bytes, offset: leaf + 20, UInt32.self) == 4
                && Forging.get(bytes, offset: leaf + 24, UInt32.self) == 64
            {
                Forging.put(UInt32(4), into: &bytes, offset: leaf + 24)
                forged += 1
            }
            #expect(forged > 0)
        }
        try Self.expectDamage(files, text: "a leaf of an index") { $0.delete(Self.person, 67) }
    }

    /// The first object would be written beyond the end of the chunks.
    @Test("a row tree without rows") func noRows() throws {
        var files = try Self.files(1)
        try files.forge { bytes in
            let leaf = try #require(StoreFiles.nodes(bytes, .leaf).last).lowerBound
            let columns = Int(Forging.get(bytes, offset: leaf + 48, UInt32.self))
            Forging.put(UInt32(0), into: &bytes, offset: leaf + 20)
            for column in 0..<columns {
                let chunk = StoreFiles.target(bytes, leaf + 64 + 8 * column)
                // Plain chunks, because packed ones say more about their rows.
                let layout = BaseStore.schema.tables[1].columns[column].layout
                for offset in 20..<28 { bytes[chunk + offset] = 0 }
                for offset in 32..<64 { bytes[chunk + offset] = 0 }
                bytes[chunk + 17] = layout.form.rawValue
            }
            for table in StoreFiles.nodes(bytes, .table).map(\.lowerBound)
            where Forging.get(bytes, offset: table + 40, UInt64.self) == 1 {
                Forging.put(UInt64(0), into: &bytes, offset: table + 40)
                for column in 0..<columns { Forging.put(UInt64(0), into: &bytes, offset: table + 64 + 16 * column) }
            }
        }
        try Self.expectDamage(files, text: "rows") { try BaseStore.add($0, table: Self.person, values: [0: .int(7)]) }
    }

    /// The first object of a table that the root lacks would have its table's reference written behind the root.
    @Test("a root of fewer tables than the schema has", arguments: [0, 1] as [UInt32])
    func fewTables(count: UInt32) throws {
        var files = try Self.files(1)
        try files.forge { bytes in
            let root = try #require(StoreFiles.nodes(bytes, .root).last).lowerBound
            Forging.put(count, into: &bytes, offset: root + 20)
        }
        let error = #expect(throws: StoreError.self) {
            let store = try files.open()
            try store.close()
        }
        #expect(error?.description.contains("tables") == true, "\(error as Any)")
    }
}
