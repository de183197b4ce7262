import FirnBytes
import Foundation
import Testing

@testable import FirnCore

/// A changeset without old values says so, and holds none.
@Suite(.timeLimit(.minutes(20))) struct WithoutOldValuesTests {
    private static let mark: [UInt8] = [13, 0, 0, 0, 0, 0]
    private static let oldFlag: UInt8 = 1

    /// The blocks of a changeset with inserts, deletes, updates, blobs and a script.
    private static func blocks() throws -> [[UInt8]] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Golden/changeset-1.bin")
        var rest = [UInt8](try Data(contentsOf: file))[...]
        var blocks: [[UInt8]] = []
        while rest.count >= 6 {
            let head = Array(rest.prefix(6))
            let count = 6 + (2..<6).reversed().reduce(0) { $0 << 8 | Int(head[$1]) }
            blocks.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return blocks
    }

    private static func reason(_ blocks: [[UInt8]], _ direction: ChangesetReader.Direction) -> String? {
        let reader = ChangesetReader(version: 42, direction: direction)
        do {
            try blocks.reduce([], +).withUnsafeBytes { try reader.read($0) { _ in } }
            try reader.finish()
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test func aPartThatHasNoOldValuesIsReadInBothDirections() throws {
        let blocks = try Self.blocks()
        let new = blocks.filter { $0[1] & Self.oldFlag == 0 }
        #expect(new.count < blocks.count && new.count > 4)
        for direction in [ChangesetReader.Direction.forward, .both] {
            #expect(Self.reason([Self.mark] + new, direction) == nil)
            let reader = ChangesetReader(version: 42, direction: direction)
            try ([Self.mark] + new).reduce([], +).withUnsafeBytes { part in
                try reader.read(part) { block in
                    #expect(!reader.hasOldValues)
                    if case .update(let cells) = block { #expect(cells.old == nil) }
                }
            }
            // It holds for one part.
            try new[0].withUnsafeBytes { part in try reader.read(part) { _ in #expect(reader.hasOldValues) } }
        }
    }

    @Test func aPartThatContradictsItselfAboutOldValuesIsRefused() throws {
        let blocks = try Self.blocks()
        for direction in [ChangesetReader.Direction.forward, .both] {
            // Old values behind the block that says that there are none.
            let some = try #require(Self.reason([Self.mark] + blocks, direction))
            #expect(some.contains("says that it has no old values"), "\(some)")
            // Each kind of them alone, too.
            for (index, block) in blocks.enumerated() where block[1] & Self.oldFlag != 0 {
                let before = blocks[..<index].filter { $0[1] & Self.oldFlag == 0 }
                let one = Self.reason([Self.mark] + before + [block], direction)
                #expect(one?.contains("says that it has no old values") == true, "\(block[0]): \(one ?? "")")
            }
            for bad in [
                [blocks[0], Self.mark], [Self.mark, Self.mark], [[13, 0, 1, 0, 0, 0, 0]], [[13, 1, 0, 0, 0, 0]],
            ] {
                let reason = try #require(Self.reason(bad, direction))
                #expect(reason.contains("does not stand alone before all others"), "\(reason)")
            }
        }
    }

    /// A reader may see one part alone: if the one before it is damaged.
    @Test func everyPartBeginsWithTheBlockThatSaysSo() throws {
        var parts: [[UInt8]] = []
        withoutActuallyEscaping({ (part: consuming ByteWriter, _: Bool) -> ByteWriter in
            parts.append(part.array())
            return part
        }) { sink in
            var encoder = ChangesetEncoder(hasOldValues: false, sink: sink)
            for _ in 0..<3 { encoder.schema(Self.longSchema) }
            encoder.flush()
        }
        #expect(parts.count > 1)
        for part in parts { #expect(Array(part.prefix(6)) == Self.mark) }
    }

    /// A schema of some 500 KiB.
    private static let longSchema = StoreSchema(
        tables: (0..<500).map { table in
            TableSchema(
                name: "Table\(table)",
                columns: (0..<5).map { ColumnSchema(name: "\($0)" + String(repeating: "c", count: 200), type: .int) })
        })
}
