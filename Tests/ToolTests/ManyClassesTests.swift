import FirnCore
import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnTool

/// The command reads stores of many classes and properties, and says which limits an import exceeds.
@Suite("Many classes", .timeLimit(.minutes(TestEnvironment.minutes))) struct ManyClassesTests {
    /// An export with an object of each class.
    private static func lines(classes: Int, properties: Int) -> String {
        func names(_ body: (Int) -> String) -> String { (0..<properties).map(body).joined(separator: ",") }
        let described = names { "{\"name\":\"p\($0)\",\"type\":\"int?\"}" }
        let values = names { "\"p\($0)\":\($0)" }
        let schema = (0..<classes).map { "{\"name\":\"Class\($0)\",\"properties\":[\(described)]}" }
        return "{\"$schema\":{\"version\":1,\"classes\":[\(schema.joined(separator: ","))]}}\n"
            + (0..<classes).map { "{\"$type\":\"Class\($0)\",\(values)}\n" }.joined()
    }

    /// `FIRN_CLASSES=16384x3,1x1024` prints how long each subcommand takes with these sizes.
    private static let sizes: [[Int]] = {
        guard let text = TestEnvironment.value("FIRN_CLASSES") else { return [[200, 3], [1, 1024]] }
        return text.split(separator: ",").map { size in size.split(separator: "x").compactMap { Int($0) } }
    }()

    @Test("every subcommand reads them", arguments: sizes) func subcommands(size: [Int]) throws {
        let (classes, properties) = (size[0], size[1])
        let storage = MemoryStorage()
        let path = SampleStore.path
        func step(_ name: String, expecting text: String, _ body: () throws -> Run) throws {
            let start = SystemClock.shared.monotonic()
            let run = try body()
            #expect(run.status == .fine, "\(name): \(run.error.prefix(500))")
            let isThere = run.out.contains(text)
            #expect(isThere, "\(name): \(run.out.suffix(500))")
            if TestEnvironment.value("FIRN_CLASSES") != nil {
                print(
                    "\(classes) classes of \(properties) properties, \(name): \((SystemClock.shared.monotonic() - start) / 1_000_000) ms"
                )
            }
        }
        let text = Self.lines(classes: classes, properties: properties)
        let last = "Class\(classes - 1)"
        try step("import", expecting: "got \(classes) new object") {
            try RoundTripTests.importing(storage, text: text, into: path)
        }
        try step("import again", expecting: "got \(classes) new object") {
            try RoundTripTests.importing(storage, text: text, into: path)
        }
        try step("info", expecting: "  \(last)  2 objects") { try Run.info(storage) }
        try step("info --json", expecting: "\"\(last)\"") { try Run.info(storage, json: true) }
        try step("log", expecting: "\(last) +1") { try Run.log(storage) }
        try step("show", expecting: last) { try Run.show(storage, 1) }
        try step("verify --deep", expecting: "no damage") { try Run.verify(storage) }
        try step("diff", expecting: last) { try Run.diff(storage, from: 1, to: 2) }
        try step("export", expecting: "\"\(last)\"") { try RoundTripTests.export(storage) }
        try step("history", expecting: "+ \(last) #0") { try Run.history(storage, .number(0), type: last) }
        try step("recover", expecting: "\(last)  2 objects recovered") {
            try Run {
                try RecoverCommand.run(
                    path, output: "/recovered", json: false, storage: storage, clock: ManualClock(), $0)
            }
        }
        try step("verify of what was recovered", expecting: "no damage") { try Run.verify(storage, path: "/recovered") }
        let store = try Store(StoreOptions(log: LogOptions(folder: "/recovered")), storage: storage)
        let snapshot = store.pin().snapshot
        #expect(snapshot.schema.tables.count { !$0.isRemoved } == classes)
        #expect((0..<snapshot.schema.tables.count).allSatisfy { snapshot.table(TableID($0)).count == 2 })
        try store.close()
    }

    /// One object has more properties than a class may have, or its properties have longer names.
    @Test("an import of too many properties says the limit", arguments: [1025, 20_000]) func properties(count: Int)
        throws
    {
        let storage = MemoryStorage()
        let line = "{" + (0..<count).map { "\"p\($0)\":1" }.joined(separator: ",") + "}"
        let run = try RoundTripTests.importing(storage, text: line, options: TextImport.Options(type: "P"))
        #expect(run.status == .usage && run.error.utf8.count < 1000, "\(run.error.prefix(2000))")
        #expect(run.error.contains("P has had \(count) properties; 1024 are allowed"), "\(run.error.prefix(2000))")
        #expect(try storage.status("/new") == nil)
    }

    @Test("an import of too many classes says the limit") func classes() throws {
        let storage = MemoryStorage()
        let run = try RoundTripTests.importing(
            storage, text: Self.lines(classes: 16_385, properties: 0).replacing(",}", with: "}"))
        #expect(run.status == .usage && run.error.contains("has 16385 classes; 16384 are allowed"), "\(run.error)")
        #expect(try storage.status("/new") == nil)
    }

    @Test("an import of a name of a megabyte says the limit, and not the name", arguments: ["n", "n\u{301}"])
    func names(character: String) throws {
        let name = String(repeating: character, count: 1 << 20)
        let storage = MemoryStorage()
        for (line, options) in [
            ("{\"\(name)\":1}", TextImport.Options(type: "P")), ("{\"id\":1}", TextImport.Options(type: name)),
            (
                "{\"$schema\":{\"classes\":[{\"name\":\"P\",\"properties\":[{\"name\":\"\(name)\",\"type\":\"int\"}]}]}}",
                TextImport.Options()
            ),
            (
                "{\"$schema\":{\"classes\":[{\"name\":\"\(name)\",\"properties\":[{\"name\":\"p\",\"type\":\"P\"}]}]}}",
                TextImport.Options()
            ),
            (
                "{\"$schema\":{\"classes\":[{\"name\":\"P\",\"primaryKey\":\"\(name)\",\"properties\":[]}]}}",
                TextImport.Options()
            ),
            (
                "{\"$schema\":{\"classes\":[{\"name\":\"P\",\"properties\":[{\"name\":\"$type\",\"type\":\"\(name)\"}]}]}}",
                TextImport.Options()
            ),
        ] {
            let run = try RoundTripTests.importing(storage, text: line, options: options)
            #expect(
                run.status == .usage && run.error.utf8.count < 2000,
                "\(run.error.utf8.count) bytes: \(run.error.prefix(300))")
            #expect(try storage.status("/new") == nil)
        }
    }
}
