import FirnTestSupport
import FuzzTargets
import Testing

#if os(Linux)
    import Glibc

    /// Replays the inputs that `Tools/fuzz` has found, and complete stores, in Tests/Harness/Fuzz/Corpus/TARGET.
    ///
    /// The name of each file says what it showed. The inputs run in a process of their own, so that the test can name
    /// the one that crashes again.
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

        @Test("either throw an error or succeed", arguments: FuzzTarget.allCases) func replay(_ target: FuzzTarget)
            throws
        {
            let folder = "\(Self.folder)/\(target.corpus)"
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
