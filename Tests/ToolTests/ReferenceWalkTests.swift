import FirnCore
import Foundation
import Testing

@testable import FirnTool

@Suite("What a checkpoint's references lead to", .timeLimit(.minutes(20))) struct ReferenceWalkTests {
    private static func compacted() throws -> CompactedStore {
        var made = try CompactedStore(seed: 1)
        _ = try made.compact(wholly: true)
        try made.store.close()
        return made
    }

    @Test("each node of a whole checkpoint is visited once") func visits() throws {
        let made = try Self.compacted()
        let checkpoint = try made.opened()
        var visited: [NodeKind: Int] = [:]
        var byteCount = 0
        try ReferenceWalk(checkpoint) { _, node, _ in
            visited[node.kind, default: 0] += 1
            byteCount += node.nodeByteCount
        }.run()
        let nodes = try CompactedStore.nodes(checkpoint)
        #expect(byteCount == nodes.reduce(0) { $0 + $1.bytes.count })
        for kind in NodeKind.allCases { #expect(visited[kind] == nodes.count { $0.kind == kind }, "\(kind)") }
    }

    @Test("info shows how many bytes each property takes") func sizes() throws {
        let made = try Self.compacted()
        let info = try Run.info(made.storage, json: true)
        let facts = try #require(
            try JSONSerialization.jsonObject(with: Data(info.out.utf8)) as? [String: Any], "\(info.error)")
        let classes = try #require(facts["classes"] as? [[String: Any]])
        let person = try #require(classes.first { $0["name"] as? String == "Person" })
        var sizes: [String: [String: Int]] = [:]
        for property in try #require(person["properties"] as? [[String: Any]]) {
            sizes[try #require(property["name"] as? String)] = property.compactMapValues { $0 as? Int }
        }
        #expect(sizes.allSatisfy { $0.value["bytes"]! > 0 }, "\(sizes)")
        #expect(sizes.filter { $0.value["indexBytes"]! > 0 }.keys.sorted() == ["id", "name", "score", "weight"])
        #expect(sizes.filter { $0.value["backlinkBytes"]! > 0 }.keys.sorted() == ["friend", "friends"])
        // 1,500 long tags.
        #expect(sizes["tags"]!["bytes"]! > sizes["isGood"]!["bytes"]! + 10_000)
        #expect(try Run.info(made.storage).out.contains("    name: string, indexed  "))
    }

    @Test("a reference to a wrong node and a wrong count are found without reading values") func wrong() throws {
        func expect(
            _ text: String, _ kind: NodeKind, _ isWanted: (OnDiskNode) throws -> Bool = { _ in true },
            _ change: (inout [UInt8], OpenedCheckpoint) -> Void
        ) throws {
            let made = try Self.compacted()
            #expect(try Run.verify(made.storage, deep: false).status == .fine)
            let checkpoint = try made.opened()
            let nodes = try CompactedStore.nodes(checkpoint).filter { try $0.kind == kind && isWanted($0) }
            try made.change(try #require(nodes.first, "\(kind)"), in: checkpoint) { change(&$0, checkpoint) }
            let run = try Run.verify(made.storage, deep: false)
            #expect(run.status == .damage && run.out.contains(text), "\(kind): \(run.out)")
            #expect(run.out.hasPrefix("damage: /store/checkpoint/0000000001.checkpoint, byte "), "\(run.out)")
        }
        func put(_ value: Int, _ bytes: inout [UInt8], _ offset: Int, width: Int = 8) {
            for index in 0..<width { bytes[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * index)) }
        }
        func hasRows(_ table: OnDiskNode) throws -> Bool { try table.i64(40) > 100 }
        try expect("leads to a root, not to a chunk", .leaf) { put($1.footer.root + 1, &$0, 64) }
        try expect("leads to a root, not to a table", .root) { put($1.footer.root + 1, &$0, 32) }
        try expect("lies in none of the checkpoint's files", .leaf) { bytes, _ in put(1 << 40 + 1, &bytes, 64) }
        try expect("the table counts", .table, hasRows) { bytes, _ in put(7, &bytes, 40) }
        try expect("lacks its child 0", .rowInner) { bytes, _ in put(0, &bytes, 544) }
        try expect("child 0 is counted with 9 entries", .rowInner) { bytes, _ in put(9, &bytes, 1056) }
        try expect("child 0 is counted with 9 entries", .integerIndexInner) { bytes, _ in put(9, &bytes, 1568) }
        try expect("child 0 is counted with 9 entries", .listInner) { bytes, _ in put(9, &bytes, 544, width: 4) }
        try expect("is counted with", .bytesIndexInner) { bytes, _ in
            let entry = Int(bytes[42]) | Int(bytes[43]) << 8
            put(9, &bytes, entry + 16)
        }
        try expect("the table counts", .table, hasRows) { bytes, _ in put(0, &bytes, 32) }
    }
}
