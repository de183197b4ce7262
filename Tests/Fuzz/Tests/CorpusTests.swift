import FirnTestSupport
import FuzzTargets
import Testing

#if os(Linux)
    import Glibc

    /// What `Tools/fuzz` has found, and whole stores, in Tests/Fuzz/Corpus/TARGET: each file is named for what it showed. They run in a process of their own, so that one that crashes again has a name.
    @Suite("Inputs that once crashed, hung or took memory without end", .timeLimit(.minutes(20)))
    struct CorpusTests {
        private static let folder = String(#filePath.dropLast("Tests/CorpusTests.swift".count)) + "Corpus"

        static func names(_ folder: String) -> [String] {
            guard let stream = opendir(folder) else { return [] }
            defer { closedir(stream) }
            var names: [String] = []
            while let entry = readdir(stream) {
                let name = withUnsafeBytes(of: entry.pointee.d_name) {
                    String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                }
                if !name.hasPrefix(".") { names.append(name) }
            }
            return names.sorted()
        }

        @Test("are errors, or work", arguments: FuzzTarget.allCases) func replay(_ target: FuzzTarget) throws {
            let folder = "\(Self.folder)/\(target.rawValue)"
            let names = Self.names(folder)
            #expect(!names.isEmpty, "\(folder) has no input")
            let child = try ChildProcess(program: "firn-fuzz", [target.rawValue] + names.map { "\(folder)/\($0)" })
            var last = "it did not begin"
            while let line = try child.readLine() { last = line }
            #expect(last == "done", "the run ended with \(last)")
            #expect(child.wait() == .exited(0))
        }
    }
#endif
