import FirnLog
import FirnStorage
import FirnBytes
import ForgedStores
import Testing

@testable import FirnCore

@Suite("A forged checkpoint is an error, whatever its checksums say", .timeLimit(.minutes(20)))
struct ForgedCheckpointTests {
    /// Opens the base store with a forged checkpoint and verifies it. Returns the error, if there is one.
    private func damage(_ forge: (inout [UInt8]) -> Void) throws -> StoreError? {
        let base = BaseStore.made
        var bytes = base.checkpoint
        var manifest = base.manifest
        forge(&bytes)
        Forging.sealCheckpoint(&bytes, in: &manifest)
        let storage = try base.storage(
            replacing: [base.checkpointPath: bytes, BaseStore.folder + "/manifest": manifest])
        do throws(StoreError) {
            let store = try Store(BaseStore.options(), storage: storage)
            try store.verify()
            try store.close()
        } catch {
            return error
        }
        return nil
    }

    private func footerOffset(_ bytes: [UInt8]) -> Int {
        bytes.count - Int(Forging.get(bytes, offset: bytes.count - 8, UInt32.self))
    }

    /// The offset of the state, which follows the entries of the files.
    private func stateOffset(_ bytes: [UInt8]) -> Int {
        footerOffset(bytes) + 48 + 24 * Int(Forging.get(bytes, offset: footerOffset(bytes) + 40, UInt32.self))
    }

    private func nodes(_ bytes: [UInt8], _ kind: Node.Kind) -> [Range<Int>] {
        Forging.nodes(of: bytes).filter { bytes[$0.lowerBound + 16] & 0x3F == kind.rawValue }
    }

    @Test("the base store itself is intact") func whole() throws {
        #expect(try damage { _ in } == nil)
    }

    @Test(
        "a root that is negative, beyond the files, or not where a node begins",
        arguments: [.max, 1 << 63, 1 << 62, 1 << 42, 1 << 30, 0, 33, 64 + 32] as [UInt64])
    func root(_ offset: UInt64) throws {
        let error = try damage { Forging.put(offset, into: &$0, offset: stateOffset($0)) }
        #expect(error != nil)
    }

    @Test("a stamp so great that the next transaction's would overflow", arguments: [.max, 1 << 63] as [UInt64])
    func stamp(_ stamp: UInt64) throws {
        #expect(try damage { Forging.put(stamp, into: &$0, offset: stateOffset($0) + 8) } != nil)
    }

    @Test("a node younger than the version that contains it") func youngNode() throws {
        let error = try damage { bytes in
            Forging.put(UInt64.max, into: &bytes, offset: nodes(bytes, .leaf)[0].lowerBound)
        }
        #expect(error?.description.contains("younger") == true)
    }

    @Test("a root of 16 million tables") func tables() throws {
        let error = try damage { bytes in
            Forging.put(UInt32(1 << 24), into: &bytes, offset: nodes(bytes, .root)[0].lowerBound + 20)
        }
        #expect(error?.description.contains("tables") == true)
    }

    @Test(
        "a reference outside the mapping, into a header, or into the middle of a node",
        arguments: [.max, 1 << 45 | 1, 1 << 40 | 1, 1, 2, 65 + 16, 8, 33] as [UInt64])
    func reference(_ word: UInt64) throws {
        for (kind, offset) in [(Node.Kind.root, 32), (.table, 32), (.rowInner, 544), (.leaf, 64)] {
            let error = try damage { Forging.put(word, into: &$0, offset: nodes($0, kind)[0].lowerBound + offset) }
            #expect(error != nil, "\(kind)")
        }
    }

    @Test("a reference to a node of another kind, or of the same kind in another role") func otherKind() throws {
        let base = BaseStore.made.checkpoint
        for (parent, offset) in [
            (Node.Kind.root, 32), (.table, 32), (.rowInner, 544), (.leaf, 64), (.leaf, 40), (.integerIndexInner, 1056),
            (.listInner, 32),
        ] {
            guard let from = nodes(base, parent).first else { continue }
            for child in [
                Node.Kind.root, .table, .rowInner, .leaf, .chunk, .blob, .integerIndexLeaf, .bytesIndexLeaf, .listLeaf,
            ] {
                guard let to = nodes(base, child).last else { continue }
                let word = UInt64(to.lowerBound) + 1
                // A chunk does not say where it belongs: nothing but its own bytes tells it from another one with as
                // many rows of the same type.
                if Forging.get(base, offset: from.lowerBound + offset, UInt64.self) == word
                    || parent == .leaf && child == .chunk
                {
                    continue
                }
                let error = try damage { Forging.put(word, into: &$0, offset: from.lowerBound + offset) }
                #expect(error != nil, "\(parent) to \(child)")
            }
        }
    }

    @Test("counts that do not agree with the node's length, its parent or the schema") func counts() throws {
        for (kind, offset) in [
            (Node.Kind.leaf, 20), (.leaf, 48), (.table, 40), (.table, 56), (.rowInner, 20), (.rowInner, 1056),
            (.chunk, 24), (.integerIndexLeaf, 20), (.integerIndexLeaf, 24), (.integerIndexInner, 20),
            (.bytesIndexLeaf, 20), (.bytesIndexLeaf, 24),
            (.listLeaf, 20), (.listLeaf, 24), (.listLeaf, 38), (.listInner, 20), (.listInner, 544), (.blob, 20),
        ] {
            for value in [UInt32.max, 0, 1 << 20, 3] {
                let base = BaseStore.made.checkpoint
                guard let node = nodes(base, kind).last else { continue }
                if Forging.get(base, offset: node.lowerBound + offset, UInt32.self) == value { continue }
                // A shorter value or list is valid, too.
                if value < 4, kind == .blob || kind == .listInner && offset == 20 && value > 0 { continue }
                let error = try damage { Forging.put(value, into: &$0, offset: node.lowerBound + offset) }
                #expect(error != nil, "\(kind), byte \(offset): \(value)")
            }
        }
    }

    @Test("a next key that an object has already", arguments: [0, 5, 300, 599] as [UInt64])
    func nextKey(_ next: UInt64) throws {
        var files = try StoreFiles.made(Self.fill)
        files.forge { bytes in
            for table in StoreFiles.nodes(bytes, .table)
            where Forging.get(bytes, offset: table.lowerBound + 48, UInt64.self) == UInt64(Self.count) {
                Forging.put(next, into: &bytes, offset: table.lowerBound + 48)
            }
        }
        let store = try files.open()
        let before = store.publishedVersion
        #expect(throws: StoreError.self) {
            let transaction = try store.beginWrite()
            try BaseStore.add(
                transaction, table: BaseStore.person, values: [0: .int(7777), 1: .string("n"), 2: .string("k")])
            _ = try transaction.commit()
        }
        #expect(store.publishedVersion == before)
        #expect(throws: StoreError.self) { try store.verify() }
        // A transaction that assigns no key continues to work.
        let transaction = try store.beginWrite()
        transaction.set(BaseStore.person, column: 3, key: 3, to: .int(1))
        _ = try transaction.commit()
        try store.close()
    }

    @Test("a leaf that an inner node refers to twice") func sharedLeaf() throws {
        var files = try StoreFiles.made(Self.fill)
        try files.forge { bytes in
            let inner = try #require(StoreFiles.nodes(bytes, .rowInner).first).lowerBound
            let word: UInt64 = Forging.get(bytes, offset: inner + 544)
            // The other leaf has as many rows.
            #expect(
                Forging.get(bytes, offset: inner + 1056, UInt64.self)
                    == Forging.get(bytes, offset: inner + 1064, UInt64.self))
            Forging.put(word, into: &bytes, offset: inner + 552)
        }
        let store = try files.open()
        let error = #expect(throws: StoreError.self) { try store.verify() }
        #expect(error?.description.contains("twice") == true, "\(error as Any)")
        try store.close()
    }

    /// An append would write into it, behind the leaf's last row.
    @Test("a chunk of another leaf, of as many rows or of more", arguments: [1, 2]) func sharedChunk(leaf: Int) throws {
        var files = try StoreFiles.made(Self.fill)
        try files.forge { bytes in
            let leaves = StoreFiles.nodes(bytes, .leaf).map(\.lowerBound)
            let counts = leaves.map { Forging.get(bytes, offset: $0 + 20, UInt32.self) }
            try #require(leaves.count > 2 && counts[0] == counts[1] && counts[0] > counts[2])
            Forging.put(
                Forging.get(bytes, offset: leaves[0] + 64, UInt64.self), into: &bytes, offset: leaves[leaf] + 64)
        }
        let store = try files.open()
        let error = #expect(throws: StoreError.self) { try store.verify() }
        #expect(error?.description.contains("referred to twice") == true, "\(error as Any)")
        try store.close()
    }

    /// An append would write into the mapped memory of the file.
    @Test("a chunk with capacity for more rows than its leaf has") func roomyChunk() throws {
        var files = try StoreFiles.made(Self.fill)
        try files.forge { bytes in
            // The keys are consecutive, so the packed chunk of the first column has the same length for any number of
            // rows.
            let leaf = try #require(StoreFiles.nodes(bytes, .leaf).last).lowerBound
            let chunk = StoreFiles.target(bytes, leaf + 64)
            let rows: UInt32 = Forging.get(bytes, offset: chunk + 24)
            #expect(
                rows == Forging.get(bytes, offset: leaf + 20)
                    && bytes[chunk + 17] == ChunkEncoding.Form.integers.rawValue)
            Forging.put(rows + 1, into: &bytes, offset: chunk + 24)
        }
        let store = try files.open()
        let error = #expect(throws: StoreError.self) { try store.verify() }
        #expect(error?.description.contains("were expected") == true, "\(error as Any)")
        try store.close()
    }

    @Test("more keys of a leaf than were checked for another leaf") func moreKeys() {
        let node = Node(UnsafeMutableRawPointer.allocate(byteCount: 96, alignment: 32))
        defer { node.address.deallocate() }
        node.address.initializeMemory(as: UInt8.self, repeating: 0, count: 96)
        node.store(Node.Kind.chunk.rawValue | Node.onDiskBit, 16)
        (node.width, node.capacity, node.byteCount) = (8, 3, 96)
        for (row, key) in [Int64(5), 7, 6].enumerated() { node.store(key, 64 + 8 * row) }
        let schema = ResolvedSchema(BaseStore.schema)
        var check = NodeCheck(node: node, claim: NodeClaim(.keys, count: 2), schema: schema, isOpened: false)
        #expect(throws: Never.self) { try check.check() }
        #expect(check.isEnough(node, NodeClaim(.keys, count: 2)))
        #expect(!check.isEnough(node, NodeClaim(.keys, count: 3)))
    }

    /// Readers and writers of keys assume numbers of 8 bytes.
    @Test("packed keys of a leaf") func packedKeys() {
        let node = Node(UnsafeMutableRawPointer.allocate(byteCount: 96, alignment: 32))
        defer { node.address.deallocate() }
        node.address.initializeMemory(as: UInt8.self, repeating: 0, count: 96)
        node.store(Node.Kind.chunk.rawValue | Node.onDiskBit, 16)
        (node.form, node.width, node.capacity, node.byteCount) = (ChunkEncoding.Form.integers.rawValue, 8, 3, 96)
        node.store(Int64(5), NodeLayout.EncodedChunk.base)
        node.store(Int64(1), NodeLayout.EncodedChunk.step)
        // They ascend whether they are read as packed or as plain numbers.
        for row in 0..<3 { node.store(Int64(row), 64 + 8 * row) }
        var check = NodeCheck(
            node: node, claim: NodeClaim(.keys, count: 3), schema: ResolvedSchema(BaseStore.schema), isOpened: true)
        #expect(throws: Damage.self) { try check.check() }
    }

    @Test("compressed text that is not UTF-8, or has nulls although it is not nullable", arguments: [true, false])
    func compressedText(isNull: Bool) throws {
        var files = try StoreFiles.made { transaction in
            for id in 0..<Self.count {
                try BaseStore.add(
                    transaction, table: BaseStore.person,
                    values: [
                        0: .int(Int64(id)),
                        2: .string("a kind that repeats itself, repeats itself, repeats itself \(id &* 48271) \(id)"),
                    ])
            }
        }
        var forged = false
        files.forge { bytes in
            for chunk in StoreFiles.nodes(bytes, .chunk)
            where bytes[chunk.lowerBound + 17] == ChunkEncoding.Form.lz4.rawValue {
                let start = chunk.lowerBound
                let width = Int(bytes[start + 40])
                let rows = Int(Forging.get(bytes, offset: start + 24, UInt32.self))
                let heap = Int(Forging.get(bytes, offset: start + 44, UInt32.self))
                let compressed = Int(Forging.get(bytes, offset: start + 48, UInt32.self))
                var text = [UInt8](repeating: 0, count: width * rows + heap)
                text.withUnsafeMutableBytes { target in
                    bytes.withUnsafeBytes { source in
                        try! LZ4.decompress(
                            UnsafeRawBufferPointer(rebasing: source[start + 64..<start + 64 + compressed]), into: target
                        )
                    }
                }
                if isNull {
                    for byte in 0..<width { text[(rows - 1) * width + byte] = 0xFF }
                } else {
                    text[width * rows] = 0xFF
                }
                var output = [UInt8](repeating: 0, count: chunk.count - 64)
                var compressor = LZ4()
                let count = output.withUnsafeMutableBytes { target in
                    text.withUnsafeBytes { compressor.compress($0, into: target) }
                }
                guard let count else { continue }
                let again = output[..<count]
                bytes.replaceSubrange(start + 64..<start + 64 + again.count, with: again)
                Forging.put(UInt32(again.count), into: &bytes, offset: start + 48)
                forged = true
            }
        }
        guard forged else {
            Issue.record("no compressed chunk was forged")
            return
        }
        let store = try files.open()
        #expect(throws: StoreError.self) { try store.verify() }
        try store.close()
    }

    @Test("opening that verifies everything refuses what only a check of the structure finds") func everything() throws
    {
        var files = try StoreFiles.made(Self.fill)
        try files.forge { bytes in
            let leaf = try #require(StoreFiles.nodes(bytes, .leaf).last)
            Forging.put(UInt32(255), into: &bytes, offset: leaf.lowerBound + 20)
        }
        #expect(throws: StoreError.self) { try files.open(verifying: true).close() }
        // Without that verification the fault is found only when the leaf is read.
        try files.open().close()
    }

    private static let count = 600

    private static func fill(_ transaction: WriteTransaction) throws {
        for id in 0..<count {
            try BaseStore.add(
                transaction, table: BaseStore.person,
                values: [
                    0: .int(Int64(id)), 1: .string("Person \(id * 7919 % 1000)"), 2: .string("kind \(id % 5)"),
                    3: .int(Int64(id)),
                ])
        }
    }

    @Test("an inner node that is its own child causes no endless walk") func circle() throws {
        for kind in [Node.Kind.rowInner, .integerIndexInner, .listInner] {
            guard let node = nodes(BaseStore.made.checkpoint, kind).first else { continue }
            let refs = kind == .rowInner ? 544 : kind == .integerIndexInner ? 1056 : 32
            let error = try damage {
                Forging.put(UInt64(node.lowerBound) + 1, into: &$0, offset: node.lowerBound + refs)
            }
            #expect(error != nil, "\(kind)")
        }
    }
}
