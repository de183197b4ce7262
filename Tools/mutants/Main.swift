import Foundation
import Synchronization

/// Runs the mutants, as `Tools/mutate` describes.
@main
struct Main {
    var numbers: Set<Int> = []
    var lists = false
    var runsWhole = false
    var runsOwnOnly = false
    /// Whether to assume that the tests pass without a mutant.
    var trusts = false
    var jobs = 1
    let tree: Tree

    static func main() {
        do {
            var main = try Main(Array(CommandLine.arguments.dropFirst()))
            exit(try main.run())
        } catch {
            say("mutate: FAILED: \(error)")
            exit(2)
        }
    }

    init(_ words: [String]) throws {
        tree = Tree(root: words[0])
        var rest = words.dropFirst()
        while let word = rest.popFirst() {
            switch word {
            case "--list": lists = true
            case "--whole": runsWhole = true
            case "--trust": trusts = true
            case "--own": runsOwnOnly = true
            case "--jobs":
                guard let count = rest.popFirst().flatMap({ Int($0) }), count > 0 else {
                    throw Tree.Failure(description: "--jobs needs a number")
                }
                jobs = count
            default:
                guard let number = Int(word) else {
                    throw Tree.Failure(description: "\(word) is not the number of a mutant")
                }
                numbers.insert(number)
            }
        }
    }

    mutating func run() throws -> Int32 {
        let all = try Mutant.all(tree.root)
        let stale = tree.stale(all)
        if lists {
            let why = Dictionary(uniqueKeysWithValues: stale.map { ($0.0.number, $0.1) })
            for mutant in all {
                let note =
                    why[mutant.number].map { "  STALE: \($0)" } ?? mutant.equivalent.map { "  (equivalent: \($0))" }
                say("\(mutant.name)  \(mutant.file)\n    \(mutant.reason)\(note ?? "")")
            }
            say("\(all.count) mutants, \(stale.count) stale")
            return stale.isEmpty ? 0 : 2
        }
        guard stale.isEmpty else {
            for (mutant, why) in stale { say("mutate: \(mutant.name): \(why) (\(mutant.file))") }
            throw Tree.Failure(description: "update the snippets of these, so that they break the same guarantee again")
        }
        let chosen = numbers.isEmpty ? all : all.filter { numbers.contains($0.number) }
        guard !chosen.isEmpty else { throw Tree.Failure(description: "there is no such mutant") }
        try tree.write(all)
        say("mutate: building \(all.count) mutants at once")
        try build()
        let run = Run(tree: tree)
        let filters = Set(chosen.compactMap(\.tests)).sorted().joined(separator: "|")
        if !filters.isEmpty, !trusts {
            say("mutate: their tests without a mutant")
            if case .failed(let why) = try run.run(0, filter: filters) {
                throw Tree.Failure(description: "the tests fail without a mutant: \(why)")
            }
        }
        return try judge(chosen, run)
    }

    private func build() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "swift", "build", "--build-tests", "--package-path", tree.path, "--scratch-path", tree.build, "-q",
            "--traits", "Metrics,Combine,SQLite,Encryption,EncryptedRealmFiles",
        ]
        try process.run()
        process.waitUntilExit()
        if process.terminationStatus != 0 {
            throw Tree.Failure(
                description: "the mutants do not build. See the messages above, which are about the copy of the tree")
        }
    }

    private func judge(_ mutants: [Mutant], _ run: Run) throws -> Int32 {
        let next = Mutex(mutants.startIndex)
        let living = Mutex<[Mutant]>([])
        let wrong = Mutex<[Mutant]>([])
        let failure = Mutex<(any Error)?>(nil)
        DispatchQueue.concurrentPerform(iterations: jobs) { _ in
            while true {
                let index = next.withLock { index in
                    defer { index += 1 }
                    return index
                }
                guard index < mutants.endIndex else { return }
                let mutant = mutants[index]
                do {
                    let since = Date()
                    let verdict = try verdict(mutant, run)
                    let seconds = Int(Date().timeIntervalSince(since).rounded())
                    switch (verdict, mutant.equivalent) {
                    case (.passed, nil):
                        say("LIVES   \(mutant.name)  (\(mutant.reason); \(seconds) s)")
                        living.withLock { $0.append(mutant) }
                    case (.passed, let why?):
                        say("equal   \(mutant.name)  (\(why))")
                    case (.failed(let how), nil):
                        say("seen    \(mutant.name)  (\(seconds) s) \(how)")
                    case (.failed(let how), _?):
                        say("SEEN, though explained as equivalent: \(mutant.name)  \(how)")
                        wrong.withLock { $0.append(mutant) }
                    }
                } catch {
                    failure.withLock { $0 = error }
                    return
                }
            }
        }
        if let error = failure.withLock({ $0 }) { throw error }
        let lives = living.withLock { $0.sorted { $0.number < $1.number } }
        let equal = mutants.count { $0.equivalent != nil }
        say(
            "mutate: \(mutants.count - equal - lives.count) of \(mutants.count - equal) are seen; \(equal) equivalent")
        for mutant in lives { say("mutate: LIVES \(mutant.name), \(mutant.file): \(mutant.reason)") }
        return lives.isEmpty && wrong.withLock({ $0.isEmpty }) ? 0 : 1
    }

    private func verdict(_ mutant: Mutant, _ run: Run) throws -> Run.Verdict {
        if !runsWhole, let tests = mutant.tests {
            let own = try run.run(mutant.number, filter: tests)
            if own != .passed || runsOwnOnly { return own }
        }
        let whole = try run.run(mutant.number, filter: nil)
        if case .failed(let how) = whole, mutant.tests != nil { return .failed("(by the whole suite only) \(how)") }
        return whole
    }
}

/// Writes a line at once, even into a pipe.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
