import FirnStorage
import FirnTestSupport
import ForgedStores
import Testing

@testable import FirnTool

@Suite("Each subcommand reports a forged store as damage, whatever its checksums say", .timeLimit(.minutes(20)))
struct ForgedStoreTests {
    struct Forgery: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// Whether `firn verify` finds damage; false if all that was forged is allowed.
        var isDamage = true
        var hasManifest = true
        let forge: @Sendable (inout ForgedStore) -> Void

        init(
            _ name: String, isDamage: Bool = true, hasManifest: Bool = true,
            _ forge: @escaping @Sendable (inout ForgedStore) -> Void
        ) {
            testDescription = name
            self.isDamage = isDamage
            self.hasManifest = hasManifest
            self.forge = forge
        }
    }

    // MARK: The manifest and the headers of segments

    static func manifest(_ name: String, isDamage: Bool = true, _ puts: (Int, UInt64)...) -> Forgery {
        Forgery("manifest: \(name)", isDamage: isDamage) { store in
            for (offset, value) in puts { Forging.put(value, into: &store.manifest, offset: offset) }
            store.sealManifest()
        }
    }

    static let manifests: [Forgery] = [
        manifest("a generation after which there can be no other", (16, .max)),
        Forgery("manifest: the generation before a damaged one is the greatest number") { store in
            let second = Int(Forging.get(store.manifest, offset: 12, UInt32.self))
            Forging.put(UInt64.max, into: &store.manifest, offset: second + 16)
            store.sealManifest()
            store.manifest[70] ^= 1
        },
        manifest("a first version of 2^64 - 1", (144, .max)),
        manifest("a first version of 2^63", (144, 1 << 63)),
        manifest("a checkpoint of version 2^64 - 1", (72, .max)),
        manifest("a checkpoint of 2^64 - 1 bytes", (80, .max)),
        manifest("a checkpoint of the id 2^64 - 1", (64, .max)),
        manifest("made at the end of time", isDamage: false, (96, UInt64(Int64.max))),
        manifest("made before the beginning of time", isDamage: false, (96, 1 << 63)),
        Forgery("manifest: an epoch of 2^32 - 1") { store in
            Forging.put(UInt32.max, into: &store.manifest, offset: 40)
            store.sealManifest()
        },
        Forgery("manifest: segments by the million") { store in
            Forging.put(UInt32(1 << 24), into: &store.manifest, offset: 44)
            store.sealManifest()
        },
        Forgery("manifest: a length of 2^32 - 1") { store in
            Forging.put(UInt32.max, into: &store.manifest, offset: 12)
            store.sealManifest()
        },
        Forgery("without a manifest, a checkpoint and a log of version 2^64 - 1", hasManifest: false) { store in
            Forging.put(UInt64.max, into: &store.segment, offset: 40)
            store.sealSegment()
            Forging.put(UInt64.max - 1, into: &store.checkpoint, offset: store.footer + 16)
            store.sealCheckpoint()
        },
        Forgery("without a manifest, a checkpoint of version 2^64 - 1", hasManifest: false) { store in
            Forging.put(UInt64.max, into: &store.checkpoint, offset: store.footer + 16)
            store.sealCheckpoint()
        },
        Forgery("a checkpoint of version 2^64 - 1 that the manifest names") { store in
            Forging.put(UInt64.max, into: &store.checkpoint, offset: store.footer + 16)
            Forging.put(UInt64.max, into: &store.manifest, offset: 72)
            store.sealCheckpoint()
        },
        Forgery("a segment whose mark is 2^64 - 1") { store in
            Forging.put(UInt64.max, into: &store.segment, offset: 48)
            store.sealSegment()
        },
        Forgery("a segment of an epoch of 2^32 - 1, and no manifest", hasManifest: false) { store in
            Forging.put(UInt32.max, into: &store.segment, offset: 32)
            store.sealSegment()
        },
    ]

    // MARK: Frames

    static func frame(_ name: String, _ forge: @escaping @Sendable (inout [UInt8], Int) -> Void) -> Forgery {
        Forgery("frame: \(name)") { store in
            // The last frame that is not a mark: that of version 8.
            var offset = 64
            var last = 64
            while offset + 80 <= store.segment.count,
                Forging.get(store.segment, offset: offset, UInt32.self) == 0x4E52_4946
            {
                if store.segment[offset + 6] == 2 { last = offset }
                offset = (offset + 80 + Int(Forging.get(store.segment, offset: offset + 64, UInt32.self)) + 63) & ~63
            }
            forge(&store.segment, last)
            store.sealSegment()
        }
    }

    static let frames: [Forgery] = [
        frame("a version of 2^64 - 1") { Forging.put(UInt64.max, into: &$0, offset: $1 + 32) },
        frame("a version of 0") { Forging.put(UInt64(0), into: &$0, offset: $1 + 32) },
        frame("a time after all others, and then one before it") { Forging.put(Int64.min, into: &$0, offset: $1 + 40) },
        frame("a mark of 2^64 - 1") { Forging.put(UInt64.max, into: &$0, offset: $1 + 48) },
        frame("part 2^32 - 1") { Forging.put(UInt32.max, into: &$0, offset: $1 + 56) },
        frame("4 GiB of payload") { Forging.put(UInt32.max, into: &$0, offset: $1 + 60) },
        frame("a stored payload longer than the file") {
            Forging.put(UInt32(16 << 20), into: &$0, offset: $1 + 60)
            Forging.put(UInt32(16 << 20), into: &$0, offset: $1 + 64)
        },
        frame("a payload that decompresses to 16 MiB") {
            Forging.put(UInt32(16 << 20), into: &$0, offset: $1 + 60)
            $0[$1 + 7] |= 2
        },
    ]

    // MARK: The checkpoint

    static func checkpoint(_ name: String, _ forge: @escaping @Sendable (inout ForgedStore) -> Void) -> Forgery {
        Forgery("checkpoint: \(name)") { store in
            forge(&store)
            store.sealCheckpoint()
        }
    }

    static let positions: [UInt64] = [.max, 1 << 63, (1 << 63) - 1, 1 << 62, 1 << 47, 1 << 42, 1 << 32, 0, 33, 96]

    static let checkpoints: [Forgery] =
        positions.map { position in
            checkpoint("a root at \(position)") { Forging.put(position, into: &$0.checkpoint, offset: $0.state) }
        } + [
            checkpoint("the lowest number as the root, in a mapping that does not begin at 0") { store in
                Forging.put(UInt64(1) << 63, into: &store.checkpoint, offset: store.state)
                Forging.put(UInt64(65_536), into: &store.checkpoint, offset: store.footer + 48 + 8)
                Forging.put(UInt64(65_536), into: &store.checkpoint, offset: 40)
                Forging.put(Forging.crc(store.checkpoint, 0..<60), into: &store.checkpoint, offset: 60)
            },
            checkpoint("a state of 4 GiB") { Forging.put(UInt32.max, into: &$0.checkpoint, offset: $0.footer + 44) },
            checkpoint("files by the million") {
                Forging.put(UInt32(1 << 24), into: &$0.checkpoint, offset: $0.footer + 40)
            },
            checkpoint("a file of 2^47 - 64 bytes") {
                Forging.put(UInt64(1 << 47) - 64, into: &$0.checkpoint, offset: $0.footer + 48 + 16)
                Forging.put(UInt64(1 << 47) - 64, into: &$0.checkpoint, offset: $0.footer + 32)
            },
            checkpoint("a footer of 4 GiB") {
                Forging.put(UInt32.max & ~63, into: &$0.checkpoint, offset: $0.checkpoint.count - 8)
            },
            checkpoint("holes that reach beyond everything") {
                let garbage: UInt64 = Forging.get($0.checkpoint, offset: $0.state + 16)
                Forging.put(garbage | 1 << 63, into: &$0.checkpoint, offset: $0.state + 16)
            },
            checkpoint("a root of 2^24 tables") {
                Forging.put(UInt32(1 << 24), into: &$0.checkpoint, offset: $0.nodes(.root)[0].lowerBound + 20)
            },
            checkpoint("a node of 4 GiB") {
                Forging.put(UInt32.max & ~31, into: &$0.checkpoint, offset: $0.nodes(.leaf)[0].lowerBound + 28)
            },
            checkpoint("a node younger than its version") {
                Forging.put(UInt64.max, into: &$0.checkpoint, offset: $0.nodes(.leaf)[0].lowerBound)
            },
            checkpoint("the highest stamp is 2^64 - 1") {
                Forging.put(UInt64.max, into: &$0.checkpoint, offset: $0.state + 8)
            },
            // The library relies on these when it writes to an index.
            checkpoint("an inner node of an index with the form of a leaf") {
                $0.checkpoint[$0.nodes(.integerIndexInner)[0].lowerBound + 17] = 1
            },
            checkpoint("an inner node of an index with the capacity of a leaf") {
                Forging.put(UInt32(16), into: &$0.checkpoint, offset: $0.nodes(.integerIndexInner)[0].lowerBound + 24)
            },
            checkpoint("a leaf of an index for 63 entries") { store in
                let leaf = store.nodes(.integerIndexLeaf).first { node in
                    store.checkpoint[node.lowerBound + 17] == 1 && store.checkpoint[node.lowerBound + 20] < 64
                }
                Forging.put(UInt32(63), into: &store.checkpoint, offset: leaf!.lowerBound + 24)
            },
            checkpoint("entries of an index that begin among the slots") {
                Forging.put(UInt32(40), into: &$0.checkpoint, offset: $0.nodes(.bytesIndexLeaf)[0].lowerBound + 24)
            },
            checkpoint("entries of an index that begin in the page behind them") {
                Forging.put(UInt32(4096), into: &$0.checkpoint, offset: $0.nodes(.bytesIndexLeaf)[0].lowerBound + 24)
            },
            checkpoint("garbage that an index does not have") {
                let page = $0.nodes(.bytesIndexLeaf)[0].lowerBound
                Forging.put(
                    Forging.get($0.checkpoint, offset: page + 32, UInt32.self) + 8, into: &$0.checkpoint,
                    offset: page + 32)
            },
            checkpoint("one table twice") {
                let root = $0.nodes(.root)[0].lowerBound
                Forging.put(
                    Forging.get($0.checkpoint, offset: root + 32, UInt64.self), into: &$0.checkpoint, offset: root + 40)
            },
        ]
        + [NodeKind.root, .table, .rowInner, .leaf, .integerIndexInner, .listInner].flatMap { kind in
            let references: [NodeKind: Int] = [
                .root: 32, .table: 32, .rowInner: 544, .leaf: 64, .integerIndexInner: 1056, .listInner: 32,
            ]
            return ([.max, 1 << 62 | 1, 1 << 45 | 1, 1 << 40 | 1, 1, 2, 65 + 16, 8, 33] as [UInt64]).map { word in
                checkpoint("a reference of a \(kind.name.one) to \(word)") { store in
                    guard let node = store.nodes(kind).first else { return }
                    Forging.put(word, into: &store.checkpoint, offset: node.lowerBound + references[kind]!)
                }
            }
                + [
                    checkpoint("a \(kind.name.one) that is its own child") { store in
                        guard let node = store.nodes(kind).first else { return }
                        Forging.put(
                            UInt64(node.lowerBound) + 1, into: &store.checkpoint,
                            offset: node.lowerBound + references[kind]!)
                    }
                ]
        }

    @Test("the base store itself is intact") func whole() throws {
        let storage = try ForgedStore().storage()
        let (verify, all) = try ForgedStore.run(storage, "the base", replays: [4, 8])
        #expect(verify.status == .fine, "\(verify.out)")
        // The store has no version 9.
        #expect(all.count { $0.status != .fine } == 3, "\(all.filter { $0.status != .fine }.map(\.error))")
    }

    @Test("manifests and headers of segments", arguments: manifests) func manifest(_ forgery: Forgery) throws {
        try check(forgery)
    }

    @Test("frames", arguments: frames) func frame(_ forgery: Forgery) throws { try check(forgery) }

    @Test("checkpoints", arguments: checkpoints) func checkpoint(_ forgery: Forgery) throws { try check(forgery) }

    private func check(_ forgery: Forgery) throws {
        var store = ForgedStore()
        forgery.forge(&store)
        let storage = try store.storage(hasManifest: forgery.hasManifest)
        let (verify, _) = try ForgedStore.run(storage, forgery.testDescription)
        #expect(verify.status == (forgery.isDamage ? .damage : .fine), "\(forgery.testDescription): \(verify.out)")
        if forgery.isDamage { #expect(verify.out.hasPrefix("damage: ") || verify.error.contains("damage: ")) }
    }
}
