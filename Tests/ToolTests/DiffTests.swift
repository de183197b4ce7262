import FirnStorage
import Testing

@testable import FirnTool

@Suite("firn diff", .timeLimit(.minutes(20))) struct DiffTests {
    @Test("shows objects that were inserted, deleted and changed, with the values before and after") func text() throws
    {
        let sample = try SampleStore(more: 3)
        let run = try Run.diff(sample.storage, from: 2, to: 8)
        #expect(run.status == .fine, "\(run.error)")
        #expect(
            run.out == """
                ~ Person #0 "Anna"
                    age: 41 -> 1002
                    tags: version 4: insert at 0: "first"; remove at 3: "tag 2"; replace at 1: "tag 0" -> "set"; move 0 -> 4
                    dogs: version 5: remove at 0: #0
                ~ Person #1 "Ben"
                    notes: nil -> "was nil"
                - Dog #0
                    name: "Rex"
                    isGood: true
                    owner: #0
                    id: 00112233-4455-6677-8899-AABBCCDDEEFF
                    number: 0102030405060708090a0b0c
                    price: 19.95
                versions 2 and 8: 2 updated, 1 deleted

                """)
        let reversed = try Run.diff(sample.storage, from: 8, to: 2)
        for text in [
            "age: 1002 -> 41", #"replace at 1: "set" -> "tag 0""#, "+ Dog #0\n    name: \"Rex\"",
            "dogs: version 5: insert at 0: #0",
            "versions 8 and 2: 1 inserted, 2 updated",
        ] { #expect(reversed.out.contains(text), "\(text) is missing in \(reversed.out)") }
        #expect(try Run.diff(sample.storage, from: 5, to: 5).out == "versions 5 and 5: no difference\n")
    }

    @Test("leaves out what was undone, and chooses by class and primary key") func chosen() throws {
        let sample = try SampleStore(more: 3)
        // Inserted and deleted in between: no trace of the dog.
        #expect(!(try Run.diff(sample.storage, from: 1, to: 8).out.contains("Dog")))
        let ben = try Run.diff(sample.storage, from: 1, to: 8, choice: .object(type: "Person", .primaryKey("Ben")))
        #expect(ben.out.hasPrefix("+ Person #1 \"Ben\"") && !ben.out.contains("Anna"), "\(ben.out)")
        let dogs = try Run.diff(sample.storage, from: 4, to: 8, choice: .type("Dog"))
        #expect(dogs.out.hasPrefix("- Dog #0") && dogs.out.hasSuffix("versions 4 and 8: 1 deleted\n"), "\(dogs.out)")
        for (choice, text) in [
            (ObjectChoice.type("Cat"), "has no class \"Cat\". Its classes: Dog, Person."),
            (.object(type: "Dog", .primaryKey("Rex")), "Dog has no primary key. Give --object"),
            (.object(type: "Person", .primaryKey("Eve")), "holds no Person with the primary key \"Eve\""),
        ] {
            let run = try Run.diff(sample.storage, from: 1, to: 8, choice: choice)
            #expect(run.status == .usage && run.error.contains(text), "\(run)")
        }
        #expect(try Run.diff(sample.storage, from: 1, to: 9).status == .usage)
    }

    @Test("names versions by time") func moments() throws {
        let sample = try SampleStore(more: 3)
        let moment = try #require(VersionChoice(argument: "2023-11-14T22:13:24.600Z"))
        let run = try Run {
            try DiffCommand.run(
                SampleStore.path, first: moment, second: nil, json: false, storage: sample.storage, output: $0)
        }
        #expect(run.out.hasSuffix("versions 3 and 8: 1 updated, 1 deleted\n"), "\(run.out)\(run.error)")
        // Of now and of later moments it is the newest one, even if the clock was ahead when that was committed.
        let store = try OpenedStore.open(SampleStore.path, storage: sample.storage)
        let second = try #require(Moment(argument: "2023-11-14T22:13:24")).nanoseconds
        #expect(try moment.number(in: store, now: second) == 8)
        #expect(try moment.number(in: store, now: second + 1_000_000_000) == 3)
        let early = try #require(VersionChoice(argument: "2023-11-13"))
        let refused = try Run {
            try DiffCommand.run(
                SampleStore.path, first: early, second: nil, json: false, storage: sample.storage, output: $0)
        }
        #expect(refused.status == .usage && refused.error.contains("the oldest one, 1, is of 2023-11-14T22:13:21.500Z"))
    }

    @Test("agrees with what the versions held, in one pass and in many", arguments: [1, 2, 3, 4] as [UInt64])
    func random(seed: UInt64) throws {
        let edited = try EditedStore(seed: seed, versions: 40)
        for from in stride(from: 1, through: 40, by: 3) {
            for to in stride(from: 40, through: 1, by: -4) {
                for byteMax in [1 << 20, 2000] {
                    let run = try Run.diff(edited.sample.storage, from: from, to: to, json: true, byteMax: byteMax)
                    #expect(run.status == .fine, "\(run.error)")
                    try Self.check(
                        ShownObject.all(run.out), old: edited.states[from], new: edited.states[to],
                        what: "\(from) \(to)")
                }
            }
        }
    }

    /// Checks that the objects shown lead from one state to the other.
    static func check(
        _ shown: [ShownObject], old: EditedStore.State, new: EditedStore.State, what: String
    ) throws {
        #expect(shown.map(\.identity) == shown.map(\.identity).sorted(), "\(what)")
        var state = old
        for object in shown {
            switch object.change {
            case "deleted":
                let held = state.removeValue(forKey: object.identity)
                let before = try #require(held, "\(what)")
                for (name, property) in object.properties {
                    if let held = before[name] { #expect(Self.held(property["old"]) == held, "\(what) \(name)") }
                }
            case "inserted":
                #expect(state[object.identity] == nil, "\(what)")
                state[object.identity] = ["notes": .single("null"), "tags": .elements([])]
                for name in ["name", "age", "notes", "tags"] {
                    guard let property = object.properties[name] else { continue }
                    state[object.identity]?[name] = Self.held(property["new"])
                }
            default:
                let before = try #require(state[object.identity], "\(what)")
                #expect(before["name"] == .single(object.primaryKey), "\(what)")
                #expect(!object.properties.isEmpty, "\(what)")
                for (name, property) in object.properties {
                    guard let versions = property["edits"] as? [[String: Any]] else {
                        #expect(Self.held(property["old"]) == before[name], "\(what) \(name)")
                        state[object.identity]?[name] = Self.held(property["new"])
                        continue
                    }
                    guard case .elements(var elements)? = before[name] else { continue }
                    for version in versions {
                        elements = try ShownObject.edited(elements, version["edits"] as? [[String: Any]] ?? [])
                    }
                    state[object.identity]?[name] = .elements(elements)
                }
            }
        }
        #expect(state == new, "\(what)")
    }

    static func held(_ value: Any?) -> EditedStore.Held {
        if let elements = value as? [Any] { return .elements(elements.map(ShownObject.text)) }
        return .single(ShownObject.text(value))
    }
}

extension Run {
    static func diff(
        _ storage: any Storage, from: Int, to: Int, choice: ObjectChoice = .all, json: Bool = false,
        byteMax: Int = 1 << 20
    ) throws -> Run {
        try Run {
            try DiffCommand.run(
                SampleStore.path, first: .number(UInt64(from)), second: .number(UInt64(to)), choice: choice, json: json,
                storage: storage,
                byteMax: byteMax, output: $0)
        }
    }
}
