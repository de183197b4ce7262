import FirnTestSupport
import Testing

@testable import FirnStorage

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A call that the operating system refuses throws the error that says so.
@Suite(.timeLimit(.minutes(20))) struct PosixErrorTests {
    @Test(arguments: [
        (ENOENT, StorageError.Code.notFound), (EACCES, .permissionDenied), (EPERM, .permissionDenied),
        (EEXIST, .exists),
        (ENOTDIR, .notAFolder), (EISDIR, .isAFolder), (ENOTEMPTY, .notEmpty), (ENAMETOOLONG, .nameTooLong),
        (ENOSPC, .noSpace), (EDQUOT, .noSpace), (EMFILE, .tooManyOpenFiles), (ENFILE, .tooManyOpenFiles),
        (EROFS, .readOnlyFileSystem), (ENOMEM, .outOfMemory), (EIO, .io), (ESTALE, .io),
    ])
    func everyErrorNumberHasItsCode(_ number: Int32, _ code: StorageError.Code) {
        let error = StorageError(number: number, operation: "open", path: "/a/b")
        #expect(error.code == code && error.number == number)
        #expect(error.description.hasPrefix("open of /a/b: ") && error.description.hasSuffix("(errno \(number))"))
    }

    @Test func filesThatAreNotRegularAreRefusedWithoutWaiting() throws {
        let folder = TemporaryFolder()
        #expect(mkfifo(folder.path + "/pipe", 0o600) == 0)
        expectInputError { _ = try PosixStorage.shared.open(folder.path + "/pipe", .read) }
        expectInputError { _ = try PosixStorage.shared.open("/dev/null", .readWrite) }
        for opening in [SharedOpening.create(.ownerOnly), .existing] {
            expectInputError { _ = try PosixStorage.shared.lockFile(folder.path + "/pipe", opening) }
            expectInputError { _ = try PosixStorage.shared.lockFile("/dev/null", opening) }
            expectInputError {
                _ = try PosixStorage.shared.sharedMemory(folder.path + "/pipe", byteCount: 4096, opening)
            }
        }
        #expect(try PosixStorage.shared.status(folder.path + "/pipe")?.kind == .other)
    }

    @Test func circularLinksAreRefused() throws {
        let folder = TemporaryFolder()
        #expect(symlink("b", folder.path + "/a") == 0)
        #expect(symlink("a", folder.path + "/b") == 0)
        expectInputError { _ = try PosixStorage.shared.open(folder.path + "/a", .read) }
    }

    /// The last call that uses the descriptor closes it. If it were closed earlier, its number could become another
    /// file's while the call still runs, and that file would be closed at the end of the call.
    @Test func closingAFileDuringAReadClosesNoOtherFile() async {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            let byteCount = 128 << 20
            try PosixStorage.shared.open(folder.path + "/large", .create).truncate(to: byteCount)
            for round in 0..<3 {
                let large = try PosixStorage.shared.open(folder.path + "/large", .read)
                let hasBegun = Guarded(.unranked, false)
                let reader = try StorageThread.start(name: "reader") {
                    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 4096)
                    defer { buffer.deallocate() }
                    hasBegun.withLock { $0 = true }
                    _ = try? large.read(into: buffer, at: 0)
                }
                #expect(TestTimeout.awaits { hasBegun.withLock { $0 } })
                // The read takes about ten milliseconds.
                usleep(4000)
                large.close()
                let other = try PosixStorage.shared.open(folder.path + "/other \(round)", .create)
                reader.join()
                #expect(try other.size() == 0)
                expect(.closed) { _ = try large.size() }
            }
        }
    }

    #if os(Linux)
        /// A folder of a virtual file system such as /proc can't be synced.
        @Test func aFailedSyncOfAFolderIsThrown() {
            expectInputError { try PosixStorage.shared.syncFolder("/proc") }
        }
    #endif

    @Test func tooManyOpenFilesSaysSo() async {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            _ = try PosixStorage.shared.open(folder.path + "/f", .create)
            var before = rlimit()
            getrlimit(Self.openFiles, &before)
            // With a limit of 0, no new descriptor is allowed, whichever are free. With a higher limit the result would
            // depend on the files of other threads.
            var none = rlimit(rlim_cur: 0, rlim_max: before.rlim_max)
            setrlimit(Self.openFiles, &none)
            expect(.tooManyOpenFiles) { _ = try PosixStorage.shared.open(folder.path + "/f", .read) }
            expect(.tooManyOpenFiles) { _ = try PosixStorage.shared.open(folder.path + "/g", .create) }
            expect(.tooManyOpenFiles) { _ = try PosixStorage.shared.list(folder.path) }
            expect(.tooManyOpenFiles) { _ = try PosixStorage.shared.lockFile(folder.path + "/f") }
            expect(.tooManyOpenFiles) { _ = try PosixStorage.shared.sharedMemory(folder.path + "/f", byteCount: 4096) }
            expect(.tooManyOpenFiles) { try PosixStorage.shared.syncFolder(folder.path) }
            setrlimit(Self.openFiles, &before)
            _ = try PosixStorage.shared.open(folder.path + "/f", .read)
        }
    }

    @Test func aShortWriteIsContinuedUntilItFails() throws {
        var calls: [Range<Int>] = []
        #expect(throws: StorageError(number: ENOSPC, operation: "write", path: "f")) {
            try Transfer.write(count: 9000, path: "f") { done, length in
                calls.append(done..<done + length)
                if done == 0 { return 5000 }
                errno = ENOSPC
                return -1
            }
        }
        #expect(calls == [0..<9000, 5000..<9000])
    }

    /// Beyond it, the system stops a process that has not ignored the signal (SIGXFSZ).
    @Test func noFileIsMadeLongerThanTheProcessMay() async {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            let storage = PosixStorage.shared
            let file = try storage.open(folder.path + "/f", .create)
            try file.write(Array(repeating: 7, count: 4000), at: 0)
            var limit = rlimit(rlim_cur: 5000, rlim_max: 5000)
            setrlimit(Self.fileSize, &limit)
            for operation in [
                { try file.write(Array(repeating: 7, count: 9000), at: 0) }, { try file.truncate(to: 5001) },
                { _ = try storage.sharedMemory(folder.path + "/s", byteCount: 8192) },
                { _ = try storage.openFolder(folder.path).scratchMemory(byteCount: 8192) },
            ] {
                let error = #expect(throws: StorageError.self) { try operation() }
                #expect(error?.code == .noSpace && error.map { "\($0)" }?.contains("ulimit -f") == true)
            }
            #expect(try file.size() == 4000)
            try file.write(Array(repeating: 7, count: 1000), at: 4000)
            try file.truncate(to: 3000)
            try file.truncate(to: 5000)
        }
    }

    @Test func withoutPermissionNothingIsOpened() async {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            let storage = PosixStorage.shared
            chmod(folder.path, 0o755)
            _ = try storage.open(folder.path + "/closed", .create)
            _ = try storage.open(folder.path + "/readable", .create)
            try storage.createFolder(folder.path + "/d")
            chmod(folder.path + "/closed", 0)
            chmod(folder.path + "/readable", 0o444)
            chmod(folder.path + "/d", 0o700)
            let isRoot = geteuid() == 0
            if isRoot { seteuid(65_534) }
            expect(.permissionDenied) { _ = try storage.open(folder.path + "/closed", .read) }
            expect(.permissionDenied) { _ = try storage.open(folder.path + "/readable", .readWrite) }
            if isRoot {
                expect(.permissionDenied) { _ = try storage.open(folder.path + "/new", .create) }
                expect(.permissionDenied) { try storage.createFolder(folder.path + "/e") }
                expect(.permissionDenied) { _ = try storage.list(folder.path + "/d") }
                expect(.permissionDenied) { try storage.rename(folder.path + "/closed", to: folder.path + "/x") }
                expect(.permissionDenied) { try storage.remove(folder.path + "/closed") }
                expect(.permissionDenied) { _ = try storage.status(folder.path + "/d/x") }
                expect(.permissionDenied) { try storage.syncFolder(folder.path + "/d") }
                expect(.permissionDenied) { _ = try storage.sharedMemory(folder.path + "/closed", byteCount: 4096) }
            }
            expect(.permissionDenied) { _ = try storage.lockFile(folder.path + "/closed") }

            // A user who may only read can take a shared lock, but not an exclusive one.
            let lock = try storage.lockFile(folder.path + "/readable")
            #expect(try lock.tryLock(0, exclusive: false))
            // The error is the system's reason for opening the file read-only, not that of locking with a read-only
            // descriptor.
            do {
                _ = try lock.tryLock(0, exclusive: true)
                Issue.record("an exclusive lock was granted to a user who may only read")
            } catch let error as StorageError {
                #expect(error.code == .permissionDenied && error.number == EACCES)
            }
            if isRoot { seteuid(0) }
        }
    }

    @Test func networkFileSystemsAreDetected() {
        // nfs, cifs, smb, smb2, afs, ceph, 9p, lustre, gfs2, ocfs2.
        let networks: [UInt32] = [
            0x6969, 0xFF53_4D42, 0x517B, 0xFE53_4D42, 0x5346_414F, 0x00C3_6400, 0x0102_1997, 0x0BD0_0BD0, 0x0116_1970,
            0x7461_636F,
        ]
        for number in networks { #expect(FileSystems.find(number)?.isNetwork == true, "\(number)") }
        // ext4, xfs, btrfs, tmpfs, overlay, zfs, f2fs, apfs, fuse.
        let local: [UInt32] = [
            0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x794C_7630, 0x2FC1_2FC1, 0xF2F5_2010, 0x4253_584E,
            0x6573_5546,
        ]
        for number in local { #expect(FileSystems.find(number)?.isNetwork == false, "\(number)") }
        let names = (networks + local).compactMap { FileSystems.find($0)?.name }
        #expect(Set(names).count == networks.count + local.count)
        #expect(FileSystems.find(1) == nil)
        #expect(FileSystems.find(0xEF53)?.name == "ext4")
    }

    /// `statfs` gives one number for all that FUSE mounts, so the list of mounts tells what is behind it.
    @Test func fuseIsANetworkFileSystemIfItServesAnotherMachine() {
        let networks = [
            ("fuse.sshfs", "ada@server:"), ("fuse.s3fs", "s3fs"), ("fuse.rclone", "remote:photos"),
            ("fuse", "mountpoint-s3"), ("fuse", "https://server/files"), ("fuse", "s3://bucket"),
            ("fuse.unknown", "server:/export"), ("fuse.glusterfs", "server:volume"),
            ("fuse.vmhgfs-fuse", "vmhgfs-fuse"),
        ]
        for (type, source) in networks { #expect(FuseMount(type: type, source: source).isNetwork, "\(type) \(source)") }
        let local = [
            ("fuseblk", "/dev/sda1"), ("fuse.fuse-overlayfs", "fuse-overlayfs"), ("fuse.gocryptfs", "/home/ada/secret"),
            ("fuse.mergerfs", "disk1:disk2"), ("fuse.mergerfs", "/mnt/a:/mnt/b"), ("fuse.lxcfs", "lxcfs"),
            ("virtiofs", "share"), ("fuse", "unknown"), ("fuse", ""),
        ]
        for (type, source) in local { #expect(!FuseMount(type: type, source: source).isNetwork, "\(type) \(source)") }
        #expect(FuseMount(type: "fuse.sshfs", source: "ada@server:").name == "fuse.sshfs")
        #expect(FuseMount(type: "fuse", source: "s3://bucket").name == "fuse of s3://bucket")
    }

    @Test func theMountOfADeviceIsFoundInTheListOfMounts() {
        let table = """
            22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
            36 22 0:45 / /home/ada/a\\040b rw,nosuid shared:7 master:1 - fuse.sshfs ada@server:/a\\040b rw,user_id=0
            37 22 0:46 / /media/disk rw - fuseblk /dev/sda1 rw
            38 22 0:47 / /run/share rw - virtiofs share rw
            39 22 0:48 / /tmp rw - tmpfs fuse rw
            40 22 0:4
            41 22 0:49 / /cut rw - fuse.sshfs
            """
        func find(_ major: UInt32, _ minor: UInt32) -> FuseMount? {
            FuseMount.find(major: major, minor: minor, in: table)
        }
        #expect(find(0, 45) == FuseMount(type: "fuse.sshfs", source: "ada@server:/a\\040b"))
        #expect(find(0, 46) == FuseMount(type: "fuseblk", source: "/dev/sda1"))
        #expect(find(0, 47) == FuseMount(type: "virtiofs", source: "share"))
        for (major, minor) in [(254, 0), (0, 48), (0, 4), (0, 49), (45, 0)] as [(UInt32, UInt32)] {
            #expect(find(major, minor) == nil, "\(major):\(minor)")
        }
    }

    #if os(Linux)
        @Test func theSystemsListOfMountsIsRead() {
            #expect(FuseMount.table().contains(" - proc "))
        }

        @Test func anUnknownFileSystemIsNamedByItsNumber() throws {
            #expect(try PosixStorage.shared.volume(of: "/proc").fileSystem == "0x9fa0")
            expect(.notFound) { _ = try PosixStorage.shared.volume(of: "/none") }
        }
    #endif

    #if canImport(Glibc)
        private static let openFiles = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        private static let fileSize = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
    #else
        private static let openFiles = RLIMIT_NOFILE
        private static let fileSize = RLIMIT_FSIZE
    #endif
}
