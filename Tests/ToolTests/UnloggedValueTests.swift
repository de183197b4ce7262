import FirnStorage
import FirnTestSupport
import Foundation
import Testing

@testable import FirnTool

/// Versions that were committed on a full disk have no old values in the log. The commands say so, and never show a
/// new value as the old one. (The store is that of `UnloggedGoldenTests`: the disk was full from version 4 to 8.)
@Suite("Values that a full disk kept from being logged", .timeLimit(.minutes(20))) struct UnloggedValueTests {
    private static let folder =
        String(#filePath.dropLast("ToolTests/UnloggedValueTests.swift".utf8.count))
        + "FirnCoreTests/Golden/store-full-disk"

    private let storage: MemoryStorage

    init() throws {
        storage = try GoldenStore.copy(of: Self.folder, files: ["manifest", "log/0000000001.segment"])
    }

    private func show(_ version: UInt64, json: Bool = false) throws -> Run {
        try Run { try ShowCommand.run("/g", version: version, json: json, storage: storage, output: $0) }
    }

    private func diff(_ from: UInt64, _ to: UInt64, json: Bool = false) throws -> Run {
        try Run {
            try DiffCommand.run(
                "/g", first: .number(from), second: .number(to), json: json, storage: storage, output: $0)
        }
    }

    /// The lines of JSON that name a change.
    private static func objects(_ text: String) throws -> [[String: Any]] {
        try text.split(separator: "\n").compactMap {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }.filter { $0["change"] != nil }
    }

    private static func property(_ object: [String: Any], _ name: String) throws -> [String: Any] {
        let all = try #require(object["properties"] as? [[String: Any]])
        return try #require(all.first { $0["name"] as? String == name })
    }

    @Test("firn show says that an old value was not logged") func shown() throws {
        let texts: [UInt64: [String]] = [
            3: ["age: 40 -> 42"],
            4: [
                "~ Person #0 \"Anna\"", "notes: (old value not logged) -> nil", "photo: (old value not logged) -> ",
                "age: 42, assigned again",
            ],
            5: ["tags: remove at 2: (value not logged)"],
            6: ["~ Person #1 \"Ben\"", "tags: remove at 0: (4 values not logged)"],
            7: [
                "- Person #2 \"Cleo\"\n    old values not logged",
                "~ Person #3 \"Dan\"\n    friend: (old value not logged) -> nil",
            ],
            8: ["tags: replace at 0: (value not logged) -> \"x\"", "- Person #3 \"Dan\"\n    old values not logged"],
            9: ["notes: nil -> \"again\""],
        ]
        for (version, expected) in texts {
            let run = try show(version)
            #expect(run.status == .fine, "\(run.error)")
            for text in expected { #expect(run.out.contains(text), "\(text) is missing in \(run.out)") }
            #expect(run.out.contains("not logged") == (4...8).contains(version), "\(run.out)")
        }
    }

    @Test("so does its JSON") func shownAsJSON() throws {
        let anna = try #require(try Self.objects(try show(4, json: true).out).first)
        let notes = try Self.property(anna, "notes")
        #expect(notes["oldNotLogged"] as? Bool == true && notes["old"] == nil && notes["new"] is NSNull)
        #expect(try Self.property(anna, "age")["unchanged"] as? Bool == true)
        let edited = try #require(try Self.objects(try show(5, json: true).out).first)
        let edits = try #require(try Self.property(edited, "tags")["edits"] as? [[String: Any]])
        #expect(edits.count == 1 && edits[0]["oldNotLogged"] as? Bool == true && edits[0]["oldCount"] as? Int == 1)
        let objects = try Self.objects(try show(7, json: true).out)
        let cleo = try #require(objects.first { $0["change"] as? String == "deleted" })
        #expect(cleo["oldNotLogged"] as? Bool == true && cleo["primaryKey"] as? String == "Cleo")
        #expect(!(try show(3, json: true).out.contains("NotLogged")))
    }

    @Test("firn diff combines what is known with what is not") func compared() throws {
        let run = try diff(2, 9)
        #expect(run.status == .fine, "\(run.error)")
        for text in [
            // The first change of the age was logged, and nobody has changed it since.
            "age: 40 -> 42",
            "notes: (old value not logged) -> \"again\"", "photo: (old value not logged) -> ",
            "tags: version 3: insert at 0: \"first\"; version 5: remove at 2: (value not logged); "
                + "version 8: replace at 0: (value not logged) -> \"x\"",
            "tags: version 6: remove at 0: (4 values not logged)", "- Person #2 \"Cleo\"\n    old values not logged",
            "- Person #3 \"Dan\"\n    friend: (old value not logged)\n    other old values not logged",
            "versions 2 and 9: 2 updated, 2 deleted",
        ] { #expect(run.out.contains(text), "\(text) is missing in \(run.out)") }
        let reversed = try diff(9, 2)
        for text in [
            "age: 42 -> 40", "notes: \"again\" -> (old value not logged)",
            "version 8: replace at 0: \"x\" -> (value not logged); version 5: insert at 2: (value not logged)",
            "+ Person #2 \"Cleo\"",
        ] { #expect(reversed.out.contains(text), "\(text) is missing in \(reversed.out)") }
        // An object that came after the first version is known whole.
        let all = try diff(0, 9)
        #expect(!all.out.contains("not logged"), "\(all.out)")
        #expect(
            all.out.contains("tags: [\"x\", \"tag 0 of Anna\", \"tag 2 of Anna\", \"tag 3 of Anna\"]"), "\(all.out)")
        let anna = try #require(try Self.objects(try diff(2, 9, json: true).out).first)
        #expect(try Self.property(anna, "notes")["oldNotLogged"] as? Bool == true)
        let before = try #require(try Self.objects(try diff(9, 2, json: true).out).first)
        #expect(try Self.property(before, "notes")["newNotLogged"] as? Bool == true)
        #expect(try Self.property(before, "notes")["old"] as? String == "again")
    }

    @Test("firn log, history and verify know such versions") func listed() throws {
        let log = try Run { try LogCommand.run("/g", from: 1, to: .max, json: false, storage: storage, output: $0) }
        let lines = log.out.split(separator: "\n")
        #expect(lines.count == 9 && log.status == .fine, "\(log)")
        for (index, line) in lines.enumerated() {
            #expect(line.hasSuffix("old values not logged") == (3...7).contains(index), "\(line)")
        }
        let json = try Run { try LogCommand.run("/g", from: 1, to: .max, json: true, storage: storage, output: $0) }
        #expect(json.out.split(separator: "\n").filter { $0.contains("\"oldNotLogged\":true") }.count == 5)
        let history = try Run {
            try HistoryCommand.run(
                "/g", choice: .object(type: "Person", .primaryKey("Cleo")), json: false, storage: storage, output: $0)
        }
        #expect(history.status == .fine && history.out.contains("- Person #2 \"Cleo\"\n    old values not logged"))
        #expect(try Run.verify(storage, path: "/g").status == .fine)
    }

    @Test("firn recover and firn replay need no old values") func recovered() throws {
        let run = try Run {
            try RecoverCommand.run("/g", output: "/new", json: false, storage: storage, clock: ManualClock(), $0)
        }
        #expect(run.status == .fine && run.error == "" && run.out.hasPrefix("/new holds all of version 9:"), "\(run)")
        let objects = try Run {
            try DiffCommand.run("/new", first: .number(0), second: nil, json: false, storage: storage, output: $0)
        }
        for text in ["age: 42", "notes: \"again\"", "\"x\", \"tag 0 of Anna\", \"tag 2 of Anna\", \"tag 3 of Anna\""] {
            #expect(objects.out.contains(text), "\(text) is missing in \(objects.out)")
        }
        #expect(objects.out.contains("2 inserted"), "\(objects.out)")
        let replayed = try Run {
            try ReplayCommand.run(
                "/g", to: .number(6), output: "/old", json: false, storage: storage,
                randomness: SystemRandomness.shared, clock: SystemClock.shared, $0)
        }
        #expect(replayed.status == .fine, "\(replayed)")
    }

    @Test("an object whose deletion and insertion the log does not name is told of") func unnamed() throws {
        let run = try Run {
            try HistoryCommand.run(
                "/g", choice: .object(type: "Person", .primaryKey("Eve")), json: false, storage: storage, output: $0)
        }
        #expect(run.status == .usage && run.error.contains("give --object and the number"), "\(run)")
    }
}
