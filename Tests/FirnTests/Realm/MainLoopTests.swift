import FirnTestSupport
import Testing

/// Asynchronous writes and observers go on while a block of the main queue runs the run loop; and before the run loop
/// runs, no transaction is kept for a turn, and one realm in memory.
@Suite(.timeLimit(.minutes(20))) struct MainLoopTests {
    @Test func aBlockThatRunsTheRunLoopIsGivenWhatItWaitsFor() throws {
        let (status, text, _) = try BuiltProgram.run("firn-main-loop")
        let lines = text.split(separator: "\n")
        #expect(
            lines == [
                "objects [1, 2, 1, 1]", "written after an abandoned transaction true", "initial true",
                "written true observed true",
            ])
        #expect(status == 0)
    }
}
