import Firn
import FirnTestSupport
import Foundation
import Testing

/// The sections of random collections by random keys are those of a plain oracle: of results, lists, sets, projections
/// and values, by numbers, texts, dates, NaN, links and what is computed, while a random program writes here and on
/// another thread. Frames applied to what was shown give what is shown, of all sections and of each alone, and frozen
/// sections stay (R91, R93; SEMANTICS 52, 54, 68, 70, 91).
///
/// `FIRN_PROGRAMS=10000` runs so many.
@Suite(.timeLimit(.minutes(60))) struct SectionProgramTests {
    private static let count = TestEnvironment.programCount(40)

    @Test(arguments: 0..<2) @MainActor func sectionsAreThoseOfTheOracle(part: Int) async throws {
        let frames = try await SectionProgram.run(Self.count, part: part)
        #expect(frames > 20 * Self.count / 2, "too few frames to tell anything")
    }
}
