import Firn
import Foundation

extension Workload {
    private static let median = "asOf, p50, ms"
    private static let late = "asOf, p99, ms"
    private static let again = "asOf again, p50, µs"
    private static let retained = "log retained, MiB"
    private static let versions = "versions retained"

    static let pastVersions = Workload(
        id: "W22", title: "open a random retained version",
        details:
            "N/10 people; bios of random people are changed, 1,000 in each transaction, without sync and with all "
            + "history retained, until the log has 640 MiB (quick: 40), while the compactor runs by its rule: it leaves "
            + "a checkpoint behind for each 256 MiB. Then `realm.asOf(version:)` of 100 random versions (quick: 30) "
            + "and name and age of one person there. Again: a version that was opened before.",
        metrics: [
            Metric(median, .lower), Metric(late, .lower), Metric(again, .lower), Metric(retained, .neither),
            Metric(versions, .neither),
        ],
        targets: [.peers(median, .typed, 50), .peers(late, .typed, 1_000)]
    ) { run in
        guard let type = run.engineName.type as? TypedEngine.Type, type.decryptedShare == nil else {
            throw Unsupported()
        }
        let people = run.people(run.tenthOfObjects)
        try FileManager.default.createDirectory(atPath: run.storeFolder, withIntermediateDirectories: true)
        var configuration = Realm.Configuration(
            fileURL: URL(fileURLWithPath: run.storeFolder + "/people.firn"),
            encryptionKey: type.key, objectTypes: [Person.self])
        configuration.durability = .none
        configuration.historyRetention = .everything
        let realm = try Realm(configuration: configuration)
        try realm.write { for index in 0..<people.count { realm.add(Person(people, index)) } }
        var random = SplitMix64(seed: 22)
        let wanted = (run.quick ? 40 : 640) << 20
        while byteCount(ofFilesIn: run.storeFolder + "/people.firn/log") < wanted {
            for _ in 0..<10 {
                try realm.write {
                    for _ in 0..<1_000 {
                        let id = people.records[random.below(people.count)].id
                        guard let person = realm.object(ofType: Person.self, forPrimaryKey: id) else {
                            throw BenchError("no person \(id)")
                        }
                        person.bio = people.texts[random.below(people.count)].bio
                    }
                }
            }
        }
        let all = realm.versions
        run.record(versions, Double(all.count))
        run.record(retained, Double(byteCount(ofFilesIn: run.storeFolder + "/people.firn/log")) / 1_048_576)
        let id = people.records[people.count / 2].id
        func open(_ version: UInt64) throws -> Double {
            try nanoseconds {
                let past = try realm.asOf(version: version)
                guard let person = past.object(ofType: Person.self, forPrimaryKey: id) else {
                    throw BenchError("no person \(id) in version \(version)")
                }
                escape(UInt64(person.age &+ person.name.utf8.count))
            }
        }
        // The versions before the load contain no objects.
        let opened = (0..<(run.quick ? 30 : 100)).map { _ in all[2 + random.below(all.count - 2)].number }
        run.beginMemory()
        let first = try opened.map { try open($0) }
        let second = try opened.suffix(8).map { try open($0) }
        run.endMemory()
        run.record(median, first.percentile(0.5) / 1e6)
        run.record(late, first.percentile(0.99) / 1e6)
        run.record(again, second.percentile(0.5) / 1e3)
    }
}
