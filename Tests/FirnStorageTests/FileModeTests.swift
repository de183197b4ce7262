import FirnStorage
import FirnTestSupport
import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The modes of what is created, and that no link is followed.
@Suite("Modes and links", .timeLimit(.minutes(20))) struct FileModeTests {
    private let folder = TemporaryFolder()
    private let storage = PosixStorage.shared

    private func mode(_ name: String) -> UInt16 {
        var status = stat()
        return lstat(folder.path + "/" + name, &status) == 0 ? UInt16(status.st_mode & 0o7777) : 0
    }

    /// Creates one of each kind with a mode.
    private func create(_ mode: FileMode, suffix: String = "") throws {
        let path = folder.path
        try storage.open(path + "/file" + suffix, .create, permissions: mode).close()
        try storage.lockFile(path + "/lock" + suffix, .create(mode)).close()
        _ = try storage.sharedMemory(path + "/shared" + suffix, byteCount: 4096, .create(mode))
        try storage.createFolder(path + "/folder" + suffix, permissions: mode)
    }

    @Test("by default, only the owner may read and write files") func ownerOnly() throws {
        try storage.open(folder.path + "/file", .create).close()
        try storage.lockFile(folder.path + "/lock").close()
        _ = try storage.sharedMemory(folder.path + "/shared", byteCount: 4096)
        try storage.createFolder(folder.path + "/folder")
        #expect([mode("file"), mode("lock"), mode("shared"), mode("folder")] == [0o600, 0o600, 0o600, 0o700])
    }

    @Test(
        "files and folders have the requested mode, whatever the umask",
        arguments: [0o600, 0o640, 0o644, 0o660, 0o664, 0o666] as [UInt16])
    func asked(bits: UInt16) async {
        // The umask belongs to the whole process.
        await #expect(processExitsWith: .success) { [bits] in
            for mask in [0, 0o022, 0o077, 0o027] as [mode_t] {
                let tests = FileModeTests()
                umask(mask)
                try tests.create(FileMode(bits))
                let folder = bits | (bits & 0o444) >> 2
                #expect(tests.mode("file") == bits && tests.mode("lock") == bits && tests.mode("shared") == bits)
                #expect(tests.mode("folder") == folder)
            }
        }
    }

    @Test("only bits for reading and writing count, and the owner always has both") func bits() {
        #expect(FileMode(0).bits == 0o600 && FileMode(0o7777).bits == 0o666)
        #expect(FileMode(0o640).folderBits == 0o750 && FileMode.ownerOnly.folderBits == 0o700)
        #expect(FileMode(0o620).folderBits == 0o720)
    }

    @Test("an existing file keeps its mode") func kept() throws {
        try create(.ownerOnly)
        chmod(folder.path + "/lock", 0o640)
        chmod(folder.path + "/shared", 0o640)
        try storage.lockFile(folder.path + "/lock", .create(FileMode(0o666))).close()
        _ = try storage.sharedMemory(folder.path + "/shared", byteCount: 4096, .create(.ownerOnly))
        #expect(mode("lock") == 0o640 && mode("shared") == 0o640)
    }

    @Test("a link is not followed, whatever it leads to; a folder in the path may be a link") func links() throws {
        try create(.ownerOnly)
        let path = folder.path
        for name in ["file", "lock", "shared", "nothing"] {
            #expect(symlink("\(path)/\(name)", "\(path)/link-\(name)") == 0)
        }
        for mode in [OpenMode.read, .readWrite, .create] {
            #expect(throws: StorageError.self) { _ = try storage.open(path + "/link-file", mode) }
        }
        #expect(throws: StorageError.self) { _ = try storage.open(path + "/link-nothing", .create) }
        for opening in [SharedOpening.create(.ownerOnly), .existing] {
            for name in ["lock", "nothing"] {
                #expect(throws: StorageError.self) { _ = try storage.lockFile(path + "/link-" + name, opening) }
            }
            for name in ["shared", "nothing"] {
                #expect(throws: StorageError.self) {
                    _ = try storage.sharedMemory(path + "/link-" + name, byteCount: 4096, opening)
                }
            }
        }
        #expect(try storage.status(path + "/nothing") == nil)
        #expect(symlink(path, "\(path)/link-folder") == 0)
        _ = try storage.open(path + "/link-folder/file", .readWrite)
        _ = try storage.lockFile(path + "/link-folder/lock", .existing)
    }

    @Test("with .existing nothing is created or made longer") func existing() throws {
        let path = folder.path
        let lock = #expect(throws: StorageError.self) { _ = try storage.lockFile(path + "/lock", .existing) }
        #expect(lock?.code == .notFound)
        let memory = #expect(throws: StorageError.self) {
            _ = try storage.sharedMemory(path + "/shared", byteCount: 4096, .existing)
        }
        #expect(memory?.code == .notFound)
        #expect(try storage.list(path).isEmpty)
        try storage.open(path + "/shared", .create).close()
        let short = #expect(throws: StorageError.self) {
            _ = try storage.sharedMemory(path + "/shared", byteCount: 4096, .existing)
        }
        #expect(short?.code == .notFound)
        #expect(try storage.status(path + "/shared")?.byteCount == 0)
    }

    #if os(Linux)
        /// With its set-group bit a folder passes its group on to what is created in it. That was once lost when the
        /// umask made modes narrower.
        @Test("a folder inherits the set-group bit of its parent, whatever the umask") func setGroup() async {
            await #expect(processExitsWith: .success) {
                for mask in [0, 0o022, 0o077] as [mode_t] {
                    let tests = FileModeTests()
                    umask(mask)
                    #expect(chmod(tests.folder.path, 0o2770) == 0)
                    try tests.create(FileMode(0o660))
                    #expect(tests.mode("folder") == 0o2770 && tests.mode("file") == 0o660)
                    try tests.storage.createFolder(tests.folder.path + "/folder/inner", permissions: FileMode(0o640))
                    #expect(tests.mode("folder/inner") == 0o2750)
                }
            }
        }
    #endif
}
