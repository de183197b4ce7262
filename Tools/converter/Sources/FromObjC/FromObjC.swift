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
            printed as a diff, and what a person has to look at stands behind it.
            """)

    @Flag(help: "Prints the diff and changes no file.") var dryRun = false
    @Argument(help: "Swift files, and folders with Swift files.") var paths: [String]

    func run() throws {
        let files = try paths.flatMap { try Self.files(at: $0) }
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
            for file in changed {
                // A link stays a link: the file that it leads to is written.
                let url = URL(fileURLWithPath: file.name).resolvingSymlinksInPath()
                try file.after.write(to: url, atomically: true, encoding: .utf8)
            }
        }
        for finding in conversion.findings { print("\(finding.file):\(finding.line): \(finding.text)") }
        let verb = dryRun ? "would change" : "changed"
        print(
            "\(changed.count) of \(files.count) \(files.count == 1 ? "file" : "files") \(verb); \(conversion.findings.count) to look at."
        )
    }

    /// What tools write: the program's own files are elsewhere.
    private static let foreignFolders: Set<Substring> = ["build", "Build", "DerivedData", "Pods", "Carthage"]

    /// The Swift files at a path, without hidden ones and those in folders that tools write.
    private static func files(at path: String) throws -> [String] {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw ValidationError("\(path) does not exist.")
        }
        guard isFolder.boolValue else { return [path] }
        var found: [String] = []
        for case let name as String in FileManager.default.enumerator(atPath: path) ?? .init() {
            let isForeign = name.split(separator: "/").contains { $0.hasPrefix(".") || foreignFolders.contains($0) }
            if name.hasSuffix(".swift"), !isForeign { found.append(path + "/" + name) }
        }
        return found.sorted()
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
