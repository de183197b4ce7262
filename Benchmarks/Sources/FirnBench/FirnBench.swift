import Foundation

@main
struct FirnBench {
    static func main() {
        do {
            let arguments = try Arguments(Array(CommandLine.arguments.dropFirst()))
            switch arguments.command {
            case .run: exit(try run(arguments) ? 0 : 1)
            case .sample: try sample(arguments)
            case .prepare: try prepare(arguments)
            case .watch:
                guard let folder = arguments.folder else { throw BenchError("watch needs --dir") }
                try watch(folder: folder, person: arguments.objects)
            case .check: exit(try inFolder(arguments) { Check(engines: arguments.engines, folder: $0).run() } ? 0 : 1)
            case .help: print(Arguments.help)
            }
        } catch {
            printError("firn-bench: \(error)")
            exit(2)
        }
    }

    /// Measures everything asked for and writes the report. Returns false if a sample failed; a missed target is not
    /// a failure.
    private static func run(_ arguments: Arguments) throws -> Bool {
        try inFolder(arguments) { folder in
            let harness = Harness(
                workloads: arguments.workloads, engines: arguments.engines, objects: arguments.objects,
                runs: arguments.runs, quick: arguments.quick, folder: folder)
            let samples = try harness.run()
            let text = Report(harness: harness, samples: samples, note: arguments.note).markdown()
            if let output = arguments.output {
                try text.write(toFile: output, atomically: true, encoding: .utf8)
                printError("report: \(output)")
            } else {
                print(text)
            }
            return samples.allSatisfy { $0.error == nil }
        }
    }

    private static func prepare(_ arguments: Arguments) throws {
        let (workload, engine, folder) = try arguments.sampled()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let run = SampleRun(engine: engine, objects: arguments.objects, quick: arguments.quick, folder: folder)
        try workload.preparation?.body(run)
    }

    private static func sample(_ arguments: Arguments) throws {
        let (workload, engine, folder) = try arguments.sampled()
        let sample = Sample.take(
            workload, engine: engine, round: arguments.round, objects: arguments.objects, quick: arguments.quick,
            folder: folder)
        print(String(decoding: try JSONEncoder().encode(sample), as: UTF8.self))
    }

    /// Runs `body` with a folder for the stores, which is removed afterwards. The folder lies below the one given, or
    /// below the working folder: a folder for temporary files may be in memory, where a sync says nothing.
    private static func inFolder<Result>(_ arguments: Arguments, _ body: (String) throws -> Result) throws -> Result {
        let parent = arguments.folder ?? FileManager.default.currentDirectoryPath
        let folder = URL(fileURLWithPath: parent).path + "/firn-bench-\(getpid())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        return try body(folder)
    }
}
