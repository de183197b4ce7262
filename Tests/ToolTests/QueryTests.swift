import FirnCore
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnTool

/// `firn query`, `firn explain` and `firn compact`.
@Suite("firn query and compact", .timeLimit(.minutes(20))) struct QueryTests {
    private static func query(
        _ storage: MemoryStorage, query: String, version: VersionChoice? = nil, json: Bool = false,
        width: Int = .max
    ) throws -> Run {
        try Run {
            try QueryCommand.run(
                SampleStore.path, query: query, version: version, json: json, storage: storage, width: width, output: $0
            )
        }
    }

    @Test("shows what is found, as a table and as JSON") func table() throws {
        let storage = try SampleStore().storage
        let run = try Self.query(storage, query: "Person WHERE age > -100 SORT(age ASC)", width: 60)
        let lines = run.out.split(separator: "\n")
        #expect(lines.count == 4 && lines.allSatisfy { $0.count <= 60 }, "\(run.out)")
        #expect(lines[1].hasPrefix("Ben") && lines[2].hasPrefix("Anna"), "\(run.out)")
        #expect(!run.out.contains("snow\n") && !run.out.contains("\u{1B}"), "\(run.out)")
        let json = try Self.query(storage, query: "Person SORT(age DESC) LIMIT(1)", json: true)
        #expect(json.out.hasPrefix("{\"name\":\"Anna\",\"age\":42,"), "\(json.out)")
        #expect(try Self.query(storage, query: "Dog").out == "0 objects\n")
        #expect(try Self.query(storage, query: "Dog", version: .number(4)).out.contains("Rex"))
    }

    @Test("what is wrong is said, and where") func wrong() throws {
        let storage = try SampleStore().storage
        for (query, text) in [
            ("", "the query is empty"), ("Cat", "there is no class Cat. The store has Dog, Person."),
            ("Person age > 3", "goes on with WHERE"), ("Person WHERE ag > 3", "no property 'ag'"),
            ("Person WHERE", "goes on with WHERE"), ("Person WHERE age >", "age >"),
            ("Person WHERE 'full age' == 2", "constant is compared with a constant"),
            ("Person WHERE full-age == 2", #"'full\-name'"#),
            (#"Person WHERE full\-age == 2"#, "no property 'full-age'"),
        ] {
            let run = try Self.query(storage, query: query)
            #expect(run.status == .usage && run.error.contains(text) && run.out.isEmpty, "\(query): \(run)")
        }
    }

    @Test("names with signs are queried, and errors say how they are written") func names() throws {
        let storage = MemoryStorage()
        let made = try RoundTripTests.importing(
            storage, text: #"{"@id":1,"full age":42,"Installed-Size":7,"in":3}"# + "\n", into: SampleStore.path,
            options: .init(type: "P"))
        #expect(made.status == .fine, "\(made)")
        let all = #"P WHERE \@id == 1 AND full\ age == 42 AND Installed\-Size == 7 AND #in == 3 SORT(\@id ASC)"#
        #expect(try Self.query(storage, query: all).out.contains("1 object"))
        for (condition, hint) in [
            ("@id == 1", #"written \@id"#), ("full age == 42", #"written full\ age"#),
            ("Installed-Size > 3", #"written Installed\-Size"#), ("TRUEPREDICATE SORT(full age)", #"full\ age"#),
        ] {
            let run = try Self.query(storage, query: "P WHERE " + condition)
            #expect(run.status == .usage && run.error.contains(hint), "\(run)")
        }
    }

    @Test("explain tells of the index") func explain() throws {
        let storage = try SampleStore().storage
        func explain(_ query: String, json: Bool = false) throws -> String {
            let run = try Run {
                try ExplainCommand.run(SampleStore.path, query: query, json: json, storage: storage, output: $0)
            }
            #expect(run.status == .fine, "\(run)")
            return run.out
        }
        #expect(try explain("Person WHERE name == 'Anna'").contains("index"))
        #expect(try explain("Person WHERE age == 3").contains("scan"))
        #expect(
            try explain("Person WHERE age == 3", json: true).hasPrefix(
                "{\"class\":\"Person\",\"version\":5,\"plan\":\""))
    }

    @Test("compact drops the log, but not what is retained") func compact() throws {
        for retains in [false, true] {
            let edited = try EditedStore(seed: 3, versions: 40, people: 300, retainsHistory: retains)
            let storage = edited.sample.storage
            let before = try StoreFiles(named: SampleStore.path, storage: storage).byteCount()
            let run = try Run {
                try CompactCommand.run(
                    SampleStore.path, json: false, storage: storage, clock: edited.sample.clock, $0)
            }
            #expect(run.status == .fine && run.out.contains("version 40"), "\(run)")
            let after = try StoreFiles(named: SampleStore.path, storage: storage).byteCount()
            #expect(run.out.contains("has \(Amount.bytes(after)), before that \(Amount.bytes(before));"), "\(run)")
            #expect(try OpenedStore.open(SampleStore.path, storage: storage).manifest.checkpoint?.version == 40)
            #expect(try EditedStore.state(of: storage, SampleStore.path) == edited.states[40])
            #expect(try Run.verify(storage).status == .fine)
            let old = try Run.replay(storage, to: 20)
            #expect(old.status == (retains ? .fine : .usage), "\(old)")
        }
        let missing = try Run {
            try CompactCommand.run("/nowhere", json: false, storage: MemoryStorage(), clock: ManualClock(), $0)
        }
        #expect(missing.status == .input && missing.error.contains("does not exist"), "\(missing)")
    }
}
