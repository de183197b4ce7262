import FirnTestSupport
import Foundation
import Testing

@testable import Firn

/// Where the default store lies: four cases, and never an empty store in silence.
@Suite(.timeLimit(.minutes(20))) struct DefaultStoreTests {
    private let folder = TemporaryFolder()

    private func find(_ environment: [String: String] = [:]) -> DefaultStore {
        DefaultStore(
            environment: environment, home: URL(fileURLWithPath: folder.path + "/home"), program: "shop",
            earlier: URL(fileURLWithPath: folder.path + "/work/default.firn"))
    }

    private func make(_ url: URL) throws {
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        _ = try Realm(configuration: .init(fileURL: url, objectTypes: [Dog.self, Person.self])).write {}
    }

    @Test func thePathFollowsTheEnvironment() {
        #expect(find().current.path == folder.path + "/home/.local/share/shop/default.firn")
        #expect(find(["XDG_DATA_HOME": "/data"]).current.path == "/data/shop/default.firn")
        #expect(find(["XDG_DATA_HOME": "data"]).current == find().current)
        #expect(find(["XDG_DATA_HOME": ""]).current == find().current)
        // A service may have no home folder in the system's list of users, and any in the variable.
        #expect(find(["HOME": "/srv/shop"]).current.path == "/srv/shop/.local/share/shop/default.firn")
        #expect(find(["HOME": "shop"]).current == find().current)
        #expect(find(["HOME": "/srv/shop", "XDG_DATA_HOME": "/data"]).current.path == "/data/shop/default.firn")
    }

    @Test func withoutAStoreItIsMadeAtTheNewPath() {
        #expect(find().url == find().current && find().warning == nil)
    }

    @Test func aStoreAtTheNewPathAloneIsUsed() throws {
        try make(find().current)
        #expect(find().url == find().current && find().warning == nil)
    }

    @Test func aStoreAtTheOldPathAloneIsUsedAndNamed() throws {
        try make(find().earlier)
        #expect(find().url == find().earlier)
        let warning = try #require(find().warning)
        for text in [
            "The default store is \(find().earlier.path),", "It belongs at \(find().current.path).",
            "Realm.Configuration.defaultConfiguration.fileURL = URL(fileURLWithPath: \"\(find().earlier.path)\")",
        ] { #expect(warning.contains(text), "\(warning)") }
    }

    @Test func ofTwoStoresTheNewOneIsUsedAndTheOldOneNamed() throws {
        try make(find().current)
        try make(find().earlier)
        #expect(find().url == find().current)
        let warning = try #require(find().warning)
        for text in [
            "The default store is \(find().current.path).", "another one at \(find().earlier.path),", "is not used",
            "URL(fileURLWithPath: \"\(find().earlier.path)\")",
        ] { #expect(warning.contains(text), "\(warning)") }
    }

    /// A store for each user, beside the default one.
    @Test func aStoreBesideTheOldOneIsNamed() throws {
        let new = find().current.deletingLastPathComponent().appendingPathComponent("ann.realm")
        let old = find().earlier.deletingLastPathComponent().appendingPathComponent("ann.realm")
        #expect(find().warning(beside: new) == nil)
        try make(old)
        let warning = try #require(find().warning(beside: new))
        for text in ["no store \(new.path)", "one at \(old.path),", "fileURL = URL(fileURLWithPath: \"\(old.path)\")"] {
            #expect(warning.contains(text), "\(warning)")
        }
        try make(new)
        #expect(find().warning(beside: new) == nil)
    }

    #if !canImport(Darwin)
        @Test func openingMakesTheFolderOfAStoreBesideTheDefaultOne() async {
            await #expect(processExitsWith: .success) {
                let folder = TemporaryFolder()
                setenv("XDG_DATA_HOME", folder.path + "/a/b", 1)
                var configuration = Realm.Configuration(objectTypes: [Dog.self, Person.self])
                configuration.fileURL = configuration.fileURL?.deletingLastPathComponent()
                    .appendingPathComponent("ann.realm")
                let realm = try Realm(configuration: configuration)
                try realm.write { realm.add(Dog(1, "Rex")) }
                precondition(realm.configuration.fileURL?.path.hasSuffix("/ann.realm") ?? false)
            }
        }

        /// The folders above the default store are made, for the user alone.
        @Test func openingMakesTheFoldersOfTheDefaultStore() async {
            await #expect(processExitsWith: .success) {
                let folder = TemporaryFolder()
                setenv("XDG_DATA_HOME", folder.path + "/a/b", 1)
                let url = Realm.Configuration.defaultFileURL
                precondition(url.path.hasPrefix(folder.path + "/a/b/") && url.lastPathComponent == "default.firn")
                let realm = try Realm(configuration: .init(objectTypes: [Dog.self, Person.self]))
                try realm.write { realm.add(Dog(1, "Rex")) }
                let above = url.deletingLastPathComponent().path
                let mode = try FileManager.default.attributesOfItem(atPath: above)[.posixPermissions] as? Int
                precondition(mode == 0o700 && Realm.Configuration.defaultFileURL.path == url.path)
            }
        }
    #endif
}
