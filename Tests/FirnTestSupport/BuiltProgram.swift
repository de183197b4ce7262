import Foundation

/// A program that was built into the same folder as the tests.
public enum BuiltProgram {
    public static func url(_ name: String) -> URL {
        URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent(name)
    }

    /// Runs a program to its end.
    ///
    /// - Parameter input: less than a pipe holds; nil for the input of the tests.
    public static func run(
        _ name: String, _ arguments: [String] = [], input: String? = nil
    ) throws -> (status: Int32, out: String, error: String) {
        let process = Process()
        process.executableURL = url(name)
        process.arguments = arguments
        let (out, error) = (Pipe(), Pipe())
        process.standardOutput = out
        process.standardError = error
        if let input {
            let pipe = Pipe()
            process.standardInput = pipe
            // It fits, so this does not wait for the reader.
            try pipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
            try pipe.fileHandleForWriting.close()
        }
        try process.run()
        let text = String(decoding: out.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let errorText = String(decoding: error.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text, errorText)
    }
}
