import Foundation
import Testing

/// What the compiler says of a small program that uses the module under test.
struct Compilation {
    /// All that it says.
    let text: String
    /// The lines of the program that have an error; the first line is 1.
    let faultyLines: Set<Int>

    /// Runs the compiler, up to the checks of initializers. No code is made.
    init(_ program: String) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("Program.swift")
        try program.write(to: file, atomically: true, encoding: .utf8)
        try self.init(of: [file])
    }

    /// Runs the compiler on files.
    ///
    /// - Parameter mode: Swift's language mode.
    init(of files: [URL], mode: Int = 6) throws {
        let built = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "swiftc", "-emit-sil", "-o", "/dev/null", "-swift-version", "\(mode)",
            "-I", built.appendingPathComponent("Modules").path,
            "-module-cache-path", built.appendingPathComponent("ModuleCache").path,
            "-Xcc", "-fmodule-map-file=" + built.appendingPathComponent("CFirn.build/module.modulemap").path,
            "-Xcc", "-fmodule-map-file=" + package.appendingPathComponent("Sources/CLZ4/module.modulemap").path,
            // The module RealmSwift brings the publishers of OpenCombine.
            "-Xcc",
            "-fmodule-map-file=" + built.appendingPathComponent("COpenCombineHelpers.build/module.modulemap").path,
        ]
        // What imports FirnCrypto reads the headers of the library that FirnCrypto imports.
        let crypto = built.deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("checkouts/swift-crypto/Sources")
        for name in ["CCryptoBoringSSL", "CCryptoBoringSSLShims", "CXKCP", "CXKCPShims"] {
            process.arguments? += ["-Xcc", "-I" + crypto.appendingPathComponent(name + "/include").path]
        }
        // The file of a program may have code beside declarations.
        process.arguments? += files.count > 1 ? ["-wmo", "-parse-as-library"] : []
        process.arguments? += files.map(\.path)
        let output = Pipe()
        process.standardError = output
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        var lines: Set<Int> = []
        // Lines that begin with a space repeat the location.
        for line in text.split(separator: "\n") where line.contains("error:") && !line.hasPrefix(" ") {
            let parts = line.split(separator: ":")
            let number = parts.count > 1 && files.contains { line.hasPrefix($0.path) } ? Int(parts[1]) : nil
            // An error that is not about the program is a fault of the test: the module was not found.
            lines.insert(try #require(number, "\(text)"))
        }
        try #require(lines.isEmpty == (process.terminationStatus == 0), "\(text)")
        self.text = text
        faultyLines = lines
    }
}
