import FirnCore
import FirnTestSupport
import Foundation
import Testing

@testable import Firn

/// Firn deletes only files that it made itself, and only if no process has the store open.
@Suite(.timeLimit(.minutes(20))) struct DeleteFilesTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/store" }
    private var configuration: Realm.Configuration {
        Realm.Configuration(fileURL: URL(fileURLWithPath: path), objectTypes: [Dog.self, Person.self])
    }

    private func write(_ name: String, _ text: String = "mine") throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path + "/" + name))
    }
    private func text(_ name: String) -> String? {
        try? String(contentsOfFile: folder.path + "/" + name, encoding: .utf8)
    }
    private func makeStore() throws {
        let realm = try Realm(configuration: configuration)
        try realm.write { realm.add(Dog(1, "Rex")) }
        try realm.instance.store.compact()
    }
    private func delete() throws -> Bool { try Realm.deleteFiles(for: configuration) }

    @Test func aStoreIsDeletedWithItsFolder() throws {
        #expect(try !delete())
        try makeStore()
        #expect(try delete())
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(try !delete())
        #expect(try Realm(configuration: configuration).isEmpty)
    }

    @Test func whateverIsNotAStoreIsRefusedAndKept() throws {
        try FileManager.default.createDirectory(atPath: path + "/holidays", withIntermediateDirectories: true)
        try write("store/photo")
        try write("store/holidays/beach")
        #expect(throws: Realm.Error.invalidDatabase) { try delete() }
        #expect(text("store/photo") == "mine" && text("store/holidays/beach") == "mine")
        try FileManager.default.removeItem(atPath: path)
        try write("store")
        #expect(throws: Realm.Error.invalidDatabase) { try delete() }
        #expect(text("store") == "mine")
    }

    @Test func otherFilesInTheFolderAreKeptAndNamed() throws {
        try makeStore()
        try FileManager.default.createDirectory(atPath: path + "/holidays", withIntermediateDirectories: true)
        try write("store/photo")
        try write("store/holidays/beach")
        try write("store/log/notes.txt")
        try write("store/checkpoint/0000000001.checkpoint.bak")
        let error = #expect(throws: Realm.Error.self) { try delete() }
        #expect(error?.code == .fileOperationFailed)
        for name in ["holidays", "photo", "log/notes.txt", "checkpoint/0000000001.checkpoint.bak"] {
            #expect(error?.message.contains(name) == true, "\(error?.message ?? "")")
        }
        #expect(text("store/photo") == "mine" && text("store/holidays/beach") == "mine")
        #expect(text("store/log/notes.txt") == "mine" && text("store/checkpoint/0000000001.checkpoint.bak") == "mine")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: path).sorted() == [
                "checkpoint", "holidays", "log", "photo",
            ])
        #expect(try FileManager.default.contentsOfDirectory(atPath: path + "/log") == ["notes.txt"])
    }

    @Test func linksAreNotFollowed() throws {
        try makeStore()
        let manager = FileManager.default
        try manager.moveItem(atPath: path + "/checkpoint", toPath: folder.path + "/elsewhere")
        try manager.createSymbolicLink(atPath: path + "/checkpoint", withDestinationPath: folder.path + "/elsewhere")
        let files = try manager.contentsOfDirectory(atPath: folder.path + "/elsewhere")
        #expect(!files.isEmpty)
        #expect(throws: Realm.Error.fileOperationFailed) { try delete() }
        #expect(try manager.contentsOfDirectory(atPath: folder.path + "/elsewhere") == files)
        #expect(try manager.contentsOfDirectory(atPath: path) == ["checkpoint"])

        try manager.removeItem(atPath: path)
        try makeStore()
        try manager.moveItem(atPath: path, toPath: folder.path + "/real")
        try manager.createSymbolicLink(atPath: path, withDestinationPath: folder.path + "/real")
        #expect(throws: Realm.Error.invalidDatabase) { try delete() }
        #expect(manager.fileExists(atPath: folder.path + "/real/manifest"))
    }

    @Test func aStoreWithADamagedManifestIsNotDeleted() throws {
        try makeStore()
        try write("store/manifest", "no manifest")
        #expect(throws: Realm.Error.self) { try delete() }
        #expect(try FileManager.default.contentsOfDirectory(atPath: path + "/log").count > 0)
    }

    @Test func aStoreThatIsOpenHereOrElsewhereIsNotDeleted() throws {
        try makeStore()
        try {
            let realm = try Realm(configuration: configuration)
            let frozen = realm.objects(Dog.self)[0].freeze()
            #expect(throws: Realm.Error.alreadyOpen) { try delete() }
            #expect(frozen.name == "Rex")
        }()
        // Like another process, whose locks are other file handles.
        try {
            let other = try ForeignStore(path)
            #expect(throws: Realm.Error.alreadyOpen) { try delete() }
            try other.close()
        }()
        #expect(try delete())
    }
}
