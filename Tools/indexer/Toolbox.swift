import Foundation

/// Runs the `firn` command as a person would.
struct Toolbox {
    let firn: URL

    /// Runs the command and returns what it printed. Throws if its exit status is not 0.
    @discardableResult
    func run(_ arguments: String...) throws -> String {
        let process = Process()
        process.executableURL = firn
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            Console.say(text)
            throw TourError(
                "`firn \(arguments.joined(separator: " "))` ended with status \(process.terminationStatus); see its output above."
            )
        }
        return text
    }

    /// The fields of an object that the command wrote as JSON.
    func json(_ arguments: String...) throws -> [String: Any] {
        let text = try run(arguments[0], arguments[1], "--json")
        guard let fields = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] else {
            throw TourError("`firn \(arguments.joined(separator: " ")) --json` wrote no JSON object.")
        }
        return fields
    }

    /// Prints the first and last lines of a text.
    static func show(_ text: String, first: Int, last: Int = 0) {
        let lines = text.split(separator: "\n")
        for line in lines.prefix(first) { Console.say("  " + line) }
        guard lines.count > first else { return }
        let rest = lines.dropFirst(first)
        if rest.count > last { Console.say("  … \(Amount.of(rest.count - last, one: "more line"))") }
        for line in rest.suffix(last) { Console.say("  " + line) }
    }
}
