import FirnTestSupport
import Foundation
import Testing

@testable import Firn

/// `writeCopy` makes a store and replaces nothing.
@Suite(.timeLimit(.minutes(20))) struct WriteCopyTests {
    let folder = TemporaryFolder()
    private var copy: URL { URL(fileURLWithPath: folder.path + "/copy") }

    private func open(_ url: URL) throws -> Realm {
        try Realm(configuration: Realm.Configuration(fileURL: url, objectTypes: [Dog.self, Person.self]))
    }
    private func makeRealm() throws -> Realm {
        let realm = try open(URL(fileURLWithPath: folder.path + "/store"))
        try realm.write { realm.add(Dog(1, "Rex")) }
        return realm
    }
    private func names(_ url: URL) throws -> [String] { try open(url).objects(Dog.self).map(\.name) }

    @Test func aCopyHasWhatTheRealmShows() throws {
        let realm = try makeRealm()
        try realm.writeCopy(toFile: copy)
        try realm.write { realm.add(Dog(2, "Bello")) }
        #expect(try names(copy) == ["Rex"])
    }

    @Test func aCopyReplacesNothing() throws {
        let realm = try makeRealm()
        let manager = FileManager.default
        // A file, a foreign folder, a store, and what is left of a store.
        try Data("mine".utf8).write(to: copy)
        #expect(throws: Realm.Error.fileExists) { try realm.writeCopy(toFile: copy) }
        #expect(try String(contentsOf: copy, encoding: .utf8) == "mine")
        try manager.removeItem(at: copy)

        try manager.createDirectory(atPath: copy.path, withIntermediateDirectories: true)
        try Data("mine".utf8).write(to: copy.appendingPathComponent("photo"))
        #expect(throws: Realm.Error.fileExists) { try realm.writeCopy(toFile: copy) }
        #expect(try manager.contentsOfDirectory(atPath: copy.path) == ["photo"])
        try manager.removeItem(at: copy)

        try realm.writeCopy(toFile: copy)
        try realm.write { realm.add(Dog(2, "Bello")) }
        #expect(throws: Realm.Error.fileExists) { try realm.writeCopy(toFile: copy) }
        #expect(throws: Realm.Error.fileExists) { try realm.writeCopy(toFile: realm.configuration.fileURL!) }
        try manager.removeItem(at: copy.appendingPathComponent("manifest"))
        let left = try manager.subpathsOfDirectory(atPath: copy.path).sorted()
        #expect(throws: Realm.Error.fileExists) { try realm.writeCopy(toFile: copy) }
        #expect(try manager.subpathsOfDirectory(atPath: copy.path).sorted() == left)
    }

    @Test func anInterruptedCopyIsRewritten() throws {
        let realm = try makeRealm()
        try FileManager.default.createDirectory(
            atPath: copy.path + "/checkpoint", withIntermediateDirectories: true)
        try Data("FIRNCOPY".utf8).write(to: copy.appendingPathComponent("copying"))
        try realm.writeCopy(toFile: copy)
        #expect(try names(copy) == ["Rex"])
        #expect(!FileManager.default.fileExists(atPath: copy.path + "/copying"))
    }
}
