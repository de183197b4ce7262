import FirnCore
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnTool

/// Subcommands that read a damaged store through Firn itself, or look something up in it: they end with damage, and
/// what they have shown until then is right.
@Suite("Reading damaged stores", .timeLimit(.minutes(20))) struct DamagedReadingTests {
    private static func reads(_ storage: MemoryStorage) throws -> [Run] {
        [
            try Run {
                try QueryCommand.run(
                    SampleStore.path, query: "Person WHERE weight >= 0", version: nil, json: true, storage: storage,
                    width: .max, output: $0)
            },
            try Run {
                try QueryCommand.run(
                    SampleStore.path, query: "Person SORT(score DESC)", version: nil, json: false, storage: storage,
                    width: 200, output: $0)
            },
            try Run {
                try ExplainCommand.run(
                    SampleStore.path, query: "Person WHERE name == 'x'", json: false, storage: storage, output: $0)
            },
            try RoundTripTests.export(
                storage, path: SampleStore.path, format: .ndjson, choice: .init(types: ["Person"])),
            try RoundTripTests.export(storage, path: SampleStore.path, format: .csv, choice: .init(types: ["Person"])),
            try RoundTripTests.export(storage, path: SampleStore.path, format: .json, choice: .init(), to: "/export"),
        ]
    }

    @Test("query, explain and export end with damage, and show nothing that is made up", arguments: [1, 2] as [UInt64])
    func nodes(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var made = try CompactedStore(people: 300)
        _ = try made.compact(wholly: true)
        try made.store.close()
        let path = try #require(try made.checkpointFiles().last)
        let whole = try made.sample.bytes(path)
        let right = try Self.reads(made.storage)
        #expect(right.allSatisfy { $0.status == .fine }, "\(right.map(\.error))")
        try made.storage.remove("/export")
        var damaged = 0
        for round in 0..<60 {
            try made.sample.flip(path, byte: 64 + random.below(whole.count - 64), bit: random.below(8))
            for (index, (run, intact)) in zip(try Self.reads(made.storage), right).enumerated() {
                let label = "seed \(seed), round \(round), read \(index): \(run.error)"
                if run.status == .fine {
                    #expect(run.out == intact.out, "\(label)")
                } else {
                    damaged += 1
                    #expect(run.status == .damage && run.error.contains("firn verify"), "\(label)")
                    #expect(intact.out.hasPrefix(run.out), "\(label)")
                }
            }
            // The export to a file is complete, or not there.
            let left = try made.storage.list("/").filter { $0 != "store" }
            #expect(left == [] || left == ["export"], "\(left)")
            if left == ["export"] { try made.storage.remove("/export") }
            try made.sample.write(path, whole)
        }
        #expect(damaged > 60)
    }

    @Test("a file that the store lists and that is missing is damage") func missingFile() throws {
        var made = try CompactedStore(people: 100)
        _ = try made.compact(wholly: true)
        try made.commit { $0.set(CompactedStore.person, column: 4, key: 3, to: .int(777)) }
        _ = try made.compact(wholly: false)
        try made.store.close()
        try made.storage.remove(try #require(try made.checkpointFiles().first))
        for run in try Self.reads(made.storage) { #expect(run.status == .damage, "\(run)") }
        let copy = try Run {
            try CopyCommand.run(SampleStore.path, output: "/copy", json: false, storage: made.storage, $0)
        }
        #expect(copy.status == .damage && copy.error.contains("/copy was not made"), "\(copy)")
    }

    @Test("an object or a class that is not found in a damaged store may be in what is damaged") func notFound() throws
    {
        let sample = try SampleStore()
        let path = try sample.files()[1]
        for (offset, type) in [(100, "Person"), (600, "Person"), (600, "Nobody")] {
            try sample.flip(path, byte: offset, bit: 2)
            let run = try Run {
                try HistoryCommand.run(
                    SampleStore.path, choice: .object(type: type, .primaryKey("Zoe")), json: false,
                    storage: sample.storage, output: $0)
            }
            #expect(run.status == .damage && run.error.contains("is not in the rest"), "\(offset), \(type): \(run)")
            try sample.flip(path, byte: offset, bit: 2)
        }
        let run = try Run {
            try HistoryCommand.run(
                SampleStore.path, choice: .object(type: "Person", .primaryKey("Zoe")), json: false,
                storage: sample.storage, output: $0)
        }
        #expect(run.status == .usage && run.error.contains("its log has none"), "\(run)")
    }

    // MARK: Losses that nobody counts

    @Test("objects that may be lost are told of, however little is left to count them") func uncounted() throws {
        for cut in [100, 2_000, 20_000, 40_000, 60_000] {
            var made = try CompactedStore(people: 600)
            _ = try made.compact(wholly: true)
            try made.store.close()
            let path = try #require(try made.checkpointFiles().last)
            let bytes = try made.sample.bytes(path)
            try #require(bytes.count > 80_000)
            for damaged in [
                Array(bytes[..<cut]), Array(bytes[..<cut]) + [7] + bytes[cut...],
                Array(bytes[..<cut]) + bytes[(cut + 1)...],
            ] {
                try made.sample.write(path, damaged)
                let run = try Run {
                    try RecoverCommand.run(
                        SampleStore.path, output: "/new", json: false, storage: made.storage, clock: ManualClock(), $0)
                }
                #expect(run.status == .damage, "\(cut): \(run)")
                StoreFiles(named: "/new", storage: made.storage).removeAll()
            }
        }
    }

    @Test("a root that is damaged costs nothing if all else is whole, but something else may be lost otherwise")
    func root() throws {
        for isElseDamaged in [false, true] {
            var made = try CompactedStore(people: 600)
            _ = try made.compact(wholly: true)
            try made.store.close()
            let checkpoint = try made.opened()
            let path = checkpoint.files[0].path
            let leaf = try #require(CompactedStore.nodes(checkpoint).first { $0.kind == .leaf })
            try made.sample.flip(path, byte: checkpoint.footer.root + 40, bit: 1)
            if isElseDamaged { try made.sample.flip(path, byte: leaf.position + 40, bit: 1) }
            let run = try Run {
                try RecoverCommand.run(
                    SampleStore.path, output: "/new", json: true, storage: made.storage, clock: ManualClock(), $0)
            }
            #expect(run.status == (isElseDamaged ? .damage : .fine), "\(run)")
            #expect(run.out.contains("\"maybeLost\":[]") == !isElseDamaged, "\(run.out)")
            #expect(run.out.contains("\"recovered\":600}") == !isElseDamaged, "\(run.out)")
        }
    }

    @Test("a last segment of which nothing is left is the lost end of the log") func lastSegment() throws {
        let sample = try SampleStore(more: 60, segmentByteCount: 4096)
        let segments = try sample.files().dropFirst()
        try #require(segments.count > 2)
        try sample.write(segments.last!, [])
        try sample.storage.remove(SampleStore.path + "/shared")
        let run = try Run {
            try RecoverCommand.run(
                SampleStore.path, output: "/new", json: false, storage: sample.storage, clock: ManualClock(), $0)
        }
        #expect(run.status == .damage && run.out.contains("the end of the log is missing"), "\(run)")
    }

    // MARK: Times

    @Test("a time as log shows it is that of the version beside it") func times() throws {
        #expect(
            Moment(argument: "2026-11-28T03:09:38.705Z")?.last
                == Moment(argument: "2026-11-28T03:09:38.705999999Z")?.last)
        for (text, last) in [
            ("1970-01-01", 86_399_999_999_999), ("1970-01-01T00:01", 119_999_999_999),
            ("1970-01-01T00:00:02", 2_999_999_999),
            ("1970-01-01T00:00:02.5", 2_599_999_999), ("1970-01-01T00:00:02.123456789012", 2_123_456_789),
        ] as [(String, Int64)] {
            #expect(Moment(argument: text)?.last == last, "\(text)")
        }
        let sample = SampleStore(empty: ())
        sample.clock.advance(by: 1_234_567)
        let store = try sample.open()
        for _ in 0..<3 {
            sample.clock.advance(by: 1_000_000_000)
            let transaction = try store.beginWrite()
            if store.publishedVersion == 0 { try transaction.changeSchema(to: SampleStore.schema) }
            try SampleStore.add(transaction, table: SampleStore.dog, values: [0: .string("Rex")])
            _ = try transaction.commit()
        }
        try store.close()
        let line = try #require(try Run.log(sample.storage, from: 2, to: 2).out.split(separator: "\n").first)
        let time = line.split(separator: " ").map(String.init)[1]
        let choice = try #require(VersionChoice(argument: time), "\(line)")
        #expect(try choice.number(in: OpenedStore.open(SampleStore.path, storage: sample.storage)) == 2, "\(line)")
    }
}
