import FirnLog
import FirnStorage
import FirnTestSupport
import ForgedStores
import Testing

@testable import FirnCore

@Suite("Unused bytes of checkpoint nodes are zero, not the program's memory", .timeLimit(.minutes(20)))
struct UnusedBytesTests {
    private static let schema = StoreSchema(tables: [
        TableSchema(
            name: "Thing", primaryKey: 0,
            columns: [
                ColumnSchema(name: "id", type: .int),
                ColumnSchema(name: "name", type: .string, isIndexed: true),
                ColumnSchema(name: "number", type: .int, isIndexed: true),
                ColumnSchema(name: "level", type: .double, isNullable: true),
                ColumnSchema(name: "friend", type: .link, target: TableID(0)),
                ColumnSchema(name: "numbers", type: .int, collection: .list),
                ColumnSchema(name: "texts", type: .string, collection: .list),
                ColumnSchema(name: "mixed", type: .mixed),
                ColumnSchema(name: "data", type: .data, isNullable: true),
            ]),
        TableSchema(name: "Few", primaryKey: 0, columns: [ColumnSchema(name: "id", type: .string)]),
    ])

    /// Fills free memory with a byte, between blocks that stay in use. The caller frees those.
    private static func fillFreeMemory(_ byte: UInt8) -> [UnsafeMutableRawPointer] {
        var (used, free): ([UnsafeMutableRawPointer], [UnsafeMutableRawPointer]) = ([], [])
        for size in [1 << 22, 1 << 22, 1 << 21, 1 << 20] {
            let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
            memory.initializeMemory(as: UInt8.self, repeating: byte, count: size)
            memory.deallocate()
        }
        for size in [96, 256, 288, 800, 1024, 1056, 1568, 2080, 2096, 4096, 4112] {
            for number in 0..<80 {
                let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
                memory.initializeMemory(as: UInt8.self, repeating: byte, count: size)
                if number % 2 == 0 { free.append(memory) } else { used.append(memory) }
            }
        }
        for memory in free { memory.deallocate() }
        return used
    }

    /// The checkpoint file of a store that is always made by the same steps, while free memory is filled with a byte.
    private static func checkpoint(amid byte: UInt8) throws -> [UInt8] {
        var used: [UnsafeMutableRawPointer] = []
        defer { for memory in used { memory.deallocate() } }
        let storage = MemoryStorage()
        let store = try Store(
            BaseStore.options(), storage: storage, clock: ManualClock(), randomness: SeededRandomness(seed: 1))
        func commit(_ body: (WriteTransaction) throws -> Void) throws {
            used += fillFreeMemory(byte)
            let transaction = try store.beginWrite()
            try body(transaction)
            try transaction.commit()
        }
        try commit { try $0.changeSchema(to: schema) }
        try commit { transaction in
            for id in 0..<700 {
                let number = id * 7919 % 1009
                try BaseStore.add(
                    transaction, table: TableID(0),
                    values: [
                        0: .int(Int64(number)), 1: .string("name \(number)"), 2: .int(Int64(number % 40)),
                        3: id % 3 == 0 ? .null : .double(Double(id) / 7), 4: id < 9 ? .null : .link(Int64(id % 9)),
                        7: id % 4 == 0 ? .string("text \(id)") : .int(Int64(id)),
                        8: id % 100 == 0 ? .data([UInt8](repeating: 1, count: 1300 + id)) : .null,
                    ])
            }
            try BaseStore.add(transaction, table: TableID(1), values: [0: .string("one")])
        }
        try commit { transaction in
            transaction.edit(TableID(0), column: 5, key: 5) { list in
                for number in 0..<1500 { list.append(.int(Int64(number))) }
            }
            transaction.edit(TableID(0), column: 6, key: 6) { list in
                for number in 0..<300 {
                    list.append(.string(String(repeating: "t", count: number % 40 == 7 ? 1300 : number % 9)))
                }
            }
            for key in Int64(100)..<150 { transaction.delete(TableID(0), key) }
        }
        used += fillFreeMemory(byte)
        _ = try store.compact()
        try store.close()
        let name = try #require(try storage.list(BaseStore.folder + "/checkpoint").max())
        return try storage.bytes(BaseStore.folder + "/checkpoint/" + name)
    }

    @Test("two stores that are made by the same steps have the same bytes") func same() throws {
        let first = try Self.checkpoint(amid: 0xA5)
        let second = try Self.checkpoint(amid: 0x5A)
        #expect(first.count == second.count)
        var kinds: Set<UInt8> = []
        for node in Forging.nodes(of: first) where first[node] != second[node] {
            // Compares everything but the checksum.
            let payload = node.lowerBound + 12..<node.upperBound
            if first[payload] != second[payload] { kinds.insert(first[node.lowerBound + 16] & 0x3F) }
        }
        #expect(kinds.isEmpty, "nodes of the kinds \(kinds.compactMap(Node.Kind.init)) differ")
        let all = Set(Forging.nodes(of: first).map { first[$0.lowerBound + 16] & 0x3F })
        #expect(all.count == 12, "\(all)")
        #expect(first == second)
    }

    @Test("slots behind the last entry are zero") func emptySlots() throws {
        let bytes = try Self.checkpoint(amid: 0xA5)
        func expectZeros(_ node: Int, _ range: Range<Int>, _ text: String) {
            #expect(bytes[node + range.lowerBound..<node + range.upperBound].allSatisfy { $0 == 0 }, "\(text)")
        }
        for node in Forging.nodes(of: bytes) {
            let start = node.lowerBound
            let count = Int(Forging.get(bytes, offset: start + 20, UInt32.self))
            let capacity = Int(Forging.get(bytes, offset: start + 24, UInt32.self))
            switch Node.Kind(rawValue: bytes[start + 16] & 0x3F) {
            case .integerIndexInner:
                for part in 0..<4 {
                    expectZeros(start, 32 + 512 * part + 8 * count..<32 + 512 * (part + 1), "an inner node")
                }
            case .integerIndexLeaf where bytes[start + 17] == 0:
                for part in 0..<2 {
                    let slots = 32 + 8 * capacity * part
                    expectZeros(start, slots + 8 * count..<slots + 8 * capacity, "a leaf of an index")
                }
            case .bytesIndexInner, .bytesIndexLeaf: expectZeros(start, 40 + 8 * count..<capacity, "a page of an index")
            case .listInner:
                expectZeros(start, 32 + 8 * count..<544, "references of a list")
                expectZeros(start, 544 + 4 * count..<800, "ends of a list")
            default: break
            }
        }
    }
}
