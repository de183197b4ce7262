import CSQLite
import Firn
import Foundation

extension Workload {
    /// W5 and W6: conditions, an index, and sorting.
    static let queries: [Workload] = peopleQueries.map { workload($0) }

    private static let peopleQueries: [PeopleQuery] = [
        .init(id: "W5", title: "name BEGINSWITH, no index", unit: "ns/object", limit: 4) { $0.beginsWith },
        .init(id: "W5b", title: "city == and age in a range, no index", unit: "ns/object", limit: 3) { $0.cityAndAge },
        .init(id: "W5c", title: "count of city ==, by an index", unit: "µs", limit: 1) { $0.indexedCity },
        .init(id: "W6", title: "sort by a double, read 100", unit: "ms", limit: 60) { $0.sorted },
        .init(id: "W6b", title: "the first 100 by a double", unit: "ms", limit: 5) { $0.first },
    ]

    private static func workload(_ query: PeopleQuery) -> Workload {
        Workload(
            id: query.id, title: query.title,
            details:
                "N people with a name, one of 100 cities (twice, once with an index), an age of 0 to 99 and a random score; "
                + "warm, median of repeated queries. SQLite: the same table and index.",
            metrics: [Metric(query.unit, .lower)], targets: [.peers(query.unit, .typed, query.limit)]
        ) { sample in
            try FileManager.default.createDirectory(atPath: sample.storeFolder, withIntermediateDirectories: true)
            let body = query.run(try queriedPeople(sample.engineName, sample.storeFolder, sample.objects))
            escape(try body())
            var times: [Double] = []
            let end = now() + (sample.quick ? 200_000_000 : 1_000_000_000)
            while times.count < 5 || (now() < end && times.count < 1_000) {
                times.append(try nanoseconds { escape(try body()) })
            }
            let scale: Double = query.unit == "ms" ? 1e6 : query.unit == "µs" ? 1e3 : Double(sample.objects)
            sample.record(query.unit, times.median / scale)
        }
    }

    private static func queriedPeople(
        _ engine: EngineName, _ folder: String, _ count: Int
    ) throws -> any QueriedPeople {
        switch engine {
        case .typed: try QueriedTyped(folder, count)
        case .sqlite: try QueriedSQLite(folder, count)
        default: throw Unsupported()
        }
    }

    /// What the queries of W5 and W6 find among a few people, and what they must find.
    ///
    /// - Throws: `Unsupported` if the engine has no queries.
    static func queryAnswers(
        _ engine: EngineName, folder: String, count: Int
    ) throws -> [(query: String, found: Int, right: Int)] {
        let (people, right) = (try queriedPeople(engine, folder, count), QueriedRows(rows: Row.all(count)))
        return try peopleQueries.map { ($0.id, try $0.run(people)(), try $0.run(right)()) }
    }
}

/// A query that is measured, and compared with the right answer.
private struct PeopleQuery: Sendable {
    let id: String
    let title: String
    let unit: String
    /// The most that `PEERS` allows, in the unit.
    let limit: Double
    /// Makes the query of some people, which can then be run.
    let run: @Sendable (any QueriedPeople) -> () throws -> Int
}

/// People to be queried. Each query returns a number that depends on what it finds.
private protocol QueriedPeople {
    var beginsWith: () throws -> Int { get }
    var cityAndAge: () throws -> Int { get }
    var indexedCity: () throws -> Int { get }
    var sorted: () throws -> Int { get }
    var first: () throws -> Int { get }
}

private struct Row {
    let id: Int
    let name: String
    let city: String
    let age: Int
    let score: Double

    static func all(_ count: Int) -> [Row] {
        var random = SplitMix64(seed: 5)
        return (0..<count).map { id in
            Row(
                id: id, name: "\(["Ann", "Bo", "Cy", "Dora"][random.below(4)]) \(random.below(1_000_000))",
                city: "City \(random.below(100))", age: random.below(100),
                score: Double(random.below(1 << 30)) / 1024)
        }
    }
}

/// The right answers.
private struct QueriedRows: QueriedPeople {
    let rows: [Row]

    var beginsWith: () throws -> Int { { rows.count { $0.name.hasPrefix("Dora 9") } } }
    var cityAndAge: () throws -> Int { { rows.count { $0.city == "City 7" && (20...30).contains($0.age) } } }
    var indexedCity: () throws -> Int { { rows.count { $0.city == "City 7" } } }
    var sorted: () throws -> Int { { rows.sorted { $0.score < $1.score }.prefix(100).reduce(0) { $0 + $1.id } } }
    var first: () throws -> Int { sorted }
}

private final class QueriedPerson: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String
    @Persisted var city: String
    @Persisted(indexed: true) var home: String
    @Persisted var age: Int
    @Persisted var score: Double
}

private struct QueriedTyped: QueriedPeople {
    private let realm: Realm

    init(_ folder: String, _ count: Int) throws {
        let realm = try Realm(
            configuration: Realm.Configuration(
                fileURL: URL(fileURLWithPath: folder + "/people.firn"), objectTypes: [QueriedPerson.self]))
        try realm.write {
            for row in Row.all(count) {
                let person = QueriedPerson()
                (person.id, person.name, person.city) = (row.id, row.name, row.city)
                (person.home, person.age, person.score) = (row.city, row.age, row.score)
                realm.add(person)
            }
        }
        self.realm = realm
    }

    private var people: Results<QueriedPerson> { realm.objects(QueriedPerson.self) }
    private func sum(_ people: some Sequence<QueriedPerson>) -> Int { people.reduce(0) { $0 &+ $1.id } }

    var beginsWith: () throws -> Int { { people.where { $0.name.starts(with: "Dora 9") }.count } }
    var cityAndAge: () throws -> Int { { people.where { $0.city == "City 7" && $0.age.contains(20...30) }.count } }
    var indexedCity: () throws -> Int { { people.where { $0.home == "City 7" }.count } }
    var sorted: () throws -> Int { { sum(people.sorted(by: \.score).prefix(100)) } }
    var first: () throws -> Int { { sum(people.filter("TRUEPREDICATE SORT(score ASC) LIMIT(100)")) } }
}

private struct QueriedSQLite: QueriedPeople {
    private let connection: SQLiteConnection

    init(_ folder: String, _ count: Int) throws {
        connection = try SQLiteConnection(path: folder + "/people.sqlite", durability: .full)
        try connection.execute(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL, home TEXT NOT NULL, "
                + "age INTEGER NOT NULL, score REAL NOT NULL)")
        try connection.execute("CREATE INDEX person_home ON person (home)")
        try connection.execute("BEGIN IMMEDIATE")
        let insert = try connection.statement("INSERT INTO person VALUES (?1, ?2, ?3, ?3, ?4, ?5)")
        for row in Row.all(count) {
            sqlite3_bind_int64(insert, 1, Int64(row.id))
            sqlite3_bind_int64(insert, 4, Int64(row.age))
            sqlite3_bind_double(insert, 5, row.score)
            try row.name.withCString { name in
                try row.city.withCString { city in
                    sqlite3_bind_text(insert, 2, name, -1, nil)
                    sqlite3_bind_text(insert, 3, city, -1, nil)
                    try connection.finish(insert)
                }
            }
        }
        try connection.execute("COMMIT")
    }

    private func integer(_ sql: String) -> () throws -> Int {
        { try connection.integer(connection.statement(sql)) }
    }

    /// The sum of the ids of the first 100 rows, which the application reads.
    private func firstHundred(_ sql: String) -> () throws -> Int {
        {
            let statement = try connection.statement(sql)
            var sum = 0
            for _ in 0..<100 where sqlite3_step(statement) == SQLITE_ROW {
                sum &+= Int(sqlite3_column_int64(statement, 0))
            }
            sqlite3_reset(statement)
            return sum
        }
    }

    var beginsWith: () throws -> Int { integer("SELECT COUNT(*) FROM person WHERE name GLOB 'Dora 9*'") }
    var cityAndAge: () throws -> Int {
        integer("SELECT COUNT(*) FROM person WHERE city = 'City 7' AND age BETWEEN 20 AND 30")
    }
    var indexedCity: () throws -> Int { integer("SELECT COUNT(*) FROM person WHERE home = 'City 7'") }
    var sorted: () throws -> Int { firstHundred("SELECT id FROM person ORDER BY score") }
    var first: () throws -> Int { firstHundred("SELECT id FROM person ORDER BY score LIMIT 100") }
}
