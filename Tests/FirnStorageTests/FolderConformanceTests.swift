import FirnStorage
import FirnTestSupport
import Testing

/// What an open folder promises, in every implementation of `Storage`: it stays the folder that it was, whatever
/// happens to the paths that led to it.
@Suite(.timeLimit(.minutes(20))) struct FolderConformanceTests {
    private func make(_ kind: StorageKind) throws -> (fixture: StorageFixture, folder: any StorageFolder) {
        let fixture = kind.make()
        try fixture.storage.createFolder(fixture.path("d"))
        return (fixture, try fixture.storage.openFolder(fixture.path("d")))
    }

    private func write(_ byte: UInt8, name: String, folder: any StorageFolder) throws {
        let file = try folder.open(name, .create)
        try file.write([byte], at: 0)
    }

    @Test(arguments: StorageKind.allCases)
    func anOpenFolderDoesWhatPathsDo(_ kind: StorageKind) throws {
        let (fixture, folder) = try make(kind)
        // Its folder goes with it.
        defer { withExtendedLifetime(fixture) {} }
        try write(1, name: "a", folder: folder)
        try folder.createFolder("inner")
        try folder.rename("a", to: "b")
        #expect(try folder.list().sorted() == ["b", "inner"])
        #expect(try fixture.open("d/b", .read).read(9, at: 0) == [1])
        #expect(try folder.status("b")?.byteCount == 1 && folder.status("a") == nil)
        #expect(try folder.status("inner")?.kind == .folder && !folder.isLink("b"))
        #expect(try folder.status("b")?.identity == fixture.storage.status(fixture.path("d/b"))?.identity)
        #expect(try folder.identity == fixture.storage.status(fixture.path("d"))?.identity)
        try folder.sync()
        #expect(try folder.volume().fileSystem == fixture.storage.volume(of: fixture.path("d")).fileSystem)
        let memory = try folder.sharedMemory("page", byteCount: 4096, .create(.ownerOnly))
        #expect(try memory.identity == folder.status("page")?.identity)
        expect(.notFound) { _ = try folder.sharedMemory("none", byteCount: 4096, .writable) }
        #expect(try folder.sharedMemory("page", byteCount: 4096, .writable).isWritable)
        let inner = try folder.openFolder("inner")
        try write(2, name: "x", folder: inner)
        try inner.remove("x")
        try folder.remove("inner")
        expect(.notFound) { _ = try folder.openFolder("inner") }
        expect(.notAFolder) { _ = try folder.openFolder("b") }
    }

    @Test(arguments: StorageKind.allCases)
    func itsNamesAreSingleComponents(_ kind: StorageKind) throws {
        let (fixture, folder) = try make(kind)
        // Its folder goes with it.
        defer { withExtendedLifetime(fixture) {} }
        try fixture.open("outside", .create).write([1], at: 0)
        for name in ["../outside", "/etc/passwd", "x/y", ".", "..", "a\0b"] {
            expectInputError { _ = try folder.open(name, .read) }
            expectInputError { try folder.createFolder(name) }
            expectInputError { _ = try folder.openFolder(name) }
            expectInputError { try folder.remove(name) }
            expectInputError { try folder.rename(name, to: "z") }
            expectInputError { _ = try folder.status(name) }
            expectInputError { _ = try folder.lockFile(name) }
            expectInputError { _ = try folder.sharedMemory(name, byteCount: 4096) }
        }
        #expect(try folder.list() == [])
    }

    /// The system's names end there, so that another file would be used.
    @Test(arguments: StorageKind.allCases)
    func aPathWithANULIsRefused(_ kind: StorageKind) throws {
        let fixture = kind.make()
        try fixture.open("a", .create).write([1], at: 0)
        let path = fixture.path("a\0b")
        expectInputError { _ = try fixture.storage.open(path, .read) }
        expectInputError { _ = try fixture.storage.status(path) }
        expectInputError { try fixture.storage.createFolder(fixture.path("d\0e")) }
        expectInputError { _ = try fixture.storage.list(path) }
        expectInputError { try fixture.storage.remove(path) }
        expectInputError { try fixture.storage.rename(fixture.path("a"), to: path) }
        #expect(try fixture.storage.status(fixture.path("a"))?.byteCount == 1)
        #expect(try fixture.storage.status(fixture.path("d")) == nil)
    }

    @Test(arguments: StorageKind.allCases)
    func itStaysTheSameFolderWhenItIsMovedAndReplaced(_ kind: StorageKind) throws {
        let (fixture, folder) = try make(kind)
        // Its folder goes with it.
        defer { withExtendedLifetime(fixture) {} }
        let storage = fixture.storage
        let inner = fixture.path("d")
        try write(1, name: "f", folder: folder)
        #expect(try folder.isNamed())
        try storage.rename(inner, to: fixture.path("away"))
        #expect(try !folder.isNamed())
        try storage.createFolder(inner)
        #expect(try !folder.isNamed() && folder.list() == ["f"])
        try write(2, name: "g", folder: folder)
        try folder.remove("f")
        #expect(try storage.list(inner) == [] && storage.list(fixture.path("away")) == ["g"])
        try storage.remove(inner)
        try storage.rename(fixture.path("away"), to: inner)
        #expect(try folder.isNamed())
    }

    @Test(arguments: StorageKind.allCases)
    func whatIsOpenDetectsThatItsNameIsAnotherFiles(_ kind: StorageKind) throws {
        let (fixture, folder) = try make(kind)
        // Its folder goes with it.
        defer { withExtendedLifetime(fixture) {} }
        try folder.createFolder("inner")
        let file = try folder.open("f", .create)
        let inner = try folder.openFolder("inner")
        let lock = try folder.lockFile("lock")
        func named() throws -> [Bool] { [try file.isNamed(), try inner.isNamed(), try lock.isNamed()] }
        #expect(try named() == [true, true, true])
        for name in ["f", "inner", "lock"] { try folder.rename(name, to: name + ".away") }
        #expect(try named() == [false, false, false])
        try write(1, name: "f", folder: folder)
        try folder.createFolder("inner")
        try write(2, name: "lock", folder: folder)
        #expect(try named() == [false, false, false])
        for name in ["f", "inner", "lock"] {
            try folder.remove(name)
            try folder.rename(name + ".away", to: name)
        }
        #expect(try named() == [true, true, true])
    }

    @Test(arguments: StorageKind.allCases)
    func handlesOfAFolderExcludeEachOtherByItsLock(_ kind: StorageKind) throws {
        let (fixture, first) = try make(kind)
        defer { withExtendedLifetime(fixture) {} }
        var second: (any StorageFolder)? = try fixture.storage.openFolder(fixture.path("d"))
        let third = try fixture.storage.openFolder(fixture.path("d"))
        #expect(try first.tryLock(exclusive: false) && second!.tryLock(exclusive: false))
        #expect(try !third.tryLock(exclusive: true))
        first.unlock()
        #expect(try !third.tryLock(exclusive: true))
        second = nil
        #expect(try third.tryLock(exclusive: true) && !first.tryLock(exclusive: false))
        // A handle replaces its own lock.
        #expect(try third.tryLock(exclusive: false) && first.tryLock(exclusive: false))
        third.unlock()
        third.unlock()
        #expect(try first.tryLock(exclusive: true))
    }
}
