import FirnRealmFile
import FirnStorage
import FirnTestSupport
import RealmDump
import Testing

/// Whatever the bytes are, reading ends with an error or without one.
@Suite("A damaged file", .timeLimit(.minutes(20))) struct DamageTests {
    private static let names = [
        "types-v9", "types-v24", "past-v9", "past-v22", "past-v23", "decimals-v24", "interned-v9", "copied-v24",
        "real-swift_fileformat-pre-null-v2", "real-java_ios_6.0.0-beta.2-alltypes-v10", "real-swift_default-v5-v20",
    ]

    /// Nodes that claim much: references, width 0, strings.
    private static let nodes: [[UInt8]] = [
        [0, 0, 0, 0, 0, 0, 0, 0], [UInt8](repeating: 0xff, count: 8), [65, 65, 65, 65, 0x46, 0xff, 0xff, 0xff],
        [65, 65, 65, 65, 0x00, 0xff, 0xff, 0xff], [65, 65, 65, 65, 0x45, 0, 0, 12],
    ]

    private func change(_ bytes: inout [UInt8], _ chance: inout SeededRandom) {
        switch chance.below(10) {
        case 0..<6: bytes[chance.below(bytes.count)] = UInt8(chance.below(256))
        case 6, 7:
            let start = chance.below(bytes.count / 8) * 8
            bytes.replaceSubrange(start..<start + 8, with: Self.nodes[chance.below(5)])
        case 8: bytes.removeLast(chance.below(bytes.count - 32))
        default: bytes[chance.below(24)] = UInt8(chance.below(256))
        }
    }

    @Test("is read to an error or to its end", arguments: names) func random(_ name: String) throws {
        let sample = RealmSample(name: name)
        let whole = try sample.file()
        var chance = SeededRandom(seed: UInt64(whole.count))
        var refused = 0
        for _ in 0..<TestEnvironment.programCount(60) {
            var bytes = whole
            for _ in 0...chance.below(4) where bytes.count > 64 { change(&bytes, &chance) }
            let file = try MemoryStorage().open("/app.realm", .create)
            try file.write(bytes, at: 0)
            do {
                let opened = try RealmFile(file, path: "/app.realm")
                var byteCount = 0
                try RealmDump(opened) { byteCount += $0.utf8.count }.run()
            } catch let error as RealmFileError {
                refused += 1
                #expect(!error.description.isEmpty)
            }
        }
        #expect(refused > 0)
    }
}
