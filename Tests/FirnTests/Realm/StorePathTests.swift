import FirnTestSupport
import Foundation
import Testing

@testable import Firn

/// A store's folder is the one that its URL refers to, whichever way the URL was made.
@Suite(.timeLimit(.minutes(20))) struct StorePathTests {
    @Test func itIsThePathOfTheURL() {
        let folder = TemporaryFolder()
        let urls = [
            URL(fileURLWithPath: folder.path), URL(fileURLWithPath: folder.path, isDirectory: true),
            URL(fileURLWithPath: folder.path + "/people é 100% #1?.firn"),
            URL(fileURLWithPath: "kennel.firn"), URL(fileURLWithPath: "/"),
            URL(fileURLWithPath: "a/../b.firn", relativeTo: URL(fileURLWithPath: folder.path, isDirectory: true)),
            URL(string: "file://" + folder.path + "/a%20b.firn")!,
        ]
        for url in urls { #expect(url.storePath == url.path, "\(url)") }
        #expect(urls[1].storePath == folder.path)
    }

    @Test func anExistingFolderIsOpenedUnderOneName() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/store é"
        let first = try Realm(fileURL: URL(fileURLWithPath: path, isDirectory: true))
        let second = try Realm(fileURL: URL(fileURLWithPath: path))
        #expect(second.instance.shared === first.instance.shared)
        #expect(FileManager.default.fileExists(atPath: path + "/manifest"))
    }

    private func configuration(_ path: String) -> Realm.Configuration {
        Realm.Configuration(fileURL: URL(fileURLWithPath: path), objectTypes: [Dog.self, Person.self])
    }

    private func make(_ path: String, dogs: Int) throws {
        let realm = try Realm(configuration: configuration(path))
        try realm.write { for id in 0..<dogs { realm.add(Dog(id, "Rex")) } }
    }

    /// A backup is restored by moving it to the path of a store that is open.
    @Test func whatStandsAtThePathNowIsOpenedAndWhatWasOpenGoesOn() throws {
        let folder = TemporaryFolder()
        let (live, backup, away) = (folder.path + "/live", folder.path + "/backup", folder.path + "/away")
        try make(backup, dogs: 3)
        #expect(waitUntilClosed(URL(fileURLWithPath: backup)))
        try make(live, dogs: 1)
        let old = try Realm(configuration: configuration(live))
        try FileManager.default.moveItem(atPath: live, toPath: away)
        try FileManager.default.moveItem(atPath: backup, toPath: live)
        let new = try Realm(configuration: configuration(live))
        #expect(new.objects(Dog.self).count == 3 && old.objects(Dog.self).count == 1)
        #expect(new.instance.shared !== old.instance.shared)
        #expect(try Realm(configuration: configuration(away)).instance.shared === old.instance.shared)
        try old.write { old.add(Dog(7, "Old")) }
        try new.write { new.add(Dog(8, "New")) }
        try old.instance.store.compact()
        try new.instance.store.compact()
        #expect(new.objects(Dog.self).count == 4 && old.objects(Dog.self).count == 2)
        // Both are open, each under the path where it is now.
        #expect(throws: Realm.Error.alreadyOpen) { try Realm.deleteFiles(for: configuration(away)) }
        #expect(throws: Realm.Error.alreadyOpen) { try Realm.deleteFiles(for: configuration(live)) }
    }

    @Test func aStoreThatWasRemovedTakesNoMoreWrites() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/live"
        try make(path, dogs: 1)
        let old = try Realm(configuration: configuration(path))
        try FileManager.default.removeItem(atPath: path)
        let error = #expect(throws: Realm.Error.self) { try old.write { old.add(Dog(7, "Lost")) } }
        #expect(error?.code == .writeFailed && error?.message.contains("moved, replaced or removed") == true)
        #expect(old.objects(Dog.self).count == 1)
        let new = try Realm(configuration: configuration(path))
        try new.write { new.add(Dog(1, "New")) }
        #expect(throws: Realm.Error.self) { try old.write { old.add(Dog(8, "Lost")) } }
        #expect(new.objects(Dog.self).count == 1)
    }

    /// The system would cut the path off at the NUL, and take another machine's folder for one of this machine's.
    @Test(arguments: [("file://", "%00x"), ("file://elsewhere", ""), ("https://localhost", "")])
    func aURLThatNamesNoLocalFolderIsRefused(_ start: String, _ end: String) throws {
        let folder = TemporaryFolder()
        let url = try #require(URL(string: start + folder.path + "/remote" + end))
        let realm = try Realm(configuration: configuration(folder.path + "/live"))
        #expect(throws: Realm.Error.invalidInput) { try Realm(fileURL: url) }
        #expect(throws: Realm.Error.invalidInput) { try realm.writeCopy(toFile: url) }
        #expect(throws: Realm.Error.invalidInput) { try Realm.deleteFiles(for: Realm.Configuration(fileURL: url)) }
        #expect(throws: Realm.Error.invalidInput) { try schemaVersionAtURL(url) }
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/remote"))
    }

    @Test(arguments: [
        ("/none/deeper", ", in which the store is to lie, does not exist"),
        ("/file", ", in which the store is to lie, is no folder"),
    ])
    func aFolderThatIsMissingIsNamed(above: String, text: String) throws {
        let folder = TemporaryFolder()
        #expect(FileManager.default.createFile(atPath: folder.path + "/file", contents: nil))
        let live = configuration(folder.path + "/live")
        let realm = try Realm(configuration: live)
        let url = URL(fileURLWithPath: folder.path + above + "/a.firn")
        var (seeded, readOnly) = (configuration(url.path), configuration(url.path))
        seeded.seedFilePath = live.fileURL
        readOnly.readOnly = true
        let calls: [() throws -> Void] = [
            { _ = try Realm(fileURL: url) }, { try realm.writeCopy(toFile: url) },
            { try realm.writeCopy(configuration: .init(fileURL: url)) }, { _ = try Realm(configuration: seeded) },
            { _ = try Realm(configuration: readOnly) },
        ]
        for (index, call) in calls.enumerated() {
            let error = #expect(throws: Realm.Error.self) { try call() }
            #expect(error?.code == (above == "/file" ? .fileOperationFailed : .fileNotFound), "call \(index)")
            #expect(error?.fileURL == url, "call \(index)")
            #expect(
                error?.message.contains(folder.path + above + text) ?? false, "call \(index): \(error?.message ?? "")")
        }
    }

    /// As many programs write it.
    @Test func aURLOfAPathAloneIsThePath() throws {
        let folder = TemporaryFolder()
        let url = try #require(URL(string: folder.path + "/a%20b.firn"))
        #expect(!url.isFileURL)
        let realm = try Realm(configuration: Realm.Configuration(fileURL: url, objectTypes: [Dog.self, Person.self]))
        try realm.write { realm.add(Dog(1, "Rex")) }
        let same = try Realm(configuration: configuration(folder.path + "/a b.firn"))
        #expect(same.objects(Dog.self).count == 1 && Realm.fileExists(for: .init(fileURL: url)))
        // What a program asks a realm for, Foundation's functions for files take.
        #expect(realm.configuration.fileURL == URL(fileURLWithPath: folder.path + "/a b.firn", isDirectory: false))
        #expect(throws: Realm.Error.invalidInput) { try Realm(fileURL: #require(URL(string: "a.firn"))) }
    }

    @Test func aURLMayNameThisMachine() throws {
        let folder = TemporaryFolder()
        let url = try #require(URL(string: "file://localhost" + folder.path + "/live"))
        try Realm(fileURL: url).write {}
        #expect(FileManager.default.fileExists(atPath: folder.path + "/live/manifest"))
    }
}
