import FirnLog
import FirnSimulation
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// Runs random operations against the store and the oracle: they must agree at every pinned version, and the heap
/// must contain exactly what the pins reach.
@Suite(.timeLimit(.minutes(TestEnvironment.minutes))) struct ModelTests {
    @Test(arguments: [1, 2, 3] as [UInt64])
    func everyPinnedVersionAgreesWithTheOracle(seed: UInt64) throws {
        try ModelRun(seed: seed).run(transactions: 80, operations: 60)
    }

    /// Committed data is there after closing and opening, whatever was changed in between.
    @Test(arguments: [11, 12] as [UInt64])
    func reopeningGivesWhatWasCommitted(seed: UInt64) throws {
        try ModelRun(seed: seed, storage: MemoryStorage()).run(transactions: 60, operations: 60)
    }

    /// Versions that are written to checkpoints and read in place keep their content, held or not, whatever is
    /// committed later.
    @Test(arguments: [31, 32, 33] as [UInt64])
    func checkpointsChangeNothing(seed: UInt64) throws {
        let run = try ModelRun(seed: seed, storage: MemoryStorage(), compactsEvery: 4)
        try run.run(transactions: 80, operations: 60)
        // Some compactions added to a checkpoint's files, and some began new ones.
        #expect(run.checkpointCount.whole > 2)
        #expect(run.checkpointCount.added > 2)
    }

    /// Leaves split as values grow, their right halves are deleted, and new objects go into the left ones, on the heap
    /// and in checkpoints.
    @Test(arguments: [61, 62, 63, 64] as [UInt64])
    func splitLeavesChangeNoOtherVersion(seed: UInt64) throws {
        try ModelRun(
            seed: seed, rowGoal: 600, storage: MemoryStorage(), compactsEvery: seed % 2 == 0 ? 4 : 0, splitsOften: true
        )
        .run(transactions: 80, operations: 60)
    }

    @Test(arguments: [41, 42] as [UInt64])
    func mappedCheckpointsChangeNothing(seed: UInt64) throws {
        let folder = TemporaryFolder()
        try ModelRun(
            seed: seed, rowGoal: 1500, storage: PosixStorage.shared, folder: folder.path + "/store", compactsEvery: 3
        )
        .run(transactions: 30, operations: 400)
    }

    /// A transaction that exceeds its memory limit continues in scratch files, and none of them is left.
    @Test(.disabled(if: TestEnvironment.hasKey)) func aTransactionLargerThanItsMemoryContinuesInScratchFiles() throws {
        let storage = MemoryStorage()
        let run = try ModelRun(seed: 21, storage: storage) { $0.transactionMemoryByteCount = 4096 }
        try run.run(transactions: 20, operations: 60)
        #expect(run.spilledNodeCount > 100)
        #expect(try storage.list("store").allSatisfy { !$0.hasPrefix("scratch") })
    }

    /// If more versions are held than the limit allows, the oldest versions are spilled, and keep their content.
    @Test(.disabled(if: TestEnvironment.hasKey), arguments: [51, 52] as [UInt64])
    func spillingVersionsChangesNothing(seed: UInt64) throws {
        let folder = TemporaryFolder()
        let run = try ModelRun(
            seed: seed, storage: PosixStorage.shared, folder: folder.path + "/store", compactsEvery: 9
        ) {
            $0.maximumNumberOfActiveVersions = 1
            $0.activeVersionPolicy = .spill
        }
        try run.run(transactions: 80, operations: 60)
        #expect(run.spilledVersionCount > 20)
        let spill = try #require(run.store.heap.spill)
        #expect(spill.arenaCount <= 2)
        #expect(!(try PosixStorage.shared.list(folder.path + "/store").contains { $0.hasPrefix("scratch") }))
    }

    /// Many operations on tables of thousands of rows; `FIRN_MODEL_OPERATIONS` sets their number.
    @Test func aLongRunAgreesWithTheOracle() throws {
        try ModelRun(seed: 99, rowGoal: 3000, storage: MemoryStorage()).run(
            transactions: Self.longRun / 750, operations: 1500)
    }

    @Test func aLongRunWithCheckpointsAgreesWithTheOracle() throws {
        let folder = TemporaryFolder()
        let run = try ModelRun(
            seed: 98, rowGoal: 3000, storage: PosixStorage.shared, folder: folder.path + "/store", compactsEvery: 3)
        try run.run(transactions: Self.longRun / 750, operations: 1500)
        #expect(run.checkpointCount.whole > 0)
    }

    private static var longRun: Int { Int(TestEnvironment.value("FIRN_MODEL_OPERATIONS") ?? "") ?? 6_000 }
}
