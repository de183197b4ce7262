import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// Runs samples, each in a child process, so that the memory and caches of one engine never meet another's.
struct Harness {
    var workloads: [Workload]
    var engines: [EngineName]
    var objects: Int
    var runs: Int
    var quick: Bool
    var folder: String

    /// Takes all samples. The order of the engines rotates from round to round, so that none always runs after the
    /// same one.
    func run() throws -> [Sample] {
        var samples: [Sample] = []
        for round in 0..<runs {
            for workload in workloads {
                for position in engines.indices {
                    let engine = engines[(position + round) % engines.count]
                    let sample = try child(workload, engine, round)
                    log(sample, workload)
                    samples.append(sample)
                }
            }
        }
        return samples
    }

    private func child(_ workload: Workload, _ engine: EngineName, _ round: Int) throws -> Sample {
        let sampleFolder = "\(folder)/\(workload.id)-\(engine.rawValue)-\(round)"
        if let preparation = workload.preparation {
            let (process, output) = try start("prepare", workload, engine, round, sampleFolder)
            let isKilled = process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL
            guard preparation.endsKilled ? isKilled : process.terminationStatus == 0 else {
                try? FileManager.default.removeItem(atPath: sampleFolder)
                return Sample(
                    workload: workload.id, engine: engine, round: round,
                    error: "its preparation ended with status \(process.terminationStatus) "
                        + String(decoding: output, as: UTF8.self))
            }
        }
        // What others have not written back yet must not slow down this one's syncs.
        sync()
        let (process, output) = try start("sample", workload, engine, round, sampleFolder)
        if let line = output.split(separator: UInt8(ascii: "\n")).last,
            let sample = try? JSONDecoder().decode(Sample.self, from: Data(line))
        {
            return sample
        }
        return Sample(
            workload: workload.id, engine: engine, round: round,
            error: "the sample's process ended with status \(process.terminationStatus) and no result")
    }

    /// Runs `command` in a child process to its end. Returns the process and its standard output.
    private func start(
        _ command: String, _ workload: Workload, _ engine: EngineName, _ round: Int, _ sampleFolder: String
    ) throws -> (Process, Data) {
        let process = Process()
        process.executableURL = Bundle.main.executableURL
        process.arguments = [
            command, "--engine", engine.rawValue, "--workload", workload.id, "--round", "\(round)", "--objects",
            "\(objects)", "--dir", sampleFolder,
        ]
        if quick { process.arguments?.append("--quick") }
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process, output)
    }

    private func log(_ sample: Sample, _ workload: Workload) {
        let first = workload.metrics[0].name
        let text =
            if let error = sample.error {
                "FAILED: \(error)"
            } else if let value = sample.metrics[first] {
                "\(Figure.text(value)) \(first)"
            } else {
                "–"
            }
        printError("run \(sample.round + 1)/\(runs)  \(workload.id) \(sample.engine.rawValue): \(text)")
    }
}

func printError(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
