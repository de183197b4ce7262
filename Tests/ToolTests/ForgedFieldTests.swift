import FirnBytes
import FirnStorage
import FirnTestSupport
import ForgedStores
import Testing

@testable import FirnTool

/// Each number in each kind of file is replaced by an edge value, and the checksums are made right. Whatever the
/// number then says, reading it must end.
@Suite("No number in a store stops a subcommand, whatever its value", .timeLimit(.minutes(20)))
struct ForgedFieldTests {
    static let edges: [UInt64] = [
        0, 1, .max, 1 << 63, (1 << 63) - 1, 1 << 62, 1 << 47, 1 << 42, 1 << 32, UInt64(UInt32.max), 1 << 31,
        (1 << 31) - 1, 1 << 24, 0xFFFF, 0x0101_0101_0101_0101,
    ]

    /// Writes an edge value at an offset, in 8, 4, 2 or 1 bytes.
    private func put(_ edge: UInt64, into bytes: inout [UInt8], offset: Int, width: Int) {
        guard offset + width <= bytes.count else { return }
        for index in 0..<width { bytes[offset + index] = UInt8(truncatingIfNeeded: edge >> UInt64(8 * index)) }
    }

    /// Calls `body` with each edge value at each offset of a range, as a number of 8 and of 4 bytes.
    private func forEach(_ range: Range<Int>, _ body: (_ edge: UInt64, _ offset: Int, _ width: Int) throws -> Void)
        rethrows
    {
        for width in [4, 8] {
            for offset in stride(from: range.lowerBound, to: range.upperBound, by: width) {
                for edge in Self.edges where width == 8 || edge <= UInt64(UInt32.max) { try body(edge, offset, width) }
            }
        }
    }

    private func run(_ storage: MemoryStorage, _ name: String) throws {
        try ForgedStore.run(storage, name, shows: [3], replays: [3])
    }

    /// The end of the frame that begins at an offset of a segment.
    private func end(ofFrameAt offset: Int, _ segment: [UInt8]) -> Int {
        (offset + 80 + Int(Forging.get(segment, offset: offset + 64, UInt32.self)) + 63) & ~63
    }

    @Test("a frame with a stored length above its raw length is refused") func lengths() throws {
        let whole = ForgedStore.small.segment
        func read(_ bytes: [UInt8]) throws -> FrameHeader { try bytes.withUnsafeBytes { try FrameHeader.read($0) } }
        var at = 64
        while Forging.get(whole, offset: at + 60, UInt32.self) == 0 { at = end(ofFrameAt: at, whole) }
        var header = try read(Array(whole[at..<at + 80]))
        header.isCompressed = true
        for (more, isHeader) in [(0, true), (1, false), (1 << 20, false)] as [(UInt32, Bool)] {
            header.storedCount = header.rawCount + more
            var writer = ByteWriter()
            _ = header.write(to: &writer)
            if isHeader {
                #expect(throws: Never.self, "\(more) bytes more") { _ = try read(writer.array()) }
            } else {
                let damage = #expect(throws: Damage.self, "\(more) bytes more") { _ = try read(writer.array()) }
                #expect(damage?.text.contains("lengths") == true)
            }
        }
    }

    @Test("the manifest") func manifest() throws {
        try forEach(0..<ForgedStore.small.manifest.count) { edge, offset, width in
            var store = ForgedStore.small
            put(edge, into: &store.manifest, offset: offset, width: width)
            store.sealManifest()
            try run(store.storage(), "manifest, byte \(offset): \(edge)")
        }
    }

    @Test("headers of segments and frames") func segment() throws {
        let whole = ForgedStore.small.segment
        var headers = [0..<64]
        var offset = 64
        while offset + 80 <= whole.count, Forging.get(whole, offset: offset, UInt32.self) == 0x4E52_4946 {
            headers.append(offset..<offset + 80)
            offset = end(ofFrameAt: offset, whole)
        }
        #expect(headers.count > 2)
        for header in headers.prefix(4) {
            try forEach(header) { edge, offset, width in
                var store = ForgedStore.small
                put(edge, into: &store.segment, offset: offset, width: width)
                store.sealSegment()
                try run(store.storage(), "segment, byte \(offset): \(edge)")
                if header.lowerBound == 0 {
                    try run(store.storage(hasManifest: false), "segment alone, byte \(offset): \(edge)")
                }
            }
        }
    }

    @Test("header and footer of a checkpoint") func checkpointEnds() throws {
        let whole = ForgedStore.small
        for range in [0..<64, whole.footer..<whole.checkpoint.count] {
            try forEach(range) { edge, offset, width in
                var store = whole
                put(edge, into: &store.checkpoint, offset: offset, width: width)
                Forging.put(Forging.crc(store.checkpoint, 0..<60), into: &store.checkpoint, offset: 60)
                store.sealCheckpoint()
                try run(store.storage(), "checkpoint, byte \(offset): \(edge)")
                try run(store.storage(hasManifest: false), "checkpoint without a manifest, byte \(offset): \(edge)")
            }
        }
    }

    @Test("each node of a small checkpoint") func smallNodes() throws {
        let whole = ForgedStore.small
        for node in Forging.nodes(of: whole.checkpoint) {
            for offset in stride(from: node.lowerBound, to: node.upperBound, by: 4) {
                for edge in [0, UInt64(UInt32.max), 1 << 31, 0x0101_0101, 7] {
                    var store = whole
                    put(edge, into: &store.checkpoint, offset: offset, width: 4)
                    store.sealCheckpoint()
                    let storage = try store.storage()
                    for run in [try Run.verify(storage), try Run.info(storage), try Run.show(storage, 3)]
                    where run.status != .fine {
                        #expect(!(run.out + run.error).isEmpty, "checkpoint, byte \(offset): \(edge)")
                    }
                }
            }
        }
    }

    @Test("the page that processes share") func page() throws {
        let whole = ForgedStore.small.page
        for offset in stride(from: 0, to: 128, by: 8) {
            for edge in Self.edges {
                var page = whole
                put(edge, into: &page, offset: offset, width: 8)
                Forging.put(UInt64(Forging.crc(page, 0..<24)), into: &page, offset: 24)
                // The checks of the two marks.
                let high: UInt64 = Forging.get(page, offset: 16)
                for mark in [32, 48] {
                    Forging.put(
                        Forging.get(page, offset: mark, UInt64.self) ^ high ^ 0x4D41_524B, into: &page, offset: mark + 8
                    )
                }
                try run(ForgedStore.small.storage(page: page), "page, byte \(offset): \(edge)")
            }
        }
    }

    @Test("nodes of each kind, at random", arguments: [1, 2, 3, 4] as [UInt64]) func nodes(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let whole = ForgedStore()
        for kind in NodeKind.allCases {
            let nodes = whole.nodes(kind)
            for _ in 0..<6 where !nodes.isEmpty {
                var store = whole
                let node = nodes[random.below(nodes.count)]
                var what = ""
                for _ in 0...random.below(2) {
                    // A number of the header, one of the first in the payload, or any in the payload.
                    let width = [1, 2, 4, 8][random.below(4)]
                    let range = [16..<32, 32..<min(96, node.count), 32..<node.count][random.below(3)]
                    guard !range.isEmpty else { continue }
                    let offset = range.lowerBound + random.below(range.count) / width * width
                    guard offset + width <= node.count else { continue }
                    let edge = Self.edges[random.below(Self.edges.count)]
                    put(edge, into: &store.checkpoint, offset: node.lowerBound + offset, width: width)
                    what += " byte \(offset), \(width) wide: \(edge)"
                }
                store.sealCheckpoint()
                try ForgedStore.run(
                    store.storage(), "seed \(seed), \(kind) at \(node.lowerBound):\(what)", shows: [6], replays: [8])
            }
        }
    }

    @Test("parts of a changeset, at random", arguments: [1, 2, 3, 4] as [UInt64]) func parts(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let commits = Forging.commits(of: ForgedStore().segment)
        for round in 0..<40 {
            var commit = commits[random.below(commits.count)]
            for _ in 0...random.below(3) {
                // Half of the time near the front, where most bytes are not values.
                let offset = 3 + random.below(random.below(2) == 0 ? min(64, commit.count - 3) : commit.count - 3)
                let edge = Self.edges[random.below(Self.edges.count)]
                if random.below(2) == 0 {
                    put(edge, into: &commit, offset: offset, width: [1, 2, 4, 8][random.below(4)])
                } else {
                    var writer = ByteWriter()
                    writer.appendVarint(edge)
                    for (index, byte) in writer.array().enumerated() where offset + index < commit.count {
                        commit[offset + index] = byte
                    }
                }
            }
            var store = ForgedStore()
            store.segment = Forging.appendCommit(commit, to: store.segment)
            let (verify, _) = try ForgedStore.run(
                store.storage(), "seed \(seed), round \(round)", shows: [9], replays: [9])
            #expect(verify.status == .damage || verify.status == .fine)
        }
    }
}
