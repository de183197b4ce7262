import Foundation

/// The copy of the source tree, which contains every mutant, with none of them on.
struct Tree {
    let root: String
    var path: String { root + "/.build/mutate/tree" }
    var build: String { root + "/.build/mutate/build" }

    struct Failure: Error, CustomStringConvertible { let description: String }

    /// The mutants whose snippet does not occur in the sources exactly once, or lies within another's, with the reason.
    func stale(_ mutants: [Mutant]) -> [(Mutant, String)] {
        Dictionary(grouping: mutants, by: \.file).flatMap { file, group -> [(Mutant, String)] in
            guard let text = try? String(contentsOfFile: root + "/" + file, encoding: .utf8) else {
                return group.map { ($0, "there is no file \(file)") }
            }
            var found: [(Mutant, String)] = []
            var ranges: [(mutant: Mutant, range: Range<String.Index>)] = []
            for mutant in group {
                guard let range = mutant.range(in: text) else {
                    let isThere = text.contains(mutant.original)
                    found.append((mutant, isThere ? "its snippet occurs more than once" : "its snippet is gone"))
                    continue
                }
                if let other = ranges.first(where: { $0.range.overlaps(range) }) {
                    found.append((mutant, "its snippet overlaps that of \(other.mutant.name)"))
                }
                ranges.append((mutant, range))
            }
            return found
        }
    }

    /// Brings the copy up to date. A file is written only if it differs, so that what was built stays valid.
    func write(_ mutants: [Mutant]) throws {
        let files = FileManager.default
        var wanted: [String: Data] = [:]
        for top in [
            "Package.swift", "Package.resolved", "Sources", "Tests", "Tools/firn", "Tools/command", "Tools/indexer",
        ] {
            var isFolder: ObjCBool = false
            guard files.fileExists(atPath: root + "/" + top, isDirectory: &isFolder) else { continue }
            let below = isFolder.boolValue ? try files.subpathsOfDirectory(atPath: root + "/" + top) : [""]
            for name in below {
                let file = name.isEmpty ? top : top + "/" + name
                guard files.fileExists(atPath: root + "/" + file, isDirectory: &isFolder), !isFolder.boolValue else {
                    continue
                }
                wanted[file] = try Data(contentsOf: URL(fileURLWithPath: root + "/" + file))
            }
        }
        for (file, group) in Dictionary(grouping: mutants, by: \.file) {
            guard let data = wanted[file] else { continue }
            wanted[file] = Data(mutated(String(decoding: data, as: UTF8.self), group).utf8)
        }
        let package = String(decoding: wanted["Package.swift"] ?? Data(), as: UTF8.self)
        wanted["Package.swift"] = Data(
            package.replacingOccurrences(
                of: #"name: "FirnLog", dependencies: ["#, with: #"name: "FirnLog", dependencies: ["CFirn", "#
            ).replacingOccurrences(
                of: "\"FirnStorage\", \"FirnBytes\",\n", with: "\"CFirn\", \"FirnStorage\", \"FirnBytes\",\n"
            )
            .utf8)
        wanted["Sources/CFirn/include/firn_mutant.h"] = Data(Self.header.utf8)
        wanted["Sources/CFirn/firn_mutant.c"] = Data(Self.source.utf8)
        wanted["Sources/CFirn/include/CFirn.h", default: Data()].append(Data("#include \"firn_mutant.h\"\n".utf8))
        for old in (try? files.subpathsOfDirectory(atPath: path)) ?? [] where wanted[old] == nil {
            var isFolder: ObjCBool = false
            if files.fileExists(atPath: path + "/" + old, isDirectory: &isFolder), !isFolder.boolValue {
                try files.removeItem(atPath: path + "/" + old)
            }
        }
        for (file, data) in wanted {
            let target = URL(fileURLWithPath: path + "/" + file)
            if let there = try? Data(contentsOf: target), there == data { continue }
            try files.createDirectory(at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
            try data.write(to: target)
        }
    }

    private func mutated(_ source: String, _ mutants: [Mutant]) -> String {
        var text = source
        let ranges = mutants.compactMap { mutant in mutant.range(in: source).map { (mutant, $0) } }
            .sorted { $0.1.lowerBound > $1.1.lowerBound }
        // Replaces the last range first, so that the ranges of the others stay valid.
        for (mutant, range) in ranges { text.replaceSubrange(range, with: mutant.choice) }
        guard let first = mutants.first else { return text }
        if first.file.hasSuffix(".c") { return "#include \"firn_mutant.h\"\n" + text }
        return text.contains("import CFirn\n") ? text : "import CFirn\n" + text
    }

    private static let header = """
        #pragma once
        #include <stdbool.h>
        /// Which mutant is on: FIRN_MUTANT, read once; 0 for none.
        extern int firn_mutant_number;
        static inline bool firn_mutant(int number) { return firn_mutant_number == number; }

        """

    private static let source = """
        #include "firn_mutant.h"
        #include <stdlib.h>
        int firn_mutant_number = 0;
        __attribute__((constructor)) static void firn_mutant_read(void) {
            const char *text = getenv("FIRN_MUTANT");
            if (text) firn_mutant_number = atoi(text);
        }

        """
}
