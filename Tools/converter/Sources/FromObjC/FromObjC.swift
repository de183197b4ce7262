import ArgumentParser
import Converter
import Foundation

/// The command `Tools/from-objc`.
@main
struct FromObjC: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "from-objc",
        abstract: "Converts model classes from `@objc dynamic var` to `@Persisted`.",
        discussion: """
            Give all files of the program, or its folder: a class may inherit from one in another file. What changes is \
            printed as a diff, and what a person has to look at stands behind it, with the lines of the files as they \
            were before. Folders named .build, DerivedData, Pods and Carthage, and hidden ones, are left out and named.
            """)

    @Flag(help: "Prints the diff and changes no file.") var dryRun = false
    @Argument(help: "Swift files, and folders with Swift files.") var paths: [String]

    func run() throws {
        var found = SwiftFiles()
        for path in paths {
            guard found.add(path) else { throw ValidationError("\(path) does not exist.") }
        }
        let files = found.files
        guard !files.isEmpty else {
            throw ValidationError("There are no Swift files in \(paths.joined(separator: ", ")).")
        }
        var sources: [(name: String, text: String)] = []
        for file in files {
            guard let text = String(validating: try Data(contentsOf: URL(fileURLWithPath: file)), as: UTF8.self) else {
                throw ValidationError("\(file) is not UTF-8. Convert it, with iconv for example.")
            }
            sources.append((file, text))
        }
        let conversion = Conversion(sources)
        let changed = conversion.files.filter(\.isChanged)
        for file in changed { print(try Self.difference(file), terminator: "") }
        if !dryRun {
            for file in changed { try FileReplacement.write(file.after, to: file.name) }
        }
        for finding in conversion.findings { print("\(finding.file):\(finding.line): \(finding.text)") }
        let verb = dryRun ? "would change" : "changed"
        for folder in found.skipped { print("\(folder) is left out. Give it by itself to convert what is in it.") }
        print(
            "\(changed.count) of \(files.count) \(files.count == 1 ? "file" : "files") \(verb); \(conversion.findings.count) to look at."
        )
    }

    /// The change of a file, as `diff -u` shows it.
    private static func difference(_ file: ConvertedFile) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (before, after) = (folder.appending(path: "before"), folder.appending(path: "after"))
        try file.before.write(to: before, atomically: false, encoding: .utf8)
        try file.after.write(to: after, atomically: false, encoding: .utf8)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "diff", "-u", "--label", file.name, "--label", file.name, before.path, after.path,
        ]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return text
    }
}
