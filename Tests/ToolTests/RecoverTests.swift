import FirnCore
import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnTool

@Suite("firn recover", .timeLimit(.minutes(20))) struct RecoverTests {
    /// The objects of a store whose log goes back to the beginning.
    private static func objects(_ storage: any Storage, _ path: String) throws -> EditedStore.State {
        let run = try Run {
            try DiffCommand.run(path, first: .number(0), second: nil, json: true, storage: storage, output: $0)
        }
        try #require(run.status == .fine, "\(run.error)")
        var state: EditedStore.State = [:]
        for object in try ShownObject.all(run.out) {
            #expect(object.change == "inserted")
            state[object.identity] = ["notes": .single("null"), "tags": .elements([])]
            for name in ["name", "age", "notes", "tags"] {
                guard let property = object.properties[name] else { continue }
                state[object.identity]?[name] = DiffTests.held(property["new"])
            }
        }
        return state
    }

    private static func recover(_ storage: MemoryStorage, json: Bool = false) throws -> Run {
        try Run {
            try RecoverCommand.run(
                SampleStore.path, output: "/new", json: json, storage: storage, clock: ManualClock(), $0)
        }
    }

    @Test(
        "an intact store is recovered completely, with one pass over the log or many",
        arguments: [[], [12], [10, 25, 40]] as [Set<Int>])
    func whole(compacts: Set<Int>) throws {
        for (seed, byteMax) in [(1, 1 << 20), (2, 1 << 20), (3, 3000)] as [(UInt64, Int)] {
            let edited = try EditedStore(seed: seed, versions: 40, compactsAt: compacts, segmentByteCount: 4096)
            let storage = edited.sample.storage
            let run = try Run {
                try RecoverCommand.run(
                    SampleStore.path, output: "/new", json: false, storage: storage, clock: ManualClock(),
                    byteMax: byteMax, $0)
            }
            #expect(run.status == .fine && run.error == "", "\(run)")
            #expect(run.out.hasPrefix("/new holds all of version 40:\n"), "\(run.out)")
            #expect(try Self.objects(storage, "/new") == edited.states[40])
            #expect(try Run.verify(storage, path: "/new").status == .fine)
        }
    }

    @Test("every type, links, and collections of any length are recovered") func types() throws {
        var made = try CompactedStore(seed: 3)
        _ = try made.compact(wholly: true)
        try made.commit { $0.set(CompactedStore.person, column: 3, key: 5, to: .string("changed")) }
        let before = made.store.pin()
        let run = try Self.recover(made.storage)
        #expect(run.status == .fine, "\(run)")
        let recovered = try Self.opened(made.storage)
        #expect(recovered.recovery?.outcome == .clean)
        #expect(recovered.schema == made.store.schema)
        let after = recovered.pin()
        for table in [CompactedStore.any, CompactedStore.person] {
            let (old, new) = (before.snapshot.table(table), after.snapshot.table(table))
            #expect(old.count == new.count)
            for key in 0..<Int64(300) where old.find(key) != nil {
                for column in made.store.schema[table].columns.indices {
                    #expect(old.value(column, of: key) == new.value(column, of: key), "\(table) \(key) \(column)")
                }
            }
        }
        try recovered.close()
        try made.store.close()
    }

    @Test("a store in use is copied as it is at that moment") func copy() throws {
        let edited = try EditedStore(seed: 4, versions: 40, compactsAt: [20])
        let storage = edited.sample.storage
        let store = try edited.sample.open()
        let run = try Run {
            try CopyCommand.run(SampleStore.path, output: "/copy", json: false, storage: storage, $0)
        }
        #expect(run.status == .fine && run.out.hasPrefix("/copy holds version 40, store "), "\(run)")
        try store.close()
        #expect(try Run.verify(storage, path: "/copy").status == .fine)
        let again = try Run {
            try CopyCommand.run(SampleStore.path, output: "/copy", json: false, storage: storage, $0)
        }
        #expect(again.status == .usage && again.error.contains("/copy exists"), "\(again)")
        // The copy has no log before it, so it is recovered to be read here.
        let recovered = try Run {
            try RecoverCommand.run(
                "/copy", output: "/new", json: false, storage: storage, clock: ManualClock(), $0)
        }
        #expect(recovered.status == .fine, "\(recovered)")
        #expect(try Self.objects(storage, "/new") == edited.states[40])
    }

    /// What is done to a store.
    private enum Damage: CaseIterable {
        case flip, zeros, truncation, noManifest, missingSegment, missingCheckpoint, foreignFile, oldManifest, garbage
    }

    @Test(
        "nothing is made up, and all that is not damaged comes back", arguments: 1...8 as ClosedRange<UInt64>)
    func random(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for round in 0..<25 {
            let compacts: Set<Int> = [[], [12], [10, 25], [8, 16, 30]][random.below(4)]
            let edited = try EditedStore(
                seed: random.next(), versions: 40, compactsAt: compacts, segmentByteCount: 4096)
            let what = try Self.damage(edited.sample, &random)
            let label = "seed \(seed), round \(round), \(what)"
            let storage = edited.sample.storage
            let verified = try Run.verify(storage, deep: false)
            let run = try Self.recover(storage)
            guard try storage.status("/new") != nil else {
                #expect(run.status == .damage && run.error.contains("was not made"), "\(label): \(run)")
                continue
            }
            let held = try Self.objects(storage, "/new")
            #expect(try Run.verify(storage, path: "/new").status == .fine, "\(label)")
            if run.status == .fine {
                // A torn tail may have been cut off: then an earlier version is complete.
                let version = try #require(UInt64(run.out.split(separator: " ")[5].dropLast(2)), "\(run.out)")
                #expect(held == edited.states[Int(version)], "\(label): \(run)")
                #expect(version == 40 || verified.status == .fine || verified.out.contains("torn tail"), "\(label)")
                continue
            }
            #expect(verified.status == .damage, "\(label): \(verified.out)\n\(run)")
            try Self.checkNothingIsMadeUp(held, edited: edited, run: run, label: label)
        }
    }

    /// Each value of a recovered object is one that the object has had, or is listed as lost.
    private static func checkNothingIsMadeUp(
        _ held: EditedStore.State, edited: EditedStore, run: Run, label: String
    ) throws {
        for (identity, properties) in held {
            let past = edited.states.compactMap { $0[identity] }
            #expect(!past.isEmpty, "\(label): \(identity) never existed")
            for (name, value) in properties where !past.contains(where: { $0[name] == value }) {
                let isListed = run.out.contains("Person.\(name)  ")
                #expect(isListed, "\(label): \(identity).\(name) never was \(value)\n\(run)")
            }
        }
    }

    private static func damage(_ sample: SampleStore, _ random: inout SeededRandom) throws -> String {
        let folders = ["/log", "/checkpoint"].map { SampleStore.path + $0 }
        let files = try folders.flatMap { folder in try sample.storage.list(folder).map { folder + "/" + $0 } }.sorted()
        let path = files[random.below(files.count)]
        let count = try sample.bytes(path).count
        let damage = Damage.allCases[random.below(Damage.allCases.count)]
        switch damage {
        case .flip: try sample.flip(path, byte: random.below(count), bit: random.below(8))
        case .zeros:
            var bytes = try sample.bytes(path)
            let start = random.below(count)
            for index in start..<min(count, start + 300) { bytes[index] = 0 }
            try sample.write(path, bytes)
        case .truncation: try sample.write(path, Array(try sample.bytes(path).prefix(random.below(count))))
        case .noManifest: try sample.storage.remove(SampleStore.path + "/manifest")
        case .missingSegment, .missingCheckpoint:
            let some = files.filter { $0.hasSuffix(damage == .missingSegment ? "segment" : "checkpoint") }
            guard !some.isEmpty else { return "nothing" }
            try sample.storage.remove(some[random.below(some.count)])
        case .foreignFile:
            let other = try EditedStore(seed: random.next(), versions: 30, segmentByteCount: 4096).sample
            let segments = files.filter { $0.hasSuffix("segment") }
            let segment = segments[random.below(segments.count)]
            guard try other.storage.status(segment) != nil else { return "nothing" }
            try sample.write(segment, other.bytes(segment))
        case .oldManifest:
            // The generation before the current one lies behind it.
            let bytes = try sample.bytes(SampleStore.path + "/manifest")
            let first = Int(bytes[12]) | Int(bytes[13]) << 8
            guard first < bytes.count else { return "nothing" }
            try sample.write(SampleStore.path + "/manifest", Array(bytes[first...]))
        case .garbage:
            var bytes = try sample.bytes(path)
            let start = random.below(count)
            for index in start..<min(count, start + 200) { bytes[index] = UInt8(random.below(256)) }
            try sample.write(path, bytes)
        }
        return "\(damage) of \(path)"
    }

    private static func opened(_ storage: MemoryStorage) throws -> Store {
        var options = LogOptions(folder: "/new", verify: .everything)
        options.usesThreads = false
        return try Store(StoreOptions(log: options), storage: storage, clock: ManualClock())
    }

    @Test("values that a transaction assigns to a column which it adds are recovered", arguments: [false, true])
    func migrated(compacts: Bool) throws {
        let sample = try SampleStore()
        let store = try sample.open()
        if compacts { _ = try store.compact(wholly: true) }
        var transaction = try store.beginWrite()
        var schema = store.schema
        schema.tables[0].columns += [
            ColumnSchema(name: "x", type: .int), ColumnSchema(name: "list", type: .string, collection: .list),
            ColumnSchema(name: "later", type: .string, collection: .list),
        ]
        try transaction.changeSchema(to: schema)
        transaction.set(SampleStore.person, column: 8, key: 0, to: .int(100))
        transaction.set(SampleStore.person, column: 9, key: 0, to: .list([.string("m1"), .string("m2")]))
        try transaction.commit()
        transaction = try store.beginWrite()
        transaction.edit(SampleStore.person, column: 10, key: 1) { $0.append(.string("l")) }
        try transaction.commit()
        try store.close()
        let run = try Self.recover(sample.storage)
        #expect(run.status == .fine, "\(run)")
        let recovered = try Self.opened(sample.storage)
        let view = recovered.pin().snapshot.table(SampleStore.person)
        #expect(view.value(8, of: 0) == .int(100))
        #expect(view.value(9, of: 0) == .list([.string("m1"), .string("m2")]))
        #expect(view.value(10, of: 1) == .list([.string("l")]))
        try recovered.close()
    }

    @Test("a node that is its own child, and counts of any size, end nothing but the walk") func endless() throws {
        func put(_ value: UInt64, _ bytes: inout [UInt8], _ offset: Int) {
            for index in 0..<8 { bytes[offset + index] = UInt8(truncatingIfNeeded: value >> UInt64(8 * index)) }
        }
        for (kind, offset, count) in [
            (NodeKind.rowInner, 544, 0), (.integerIndexInner, 1056, 0), (.listInner, 32, 0), (.rowInner, 544, 1056),
        ] {
            var made = try CompactedStore(seed: 1)
            _ = try made.compact(wholly: true)
            try made.store.close()
            let checkpoint = try made.opened()
            let node = try #require(CompactedStore.nodes(checkpoint).first { $0.kind == kind })
            try made.change(node, in: checkpoint) { bytes in
                put(UInt64(node.position) + 1, &bytes, offset)
                if count > 0 {
                    for child in 0..<2 {
                        put(0, &bytes, offset + 8 * child)
                        put(1 << 63 - 1, &bytes, count + 8 * child)
                    }
                }
            }
            for deep in [false, true] { #expect(try Run.verify(made.storage, deep: deep).status == .damage, "\(kind)") }
            #expect(try Run.info(made.storage).status == .damage, "\(kind)")
            let run = try Self.recover(made.storage)
            #expect(run.status == (kind == .integerIndexInner ? .fine : .damage), "\(kind): \(run)")
        }
    }

    @Test("of two leaves with the same keys the first one wins, with its links") func overlap() throws {
        var made = try CompactedStore()
        _ = try made.compact(wholly: true)
        try made.store.close()
        let checkpoint = try made.opened()
        let leaf = try #require(
            CompactedStore.nodes(checkpoint).first {
                try $0.kind == .leaf && OnDiskLeaf(checkpoint, $0).keys == Array(0..<256)
            })
        // Its keys are then 10 to 265, and those of the next leaf begin with 256.
        try made.change(leaf, in: checkpoint) { $0[32] = 10 }
        let run = try Self.recover(made.storage)
        #expect(run.status == .damage && run.out.contains("Person  290 objects recovered"), "\(run)")
        #expect(run.out.contains("Person  10 objects lost: #256 to #265\n"), "\(run)")
        let store = try Self.opened(made.storage)
        let people = store.pin().snapshot.table(CompactedStore.person)
        for key in [256, 265] as [Int64] {
            #expect(people.value(0, of: key) == .int(key - 10) && people.value(6, of: key) == .link((key - 10) / 2))
        }
        try store.close()
    }

    @Test("one damaged frame costs what it holds, and nothing else") func oneFrame() throws {
        for version in [5, 17, 33] {
            let edited = try EditedStore(seed: 9, versions: 40, segmentByteCount: 1 << 20)
            let storage = edited.sample.storage
            let store = try OpenedStore.open(SampleStore.path, storage: storage)
            var place: (path: String, offset: Int)?
            _ = try LogWalk(store: store).run { event in
                if case .frame(let frame, _, let path) = event, frame.kind.isPart, frame.version == version {
                    place = (path, Int(frame.offset) + FrameHeader.byteCount)
                }
                return true
            }
            let (path, offset) = try #require(place)
            try edited.sample.flip(path, byte: offset, bit: 3)
            let run = try Self.recover(storage)
            #expect(run.status == .damage, "\(run)")
            #expect(run.out.contains("changes of these versions are lost, or a part of them: \(version)\n"), "\(run)")
            let held = try Self.objects(storage, "/new")
            // What the version did not touch, and what later versions changed again, is as it was.
            let (old, new, last) = (edited.states[version - 1], edited.states[version], edited.states[40])
            for (identity, object) in last where old[identity] == new[identity] {
                #expect(held[identity] == object, "version \(version): \(identity)\n\(run)")
            }
        }
    }
}
