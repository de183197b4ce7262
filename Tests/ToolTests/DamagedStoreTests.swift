import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnTool

/// Stores of every kind, damaged in every way: 400 of them, or as many as `FIRN_DAMAGED_STORES` says.
///
/// `verify` finds each damage. `recover` makes up nothing, and brings back everything that the damaged frames and nodes
/// did not hold themselves: `DamageMap` says what that is, from the intact store.
@Suite("Damaged stores", .timeLimit(.minutes(TestEnvironment.minutes))) struct DamagedStoreTests {
    enum Kind: CaseIterable {
        /// No checkpoint.
        case log
        /// One checkpoint, which holds everything, and the log since.
        case whole
        /// Three checkpoints, of which each holds what has changed, and the log since the last.
        case incremental
        /// The same, and the complete log.
        case retained
        /// One checkpoint, and nothing since.
        case checkpoint
    }

    enum Damage: CaseIterable {
        case flip, page, garbage, truncation, insertion, removal, missing, foreign, swapped, oldManifest, noManifest
    }

    @Test("verify finds the damage, and recover brings back what it did not hit", arguments: Kind.allCases)
    func damaged(_ kind: Kind) throws {
        let rounds = (Int(TestEnvironment.value("FIRN_DAMAGED_STORES") ?? "") ?? 400) / Kind.allCases.count
        var random = SeededRandom(seed: UInt64(Kind.allCases.firstIndex(of: kind)! + 1))
        // Making a store takes longer than damaging it.
        for start in stride(from: 0, to: rounds, by: 25) {
            let trial = try Trial(kind, seed: random.next())
            for round in start..<min(start + 25, rounds) { try trial.run("\(kind), round \(round)", &random) }
        }
    }
}

private struct Trial {
    private let edited: EditedStore
    private let map: DamageMap
    private let files: [String: [UInt8]]
    private var storage: MemoryStorage { edited.sample.storage }
    private let last: EditedStore.State

    init(_ kind: DamagedStoreTests.Kind, seed: UInt64) throws {
        let compacts: Set<Int> =
            switch kind {
            case .log: []
            case .whole: [12]
            case .incremental, .retained: [8, 16, 24]
            case .checkpoint: [30]
            }
        edited = try EditedStore(
            seed: seed, versions: 30, people: 700, compactsAt: compacts,
            isIncremental: kind == .incremental || kind == .retained, retainsHistory: kind == .retained,
            segmentByteCount: 4096)
        last = edited.states[30]
        map = try DamageMap(SampleStore.path, edited.sample.storage)
        files = try Self.read(edited.sample)
        #expect(try EditedStore.state(of: edited.sample.storage, SampleStore.path) == last)
        try Self.restore(files, edited.sample)
    }

    private static func read(_ sample: SampleStore) throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for folder in ["", "/log", "/checkpoint"].map({ SampleStore.path + $0 }) {
            for name in try sample.storage.list(folder) {
                let path = folder + "/" + name
                if try sample.storage.status(path)?.kind == .file { files[path] = try sample.bytes(path) }
            }
        }
        return files
    }

    private static func restore(_ files: [String: [UInt8]], _ sample: SampleStore) throws {
        for path in try read(sample).keys where files[path] == nil { try sample.storage.remove(path) }
        for (path, bytes) in files { try sample.write(path, bytes) }
    }

    private func remove(_ path: String) throws {
        for folder in [path + "/log", path + "/checkpoint", path] {
            guard try storage.status(folder) != nil else { continue }
            for name in try storage.list(folder) { try storage.remove(folder + "/" + name) }
            try storage.remove(folder)
        }
    }

    // MARK: Damage

    /// Damages the store; returns what was done and what it may cost, or nil if nothing was.
    private func damage(_ random: inout SeededRandom) throws -> (what: String, costs: [DamageMap.Cost])? {
        let data = files.keys.filter { $0.hasSuffix("segment") || $0.hasSuffix("checkpoint") }.sorted()
        let path = random.below(12) == 0 ? SampleStore.path + "/manifest" : data[random.below(data.count)]
        let bytes = files[path]!
        let damage = DamagedStoreTests.Damage.allCases[random.below(DamagedStoreTests.Damage.allCases.count)]
        var hit = [(path, 0..<bytes.count)]
        func replace(_ range: Range<Int>, _ byte: (Int) -> UInt8) throws {
            var changed = bytes
            for index in range { changed[index] = byte(index) }
            try edited.sample.write(path, changed)
            // A byte that is as it was is not damaged, but its frame or node may be.
            hit = [(path, range)]
        }
        switch damage {
        case .flip:
            let at = random.below(bytes.count)
            let bit = random.below(8)
            try replace(at..<at + 1) { bytes[$0] ^ 1 << UInt8(bit) }
        case .page:
            let at = random.below(bytes.count) / 512 * 512
            try replace(at..<min(at + 512, bytes.count)) { _ in 0 }
        case .garbage:
            let at = random.below(bytes.count)
            var noise = random
            try replace(at..<min(at + 1 + random.below(300), bytes.count)) { _ in UInt8(noise.below(256)) }
        case .truncation:
            let at = random.below(bytes.count)
            try edited.sample.write(path, Array(bytes[..<at]))
            hit = [(path, at..<bytes.count)]
        case .insertion:
            let at = random.below(bytes.count)
            try edited.sample.write(path, bytes[..<at] + [UInt8(random.below(256))] + bytes[at...])
            hit = [(path, at..<bytes.count)]
        case .removal:
            let at = random.below(bytes.count)
            try edited.sample.write(path, Array(bytes[..<at] + bytes[(at + 1)...]))
            hit = [(path, at..<bytes.count)]
        case .missing: try storage.remove(path)
        case .foreign:
            let other = try EditedStore(seed: random.next(), versions: 20, people: 300, segmentByteCount: 4096).sample
            let segments = try other.storage.list(SampleStore.path + "/log").sorted()
            try edited.sample.write(
                path, other.bytes(SampleStore.path + "/log/" + segments[random.below(segments.count)]))
        case .swapped:
            let others = data.filter { $0 != path && $0.hasSuffix(path.suffix(8)) }
            guard !others.isEmpty else { return nil }
            let other = others[random.below(others.count)]
            try edited.sample.write(path, files[other]!)
            try edited.sample.write(other, bytes)
            hit = []
        case .oldManifest:
            // The generation before the current one lies behind it.
            let manifest = files[SampleStore.path + "/manifest"]!
            let first = Int(manifest[12]) | Int(manifest[13]) << 8
            guard first < manifest.count else { return nil }
            try edited.sample.write(SampleStore.path + "/manifest", Array(manifest[first...]))
            hit = []
        case .noManifest:
            try storage.remove(SampleStore.path + "/manifest")
            hit = []
        }
        let now = try Self.read(edited.sample)
        // What no version uses any more is not checked.
        if now == files || !hit.isEmpty && hit.allSatisfy({ map.isUnused($0.0, $0.1) }) { return nil }
        let costs = hit.flatMap { map.costs($0.0, $0.1) }
        // With zeros behind its last commit, a log is as it was before the mark behind that was written.
        if costs.isEmpty, path == data.last, let from = hit.first?.1.lowerBound, let end = now[path],
            end.count == bytes.count, end[from...].allSatisfy({ $0 == 0 })
        {
            return nil
        }
        return ("\(damage) of \(hit)", costs)
    }

    // MARK: The trial

    func run(_ label: String, _ random: inout SeededRandom) throws {
        guard let (what, costs) = try damage(&random) else { return try Self.restore(files, edited.sample) }
        let label = "\(label): \(what), which costs \(costs.count > 20 ? "a lot" : "\(costs)")"
        let verified = try Run.verify(storage)
        #expect(verified.status != .fine || verified.out.contains("torn tail"), "\(label): \(verified.out)")
        let run = try Run {
            try RecoverCommand.run(
                SampleStore.path, output: "/new", json: false, storage: edited.sample.storage, clock: ManualClock(), $0)
        }
        if try storage.status("/new") == nil {
            #expect(run.status == .damage && run.error.contains("was not made"), "\(label): \(run)")
            // The schema is in the first frame of each segment and in each checkpoint.
            #expect(files.count <= 6, "\(label): \(run)")
        } else {
            try check(run, verified: verified, costs: costs, label: label)
            try remove("/new")
        }
        try Self.restore(files, edited.sample)
    }

    private func check(_ run: Run, verified: Run, costs: [DamageMap.Cost], label: String) throws {
        #expect(try Run.verify(storage, path: "/new").status == .fine, "\(label)")
        let held = try EditedStore.state(of: storage, "/new")
        if run.status == .fine {
            // What looks like a commit that a crash has cut off is not told of as lost.
            let version = try #require(Int(run.out.split(separator: " ")[5].dropLast(2)), "\(run.out)")
            #expect(held == edited.states[version], "\(label): \(run)")
            #expect(version == 30 || verified.out.contains("torn tail"), "\(label): \(verified.out)\n\(run)")
            if held == last { return }
        }
        try checkNothingIsMadeUp(held, run: run, label: label)
        var budget = Budget(costs, edited)
        for identity in Set(held.keys).union(last.keys) where held[identity] != last[identity] {
            if !budget.take(identity, held: held[identity], last: last[identity]) {
                Issue.record(
                    "\(label): \(identity) is \(String(describing: held[identity])), and was \(String(describing: last[identity]))\n\(run)"
                )
                return
            }
        }
    }

    /// Each value of a recovered object is one that the object has had, or is listed as lost.
    private func checkNothingIsMadeUp(_ held: EditedStore.State, run: Run, label: String) throws {
        for (identity, properties) in held where properties != last[identity] {
            let past = edited.states.compactMap { $0[identity] }
            #expect(!past.isEmpty, "\(label): \(identity) never existed")
            for (name, value) in properties where !past.contains(where: { $0[name] == value }) {
                #expect(
                    run.out.contains("Person.\(name)  "), "\(label): \(identity).\(name) never was \(value)\n\(run)")
            }
        }
    }
}

/// What may still be lost.
private struct Budget {
    private static let columns = ["name": 0, "age": 1, "notes": 2, "tags": 3]
    private var touched: Set<EditedStore.Identity> = []
    private var objects = 0
    private var values: [Int: Int] = [:]

    init(_ costs: [DamageMap.Cost], _ edited: EditedStore) {
        func touch(_ version: Int) {
            let (old, new) = (edited.states[version - 1], edited.states[version])
            for identity in Set(old.keys).union(new.keys) where old[identity] != new[identity] {
                touched.insert(identity)
            }
        }
        for cost in costs {
            switch cost {
            case .version(let version): touch(Int(version))
            case .objects(let count): objects += count
            case .values(let column, let count): values[column, default: 0] += count
            case .since(let version): for version in Int(version) + 1..<edited.states.count { touch(version) }
            }
        }
    }

    /// Whether an object may differ from what it was.
    mutating func take(
        _ identity: EditedStore.Identity, held: [String: EditedStore.Held]?, last: [String: EditedStore.Held]?
    ) -> Bool {
        if touched.contains(identity) { return true }
        if let held, let last {
            let changed = Self.columns.filter { held[$0.key] != last[$0.key] }.map(\.value)
            if changed.allSatisfy({ values[$0, default: 0] > 0 }) {
                for column in changed { values[column, default: 0] -= 1 }
                return true
            }
        }
        // A primary key that is lost costs the object.
        if held == nil, values[0, default: 0] > 0 {
            values[0, default: 0] -= 1
            return true
        }
        guard objects > 0 else { return false }
        objects -= 1
        return true
    }
}
