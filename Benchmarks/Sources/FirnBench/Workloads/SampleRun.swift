import Foundation

/// One sample: one workload on one engine in this process, with a folder that holds nothing else.
final class SampleRun {
    let engineName: EngineName
    /// How many objects a workload begins with.
    let objects: Int
    let quick: Bool
    let folder: String
    private(set) var metrics: [String: Double] = [:]
    private var residentBefore = 0

    init(engine: EngineName, objects: Int, quick: Bool, folder: String) {
        engineName = engine
        self.objects = objects
        self.quick = quick
        self.folder = folder
    }

    /// For workloads that are measured with 100,000 objects where the others have a million.
    var tenthOfObjects: Int { max(objects / 10, 1) }

    var storeFolder: String { folder + "/store" }

    func people(_ count: Int, keyOrder: KeyOrder = .ascending) -> People {
        People.generate(count, keyOrder: keyOrder, strings: engineName.type.takesStrings)
    }

    func open(_ durability: Durability = .full, in folder: String? = nil) throws -> any Engine {
        let folder = folder ?? storeFolder
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        return try engineName.type.init(folder: folder, durability: durability)
    }

    /// Opens a store and fills it with `count` people.
    func openLoaded(
        _ count: Int, _ durability: Durability = .full, keyOrder: KeyOrder = .ascending
    ) throws -> (any Engine, People) {
        let people = people(count, keyOrder: keyOrder)
        let engine = try open(durability)
        try engine.load(people, batch: people.count)
        return (engine, people)
    }

    func record(_ name: String, _ value: Double) { metrics[name] = value }

    /// Begins to count memory: what is resident now (the people, the process itself) is subtracted from the peak.
    func beginMemory() {
        ProcessFigures.resetPeak()
        residentBefore = ProcessFigures.residentBytes
    }

    func endMemory() {
        record(Metric.peak.name, Double(max(ProcessFigures.peakBytes - residentBefore, 0)) / 1_048_576)
    }

    func recordDisk(_ metric: Metric) {
        record(metric.name, Double(allocatedBytes(under: storeFolder)) / 1_048_576)
    }
}

extension Metric {
    static let peak = Metric("peak memory, MiB", .lower)
    static let diskOpen = Metric("files while open, MiB", .lower)
    static let diskCompacted = Metric("files, compacted, MiB", .lower)
}
