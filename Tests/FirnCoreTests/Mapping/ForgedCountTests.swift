import FirnStorage
import ForgedStores
import Testing

@testable import FirnCore

@Suite("Counts of a checkpoint are bounded by what its files can hold", .timeLimit(.minutes(20)))
struct ForgedCountTests {
    private static let person = BaseStore.person
    private static let tags = 6
    /// More than the files of the store can hold, and few enough to iterate over.
    private static let many = 10_000_000

    /// The files of a store with a long list and with links to many objects.
    private static func files() throws -> StoreFiles {
        try StoreFiles.made { transaction in
            for id in 0..<400 {
                try BaseStore.add(
                    transaction, table: person,
                    values: [
                        0: .int(Int64(id)), 1: .string("name \(id)"), 4: id == 0 ? .null : .link(Int64(id * 7 % id)),
                    ])
            }
            transaction.edit(person, column: tags, key: 3) { list in
                for tag in 0..<900 { list.append(.string("tag \(tag)")) }
            }
        }
    }

    private static func expectDamage(_ forge: (inout [UInt8]) throws -> Void) throws {
        var files = try files()
        try files.forge(forge)
        #expect(files.files[files.checkpointPath]!.count * 8 < many)
        let error = #expect(throws: StoreError.self) { try files.open(verifying: true).close() }
        #expect(error?.code == .damage)
        #expect(error?.description.contains("than its files") == true, "\(error as Any)")
    }

    @Test("a list of more elements than the files have bytes") func list() throws {
        try Self.expectDamage { bytes in
            let inner = try #require(StoreFiles.nodes(bytes, .listInner).first).lowerBound
            let count = Int(Forging.get(bytes, offset: inner + 20, UInt32.self))
            Forging.put(UInt16(4), into: &bytes, offset: inner + 18)
            for child in 0..<count {
                Forging.put(UInt32(Self.many / count * (child + 1)), into: &bytes, offset: inner + 544 + 4 * child)
            }
        }
    }

    @Test("backlinks of more entries than the files have bytes") func backlinks() throws {
        try Self.expectDamage { bytes in
            let table = try #require(
                StoreFiles.nodes(bytes, .table).first {
                    Forging.get(bytes, offset: $0.lowerBound + 40, UInt64.self) == 400
                }
            ).lowerBound
            let inner = StoreFiles.target(bytes, table + 72 + 16 * 4)
            try #require(bytes[inner + 16] & 0x3F == Node.Kind.integerIndexInner.rawValue)
            Forging.put(UInt16(6), into: &bytes, offset: inner + 18)
            for child in 0..<Int(Forging.get(bytes, offset: inner + 20, UInt32.self)) {
                Forging.put(UInt64(Self.many), into: &bytes, offset: inner + 1568 + 8 * child)
            }
        }
    }

    @Test("a table of more rows than the files have bytes") func rows() throws {
        try Self.expectDamage { bytes in
            let table = try #require(
                StoreFiles.nodes(bytes, .table).first {
                    Forging.get(bytes, offset: $0.lowerBound + 40, UInt64.self) == 400
                }
            ).lowerBound
            Forging.put(UInt64(1 << 40), into: &bytes, offset: table + 40)
        }
    }

    /// An edit would stop the program, since no list may get that long.
    @Test("a list of more elements than a list can have") func longList() {
        let node = Node(
            UnsafeMutableRawPointer.allocate(byteCount: NodeLayout.ListInner.byteCount, alignment: 32))
        defer { node.address.deallocate() }
        node.address.initializeMemory(as: UInt8.self, repeating: 0, count: NodeLayout.ListInner.byteCount)
        node.store(Node.Kind.listInner.rawValue | Node.onDiskBit, 16)
        (node.width, node.byteCount) = (4, NodeLayout.ListInner.byteCount)
        let inner = ListTree.Inner(node)
        let cells = CellClass(ColumnSchema(name: "list", type: .int, collection: .list))
        let schema = ResolvedSchema(BaseStore.schema)
        for count in 7...9 {
            node.count = count
            for child in 0..<count {
                inner.refs[child] = 65
                inner.ends[child] = UInt32(child + 1) << 28
            }
            var check = NodeCheck(node: node, claim: NodeClaim(.list(cells)), schema: schema, isOpened: true)
            #expect(((try? check.check()) == nil) == (count << 28 > Limits.listCount), "\(count)")
        }
    }

    @Test("walks over trees end when damage is met") func walks() throws {
        let store = try Self.files().open()
        let view = store.pin().snapshot.table(Self.person)
        var visits = (elements: 0, nodes: 0)
        func walk() {
            guard let location = view.find(3) else { return }
            let cell = ListCell(
                chunk: location.leaf.chunk(Self.tags), row: location.row,
                layout: ElementLayout(BaseStore.schema.tables[1].columns[Self.tags]))
            visits.elements = cell.values.count
            visits.nodes = 0
            cell.forEachNode { _ in visits.nodes += 1 }
            ColumnIndex.forEachNode(view.schema.columns[0], root: view.index(0)) { _ in visits.nodes += 1 }
            ColumnIndex.forEachNode(view.schema.columns[1], root: view.index(1)) { _ in visits.nodes += 1 }
            IntegerIndexTree.forEachNode(view.backlinks(4)) { _ in visits.nodes += 1 }
        }
        walk()
        #expect(visits.elements == 900 && visits.nodes > 20)
        #expect(throws: StoreError.self) {
            try DamageRecord.throwing { () throws(StoreError) in
                DamageRecord.contradiction("something was damaged")
                walk()
            }
        }
        #expect(visits.elements < 900 && visits.nodes <= 4, "\(visits)")
        try store.close()
    }
}
