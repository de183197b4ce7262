#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif
import FirnStorage
import FirnTestSupport
import Testing

/// A process opens a store only once, whichever paths lead to it.
@Suite(.timeLimit(.minutes(20))) struct CanonicalPathTests {
    @Test func everyPathToAFolderHasTheSameCanonicalPath() throws {
        let folder = TemporaryFolder()
        let storage = PosixStorage.shared
        let root = storage.canonicalPath(folder.path)
        #expect(root.hasPrefix("/"))
        try storage.createFolder(folder.path + "/there")
        #expect(symlink(folder.path + "/there", folder.path + "/link") == 0)
        for path in ["there", "there/", "./there//", "link", "link/../there", "link/."] {
            #expect(storage.canonicalPath(folder.path + "/" + path) == root + "/there", "\(path)")
        }
        // The path of a store that does not exist yet is the one that it will have.
        for path in ["link/new", "there/new", "there/new/", "there/./new"] {
            #expect(storage.canonicalPath(folder.path + "/" + path) == root + "/there/new", "\(path)")
        }
        #expect(storage.canonicalPath("/") == "/" && storage.canonicalPath("/no-such-name") == "/no-such-name")
        #expect(storage.canonicalPath(folder.path + "/none/new") == folder.path + "/none/new")
        let working = storage.canonicalPath(".")
        #expect(storage.canonicalPath("no-such-name") == working + "/no-such-name")
    }
}
