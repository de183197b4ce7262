import Dispatch
import Firn
import Foundation
import GRDB
import Synchronization

extension Workload {
    /// W13 and W13b: what a one-object change costs an observer of a query.
    static let observedResults: [Workload] = [observed(sorted: false), observed(sorted: true)]

    private static let whole = "commit begun to callback, p50, µs"
    private static let late = "commit begun to callback, p99, µs"
    private static let memory = "memory of the observer, bytes per element"

    private static func observed(sorted: Bool) -> Workload {
        Workload(
            id: sorted ? "W13b" : "W13",
            title: "one object changes: to the callback of an observed filter" + (sorted ? ", sorted" : ""),
            details:
                "N people with scores from 0 to 9,999; a serial queue observes those above 5,000\(sorted ? ", sorted by name" : ""). "
                + "The score of one person at a time is set above or below that, 200 times, each in a durable transaction, "
                + "after the callback of the one before; the callback reads the number of results. SQLite: GRDB's "
                + "ValueObservation of the ids, in WAL mode.",
            metrics: [Metric(whole, .lower), Metric(late, .lower), Metric(memory, .neither)],
            targets: [.peers(whole, .typed, sorted ? 400 : 300)]
        ) { run in
            try FileManager.default.createDirectory(atPath: run.storeFolder, withIntermediateDirectories: true)
            let observed: any ObservedPeople =
                switch run.engineName {
                case .typed: try ObservedTyped(run.storeFolder, run.objects, sorted: sorted)
                case .sqlite: try ObservedGRDB(run.storeFolder, run.objects, sorted: sorted)
                default: throw Unsupported()
                }
            let signal = DispatchSemaphore(value: 0)
            let before = ProcessFigures.residentBytes
            let count = try observed.observe { signal.signal() }
            signal.wait()
            run.record(memory, Double(max(0, ProcessFigures.residentBytes - before)) / Double(max(count, 1)))
            var random = SplitMix64(seed: 13)
            var times: [Double] = []
            for round in 0..<(run.quick ? 50 : 200) {
                let id = random.below(run.objects)
                // Observers need not be called for what changes nothing, so each round changes the result.
                let score = try observed.score(of: id) > 5_000 ? round : 5_001 + round
                usleep(1_000)
                let start = now()
                try observed.setScore(score, of: id)
                signal.wait()
                times.append(Double(now() - start) / 1e3)
            }
            run.record(whole, times.percentile(0.5))
            run.record(late, times.percentile(0.99))
        }
    }
}

/// People, of whom those with high scores are observed on a serial queue.
private protocol ObservedPeople {
    /// Calls `body` now and after each change. Returns how many people are found.
    func observe(_ body: @escaping @Sendable () -> Void) throws -> Int
    func score(of id: Int) throws -> Int
    func setScore(_ score: Int, of id: Int) throws
}

private func fillScore(_ id: Int) -> Int { id &* 7_919 % 10_000 }
private func fillName(_ id: Int) -> String { "Person \(id &* 48_271 % 1_000_003)" }

private final class ScoredPerson: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String
    @Persisted var score: Int
}

private final class ObservedTyped: ObservedPeople {
    private let realm: Realm
    private let sorted: Bool
    private var token: NotificationToken?

    init(_ folder: String, _ count: Int, sorted: Bool) throws {
        self.sorted = sorted
        let realm = try Realm(
            configuration: Realm.Configuration(
                fileURL: URL(fileURLWithPath: folder + "/people.firn"), objectTypes: [ScoredPerson.self]))
        try realm.write {
            for id in 0..<count {
                let person = ScoredPerson()
                person.id = id
                person.name = fillName(id)
                person.score = fillScore(id)
                realm.add(person)
            }
        }
        self.realm = realm
    }

    func observe(_ body: @escaping @Sendable () -> Void) throws -> Int {
        var results = realm.objects(ScoredPerson.self).where { $0.score > 5_000 }
        if sorted { results = results.sorted(by: \.name) }
        token = results.observe(on: DispatchQueue(label: "observer")) { @Sendable change in
            switch change {
            case .initial(let people), .update(let people, _, _, _): escape(people.count)
            case .error: fatalError("an observer failed")
            }
            body()
        }
        return results.count
    }

    func score(of id: Int) throws -> Int { realm.object(ofType: ScoredPerson.self, forPrimaryKey: id)?.score ?? 0 }

    func setScore(_ score: Int, of id: Int) throws {
        try realm.write { realm.object(ofType: ScoredPerson.self, forPrimaryKey: id)?.score = score }
    }
}

private final class ObservedGRDB: ObservedPeople {
    private let pool: DatabasePool
    private let sorted: Bool
    private var observation: (any DatabaseCancellable)?

    init(_ folder: String, _ count: Int, sorted: Bool) throws {
        self.sorted = sorted
        var configuration = GRDB.Configuration()
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = FULL") }
        pool = try DatabasePool(path: folder + "/people.sqlite", configuration: configuration)
        try pool.write { database in
            try database.execute(
                sql: "CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL, score INTEGER NOT NULL)")
            let insert = try database.makeStatement(sql: "INSERT INTO person VALUES (?, ?, ?)")
            for id in 0..<count { try insert.execute(arguments: [id, fillName(id), fillScore(id)]) }
        }
    }

    func observe(_ body: @escaping @Sendable () -> Void) throws -> Int {
        let sql = "SELECT id FROM person WHERE score > 5000" + (sorted ? " ORDER BY name" : "")
        observation = ValueObservation.tracking { try Int64.fetchAll($0, sql: sql) }
            .start(in: pool, scheduling: .async(onQueue: DispatchQueue(label: "observer"))) { error in
                fatalError("an observer failed: \(error)")
            } onChange: { ids in
                escape(ids.count)
                body()
            }
        return try pool.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM person WHERE score > 5000") ?? 0 }
    }

    func score(of id: Int) throws -> Int {
        try pool.read { try Int.fetchOne($0, sql: "SELECT score FROM person WHERE id = ?", arguments: [id]) ?? 0 }
    }

    func setScore(_ score: Int, of id: Int) throws {
        try pool.write {
            try $0.cachedStatement(sql: "UPDATE person SET score = ? WHERE id = ?").execute(arguments: [score, id])
        }
    }
}
