import Firn
import FirnTestSupport
import Foundation
import Testing

/// The rows of the specification about realms, their configurations and errors.
@Suite(.timeLimit(.minutes(20))) struct RealmRowTests {
    private let folder = TemporaryFolder()
    private var url: URL { URL(filePath: folder.path + "/dogs.firn") }

    private func configuration(_ name: String = "dogs.firn") -> Realm.Configuration {
        .init(fileURL: URL(filePath: folder.path + "/" + name), objectTypes: [Dog.self, Person.self])
    }

    /// Opening creates a store; opening again gives the realm of the thread, or of the queue (R1, R4).
    @Test func openingAgainGivesTheSameRealm() throws {
        #expect(!Realm.fileExists(for: configuration()))
        let realm = try Realm(configuration: configuration())
        #expect(Realm.fileExists(for: configuration()))
        #expect(try Realm(configuration: configuration()) == realm)
        #expect(try Realm(configuration: configuration("other.firn")) != realm)
        let queue = DispatchQueue(label: "own")
        nonisolated(unsafe) let kept = realm
        try queue.sync {
            let own = try Realm(configuration: configuration(), queue: queue)
            #expect(try own == Realm(configuration: configuration(), queue: queue) && own != kept)
        }
    }

    /// What a realm says of itself (R3): its configuration, its classes, and whether there is anything in it,
    /// uncommitted changes included.
    @Test func aRealmDescribesItself() throws {
        let realm = try Realm(configuration: configuration())
        #expect(realm.configuration == configuration() && realm.schema.objectSchema.count == 2 && realm.isEmpty)
        realm.beginWrite()
        realm.add(Dog(1, "Rex"))
        #expect(!realm.isEmpty && realm.isInWriteTransaction)
        realm.cancelWrite()
        #expect(realm.isEmpty && !realm.isInWriteTransaction)
    }

    /// Deleting says whether there was a store, and refuses one that is open (R7).
    @Test func filesAreDeleted() throws {
        #expect(try !Realm.deleteFiles(for: configuration()))
        func fill() throws {
            let realm = try Realm(configuration: configuration())
            #expect(throws: Realm.Error.alreadyOpen) { try Realm.deleteFiles(for: configuration()) }
            try realm.write { realm.add(Dog(1, "Rex")) }
        }
        try fill()
        #expect(try Realm.deleteFiles(for: configuration()) && !Realm.fileExists(for: configuration()))
    }

    /// `invalidate()` makes everything that was read invalid, and the realm goes on (R8).
    @Test func invalidating() throws {
        let realm = try Realm(configuration: configuration())
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        let dogs = realm.objects(Dog.self)
        realm.invalidate()
        #expect(dog.isInvalidated && dogs.isInvalidated && dogs.isEmpty)
        #expect(realm.objects(Dog.self).first?.name == "Rex")
    }

    /// Frozen realms, objects and collections, and back (R10).
    @Test func freezing() throws {
        let realm = try Realm(configuration: configuration())
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        let (frozen, object) = (realm.freeze(), realm.freeze(dog))
        let dogs = realm.freeze(realm.objects(Dog.self))
        try realm.write { realm.deleteAll() }
        #expect(frozen.isFrozen && frozen.objects(Dog.self).count == 1 && object.name == "Rex" && dogs.count == 1)
        #expect(realm.thaw(object) == nil && frozen.thaw() == realm && frozen.freeze() == frozen)
    }

    /// A copy is a store of its own, and replaces nothing (R11).
    @Test func writingACopy() throws {
        let realm = try Realm(configuration: configuration())
        try realm.write { realm.add(Dog(1, "Rex")) }
        try realm.writeCopy(configuration: configuration("copy.firn"))
        #expect(throws: Realm.Error.fileExists) { try realm.writeCopy(configuration: configuration("copy.firn")) }
        #expect(throws: Realm.Error.fileExists) { try realm.writeCopy(toFile: url) }
        #expect(try Realm(configuration: configuration("copy.firn")).objects(Dog.self).count == 1)
    }

    /// What is no store has no schema version (R13).
    @Test func theVersionOfAStore() throws {
        #expect(throws: Realm.Error.invalidDatabase) { try schemaVersionAtURL(url) }
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        try Data("mine".utf8).write(to: url.appending(path: "photo"))
        #expect(throws: Realm.Error.invalidDatabase) { try schemaVersionAtURL(url) }
    }

    /// A write returns what its block returns, is undone if the block throws, and is not ended twice (R14); begin,
    /// commit and cancel by hand (R15).
    @Test func writing() async throws {
        struct Stop: Error {}
        let realm = try await memory()
        nonisolated(unsafe) let kept = realm
        #expect(
            try kept.write { () -> Int in
                kept.add(Dog(1, "Rex")); return 7
            } == 7)
        #expect(throws: Stop.self) {
            try kept.write {
                kept.add(Dog(2, "Max"))
                throw Stop()
            }
        }
        try kept.write {
            kept.add(Dog(3, "Ida"))
            kept.cancelWrite()
        }
        try kept.write {
            kept.add(Dog(4, "Eve"))
            try kept.commitWrite()
        }
        #expect(kept.objects(Dog.self).map(\.name) == ["Rex", "Eve"])
        let nested = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm()
            realm.beginWrite()
            realm.beginWrite()
        }
        expectMessage(nested, "the realm is in a write transaction already")
    }

    private nonisolated(nonsending) func memory() async throws -> Realm {
        try Realm(
            configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: [Dog.self, Person.self]),
            queue: nil)
    }

    /// A store on disk or one in memory, never both (R23).
    @Test func aConfigurationNamesOneStore() {
        var configuration = configuration()
        #expect(configuration.fileURL != nil && configuration.inMemoryIdentifier == nil)
        configuration.inMemoryIdentifier = "memory"
        #expect(configuration.fileURL == nil && configuration.inMemoryIdentifier == "memory")
        configuration.fileURL = url
        #expect(configuration.fileURL == url && configuration.inMemoryIdentifier == nil)
    }

    /// A key is never ignored (R24): one of another length than 64 bytes is wrong, and so is any for a realm in memory.
    @Test func aKeyIsNeverIgnored() {
        var configuration = configuration()
        configuration.encryptionKey = Data(count: 63)
        #expect(throws: Realm.Error.invalidInput) { _ = try Realm(configuration: configuration) }
        #expect(!Realm.fileExists(for: configuration))
        configuration.encryptionKey = Data(count: 64)
        configuration.inMemoryIdentifier = "memory"
        #expect(throws: Realm.Error.unsupportedFeature) { _ = try Realm(configuration: configuration) }
    }

    /// A read-only realm needs a store, and can neither be written nor observed (R25, S85, S118).
    @Test func readingOnly() async throws {
        var configuration = configuration()
        configuration.readOnly = true
        #expect(throws: Realm.Error.fileNotFound) { _ = try Realm(configuration: configuration, queue: nil) }
        for (observes, message) in [(true, "read-only"), (false, "the realm was opened read-only")] {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                [observes = observes as Bool] in
                let folder = TemporaryFolder()
                var configuration = Realm.Configuration(
                    fileURL: URL(filePath: folder.path + "/r.firn"), objectTypes: [Dog.self, Person.self])
                try fillDogs(configuration)
                configuration.readOnly = true
                let realm = try Realm(configuration: configuration, queue: nil)
                guard realm.objects(Dog.self).count == 1 else { exit(0) }
                if observes { _ = realm.objects(Dog.self).observe { _ in } }
                try realm.write {}
            }
            expectMessage(result, message)
        }
    }

    /// The first opener is asked once whether to compact (R27, SEMANTICS 87).
    @Test func compactingAtLaunch() throws {
        nonisolated(unsafe) var asked: [(Int, Int)] = []
        var configuration = configuration()
        configuration.shouldCompactOnLaunch = { total, used in
            asked.append((total, used))
            return true
        }
        func fill() throws {
            let realm = try Realm(configuration: configuration)
            _ = try Realm(configuration: configuration)
            try realm.write { for id in 0..<2000 { realm.add(Dog(id, "Rex")) } }
            try realm.write { realm.deleteAll() }
        }
        try fill()
        #expect(asked.count == 1)
        let realm = try Realm(configuration: configuration)
        #expect(asked.count == 2 && asked[1].0 >= asked[1].1 && asked[1].1 >= 0 && realm.isEmpty)
    }

    /// Above the limit no write begins (R29, S111, SEMANTICS 9).
    @Test func activeVersionsAreLimited() throws {
        var configuration = configuration()
        configuration.maximumNumberOfActiveVersions = 2
        let realm = try Realm(configuration: configuration)
        let kept = try (0..<3).map { id in
            try realm.write { realm.add(Dog(id, "Rex")) }
            return realm.freeze()
        }
        #expect(throws: Realm.Error.tooManyActiveVersions) { try realm.write { realm.add(Dog(9, "Max")) } }
        #expect(kept.map { $0.objects(Dog.self).count } == [1, 2, 3])
    }

    /// Configurations are compared and described (R31).
    @Test func configurationsAreValues() {
        #expect(configuration() == configuration() && configuration() != configuration("other.firn"))
        var changed = configuration()
        changed.schemaVersion = 3
        #expect(changed != configuration() && changed.description.contains("schemaVersion: 3"))
        #expect(configuration().description.contains("dogs.firn"))
    }

    /// Objects and collections are used where their realm belongs (R84, S119): elsewhere the program stops.
    @Test(arguments: [true, false]) func useElsewhereStops(_ queue: Bool) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [queue] in
            let own = DispatchQueue(label: "own")
            nonisolated(unsafe) var dog: Dog?
            func open() throws {
                let realm = try Realm(
                    configuration: .init(inMemoryIdentifier: "elsewhere", objectTypes: [Dog.self, Person.self]),
                    queue: queue ? own : nil)
                dog = try realm.write { realm.create(Dog.self, value: ["id": 1, "name": "Rex"] as [String: Any]) }
            }
            if queue { try own.sync(execute: open) } else { try open() }
            let done = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                _ = dog?.realm?.objects(Dog.self).count
                done.signal()
            }
            done.wait()
        }
        expectMessage(result, queue ? "was used outside of the queue" : "was used on another thread")
    }

    /// Errors have a code, the store's URL, and codes to be matched (R98), with Realm's numbers.
    @Test func errors() throws {
        var readOnly = configuration()
        readOnly.readOnly = true
        do {
            _ = try Realm(configuration: readOnly)
            Issue.record("a store was opened that is not there")
        } catch Realm.Error.fileNotFound {}
        let error = try #require(throws: Realm.Error.self) { _ = try Realm(configuration: readOnly) }
        #expect(error.code == .fileNotFound && error.fileURL == url && error ~= Realm.Error.fileNotFound)
        #expect((error as NSError).domain == "io.realm" && (error as NSError).code == 5)
        let codes: [Realm.Error.Code: Int] = [
            .fail: 1, .fileAccess: 2, .filePermissionDenied: 3, .fileExists: 4, .fileNotFound: 5,
            .fileFormatUpgradeRequired: 6, .incompatibleLockFile: 8, .addressSpaceExhausted: 9, .schemaMismatch: 10,
            .alreadyOpen: 12, .invalidInput: 13, .outOfDiskSpace: 14, .incompatibleSession: 15,
            .unsupportedFileFormatVersion: 16, .fileOperationFailed: 19, .invalidDatabase: 20,
        ]
        for (code, number) in codes { #expect(code.rawValue == number) }
    }
}

private func fillDogs(_ configuration: Realm.Configuration) throws {
    let realm = try Realm(configuration: configuration)
    try realm.write { realm.add(Dog(1, "Rex")) }
}
