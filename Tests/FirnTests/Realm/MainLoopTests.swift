import Foundation
import Testing

/// Asynchronous writes and observers go on while a block of the main queue runs the run loop.
@Suite(.timeLimit(.minutes(20))) struct MainLoopTests {
    @Test func aBlockThatRunsTheRunLoopIsGivenWhatItWaitsFor() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("firn-main-loop")
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(text == "initial true\nwritten true observed true\n")
        #expect(process.terminationStatus == 0)
    }
}
