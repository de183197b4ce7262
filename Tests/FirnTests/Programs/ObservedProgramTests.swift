import FirnTestSupport
import Foundation
import Testing

@testable import Firn

/// While a random program runs on another thread, or in another process, observers of every kind are called on the main
/// actor: their frames, applied to what was there, give what is there now (SEMANTICS 44–62).
///
/// `FIRN_PROGRAMS=10000` runs so many.
@Suite(.timeLimit(.minutes(60))) struct ObservedProgramTests {
    private static let count = TestEnvironment.programCount(60)

    @Test(arguments: 0..<2) @MainActor func framesGiveWhatTheProgramMakes(part: Int) async throws {
        var frames = 0
        for seed in 0..<Self.count where seed % 2 == part {
            let folder = TemporaryFolder()
            let run = ProgramRun(seed: UInt64(seed + 1), path: folder.path)
            let followers = try ProgramFollowers(run.configuration())
            nonisolated(unsafe) let program = run
            try await Task.detached { try program.run(closes: false) }.value
            await followers.finish("seed \(seed + 1)")
            frames += followers.frames
        }
        // How many changes a frame has depends on how busy the machine is.
        #expect(frames > 20 * Self.count / 2)
    }

    @Test(arguments: 0..<4) @MainActor func framesGiveWhatAnotherProcessMakes(part: Int) async throws {
        var frames = 0
        for seed in stride(from: part, to: max(8, Self.count / 100), by: 4) {
            let folder = TemporaryFolder()
            let followers = try ProgramFollowers(ProgramRun(seed: 1, path: folder.path).configuration())
            await #expect(processExitsWith: .success) { [path = folder.path as String, seed = seed as Int] in
                // Slowly, so that not all of it is one frame.
                try ProgramRun(seed: UInt64(seed + 1), path: path).run(closes: false, pause: 0.01)
            }
            await followers.finish("seed \(seed + 1) in another process")
            frames += followers.frames
        }
        #expect(frames > 5)
    }
}
