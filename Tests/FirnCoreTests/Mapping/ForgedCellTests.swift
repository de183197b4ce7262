import FirnStorage
import FirnTestSupport
import ForgedStores
import Testing

@testable import FirnCore

@Suite("Checkpoint cells that are longer or more than a chunk can hold are an error", .timeLimit(.minutes(20)))
struct ForgedCellTests {
    private static let kind = 2

    /// People with their kinds, all in one leaf.
    private static func files(_ kind: (Int) -> String) throws -> StoreFiles {
        try StoreFiles.made { transaction in
            for id in 0..<256 {
                try BaseStore.add(
                    transaction, table: BaseStore.person, values: [0: .int(Int64(id)), Self.kind: .string(kind(id))])
            }
        }
    }

    /// The chunk of a column in the first leaf of people.
    private static func chunk(_ column: Int, _ bytes: [UInt8]) throws -> Int {
        let leaf = try #require(
            StoreFiles.nodes(bytes, .leaf).first { Forging.get(bytes, offset: $0.lowerBound + 20) == UInt32(256) })
        return StoreFiles.target(bytes, leaf.lowerBound + 64 + 8 * column)
    }

    /// Expects that nothing can be set in the column, and that nothing stops the program.
    ///
    /// - Parameter isSeen: whether the chunk itself shows the damage, so that verifying finds it.
    private static func expectDamage(_ files: StoreFiles, isSeen: Bool) throws {
        let store = try files.open()
        let before = store.publishedVersion
        for _ in 0..<2 {
            let transaction = try store.beginWrite()
            transaction.set(BaseStore.person, column: kind, key: 0, to: .string("another"))
            #expect(throws: StoreError.self) { try transaction.commit() }
        }
        #expect(store.publishedVersion == before)
        if isSeen {
            #expect(throws: StoreError.self) { try store.verify() }
        } else {
            // Everything else continues to work.
            let transaction = try store.beginWrite()
            transaction.set(BaseStore.person, column: 3, key: 0, to: .int(5))
            try transaction.commit()
            _ = try store.compact()
        }
        try store.close()
    }

    /// The values of a chunk may share bytes, but a copy gives each value its own.
    @Test("slots that share their bytes", arguments: [14_000, 1025, 1024, 257]) func slots(length: Int) throws {
        var random = SeededRandom(seed: 3)
        var files = try Self.files { _ in
            String(decoding: (0..<60).map { _ in UInt8(33 + random.below(90)) }, as: UTF8.self)
        }
        try files.forge { bytes in
            let chunk = try Self.chunk(Self.kind, bytes)
            #expect(bytes[chunk + 17] == ChunkEncoding.Form.text.rawValue)
            let heap = Int(Forging.get(bytes, offset: chunk + 28, UInt32.self)) - 64 - 4 * 256
            #expect(heap > 14_000 + 255)
            bytes[chunk + 17] = Chunk.Form.variable.rawValue
            Forging.put(UInt32(heap), into: &bytes, offset: chunk + 20)
            for offset in 32..<64 { bytes[chunk + offset] = 0 }
            for row in 0..<256 {
                Forging.put(UInt32(row) | UInt32(length) << 16, into: &bytes, offset: chunk + 64 + 4 * row)
            }
            for offset in 0..<heap { bytes[chunk + 64 + 4 * 256 + offset] = 97 }
        }
        try Self.expectDamage(files, isSeen: true)
    }

    /// Each value is within the dictionary; only a copy gives each row its own bytes.
    @Test("rows that all refer to a dictionary's longest value") func dictionary() throws {
        var files = try Self.files { $0 == 0 ? String(repeating: "long", count: 250) : "kind \($0 % 5)" }
        try files.forge { bytes in
            let chunk = try Self.chunk(Self.kind, bytes)
            #expect(bytes[chunk + 17] == ChunkEncoding.Form.dictionary.rawValue)
            for row in 0..<256 { bytes[chunk + 64 + row] = bytes[chunk + 64] }
        }
        try Self.expectDamage(files, isSeen: false)
    }

    /// Later readers load the table's numbers as aligned ones.
    @Test(
        "a reference table that is not aligned",
        arguments: [Chunk.Form.variable.rawValue, ChunkEncoding.Form.text.rawValue])
    func unalignedTable(form: UInt8) throws {
        // Collections are never encoded, and strings that differ are packed.
        let isText = form == ChunkEncoding.Form.text.rawValue
        let long = String(repeating: "long", count: 500)
        var forged = 0
        for length in 0..<8 {
            let short = String(repeating: "x", count: length)
            var files = try StoreFiles.made { transaction in
                for id in 0..<256 {
                    let text = id == 0 ? long : "\(id * id * 7919)" + short
                    try BaseStore.add(
                        transaction, table: BaseStore.person,
                        values: [
                            0: .int(Int64(id)), isText ? Self.kind : 6: isText ? .string(text) : .list([.string(text)]),
                        ])
                }
            }
            let before = forged
            try files.forge { bytes in
                let chunk = try Self.chunk(isText ? Self.kind : 6, bytes)
                #expect(bytes[chunk + 17] == form)
                let table = Int(Forging.get(bytes, offset: chunk + 32, UInt32.self))
                #expect(Forging.get(bytes, offset: chunk + 36, UInt32.self) == 1 && table % 4 == 0)
                // There must be a byte of padding behind it.
                guard table + 5 <= Int(Forging.get(bytes, offset: chunk + 28, UInt32.self)) else { return }
                let entry = Forging.get(bytes, offset: chunk + table, UInt32.self)
                bytes[chunk + table] = 0
                Forging.put(entry, into: &bytes, offset: chunk + table + 1)
                Forging.put(UInt32(table + 1), into: &bytes, offset: chunk + 32)
                forged += 1
            }
            let store = try files.open()
            if forged > before { #expect(throws: StoreError.self) { try store.verify() } }
            try store.close()
        }
        #expect(forged > 0)
    }

    @Test("collections that share their bytes, though none refers to anything") func collections() throws {
        var files = try StoreFiles.made { transaction in
            for id in 0..<256 {
                try BaseStore.add(
                    transaction, table: BaseStore.person,
                    values: [0: .int(Int64(id)), 6: .list([.string("tag"), .string("\(id)")])])
            }
        }
        try files.forge { bytes in
            let chunk = try Self.chunk(6, bytes)
            #expect(bytes[chunk + 17] == Chunk.Form.variable.rawValue)
            Forging.put(Forging.get(bytes, offset: chunk + 64, UInt32.self), into: &bytes, offset: chunk + 68)
        }
        let store = try files.open()
        let error = #expect(throws: StoreError.self) { try store.verify() }
        #expect(error?.description.contains("overlap") == true, "\(error as Any)")
        try store.close()
    }
}
