import FirnStorage
import Testing

@testable import FirnTool

@Suite("firn history", .timeLimit(.minutes(20))) struct HistoryTests {
    @Test("shows each version that changed the object") func text() throws {
        let sample = try SampleStore(more: 2)
        let run = try Run.history(sample.storage, .primaryKey("Ben"))
        #expect(run.status == .fine, "\(run.error)")
        #expect(
            run.out == """
                version 2  2023-11-14T22:13:23.000Z
                + Person #1 "Ben"
                    name: "Ben"
                    age: -7
                    notes: nil
                    tags: []
                    dogs: []
                    photo: <> (0 B)
                    born: nil
                    weight: 0.0
                version 3  2023-11-14T22:13:24.500Z
                ~ Person #1 "Ben"
                    age: -7, assigned again
                    notes: nil -> "was nil"

                """)
        let some = try Run.history(sample.storage, .number(0), from: 3, to: 6)
        let versions = some.out.split(separator: "\n").filter { $0.hasPrefix("version") }.map {
            $0.split(separator: " ")[1]
        }
        #expect(versions == ["3", "4", "5", "6"], "\(some.out)")
        #expect(some.out.contains("~ Person #0 \"Anna\""))
        let since = try Run.history(
            sample.storage, .primaryKey("Anna"), since: Moment(argument: "2023-11-14T22:13:28Z"))
        #expect(since.out.hasPrefix("version 6 "), "\(since.out)")
        let none = try Run.history(sample.storage, .number(99))
        #expect(none.status == .fine && none.out.isEmpty && none.error.contains("no change of the object"), "\(none)")
        #expect(try Run.history(sample.storage, .primaryKey("Eve")).status == .usage)
        #expect(try Run.history(sample.storage, .primaryKey("Anna"), type: "People").status == .usage)
    }

    @Test("finds every object that has had the primary key", arguments: [1, 2, 3] as [UInt64])
    func random(seed: UInt64) throws {
        for compacts in [Set<Int>(), [10, 25]] {
            let edited = try EditedStore(seed: seed, versions: 40, compactsAt: compacts)
            let store = try OpenedStore.open(SampleStore.path, storage: edited.sample.storage)
            let first = Int(store.manifest.firstVersion)
            for name in (0..<20).map({ "p\($0)" }) {
                let run = try Run.history(edited.sample.storage, .primaryKey(name), json: true)
                // What each version has done to objects of the name, by the states.
                var expected: [String] = []
                for version in first..<edited.states.count {
                    let (old, new) = (edited.states[version - 1], edited.states[version])
                    let named = Set(old.merging(new) { $1 }.filter { $0.value["name"] == .single("\"\(name)\"") }.keys)
                    for identity in named.sorted() where old[identity] != new[identity] {
                        let change =
                            old[identity] == nil ? "inserted" : new[identity] == nil ? "deleted" : "updated"
                        expected.append("\(version) \(change) \(identity.key)")
                    }
                }
                let isKnown = edited.states[(first - 1)...].contains { state in
                    state.values.contains { $0["name"] == .single("\"\(name)\"") }
                }
                // An object that was inserted and deleted within a version may be in the log, or not.
                guard isKnown || run.status == .fine else {
                    #expect(run.status == .usage)
                    continue
                }
                #expect(run.status == .fine, "\(run.error)")
                // A version that assigns the same values changes nothing in the states.
                let shown = try ShownObject.all(run.out).filter { object in
                    #expect(object.primaryKey == "\"\(name)\"")
                    let (old, new) = (
                        edited.states[Int(object.version ?? 0) - 1], edited.states[Int(object.version ?? 0)]
                    )
                    return old[object.identity] != new[object.identity]
                }
                #expect(
                    Set(shown.map { "\($0.version ?? 0) \($0.change) \($0.identity.key)" }) == Set(expected),
                    "\(name), seed \(seed)")
            }
        }
    }
}

extension Run {
    static func history(
        _ storage: any Storage, _ name: ObjectChoice.Name, type: String = "Person", from: UInt64 = 1,
        to: UInt64 = .max, since: Moment? = nil, json: Bool = false
    ) throws -> Run {
        try Run {
            try HistoryCommand.run(
                SampleStore.path, choice: .object(type: type, name), from: from, to: to, since: since, json: json,
                storage: storage, output: $0)
        }
    }
}
