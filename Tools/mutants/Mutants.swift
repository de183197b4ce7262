import Foundation

/// A small wrong change to the sources, described by a file:
///
/// ```
/// file: Sources/FirnLog/Writing/GroupCommit.swift
/// breaks: nothing is acknowledged before the sync that covers it
/// tests: GroupCommitTests|ConcurrencyTests
/// kind: expression
/// --- original
/// raise(to: led.target)
/// --- mutant
/// raise(to: writtenVersion)
/// ```
///
/// - `kind`: one of these:
///   - `expression`: original and mutant are expressions of one type.
///   - `statements`: original and mutant are complete statements that declare nothing the code behind them needs. The
///     mutant may be empty.
///   - `text`: the mutant replaces the original as it is. In it, the word MUTANT is true while the mutant is on.
/// - `tests`: a regular expression for `swift test --filter`, for the tests that should notice the mutant first.
///   Optional.
/// - `equivalent`: why no test can notice the mutant. It is run all the same: if a test notices it, the explanation is
///   wrong.
struct Mutant: Sendable {
    enum Kind: String { case expression, statements, text }

    let number: Int
    let name: String
    let file: String
    let reason: String
    let tests: String?
    let kind: Kind
    let equivalent: String?
    let original: String
    let replacement: String

    struct Malformed: Error, CustomStringConvertible { let description: String }

    init(path: String) throws {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        name = URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent
        func refuse(_ why: String) -> Malformed { Malformed(description: "\(path): \(why)") }
        guard let number = Int(name.prefix { $0 != "-" }) else {
            throw refuse("its name does not begin with a number")
        }
        self.number = number
        let parts = text.components(separatedBy: "--- original\n")
        let snippets = parts.count == 2 ? parts[1].components(separatedBy: "--- mutant\n") : []
        guard snippets.count == 2 else { throw refuse("it needs one line `--- original` and one line `--- mutant`") }
        var fields: [String: String] = [:]
        for line in parts[0].split(separator: "\n") {
            guard let colon = line.firstIndex(of: ":") else { throw refuse("`\(line)` has no colon") }
            fields[String(line[..<colon])] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        }
        guard let file = fields["file"], let reason = fields["breaks"],
            let kind = Kind(rawValue: fields["kind"] ?? "expression")
        else { throw refuse("it needs file, breaks, and a kind of expression, statements or text") }
        self.file = file
        self.reason = reason
        self.kind = kind
        tests = fields["tests"]
        equivalent = fields["equivalent"]
        original = snippets[0].trimmingCharacters(in: .whitespacesAndNewlines)
        replacement = snippets[1].trimmingCharacters(in: .whitespacesAndNewlines)
        guard !original.isEmpty else { throw refuse("the original is empty") }
    }

    static func all(_ root: String) throws -> [Mutant] {
        let folder = root + "/Tools/mutants"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".mutant") }
        let mutants = try names.map { try Mutant(path: folder + "/" + $0) }.sorted { $0.number < $1.number }
        for (one, next) in zip(mutants, mutants.dropFirst()) where one.number == next.number {
            throw Malformed(description: "\(one.name) and \(next.name) have the same number")
        }
        return mutants
    }

    /// The text for the copy of the sources: original and mutant, chosen at run time.
    var choice: String {
        switch kind {
        case .expression where file.hasSuffix(".c"): "(firn_mutant(\(number)) ? (\(replacement)) : (\(original)))"
        case .expression: "(firn_mutant(\(number)) ? \(replacement) : \(original))"
        case .text: replacement.replacingOccurrences(of: "MUTANT", with: "firn_mutant(\(number))")
        case .statements: "if \(call) {\n\(replacement)\n} else {\n\(original)\n}"
        }
    }

    private var call: String { file.hasSuffix(".c") ? "(firn_mutant(\(number)))" : "firn_mutant(\(number))" }

    /// The range of the original in `text`; nil unless it occurs exactly once.
    func range(in text: String) -> Range<String.Index>? {
        guard let first = text.range(of: original, options: .literal),
            text.range(of: original, options: .literal, range: first.upperBound..<text.endIndex) == nil
        else { return nil }
        return first
    }
}
