import FirnCore
import FirnLog
import FirnRealmFile
import FirnStorage
import FirnTestSupport
import RealmDump
import Testing

@testable import FirnTool

/// `firn import-realm` with the files that Realm itself makes.
@Suite(.timeLimit(.minutes(20))) struct ImportRealmFileTests {
    private let storage = MemoryStorage()

    private func importing(
        _ bytes: [UInt8], _ choice: ImportRealmCommand.Choice = .init(), batch: Int? = nil, into path: String = "/new"
    ) throws -> Run {
        if try storage.status("/app.realm") != nil { try storage.remove("/app.realm") }
        let made = try storage.open("/app.realm", .create)
        try made.write(bytes, at: 0)
        made.close()
        return try Run {
            try ImportRealmCommand.run(
                path, file: "/app.realm", choice: choice, batch: batch, storage: storage, clock: ManualClock(),
                output: $0)
        }
    }

    private func dump(format: Int, hasVersion: Bool) throws -> String {
        var options = LogOptions(folder: "/new")
        options.usesThreads = false
        let store = try Store(StoreOptions(log: options), storage: storage, clock: ManualClock())
        let text = StoreDump(store.pin().snapshot, format: format).text(hasVersion: hasVersion)
        try store.close()
        return text
    }

    /// Samples without embedded objects, which an import inserts in the order of their parents.
    private static let flat = RealmSample.all.filter { sample in
        guard let file = try? sample.open() else { return false }
        return file.classes.allSatisfy { $0.kind != .embedded } && (try? sample.key()) == [UInt8]?.none
    }

    @Test("imports all classes, objects and values", arguments: flat) func contents(_ sample: RealmSample) throws {
        let file = try sample.open()
        var want = ""
        var dump = RealmDump(file, hasIndexes: false) { want += $0 }
        try dump.compareWithStore()
        try dump.run()
        let run = try importing(sample.file(), batch: 100)
        #expect(run.status == .fine, "\(run)")
        #expect(try self.dump(format: file.format, hasVersion: file.schemaVersion != nil) == want)
    }

    @Test func embeddedObjectsComeWithTheirParents() throws {
        let sample = RealmSample(name: "types-v24")
        let run = try importing(sample.file())
        #expect(run.status == .fine, "\(run)")
        let export = try RoundTripTests.export(storage, path: "/new", format: .ndjson, choice: .init()).out
        let file = try sample.open()
        let count = try file.classes.filter { $0.kind != .embedded }.reduce(0) { count, type in
            var own = 0
            try file.forEachBatch(of: type) { own += $0.count }
            return count + own
        }
        // The first line is the schema.
        #expect(export.split(separator: "\n").count == count + 1)
    }

    @Test func aClassIsChosen() throws {
        let sample = RealmSample(name: "past-v24")
        let file = try sample.open()
        let alone = try #require(file.classes.first { $0.properties.allSatisfy { $0.target == nil } })
        let run = try importing(sample.file(), .init(classes: [alone.name]))
        #expect(run.status == .fine, "\(run)")
        let unknown = try importing(sample.file(), .init(classes: ["Nobody"]), into: "/other")
        #expect(unknown.status == .usage && unknown.error.contains("has no class Nobody"), "\(unknown)")
        #expect(try storage.status("/other") == nil)
    }

    @Test func aDamagedClassIsLeftOutOnDemand() throws {
        let sample = RealmSample(name: "past-v24")
        var bytes = try sample.file()
        let file = try sample.open()
        let type = try #require(file.classes.first { file.estimatedCount(of: $0) > 0 })
        // The kind of the root of the class's objects becomes an unknown one.
        bytes[type.objectsOffset + 4] |= 0x18
        let refused = try importing(bytes)
        #expect(refused.status == .damage && refused.error.contains("Nothing was imported"), "\(refused)")
        #expect(try storage.status("/new") == nil)
        let saved = try importing(bytes, .init(salvages: true))
        #expect(saved.status == .fine && saved.error.contains("The class is left out"), "\(saved)")
    }

    @Test func aDocumentNeedsItsSchema() throws {
        let run = try importing(Array("{ \"class_A\": [] }".utf8))
        #expect(run.status == .usage && run.error.contains("--schema"), "\(run)")
        let other = try importing(Array("hello, this is no database at all".utf8))
        #expect(other.status == .usage && other.error.contains("not a Realm file"), "\(other)")
    }
}
