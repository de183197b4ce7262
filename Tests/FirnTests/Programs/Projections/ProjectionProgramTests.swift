import Firn
import FirnTestSupport
import Foundation
import Testing

/// Projections show what a plain oracle says, whatever a random program writes: through links, embedded objects, lists,
/// sets and what is computed, also when objects on the way are deleted; frozen, thawed and on other threads. Observers
/// are told each change, with what was and what is, and frames of results and of projected collections give what is
/// shown (R94, R95; SEMANTICS 44, 45, 47, 52 to 54, 63, 64).
///
/// `FIRN_PROGRAMS=10000` runs so many.
@Suite(.timeLimit(.minutes(60))) struct ProjectionProgramTests {
    private static let count = TestEnvironment.programCount(20)

    @Test(arguments: 0..<2) @MainActor func projectionsShowWhatTheOracleSays(part: Int) async throws {
        let frames = try await ProjectionProgram.run(Self.count, part: part)
        #expect(frames > 20 * Self.count / 2, "too few frames to tell anything")
    }
}
