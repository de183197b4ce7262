import Foundation

/// The report of one child process, as one line of JSON.
struct Sample: Codable {
    var workload: String
    var engine: EngineName
    var round: Int
    var metrics: [String: Double] = [:]
    /// Whether the engine has no such operation.
    var isUnsupported = false
    /// What went wrong; nil if nothing did.
    var error: String?
}

extension Sample {
    /// Runs one sample in this process and removes what it made.
    static func take(
        _ workload: Workload, engine: EngineName, round: Int, objects: Int, quick: Bool, folder: String
    ) -> Sample {
        var sample = Sample(workload: workload.id, engine: engine, round: round)
        let run = SampleRun(engine: engine, objects: objects, quick: quick, folder: folder)
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try workload.body(run)
        } catch is Unsupported {
            sample.isUnsupported = true
        } catch {
            sample.error = "\(error)"
        }
        sample.metrics = run.metrics
        try? FileManager.default.removeItem(atPath: folder)
        return sample
    }
}
