import FirnStorage
import FirnTestSupport
import Testing

/// What names and folders promise, in every implementation of `Storage`.
@Suite(.timeLimit(.minutes(20))) struct NameConformanceTests {
    @Test(arguments: StorageKind.allCases)
    func foldersListWhatTheyHold(_ kind: StorageKind) throws {
        let fixture = kind.make()
        let storage = fixture.storage
        try storage.createFolder(fixture.path("d"))
        #expect(try storage.list(fixture.path("d")) == [])
        _ = try fixture.open("d/b", .create)
        _ = try fixture.open("d/a", .create)
        try storage.createFolder(fixture.path("d/c"))
        #expect(try storage.list(fixture.path("d")).sorted() == ["a", "b", "c"])
        try storage.syncFolder(fixture.path("d"))
        try storage.remove(fixture.path("d/a"))
        try storage.remove(fixture.path("d/c"))
        #expect(try storage.list(fixture.path("d/")) == ["b"])
    }

    @Test(arguments: StorageKind.allCases)
    func statusDistinguishesFilesFromFolders(_ kind: StorageKind) throws {
        let fixture = kind.make()
        try fixture.storage.createFolder(fixture.path("d"))
        try fixture.open("f", .create).write(Array(repeating: 1, count: 9000), at: 0)
        #expect(try fixture.storage.status(fixture.path("d"))?.kind == .folder)
        let file = try #require(try fixture.storage.status(fixture.path("f")))
        #expect(file.kind == .file && file.byteCount == 9000)
        #expect(try fixture.storage.status(fixture.path("none")) == nil)
        #expect(try fixture.storage.status(fixture.path("none/f")) == nil)
        expect(.notAFolder) { _ = try fixture.storage.status(fixture.path("f/x")) }
    }

    @Test(arguments: StorageKind.allCases)
    func renamingReplacesAtomically(_ kind: StorageKind) throws {
        let fixture = kind.make()
        let storage = fixture.storage
        try fixture.open("a", .create).write([1], at: 0)
        try fixture.open("b", .create).write([2], at: 0)
        let old = try fixture.open("b", .read)
        try storage.rename(fixture.path("a"), to: fixture.path("b"))
        #expect(try storage.status(fixture.path("a")) == nil)
        #expect(try fixture.open("b", .read).read(9, at: 0) == [1])
        #expect(try old.read(9, at: 0) == [2])
        try storage.createFolder(fixture.path("d"))
        try storage.rename(fixture.path("b"), to: fixture.path("d/c"))
        #expect(try fixture.open("d/c", .read).read(9, at: 0) == [1])
        try storage.rename(fixture.path("d"), to: fixture.path("e"))
        #expect(try fixture.open("e/c", .read).read(9, at: 0) == [1])
        try storage.rename(fixture.path("e/c"), to: fixture.path("e/c"))
        #expect(try fixture.open("e/c", .read).read(9, at: 0) == [1])
    }

    @Test(arguments: StorageKind.allCases)
    func wrongNamesGiveTheRightError(_ kind: StorageKind) throws {
        let fixture = kind.make()
        let storage = fixture.storage
        _ = try fixture.open("f", .create)
        try storage.createFolder(fixture.path("d"))
        _ = try fixture.open("d/x", .create)
        try storage.createFolder(fixture.path("empty"))

        expect(.isAFolder) { _ = try fixture.open("d", .read) }
        expect(.isAFolder) { _ = try fixture.open("d", .readWrite) }
        expect(.exists) { _ = try fixture.open("d", .create) }
        expect(.notAFolder) { _ = try fixture.open("f/x", .read) }
        expect(.notAFolder) { _ = try fixture.open("f/x", .create) }
        expect(.notFound) { _ = try fixture.open("none/x", .create) }
        expect(.notFound) { _ = try storage.open("", .read) }
        expect(.exists) { try storage.createFolder(fixture.path("d")) }
        expect(.exists) { try storage.createFolder(fixture.path("f")) }
        expect(.notFound) { try storage.createFolder(fixture.path("none/d")) }
        expect(.notAFolder) { try storage.createFolder(fixture.path("f/d")) }
        expect(.notFound) { _ = try storage.list(fixture.path("none")) }
        expect(.notAFolder) { _ = try storage.list(fixture.path("f")) }
        expect(.notFound) { try storage.remove(fixture.path("none")) }
        expect(.notEmpty) { try storage.remove(fixture.path("d")) }
        expect(.notFound) { try storage.rename(fixture.path("none"), to: fixture.path("y")) }
        expect(.notFound) { try storage.rename(fixture.path("f"), to: fixture.path("none/y")) }
        expect(.notAFolder) { try storage.rename(fixture.path("d"), to: fixture.path("f")) }
        expect(.isAFolder) { try storage.rename(fixture.path("f"), to: fixture.path("empty")) }
        expect(.notEmpty) { try storage.rename(fixture.path("empty"), to: fixture.path("d")) }
        expectInputError { try storage.rename(fixture.path("d"), to: fixture.path("d/y")) }
        expect(.notFound) { try storage.syncFolder(fixture.path("none")) }
        expect(.notAFolder) { try storage.syncFolder(fixture.path("f")) }
        expect(.isAFolder) { _ = try storage.lockFile(fixture.path("d")) }
        expect(.isAFolder) { _ = try storage.sharedMemory(fixture.path("d"), byteCount: 4096) }
        expect(.notFound) { _ = try storage.volume(of: fixture.path("none")) }

        let long = String(repeating: "n", count: 256)
        expect(.nameTooLong) { _ = try fixture.open(long, .create) }
        expect(.nameTooLong) { try storage.createFolder(fixture.path(long)) }
        _ = try fixture.open(String(long.dropLast()), .create)

        #expect(try storage.list(fixture.path("d")) == ["x"])
    }

    @Test(arguments: StorageKind.allCases)
    func theVolumeIsLocalAndHasSpace(_ kind: StorageKind) throws {
        let fixture = kind.make()
        let volume = try fixture.storage.volume(of: fixture.path(""))
        #expect(!volume.isNetwork && volume.availableByteCount > 0 && !volume.fileSystem.isEmpty)
    }
}
