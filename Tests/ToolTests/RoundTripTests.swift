import FirnCore
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnTool

/// `firn export` and `firn import`: what was exported comes back as it was.
@Suite("Export and import", .timeLimit(.minutes(20))) struct RoundTripTests {
    static func export(
        _ storage: MemoryStorage, path: String = SampleStore.path, format: ExportCommand.Format = .ndjson,
        choice: ExportCommand.Choice = .init(), to file: String? = nil
    ) throws -> Run {
        try Run {
            try ExportCommand.run(path, format: format, choice: choice, output: file, storage: storage, to: $0)
            return .fine
        }
    }

    static func importing(
        _ storage: MemoryStorage, text: String, into path: String = "/new", options: TextImport.Options = .init(),
        batch: Int? = nil, json: Bool = false
    ) throws -> Run {
        let file = "/input"
        if try storage.status(file) != nil { try storage.remove(file) }
        let made = try storage.open(file, .create)
        try Array(text.utf8).withUnsafeBytes { try made.write($0, at: 0) }
        made.close()
        return try Run {
            try ImportCommand.run(
                path, file: file, options: options, batch: batch, json: json, storage: storage, clock: ManualClock(),
                output: $0)
        }
    }

    @Test("every type of property comes back as it was", arguments: 1...6 as ClosedRange<UInt64>)
    func everyType(seed: UInt64) throws {
        let storage = try EveryTypeStore(seed: seed).sample.storage
        let first = try Self.export(storage)
        #expect(first.status == .fine && first.error.isEmpty, "\(first.error)")
        let imported = try Self.importing(storage, text: first.out, batch: seed % 2 == 0 ? 7 : nil)
        #expect(imported.status == .fine, "\(imported)")
        #expect(try Run.verify(storage, path: "/new").status == .fine)
        let second = try Self.export(storage, path: "/new")
        try Self.expectSameLines(first.out, second.out)
        // Again: nothing changes, so that no version is made.
        let again = try Self.importing(
            storage, text: first.out.split(separator: "\n").filter { !$0.contains("$object") }.joined(separator: "\n"))
        #expect(again.status == .fine && again.out.contains(" got 0 new objects, and 0 objects changed"), "\(again)")
    }

    private static func expectSameLines(_ a: String, _ b: String) throws {
        let (a, b) = (a.split(separator: "\n"), b.split(separator: "\n"))
        #expect(a.count == b.count)
        for (index, (a, b)) in zip(a, b).enumerated() where a != b {
            let common = zip(a, b).prefix { $0 == $1 }.count
            Issue.record(
                "line \(index): \(a.dropFirst(max(0, common - 80)).prefix(200)) became \(b.dropFirst(max(0, common - 80)).prefix(200))"
            )
            return
        }
    }

    @Test("CSV comes back as it was", arguments: 1...4 as ClosedRange<UInt64>) func csv(seed: UInt64) throws {
        let storage = try EveryTypeStore(seed: seed).sample.storage
        // What the objects link to comes first, and with it the schema.
        let all = try Self.export(storage)
        let others = all.out.split(separator: "\n").filter { !$0.contains("\"$type\":\"Thing\"") }
        #expect(try Self.importing(storage, text: others.joined(separator: "\n")).status == .fine)
        let choice = ExportCommand.Choice(types: ["Thing"])
        let first = try Self.export(storage, path: SampleStore.path, format: .csv, choice: choice)
        let imported = try Self.importing(storage, text: first.out, options: .init(type: "Thing", isCSV: true))
        #expect(imported.status == .fine, "\(imported)")
        #expect(try Self.export(storage, path: "/new", format: .csv, choice: choice).out == first.out)
        try Self.expectSameLines(all.out, Self.export(storage, path: "/new").out)
    }

    @Test("JSON has the same objects; a file is complete or not there") func forms() throws {
        let storage = try SampleStore(more: 3).storage
        let lines = try Self.export(storage).out.split(separator: "\n").dropFirst()
        let json = try Self.export(storage, path: SampleStore.path, format: .json)
        #expect(json.out.hasPrefix("{\"$schema\":{\"version\":3,"))
        #expect(json.out.hasSuffix("\"objects\":[\n" + lines.joined(separator: ",\n") + "\n]}\n"), "\(json.out)")
        let file = try Self.export(storage, to: "/file.ndjson")
        #expect(file.status == .fine && file.out.isEmpty, "\(file)")
        let again = try Self.export(storage, to: "/file.ndjson")
        #expect(again.status == .usage && again.error.contains("/file.ndjson exists"), "\(again)")
        #expect(try storage.list("/").allSatisfy { !$0.hasSuffix(".partial") })
        let refused = try Self.export(
            storage, path: SampleStore.path, format: .ndjson, choice: .init(types: ["Person"], predicate: "ag > 3"),
            to: "/other")
        #expect(refused.status == .usage && refused.error.contains("no property 'ag'"), "\(refused)")
        #expect(try storage.status("/other") == nil && storage.list("/").allSatisfy { !$0.hasSuffix(".partial") })
    }

    @Test("a version, a class and a condition are chosen") func choices() throws {
        let storage = try SampleStore(more: 3).storage
        func ages(_ choice: ExportCommand.Choice) throws -> [String] {
            let run = try Self.export(storage, path: SampleStore.path, format: .csv, choice: choice)
            #expect(run.status == .fine, "\(run)")
            return run.out.split(separator: "\n").dropFirst().map { String($0.split(separator: ",")[1]) }
        }
        #expect(try ages(.init(types: ["Person"], predicate: "name == 'Ben'")) == ["-7"])
        #expect(try ages(.init(types: ["Person"], predicate: "TRUEPREDICATE SORT(age ASC) LIMIT(1)")) == ["-7"])
        let dogs = try Self.export(
            storage, path: SampleStore.path, format: .ndjson, choice: .init(types: ["Dog"], version: .number(4)))
        #expect(dogs.out.contains("\"name\":\"Rex\",\"isGood\":true,\"owner\":\"Anna\""), "\(dogs)")
        #expect(
            try Self.export(storage, path: SampleStore.path, format: .ndjson, choice: .init(types: ["Dog"])).out.isEmpty
        )
        let missing = try Self.export(storage, path: SampleStore.path, format: .ndjson, choice: .init(types: ["Cat"]))
        #expect(missing.status == .usage && missing.error.contains("Dog, Person"), "\(missing)")
        let later = try Self.export(
            storage, path: SampleStore.path, format: .ndjson, choice: .init(version: .number(99)))
        #expect(later.status == .usage && later.error.contains("99"), "\(later)")
    }
}
