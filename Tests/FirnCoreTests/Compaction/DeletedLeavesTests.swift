import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// Complete leaves of a checkpoint are deleted: versions that hold them can still be read, and all their nodes are
/// known to be garbage.
@Suite(.timeLimit(.minutes(20))) struct DeletedLeavesTests {
    private static let table = TableID(0)

    private static func options(_ folder: TemporaryFolder) -> StoreOptions {
        var options = StoreOptions(log: LogOptions(folder: folder.path + "/store"))
        options.compaction.isAutomatic = false
        return options
    }

    /// Bytes in the checkpoint's files that the newest version does not reach, counted by a walk over it.
    private static func garbage(_ store: Store) throws -> Int {
        let pin = store.pin()
        let mapping = try #require(pin.mapping)
        let walk = try CleaningPlan(
            pin.snapshot, in: mapping, besides: mapping.withDead { $0.holes }, clearing: { _ in 0 }, fileCount: nil,
            by: store.compaction.thread)
        #expect(walk.unknown.isEmpty, "a node is neither alive nor known to be dead")
        return walk.deadByteCount
    }

    private static func delete(_ keys: some Sequence<Int64>, _ store: Store) throws {
        let transaction = try store.beginWrite()
        for key in keys { transaction.delete(table, key) }
        try transaction.commit()
    }

    private static func fault(_ snapshot: Snapshot, _ ids: [Int64]) -> String? {
        let view = snapshot.table(table)
        if view.count != ids.count { return "\(view.count) objects, not \(ids.count)" }
        for (position, id) in ids.enumerated() where position % 7 == 0 {
            guard let key = view.firstKey(primaryKeyInt: id), view.value(0, of: key) == .int(id),
                view.value(1, of: key) == .string("person number \(id), born to be one of many"),
                view.position(of: key) == position
            else { return "object \(id)" }
        }
        return nil
    }

    @Test(arguments: [0..<256, 512..<1024, 2816..<3000, 0..<2999, 0..<3000] as [Range<Int64>])
    func deletedLeavesOfACheckpointAreGarbageAsSoonAsNoVersionHoldsThem(_ keys: Range<Int64>) throws {
        let folder = TemporaryFolder()
        var store = try Store(Self.options(folder), storage: PosixStorage.shared)
        try People.fill(store, 3000)
        _ = try #require(try store.compact())
        #expect(try Self.garbage(store) == store.context.checkpointGarbage.load(ordering: .relaxed))
        var held: Pin? = store.pin()
        let all = Array(0..<Int64(3000))
        let left = all.filter { !keys.contains($0) }
        // Row by row from both ends, so that the last remaining row of a leaf is sometimes its first and sometimes
        // its last.
        try Self.delete(keys.filter { $0 % 2 == 0 }, store)
        try Self.delete(keys.filter { $0 % 2 == 1 }.reversed(), store)
        store._checkInvariants()
        #expect(Self.fault(store.pin().snapshot, left) == nil)
        #expect(Self.fault(held!.snapshot, all) == nil)
        #expect(try Self.garbage(store) == store.context.checkpointGarbage.load(ordering: .relaxed))
        try store.compact()
        store._checkInvariants()
        #expect(Self.fault(held!.snapshot, all) == nil && Self.fault(store.pin().snapshot, left) == nil)
        #expect(try Self.garbage(store) == store.context.checkpointGarbage.load(ordering: .relaxed))
        held = nil
        try Self.delete(left.first.map { [$0] } ?? [], store)
        try store.compact()
        store._checkInvariants()
        #expect(try Self.garbage(store) == store.context.checkpointGarbage.load(ordering: .relaxed))
        try store.close()
        store = try Store(Self.options(folder), storage: PosixStorage.shared)
        #expect(Self.fault(store.pin().snapshot, Array(left.dropFirst())) == nil)
        store._checkInvariants()
    }
}
