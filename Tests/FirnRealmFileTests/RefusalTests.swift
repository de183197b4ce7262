import FirnStorage
import FirnTestSupport
import RealmDump
import Testing

@testable import FirnRealmFile

/// What is no Realm file, or a part of one, is refused with an error that says what to do.
@Suite("A file is refused", .timeLimit(.minutes(20))) struct RefusalTests {
    private func open(
        _ bytes: [UInt8], key: [UInt8]? = nil, salvages: Bool = false
    ) throws -> RealmFile {
        let storage = MemoryStorage()
        let file = try storage.open("/app.realm", .create)
        try file.write(bytes, at: 0)
        var options = RealmFile.Options()
        options.key = key
        options.salvages = salvages
        return try RealmFile(file, path: "/app.realm", options)
    }

    private func error(_ bytes: [UInt8], key: [UInt8]? = nil) -> RealmFileError? {
        #expect(throws: RealmFileError.self) { try open(bytes, key: key) }
    }

    private func plain() throws -> [UInt8] { try RealmSample(name: "past-v24").file() }

    @Test func anEmptyFileHasNoClasses() throws {
        let file = try open([])
        #expect(file.classes.isEmpty && file.format == 0 && file.schemaVersion == nil)
    }

    @Test("if it is another file, or an encrypted one without its key") func header() throws {
        for bytes in [[UInt8](repeating: 7, count: 4096), try RealmSample(name: "encrypted-v9").file()] {
            let error = error(bytes)
            #expect(error?.code == .notARealmFile && error?.description.contains("give its key") == true)
        }
    }

    @Test("if it is shorter than what it says") func truncated() throws {
        let bytes = try plain()
        for count in [1, 23, 4096] {
            let error = error(Array(bytes[..<count]))
            #expect(error?.code == .truncated && error?.description.contains("Copy it again") == true, "\(count)")
        }
        let copied = try RealmSample(name: "copied-v24").file()
        #expect(error(Array(copied.dropLast(8)))?.code == .truncated)
    }

    @Test("if its format is newer") func format() throws {
        var bytes = try plain()
        bytes[20 + Int(bytes[23] & 1)] = 25
        let error = error(bytes)
        #expect(error?.code == .unsupportedFormat(25) && error?.description.contains("format 25") == true)
    }

    @Test("if a key is given and it is not encrypted") func keyOfAPlainFile() throws {
        #expect(error(try plain(), key: [UInt8](repeating: 1, count: 64))?.code == .notEncrypted)
    }

    @Test("if the key is wrong, or a half of it", .enabled(if: PageCipher.isAvailable), arguments: [0, 32])
    func wrongKey(position: Int) throws {
        let sample = RealmSample(name: "encrypted-v9")
        var key = try #require(try sample.key())
        key[position] ^= 1
        let error = error(try sample.file(), key: key)
        #expect(error?.code == .wrongKey && error?.description.contains("the key is wrong") == true)
        // The two halves are told apart.
        #expect(error?.detail.contains("first 32 do not") == (position == 0))
    }

    @Test("if an upgrade by Realm was interrupted") func interruptedUpgrade() throws {
        // A file of the new form whose header still has the old format.
        var bytes = try plain()
        bytes[20 + Int(bytes[23] & 1)] = 9
        let error = error(bytes)
        #expect(error?.code == .interruptedUpgrade && error?.description.contains("v9.backup.realm") == true)
    }

    @Test func aDamagedClassIsNamedAndTheOthersCanBeSaved() throws {
        let sample = RealmSample(name: "types-v24")
        let whole = try sample.open()
        let type = try #require(whole.classes.first { $0.objects != 0 && !$0.properties.isEmpty })
        var bytes = try sample.file()
        // The kind of the root of the class's objects becomes an unknown one.
        bytes[type.objects + 4] |= 0x18
        let file = try open(bytes)
        let error = #expect(throws: RealmFileError.self) { try file.check(type) }
        #expect(error?.code == .damage && error?.className == type.name && error?.offset == type.objects)
        #expect(error?.description.contains("the class \(type.name) unreadable") == true)
        for other in whole.classes where other.name != type.name { try file.check(other) }
    }
}
