import FirnStorage
import FirnTestSupport
import Testing

/// What names and folders promise, in every form of `Storage`.
@Suite(.timeLimit(.minutes(20))) struct NameConformanceTests {
    @Test(arguments: StorageKind.allCases)
    func foldersListWhatTheyHold(_ kind: StorageKind) throws {
        let place = kind.make()
        let storage = place.storage
        try storage.createFolder(place.path("d"))
        #expect(try storage.list(place.path("d")) == [])
        _ = try place.open("d/b", .create)
        _ = try place.open("d/a", .create)
        try storage.createFolder(place.path("d/c"))
        #expect(try storage.list(place.path("d")).sorted() == ["a", "b", "c"])
        try storage.syncFolder(place.path("d"))
        try storage.remove(place.path("d/a"))
        try storage.remove(place.path("d/c"))
        #expect(try storage.list(place.path("d/")) == ["b"])
    }

    @Test(arguments: StorageKind.allCases)
    func statusTellsFilesFromFolders(_ kind: StorageKind) throws {
        let place = kind.make()
        try place.storage.createFolder(place.path("d"))
        try place.open("f", .create).write(Array(repeating: 1, count: 9000), at: 0)
        #expect(try place.storage.status(place.path("d"))?.kind == .folder)
        let file = try #require(try place.storage.status(place.path("f")))
        #expect(file.kind == .file && file.byteCount == 9000)
        #expect(try place.storage.status(place.path("none")) == nil)
        #expect(try place.storage.status(place.path("none/f")) == nil)
        expect(.notAFolder) { _ = try place.storage.status(place.path("f/x")) }
    }

    @Test(arguments: StorageKind.allCases)
    func renamingReplacesInOneStep(_ kind: StorageKind) throws {
        let place = kind.make()
        let storage = place.storage
        try place.open("a", .create).write([1], at: 0)
        try place.open("b", .create).write([2], at: 0)
        let old = try place.open("b", .read)
        try storage.rename(place.path("a"), to: place.path("b"))
        #expect(try storage.status(place.path("a")) == nil)
        #expect(try place.open("b", .read).read(9, at: 0) == [1])
        #expect(try old.read(9, at: 0) == [2])
        try storage.createFolder(place.path("d"))
        try storage.rename(place.path("b"), to: place.path("d/c"))
        #expect(try place.open("d/c", .read).read(9, at: 0) == [1])
        try storage.rename(place.path("d"), to: place.path("e"))
        #expect(try place.open("e/c", .read).read(9, at: 0) == [1])
        try storage.rename(place.path("e/c"), to: place.path("e/c"))
        #expect(try place.open("e/c", .read).read(9, at: 0) == [1])
    }

    @Test(arguments: StorageKind.allCases)
    func misnamedThingsGiveTheRightError(_ kind: StorageKind) throws {
        let place = kind.make()
        let storage = place.storage
        _ = try place.open("f", .create)
        try storage.createFolder(place.path("d"))
        _ = try place.open("d/x", .create)
        try storage.createFolder(place.path("empty"))

        expect(.isAFolder) { _ = try place.open("d", .read) }
        expect(.isAFolder) { _ = try place.open("d", .readWrite) }
        expect(.exists) { _ = try place.open("d", .create) }
        expect(.notAFolder) { _ = try place.open("f/x", .read) }
        expect(.notAFolder) { _ = try place.open("f/x", .create) }
        expect(.notFound) { _ = try place.open("none/x", .create) }
        expect(.notFound) { _ = try storage.open("", .read) }
        expect(.exists) { try storage.createFolder(place.path("d")) }
        expect(.exists) { try storage.createFolder(place.path("f")) }
        expect(.notFound) { try storage.createFolder(place.path("none/d")) }
        expect(.notAFolder) { try storage.createFolder(place.path("f/d")) }
        expect(.notFound) { _ = try storage.list(place.path("none")) }
        expect(.notAFolder) { _ = try storage.list(place.path("f")) }
        expect(.notFound) { try storage.remove(place.path("none")) }
        expect(.notEmpty) { try storage.remove(place.path("d")) }
        expect(.notFound) { try storage.rename(place.path("none"), to: place.path("y")) }
        expect(.notFound) { try storage.rename(place.path("f"), to: place.path("none/y")) }
        expect(.notAFolder) { try storage.rename(place.path("d"), to: place.path("f")) }
        expect(.isAFolder) { try storage.rename(place.path("f"), to: place.path("empty")) }
        expect(.notEmpty) { try storage.rename(place.path("empty"), to: place.path("d")) }
        expectInputError { try storage.rename(place.path("d"), to: place.path("d/y")) }
        expect(.notFound) { try storage.syncFolder(place.path("none")) }
        expect(.notAFolder) { try storage.syncFolder(place.path("f")) }
        expect(.isAFolder) { _ = try storage.lockFile(place.path("d")) }
        expect(.isAFolder) { _ = try storage.sharedMemory(place.path("d"), byteCount: 4096) }
        expect(.notFound) { _ = try storage.volume(of: place.path("none")) }

        let long = String(repeating: "n", count: 256)
        expect(.nameTooLong) { _ = try place.open(long, .create) }
        expect(.nameTooLong) { try storage.createFolder(place.path(long)) }
        _ = try place.open(String(long.dropLast()), .create)

        #expect(try storage.list(place.path("d")) == ["x"])
    }

    @Test(arguments: StorageKind.allCases)
    func theVolumeIsLocalAndHasRoom(_ kind: StorageKind) throws {
        let place = kind.make()
        let volume = try place.storage.volume(of: place.path(""))
        #expect(!volume.isNetwork && volume.availableByteCount > 0 && !volume.fileSystem.isEmpty)
    }
}
