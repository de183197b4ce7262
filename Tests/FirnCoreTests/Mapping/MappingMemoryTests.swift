import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore
@testable import FirnLog

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// How much memory a mapping takes for the nodes that were read.
@Suite(.timeLimit(.minutes(20)), .disabled(if: TestEnvironment.hasKey)) struct MappingMemoryTests {
    private static let folder = "/store"
    private static let rowCount = 40_000
    private static let pageByteCount = ReservedMemory.pageByteCount

    private static func makeStore(_ storage: any Storage) throws -> Store {
        let store = try Store(People.options(folder), storage: storage, clock: ManualClock())
        try People.fill(store, rowCount)
        _ = try store.compact(garbageShare: 0, rewritesAll: true)
        return store
    }

    /// Gives some people another age, and adds what has changed to the checkpoint.
    private static func change(_ store: Store, every step: Int, _ round: Int) throws {
        let transaction = try store.beginWrite()
        for id in stride(from: 0, to: rowCount, by: step) {
            transaction.set(TableID(0), column: 2, key: Int64(id), to: .int(Int64((id + round) * 7 % 90)))
        }
        try transaction.commit()
        _ = try store.compact(garbageShare: 10)
    }

    /// Reads all nodes of the newest version that are in the mapping.
    private static func readAll(_ store: Store, _ mapping: CheckpointMapping) {
        let pin = store.pin()
        var units = BitSet(count: mapping.unitCount)
        pin.snapshot.forEachOnDiskNode(below: mapping) { #expect(mapping.mark(from: $0, in: &units) == nil) }
        withExtendedLifetime(pin) {}
    }

    /// The whole pages of some ranges of the mapping that are in memory, by their offsets.
    private static func residentPages(_ mapping: CheckpointMapping, _ ranges: [Range<Int>]) throws -> [Int] {
        var resident: [Int] = []
        for range in ranges {
            let pages = FreeSpaceMap.blocks(range, of: pageByteCount)
            if pages.isEmpty { continue }
            var states = [UInt8](repeating: 0, count: pages.count / pageByteCount)
            try #require(mincore(mapping.base + pages.lowerBound, pages.count, &states) == 0)
            resident += states.indices.filter { states[$0] & 1 != 0 }.map { pages.lowerBound + $0 * pageByteCount }
        }
        return resident
    }

    /// A page costs memory as long as a version reaches a node in it, and no longer.
    @Test func theMemoryOfFreeNodesIsReturned() throws {
        let store = try Self.makeStore(MemoryStorage())
        let mapping = try #require(store.versions.published.mapping)
        let file = try #require(mapping.files.first)
        Self.readAll(store, mapping)
        let read = try Self.residentPages(mapping, [file.range])
        var held: Pin? = store.pin()
        for round in 1...2 { try Self.change(store, every: 20, round) }
        #expect(try Self.residentPages(mapping, [file.range]) == read)
        withExtendedLifetime(held) {}
        held = nil
        try Self.change(store, every: 20, 3)
        try #require(store.versions.published.mapping === mapping)
        let free = mapping.withDead { $0.free.filter(file.range.overlaps) }
        let pages = free.reduce(0) { $0 + FreeSpaceMap.blocks($1, of: Self.pageByteCount).count } / Self.pageByteCount
        #expect(pages > 20)
        #expect(try Self.residentPages(mapping, free) == [])
        #expect(try Self.residentPages(mapping, [file.range]).count == read.count - pages)
        let pin = store.pin()
        mapping.checkAlive(pin.snapshot, at: pin.snapshot.root.stamp)
        try store.close()
    }

    /// The nodes that lead to values share pages with each other and with nothing else, except at the ends.
    @Test func theNodesThatLeadToValuesLieTogether() throws {
        let storage = MemoryStorage()
        let store = try Self.makeStore(storage)
        for step in [1, 300] {
            if step > 1 { try Self.change(store, every: step, step) }
            let entry = try #require(store.log?.checkpoint?.ownFile)
            let file = try storage.open("\(Self.folder)/checkpoint/000000000\(entry.id).checkpoint", .read)
            defer { file.close() }
            let bytes = try file.read(entry.byteCount, at: 0)
            var pages: Set<Int> = []
            var byteCount = 0
            bytes.withUnsafeBytes { bytes in
                var offset = CheckpointFileWriter.headerByteCount
                while offset + OnDiskNode.unit < bytes.count {
                    let node = Node(UnsafeMutableRawPointer(mutating: bytes.baseAddress.unsafelyUnwrapped + offset))
                    switch node.kind {
                    case .root, .table, .rowInner, .leaf, .integerIndexInner, .bytesIndexInner:
                        byteCount += node.byteCount
                        pages.formUnion(offset >> 12...(offset + node.byteCount - 1) >> 12)
                    case .chunk, .blob, .integerIndexLeaf, .bytesIndexLeaf, .listInner, .listLeaf: break
                    }
                    offset += node.byteCount
                }
            }
            #expect(byteCount > 5 << 12)
            #expect(pages.count <= byteCount >> 12 + 2)
        }
        try store.close()
    }
}
