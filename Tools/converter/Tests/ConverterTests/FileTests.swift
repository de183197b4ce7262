import Converter
import Foundation
import Testing

/// Lines, line ends, and files on disk.
struct FileTests {
    @Test func insertedLinesAreAsThoseAround() {
        for (end, tab) in [("\r\n", "\t"), ("\n", "\t"), ("\r\n", "  ")] {
            let lines = { (lines: [String]) in
                lines.map { $0.replacing("    ", with: tab) }.joined(separator: end)
            }
            let conversion = convert(
                lines([
                    "@objc(Hund)", "class Dog: Object {", "    @objc dynamic var a = 1, b = 2", "    @objc dynamic",
                    "    var d = 1", "", "    override class func primaryKey() -> String? { // key",
                    "        return \"a\" // a", "    }", "}", "",
                ]))
            #expect(
                Array(conversion.files[0].after.utf8)
                    == Array(
                        lines([
                            "class Dog: Object {",
                            "    override class func _realmObjectName() -> String? { \"Hund\" }",
                            "    @Persisted(primaryKey: true) var a = 1", "    @Persisted var b = 2",
                            "    @Persisted var d = 1", "", "    // key", "    // a", "}", "",
                        ]).utf8))
        }
    }

    @Test func linesAreThoseBeforeTheConversion() {
        let conversion = convert(
            "let a = #keyPath(\n    Dog\n    .a\n)\nclass Dog: Object {\n    @objc func f() {}\n}\nlet b = #keyPath(c.D.e.F.g, h)\n"
        )
        #expect(conversion.findings.map(\.line) == [6, 8])
    }

    @Test func theFirstErrorsLineIsReported() {
        for (text, line) in [
            ("let a = 1\n\nclass Dog: Object {\n    let = 2\n}\n", 4), ("let a = 1\nfunc f( {\n}\n", 2),
            ("let a = 1\nlet b = )\n", 2),
        ] {
            let conversion = convert(text)
            #expect(conversion.findings.map(\.line) == [line], "\(text)")
            #expect(!conversion.files[0].isChanged)
        }
    }

    @Test func aFileKeepsItsMode() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "a.swift").path
        try "old".write(toFile: file, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o754], ofItemAtPath: file)
        let link = folder.appending(path: "link.swift").path
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
        try FileReplacement.write("new", to: link)
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "new")
        #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o754)
        #expect(
            try FileManager.default.attributesOfItem(atPath: link)[.type] as? FileAttributeType == .typeSymbolicLink)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 2)
        #expect(throws: (any Error).self) { try FileReplacement.write("new", to: folder.path + "/none.swift") }
    }

    @Test func foldersThatAreLeftOutAreNamed() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        for name in [
            "Build/a.swift", "build/b.swift", "Pods/c.swift", "A/Carthage/d.swift", ".build/e.swift", ".git/f.txt",
            ".hidden/g.swift", "A/h.swift", "A/.i.swift", "DerivedData/j.swift",
        ] {
            let file = folder.appending(path: name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try "".write(to: file, atomically: false, encoding: .utf8)
        }
        var found = SwiftFiles()
        let (isThere, isNone) = (found.add(folder.path), !found.add(folder.path + "/none"))
        #expect(isThere && isNone)
        _ = found.add(folder.path + "/A/../A/h.swift")
        let start = folder.path + "/"
        #expect(found.files.map { $0.replacing(start, with: "") } == ["A/h.swift", "Build/a.swift", "build/b.swift"])
        #expect(
            found.skipped.map { $0.replacing(start, with: "") } == [
                ".build", ".hidden", "A/Carthage", "DerivedData", "Pods",
            ])
    }
}
