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
}
