import FirnLog
import FirnStorage
import Testing

@testable import FirnCore

/// A text that a changeset assigns is copied as bytes, provided that they are valid text.
@Suite(.timeLimit(.minutes(20))) struct AppliedTextTests {
    private static func apply(_ new: Value, replacing text: [UInt8], with bytes: [UInt8]) throws -> Value? {
        try apply([2: new], replacing: text, with: bytes)[2]
    }

    /// Sets the names of some people, with some bytes of the changeset replaced, and returns all names.
    private static func apply(
        _ new: [Int64: Value], replacing text: [UInt8], with bytes: [UInt8]
    ) throws -> [Int64: Value] {
        let store = try Store(StoreOptions(log: nil), storage: MemoryStorage())
        try People.fill(store, 3)
        var changes = Changeset(version: 9, time: 0)
        changes.tables[TableID(0)] = TableChanges()
        changes.tables[TableID(0)]?.updated = [1: new.mapValues { CellChange(new: $0, old: .string("before")) }]
        let transaction = try store.beginWrite()
        defer { transaction.cancel() }
        let reader = ChangesetReader(version: 9, direction: .forward)
        var count = 0
        for var part in changes.encoded(schema: store.schema) {
            for offset in part.indices.dropLast(max(text.count - 1, 0))
            where !text.isEmpty && part[offset..<offset + text.count].elementsEqual(text) {
                part.replaceSubrange(offset..<offset + text.count, with: bytes)
                count += 1
            }
            try part.withUnsafeBytes { try reader.read($0) { try transaction.apply(&$0) } }
        }
        try reader.finish()
        #expect(text.isEmpty || count == 1)
        return Dictionary(
            uniqueKeysWithValues: (0..<3).compactMap { key in
                transaction.table(TableID(0)).value(1, of: key).map { (key, $0) }
            })
    }

    /// Texts follow each other without a gap; each must be valid by itself.
    @Test func stringsThatAreValidOnlyWhenJoinedAreRefused() throws {
        let texts: [Int64: Value] = [0: .string("ab"), 2: .string("cde")]
        let plain = try Self.apply(texts, replacing: [], with: [])
        #expect(plain[0] == .string("ab") && plain[2] == .string("cde") && plain[1] != nil)
        let other = try Self.apply(
            texts, replacing: Array("abcde".utf8), with: Array("é😀".utf8.prefix(2)) + Array("çx".utf8))
        #expect(other[0] == .string("é") && other[2] == .string("çx"))
        let error = #expect(throws: ChangesetDamage.self) {
            _ = try Self.apply(texts, replacing: Array("abcde".utf8), with: Array("aéde".utf8))
        }
        #expect(error?.reason.contains("a value of name is not of type string") == true)
        // A text too long for its chunk, beside one that fits.
        let long = Value.string(String(repeating: "long ", count: 1000))
        let mixed = try Self.apply([0: long, 1: .string("short")], replacing: [], with: [])
        #expect(mixed[0] == long && mixed[1] == .string("short"))
    }

    @Test func textThatIsNotUTF8IsRefused() throws {
        let ascii = Array("plain and simple".utf8)
        let other = Array("schön und einfach".utf8)
        #expect(try Self.apply(.string("plain and simple"), replacing: [], with: []) == .string("plain and simple"))
        #expect(try Self.apply(.string("schön und einfach"), replacing: [], with: []) == .string("schön und einfach"))
        #expect(
            try Self.apply(
                .string("plain and simple"), replacing: ascii, with: Array("élan and simple.".utf8.prefix(16)))
                == .string("élan and simple"))
        for (text, offset) in [(ascii, 0), (ascii, 15), (other, 3), (other, 16)] {
            var broken = text
            broken[offset] = 0xFF
            let error = #expect(throws: ChangesetDamage.self) {
                _ = try Self.apply(
                    .string(String(decoding: text, as: UTF8.self)), replacing: text, with: broken)
            }
            #expect(error?.reason.contains("a value of name is not of type string") == true)
        }
        let null = #expect(throws: ChangesetDamage.self) { _ = try Self.apply(.null, replacing: [], with: []) }
        #expect(null?.reason.contains("a null in name") == true)
    }
}
