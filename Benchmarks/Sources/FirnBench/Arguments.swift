/// The command line.
struct Arguments {
    enum Command: String {
        case run, prepare, sample, watch, check, help
    }

    static let help = """
        firn-bench [run]    measures and writes a report in Markdown
        firn-bench check    compares every engine's answers with the right ones
        firn-bench sample   one sample in this process, one line of JSON (used by run)
        firn-bench prepare  makes what a workload's samples need, with the same options (used by run)
        firn-bench watch    the process that observes in W21 (used by sample)

          --only W1,W3        these workloads (default: all): \(Workload.all.map(\.id).joined(separator: " "))
          --engines A,B       these engines (default: those without a key): \(EngineName.built.map(\.rawValue).joined(separator: " "))
          --objects N         the N of the workloads (default: 1000000, quick: 100000)
          --runs R            samples of each (default: 5, quick: 3)
          --quick             small and short: shows that it works, gives no verdict
          --dir FOLDER        where the stores lie while measured (default: the working folder)
          --output FILE.md    where the report goes (default: standard output)
          --note TEXT         a remark for the report's first lines
        """

    var command = Command.run
    var workloads = Workload.all
    var engines = EngineName.usual
    var objects = 1_000_000
    var runs = 5
    var round = 0
    var quick = false
    var folder: String?
    var output: String?
    var note = ""

    init(_ words: [String]) throws {
        var words = words[...]
        if let first = words.first, let command = Command(rawValue: first) {
            self.command = command
            words = words.dropFirst()
        }
        quick = words.contains("--quick")
        if quick {
            objects = 100_000
            runs = 3
        }
        while let word = words.popFirst() {
            switch word {
            case "--quick": break
            case "--help", "-h": command = .help
            case "--only", "--workload":
                workloads = try Self.value(word, &words).split(separator: ",").map { name in
                    guard let workload = Workload.named(String(name)) else {
                        throw BenchError("there is no workload \(name); see --help")
                    }
                    return workload
                }
            case "--engines", "--engine":
                engines = try Self.value(word, &words).split(separator: ",").map { name in
                    guard let engine = EngineName(rawValue: String(name)), EngineName.built.contains(engine) else {
                        throw BenchError("there is no engine \(name); see --help")
                    }
                    return engine
                }
            case "--objects": objects = try Self.number(word, &words)
            case "--runs": runs = try Self.number(word, &words)
            case "--round": round = try Self.number(word, &words, from: 0)
            case "--dir": folder = try Self.value(word, &words)
            case "--output": output = try Self.value(word, &words)
            case "--note": note = try Self.value(word, &words)
            default: throw BenchError("unknown option \(word); see --help")
            }
        }
    }

    /// The workload and the engine of a sample, and its folder.
    func sampled() throws -> (Workload, EngineName, String) {
        guard let folder, let engine = engines.first, let workload = workloads.first else {
            throw BenchError("this needs --engine, --workload and --dir")
        }
        return (workload, engine, folder)
    }

    private static func value(_ option: String, _ words: inout ArraySlice<String>) throws -> String {
        guard let value = words.popFirst() else { throw BenchError("\(option) needs a value") }
        return value
    }

    private static func number(_ option: String, _ words: inout ArraySlice<String>, from least: Int = 1) throws -> Int {
        let text = try value(option, &words)
        guard let number = Int(text.replacing("_", with: "")), number >= least else {
            throw BenchError("\(option) needs a whole number of at least \(least), not '\(text)'")
        }
        return number
    }
}
