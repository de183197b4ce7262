import FirnTestSupport
import Foundation
import Testing

/// Twelve programs that are written for RealmSwift, with its own import. The package compiles them in Swift's language
/// mode 6.
@Suite(.timeLimit(.minutes(20))) struct RealmProgramTests {
    @Test func theyPass() throws {
        let (status, text, _) = try BuiltProgram.run("firn-programs")
        #expect(status == 0)
        #expect(
            text.split(separator: "\n").sorted() == (1...12).map { "\($0 < 10 ? "0" : "")\($0) passed" }, "\(text)")
    }

    @Test func theyCompileInLanguageMode5() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Harness/Programs")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.lastPathComponent != "main.swift" }
        #expect(files.count == 12)
        let compilation = try Compilation(of: files, mode: 5)
        #expect(compilation.faultyLines.isEmpty, "\(compilation.text)")
    }
}
