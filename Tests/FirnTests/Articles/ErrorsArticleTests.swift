import Firn
import FirnTestSupport
import Foundation
import Testing

/// The code of the article "Errors" (`Tools/check articles`): it compiles, and it does what the article says.
@Suite(.timeLimit(.minutes(20))) struct ErrorsArticleTests {
    private class Ticket: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var price: Decimal128
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    private class OtherTicket: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var price: String
        override class func _realmObjectName() -> String? { "Ticket" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    private let temporary = TemporaryFolder()
    private var url: URL { URL(filePath: temporary.path + "/tickets.firn") }
    private var configuration: Realm.Configuration { .init(fileURL: url, objectTypes: [Ticket.self]) }

    /// The code of what a call throws.
    private func code(_ body: () throws -> Void) -> Realm.Error.Code? {
        do { try body() } catch { return (error as? Realm.Error)?.code }
        return nil
    }

    @Test func theCodeOfTheArticle() throws {
        var configuration = configuration
        // article: Errors
        do {
            let realm = try Realm(configuration: configuration)
            try realm.write { realm.create(Ticket.self, value: ["id": 1]) }
        } catch Realm.Error.schemaMismatch {
            print("this program's classes are not those of the store")
        } catch let error as Realm.Error {
            print(error.code, error.message)
        }
        // end
        let realm = try Realm(configuration: configuration)
        #expect(realm.objects(Ticket.self).count == 1)
        // article: Errors
        let json: [String: Any] = ["id": 2, "price": "cheap"]
        do {
            try realm.write { try realm.create(Ticket.self, validating: json, update: .modified) }
        } catch Realm.Error.invalidInput {
            print("not saved")  // nothing was changed
        }
        // end
        #expect(realm.objects(Ticket.self).count == 1 && !realm.isInWriteTransaction)
        // article: Errors
        if let recovery = realm.recovery {
            print(recovery.outcome, recovery.lastVersion, recovery.description)
        }
        // end
        #expect(realm.recovery != nil)
        // article: Errors
        configuration.verifyOnOpen = .everything
        configuration.onDamage = { error in FileHandle.standardError.write(Data("\(error)\n".utf8)) }
        // end
        #expect(try Realm(configuration: configuration) == realm)
    }

    @Test func errorsNameWhatIsWrong() throws {
        let error = #expect(throws: Realm.Error.self) { _ = try Ticket(validating: ["price": "cheap"]) }
        #expect(error?.code == .invalidInput && error?.message.contains("price") == true)
        #expect(error == Realm.Error(.invalidInput) && error != Realm.Error(.fail))
        let other = Realm.Configuration(fileURL: url, readOnly: true, objectTypes: [Ticket.self])
        let missing = #expect(throws: Realm.Error.fileNotFound) { _ = try Realm(configuration: other) }
        #expect(missing?.fileURL == url)
    }

    /// Codes of the article's table, each by one of its causes (SEMANTICS 86).
    @Test func codes() throws {
        let realm = try Realm(configuration: configuration)
        try realm.write { realm.create(Ticket.self, value: ["id": 1]) }
        let inFolder = { (path: String) in URL(filePath: temporary.path + "/" + path) }
        func open(_ change: (inout Realm.Configuration) -> Void) -> Realm.Error.Code? {
            var changed = configuration
            change(&changed)
            return code { _ = try Realm(configuration: changed) }
        }
        #expect(code { try realm.write { try realm.compact() } } == .fail)
        #expect(code { try realm.writeCopy(toFile: url) } == .fileExists)
        #expect(open { $0.fileURL = inFolder("none/a.firn") } == .fileNotFound)
        #expect(open { $0.readOnly = true } == .alreadyOpen)
        #expect(code { _ = try Realm.deleteFiles(for: configuration) } == .alreadyOpen)
        #expect(
            open {
                $0.maximumNumberOfActiveVersions = 0; $0.fileURL = inFolder("b.firn")
            } == .invalidInput)
        #expect(open { $0.encryptionKey = Data(count: 64) } == .alreadyOpen)
        #expect(
            open {
                $0.inMemoryIdentifier = "x"; $0.encryptionKey = Data(count: 64)
            } == .unsupportedFeature)
        #expect(open { $0.objectTypes = [OtherTicket.self] } == .schemaMismatch)
        try Data("text".utf8).write(to: inFolder("file"))
        #expect(open { $0.fileURL = inFolder("file") } == .invalidDatabase)
        #expect(open { $0.fileURL = inFolder("file/a.firn") } == .fileOperationFailed)
        #expect(
            open {
                $0.seedFilePath = inFolder("none.firn"); $0.fileURL = inFolder("c.firn")
            } == .fileNotFound)
        #expect(code { _ = try realm.asOf(version: 0) } == .versionNotRetained)
        #expect(code { _ = try realm.asOf(version: 99) } == .invalidInput)
        #expect(code { _ = try realm.objects(Ticket.self).filter(validating: "price ==") } == .invalidInput)
        #expect(code { _ = try ObjectId(string: "?") } == .invalidInput)
        #expect(code { _ = try Decimal128(string: "?") } == .invalidInput)
        try realm.write {
            #expect(code { try realm.add(validating: Ticket(value: ["id": 1])) } == .invalidInput)
        }
        #expect(realm.objects(Ticket.self).count == 1)
    }

    @Test func whatRecoveryFound() throws {
        func session(_ id: Int) throws -> Realm.Recovery? {
            let realm = try Realm(configuration: configuration)
            try realm.write { realm.create(Ticket.self, value: ["id": id]) }
            #expect(realm.objects(Ticket.self).count == id)
            return realm.recovery
        }
        #expect(try session(1)?.outcome == .created)
        #expect(try session(2)?.outcome == .clean)
        #expect(waitUntilClosed(url))
        // The beginning of a commit that was never completed.
        let log = url.appendingPathComponent("log")
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: log.path).max())
        let file = try FileHandle(forWritingTo: log.appendingPathComponent(name))
        try file.seekToEnd()
        try file.write(contentsOf: Data(repeating: 0x41, count: 128))
        try file.close()
        let recovery = try #require(try session(3))
        #expect(recovery.outcome == .tornTail && recovery.cutByteCount == 128 && recovery.description.contains(name))
    }

    @Test(arguments: 0..<4) func misuseStops(_ what: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [what] in
            let realm = try memoryRealm()
            let dog = try realm.write { realm.create(Dog.self, value: [1, "Rex"]) }
            if what == 0 { dog.age = 4 }
            if what == 1 { _ = realm.objects(Dog.self)[1] }
            if what == 2 { _ = realm.objects(Dog.self).filter("colour == 1") }
            try realm.write { realm.delete(dog) }
            print(dog.age)
        }
        let messages = ["outside of a write transaction", "Firn:", "Firn: filter(", "was used although it is gone"]
        expectMessage(result, messages[what])
    }
}
