import Firn
import FirnTestSupport
import Foundation
import Testing

/// `Realm.recovery` says what opening the store found.
@Suite(.timeLimit(.minutes(20))) struct RecoveryTests {
    @Test func recoveryReportsHowTheStoreWasFound() throws {
        let folder = TemporaryFolder()
        let url = URL(fileURLWithPath: folder.path).appendingPathComponent("dogs.firn")
        let configuration = Realm.Configuration(fileURL: url, objectTypes: [Dog.self, Person.self])

        /// Opens the store, writes once, and releases it.
        func session(_ id: Int) throws -> Realm.Recovery? {
            let realm = try Realm(configuration: configuration)
            try realm.write { realm.add(Dog(id, "Rex")) }
            #expect(realm.objects(Dog.self).count == id)
            return realm.recovery
        }

        let first = try #require(try session(1))
        #expect(first.outcome == .created && first.lastVersion == 0 && first.cutByteCount == 0)
        let second = try #require(try session(2))
        #expect(second.outcome == .clean && second.lastVersion > 0 && second.cutByteCount == 0)
        #expect(second.description.contains("version \(second.lastVersion)"))
        #expect(waitUntilClosed(url))

        let log = url.appendingPathComponent("log")
        let segments = try FileManager.default.contentsOfDirectory(atPath: log.path).sorted()
        let file = try FileHandle(forWritingTo: log.appendingPathComponent(try #require(segments.last)))
        try file.seekToEnd()
        try file.write(contentsOf: Data(repeating: 0x41, count: 128))
        try file.close()
        do {
            var readOnly = configuration
            readOnly.readOnly = true
            let found = try #require(try Realm(configuration: readOnly).recovery)
            #expect(
                found.outcome == .tornTail && found.cutByteCount == 128 && found.lastVersion == second.lastVersion + 1)
            #expect(found.description.contains("were left out"), "\(found)")
        }
        #expect(waitUntilClosed(url))
        let third = try #require(try session(3))
        #expect(third.outcome == .tornTail && third.cutByteCount == 128 && third.description.contains("were cut off"))
        #expect(third.lastVersion > second.lastVersion)
        #expect(third.description.contains(try #require(segments.last)))
        #expect(try session(4)?.outcome == .clean)
    }

    @Test func aRealmInMemoryHasNothingToRecover() throws {
        #expect(try memoryRealm([Dog.self, Person.self]).recovery == nil)
    }
}
