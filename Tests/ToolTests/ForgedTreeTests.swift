import FirnBytes
import FirnStorage
import FirnTestSupport
import ForgedStores
import Testing

@testable import FirnTool

/// Intact nodes whose references lead to nodes of the right kind, and still make up a path without end.
@Suite("Shared nodes of a checkpoint do not make reading it endless", .timeLimit(.minutes(20)))
struct ForgedTreeTests {
    /// Appends inner nodes above a leaf, each of which has the one below it as all of its 64 children. Returns the
    /// position of the topmost one.
    private func tower(
        _ store: inout ForgedStore, above leaf: Int, levels: Int, _ inner: (_ level: Int, _ below: Int) -> [UInt8]
    ) -> Int {
        var below = leaf
        for level in 1...levels { below = store.append([inner(level, below)])[0] }
        return below
    }

    private static let tooMany = "the references lead to more than the files hold"

    private func expectDamage(_ store: ForgedStore, name: String, text: String) throws {
        let (verify, _) = try ForgedStore.run(store.storage(), name, shows: [5], replays: [4])
        #expect(verify.status == .damage && verify.out.contains(text), "\(name): \(verify.out)")
        #expect(verify.out.contains("1 finding of damage"), "\(name): \(verify.out)")
    }

    @Test("an index that has one leaf 64^6 times") func index() throws {
        try expectDamage(index(ofLeavesFor: 64), name: "index", text: "the backlinks of Person.friend: " + Self.tooMany)
    }

    @Test("a leaf that is not the root of its index, and as small as only a root may be", arguments: [4, 16])
    func smallLeaf(capacity: Int) throws {
        let (verify, _) = try ForgedStore.run(
            index(ofLeavesFor: capacity).storage(), "capacity \(capacity)", shows: [5], replays: [4])
        #expect(verify.status == .damage && verify.out.contains("has the capacity of a root"), "\(verify.out)")
    }

    /// A store with an index of 64^6 entries, all in the same leaf.
    private func index(ofLeavesFor capacity: Int) -> ForgedStore {
        var store = ForgedStore()
        var leaf = ForgedStore.node(.integerIndexLeaf, byteCount: 32 + 16 * capacity, count: 1, capacity: capacity)
        Forging.put(UInt64(7), into: &leaf, offset: 32)
        let position = store.append([leaf])[0]
        let root = tower(&store, above: position, levels: 6) { level, below in
            var node = ForgedStore.node(
                .integerIndexInner, byteCount: 2080, width: level, count: 64, capacity: 64)
            for child in 0..<64 {
                Forging.put(UInt64(7), into: &node, offset: 32 + 8 * child)
                Forging.put(UInt64(below) + 1, into: &node, offset: 1056 + 8 * child)
                Forging.put(UInt64(1) << UInt64(6 * (level - 1)), into: &node, offset: 1568 + 8 * child)
            }
            return node
        }
        // The backlinks of Person.friend: a column of links, of which one object may have any number.
        let table = store.nodes(.table)[1].lowerBound
        Forging.put(UInt64(root) + 1, into: &store.checkpoint, offset: table + 72 + 16 * 4)
        store.sealCheckpoint()
        return store
    }

    @Test("a list that has one leaf 64^6 times") func list() throws {
        var store = ForgedStore()
        // One element, the string "a": count, part.
        var leaf = ForgedStore.node(.listLeaf, byteCount: 64, count: 1, capacity: 4)
        leaf.replaceSubrange(38..<42, with: [1, 0, 3, 97])
        let position = store.append([leaf])[0]
        let root = tower(&store, above: position, levels: 6) { level, below in
            var node = ForgedStore.node(.listInner, byteCount: 800, width: level, count: 64)
            for child in 0..<64 {
                Forging.put(UInt64(below) + 1, into: &node, offset: 32 + 8 * child)
                Forging.put(
                    UInt32(truncatingIfNeeded: (child + 1) << (6 * (level - 1))), into: &node, offset: 544 + 4 * child)
            }
            return node
        }
        // The chunk that holds the reference of the one long list that the store has.
        let old = UInt64(store.nodes(.listInner)[0].lowerBound) + 1
        let chunk = try #require(
            store.nodes(.chunk).compactMap { node in
                (node.lowerBound..<node.upperBound - 8).first { Forging.get(store.checkpoint, offset: $0) == old }
            }.first)
        Forging.put(UInt64(root) + 1, into: &store.checkpoint, offset: chunk)
        store.sealCheckpoint()
        try expectDamage(store, name: "list", text: "Person: " + Self.tooMany)
    }

    @Test("16,384 tables that are one and the same") func tables() throws {
        var store = ForgedStore()
        let root = store.nodes(.root)[0].lowerBound
        let table: UInt64 = Forging.get(store.checkpoint, offset: root + 32)
        var node = ForgedStore.node(.root, byteCount: 32 + 8 * 16_384, count: 16_384)
        for number in 0..<16_384 { Forging.put(table, into: &node, offset: 32 + 8 * number) }
        let position = store.append([node])[0]
        // A schema of as many tables of no columns.
        var writer = ByteWriter()
        writer.appendVarint(1)
        writer.appendVarint(16_384)
        for number in 0..<16_384 {
            writer.appendString("T\(number)")
            writer.append(UInt8(0))
            writer.appendVarint(0)
        }
        store.setState(root: UInt64(position), schema: writer.array())
        store.sealCheckpoint()
        try expectDamage(store, name: "tables", text: Self.tooMany)
    }

    @Test("one blob that every cell of a leaf leads to") func blob() throws {
        var store = ForgedStore()
        let length = 1 << 20
        let position = store.append([ForgedStore.node(.blob, byteCount: 32 + length, count: length)])[0]
        // Person.name: variable, and each row refers to the blob.
        for leaf in store.nodes(.leaf).dropFirst() {
            let rows = Int(Forging.get(store.checkpoint, offset: leaf.lowerBound + 20, UInt32.self))
            let heap = 64 + 4 * rows
            let table = heap + 8 * rows
            var chunk = ForgedStore.node(.chunk, byteCount: table + 4 * rows, form: 1, count: 8 * rows, capacity: rows)
            Forging.put(UInt32(table), into: &chunk, offset: 32)
            Forging.put(UInt32(rows), into: &chunk, offset: 36)
            for row in 0..<rows {
                Forging.put(UInt16(8 * row), into: &chunk, offset: 64 + 4 * row)
                Forging.put(UInt16(0xFFFE), into: &chunk, offset: 66 + 4 * row)
                Forging.put(UInt64(position) + 1, into: &chunk, offset: heap + 8 * row)
                Forging.put(UInt32(heap + 8 * row), into: &chunk, offset: table + 4 * row)
            }
            Forging.put(UInt64(store.append([chunk])[0]) + 1, into: &store.checkpoint, offset: leaf.lowerBound + 64 + 8)
        }
        store.sealCheckpoint()
        try expectDamage(store, name: "blob", text: Self.tooMany)
    }

    @Test("a map's keys are compared with those before them, wherever these are stored") func mapKeys() throws {
        var store = ForgedStore()
        let keys = ["a", "b", "c"].map { letter in
            var node = ForgedStore.node(.blob, byteCount: 32 + 4096, count: 4096)
            node.replaceSubrange(32..<32 + 4096, with: Array(String(repeating: letter, count: 4096).utf8))
            return node
        }
        let positions = store.append(keys)
        // A chunk of 256 rows, of which the first holds three entries with long keys and empty strings as values.
        let heap = 64 + 4 * 256
        let count = 2 + 3 * 10
        let table = heap + count
        var chunk = ForgedStore.node(.chunk, byteCount: table + 12, form: 1, count: count, capacity: 256)
        Forging.put(UInt32(table), into: &chunk, offset: 32)
        Forging.put(UInt32(3), into: &chunk, offset: 36)
        Forging.put(UInt16(count), into: &chunk, offset: 66)
        Forging.put(UInt16(3), into: &chunk, offset: heap)
        for (index, position) in positions.enumerated() {
            let at = heap + 2 + 10 * index
            chunk[at] = 1
            Forging.put(UInt64(position) + 1, into: &chunk, offset: at + 1)
            chunk[at + 9] = 2
            Forging.put(UInt32(at + 1), into: &chunk, offset: table + 4 * index)
        }
        store.sealCheckpoint()
        let storage = try { () -> MemoryStorage in
            let position = store.append([chunk])[0]
            let leaf = store.nodes(.leaf)[0].lowerBound
            let number = BaseStore.schema.tables[0].columns.firstIndex {
                $0.type == .string && $0.collection == .map
            }!
            Forging.put(UInt64(position) + 1, into: &store.checkpoint, offset: leaf + 64 + 8 * number)
            store.sealCheckpoint()
            return try store.storage()
        }()
        let verify = try Run.verify(storage)
        #expect(verify.status == .fine, "\(verify.out)")
    }
}

extension ForgedStore {
    /// Puts another root and another schema into the footer's state.
    mutating func setState(root: UInt64, schema: [UInt8]) {
        var footer = Array(checkpoint[footer..<state])
        let nodes = Array(checkpoint[..<self.footer])
        var words = Array(checkpoint[state..<state + 24])
        Forging.put(root, into: &words, offset: 0)
        Forging.put(UInt64(0), into: &words, offset: 16)
        Forging.put(UInt32(24 + schema.count), into: &footer, offset: 44)
        footer += words + schema
        footer += [UInt8](repeating: 0, count: -(footer.count + 8) & 63) + [0, 0, 0, 0, 0, 0, 0, 0]
        Forging.put(UInt32(footer.count), into: &footer, offset: footer.count - 8)
        checkpoint = nodes + footer
    }
}
