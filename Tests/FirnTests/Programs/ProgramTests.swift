import FirnTestSupport
import Foundation
import Testing

/// Random programs over all types agree with an oracle: in a transaction, after it, in frozen realms, after a
/// compaction, after a recovery, after a reopening, and in past versions (R18 to R20, R46, R50, R52, R57, R59).
///
/// `FIRN_PROGRAMS=10000` runs so many.
@Suite(.timeLimit(.minutes(60))) struct ProgramTests {
    private static let count = TestEnvironment.programCount(150)

    @Test(arguments: 0..<10) func aProgramDoesWhatItsOracleSays(part: Int) throws {
        for seed in 0..<Self.count where seed % 10 == part {
            try ProgramRun(seed: UInt64(seed + 1)).run()
        }
    }
}
