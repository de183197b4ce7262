import FirnCore
import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnTool

/// What is lost in one place of a store is taken from another.
@Suite("firn recover: from other places", .timeLimit(.minutes(20))) struct RecoverSourcesTests {
    private static func recover(_ storage: MemoryStorage, schemaFrom: String? = nil, json: Bool = false) throws -> Run {
        try Run {
            try RecoverCommand.run(
                SampleStore.path, output: "/new", schemaStore: schemaFrom, json: json, storage: storage,
                clock: ManualClock(), $0)
        }
    }

    private static func opened(_ storage: MemoryStorage, _ path: String = "/new") throws -> Store {
        var options = LogOptions(folder: path, verify: .everything)
        options.usesThreads = false
        return try Store(StoreOptions(log: options), storage: storage, clock: ManualClock())
    }

    /// Where a version's first frame lies.
    private static func frame(_ sample: SampleStore, version: UInt64) throws -> (path: String, start: Int, end: Int) {
        let store = try OpenedStore.open(SampleStore.path, storage: sample.storage)
        var place: (path: String, start: Int, end: Int)?
        _ = try LogWalk(store: store).run { event in
            if case .frame(let frame, _, let path) = event, frame.kind.isPart, frame.part == 0,
                frame.version == version
            {
                place = (path, Int(frame.offset), frame.end)
            }
            return true
        }
        return try #require(place)
    }

    /// Flips a bit in the payload of a version's first frame.
    private static func damage(_ sample: SampleStore, version: UInt64) throws {
        let frame = try frame(sample, version: version)
        try sample.flip(frame.path, byte: frame.start + FrameHeader.byteCount, bit: 3)
    }

    // MARK: The schema

    /// Adds the column `x`, and gives object 0 a value.
    private static func migrate(_ store: Store) throws {
        let transaction = try store.beginWrite()
        var schema = store.schema
        schema.tables[0].columns.append(ColumnSchema(name: "x", type: .int))
        try transaction.changeSchema(to: schema)
        transaction.set(SampleStore.person, column: 8, key: 0, to: .int(100))
        try transaction.commit()
    }

    @Test("a schema that is lost is that of a later segment") func laterSegment() throws {
        let sample = try SampleStore(segmentByteCount: 4096)
        var store = try sample.open(segmentByteCount: 4096)
        try Self.migrate(store)
        let migration = store.publishedVersion
        for index in 0..<60 {
            let transaction = try store.beginWrite()
            transaction.set(
                SampleStore.person, column: 5, key: 1,
                to: .data((0..<300).map { UInt8(truncatingIfNeeded: $0 &* (index + 3)) }))
            try transaction.commit()
        }
        try store.close()
        #expect(try sample.storage.list(SampleStore.path + "/log").count > 2)
        try Self.damage(sample, version: migration)
        let run = try Self.recover(sample.storage)
        #expect(run.status == .damage, "\(run)")
        store = try Self.opened(sample.storage)
        #expect(store.pin().snapshot.table(SampleStore.person).value(8, of: 0) == .int(100), "\(run)")
        try store.close()
    }

    @Test("a schema that is lost everywhere is taken from another store, if the other one fits") func otherStore()
        throws
    {
        let sample = try SampleStore(more: 3)
        let store = try sample.open()
        try Self.migrate(store)
        let migration = store.publishedVersion
        try store.close()
        for path in ["/copy", "/empty", "/other"] {
            let other = try Self.opened(sample.storage, path)
            let transaction = try other.beginWrite()
            var schema = store.schema
            if path == "/other" { schema.tables[0].columns[1].type = .string }
            if path != "/empty" { try transaction.changeSchema(to: schema) }
            try transaction.commit()
            try other.close()
        }
        // The values of the new column need the new schema.
        try Self.damage(sample, version: migration)
        var run = try Self.recover(sample.storage)
        #expect(run.status == .damage && run.error.contains("Person has no column 8"), "\(run)")
        StoreFiles(named: "/new", storage: sample.storage).removeAll()
        run = try Self.recover(sample.storage, schemaFrom: "/copy")
        #expect(run.status == .damage && !run.error.contains("has no column"), "\(run)")
        var recovered = try Self.opened(sample.storage)
        #expect(recovered.pin().snapshot.table(SampleStore.person).value(8, of: 0) == .int(100), "\(run)")
        try recovered.close()
        StoreFiles(named: "/new", storage: sample.storage).removeAll()
        run = try Self.recover(sample.storage, schemaFrom: "/other")
        #expect(run.status == .usage && run.error.contains("has other classes or properties"), "\(run)")
        #expect(try sample.storage.status("/new") == nil)
        // Now no schema is left at all.
        try Self.damage(sample, version: 1)
        run = try Self.recover(sample.storage)
        #expect(run.status == .damage && run.error.contains("/new was not made"), "\(run)")
        #expect(run.error.contains("--schema-from"), "\(run)")
        run = try Self.recover(sample.storage, schemaFrom: "/empty")
        #expect(run.status == .usage && run.error.contains("/empty has no schema"), "\(run)")
        run = try Self.recover(sample.storage, schemaFrom: "/copy")
        #expect(run.out.contains("Person  2 objects recovered"), "\(run)")
        recovered = try Self.opened(sample.storage)
        let people = recovered.pin().snapshot.table(SampleStore.person)
        #expect(people.value(0, of: 0) == .string("Anna") && people.value(1, of: 0) == .int(1002))
        #expect(people.value(8, of: 0) == .int(100))
        try recovered.close()
        #expect(try Run.verify(sample.storage, path: "/new").status == .fine)
    }

    // MARK: Values

    /// A store with two checkpoints: after the first, object 3 got another score (column 4), and an object was added.
    /// Of the second, the chunk of a column is damaged, or the leaf.
    private static func compacted(_ column: Int, isLeaf: Bool = false) throws -> CompactedStore {
        var made = try CompactedStore(people: 100)
        _ = try made.compact(wholly: true)
        try made.commit { $0.set(CompactedStore.person, column: 4, key: 3, to: .int(777)) }
        try made.commit { try CompactedStore.add($0, 100) }
        _ = try made.compact(wholly: false)
        try made.store.close()
        let checkpoint = try made.opened()
        #expect(checkpoint.files.count == 2)
        let last = checkpoint.files[1].entry
        var spots: Set<Int> = []
        try ReferenceWalk(checkpoint) { owner, header, position in
            let isWanted =
                isLeaf
                ? header.kind == .leaf : owner.column == column && owner.part == .values && header.kind == .chunk
            if isWanted, owner.table == CompactedStore.person.index, position >= last.start {
                spots.insert(position)
            }
        }.run()
        try #require(spots.count == 1)
        let offset = spots.first! - last.start + NodeHeader.byteCount
        try made.sample.flip(checkpoint.files[1].path, byte: offset, bit: 5)
        return made
    }

    @Test("values that a checkpoint has lost are those of an older one, and told of") func olderValues() throws {
        let made = try Self.compacted(4)
        let run = try Self.recover(made.storage, json: true)
        #expect(run.status == .damage, "\(run)")
        // Object 100 is in no older checkpoint.
        #expect(
            run.out.contains(
                #""lostValues":[{"class":"Person","property":"score","count":1,"keys":[[100,100]],"allListed":true}]"#),
            "\(run)")
        #expect(
            run.out.contains(
                #""outdated":[{"class":"Person","property":"score","version":2,"count":100,"keys":[[0,99]]"#),
            "\(run)")
        let store = try Self.opened(made.storage)
        let people = store.pin().snapshot.table(CompactedStore.person)
        #expect(people.count == 101)
        let wrong = (0..<Int64(100)).filter {
            people.value(4, of: $0) != ($0 % 3 == 0 ? .null : .int($0 * $0 % 1000))
        }
        #expect(wrong == [])
        try store.close()
    }

    @Test("a primary key that a checkpoint has lost is that of an older one, so that the object is not lost")
    func olderPrimaryKeys() throws {
        let made = try Self.compacted(0)
        let run = try Self.recover(made.storage)
        #expect(run.status == .damage && run.out.contains("Person  100 objects recovered"), "\(run)")
        #expect(run.out.contains("Person  1 object lost: #100"), "\(run)")
        // Only a migration changes primary keys, but one may have.
        #expect(run.out.contains("Person.id  100 values as of version 2"), "\(run)")
        let store = try Self.opened(made.storage)
        let people = store.pin().snapshot.table(CompactedStore.person)
        #expect((0..<Int64(100)).allSatisfy { people.value(0, of: $0) == .int($0) })
        #expect(people.value(4, of: 3) == .int(777))
        try store.close()
    }

    @Test("objects that a checkpoint has lost are those of an older one, and told of") func olderObjects() throws {
        let made = try Self.compacted(4, isLeaf: true)
        let run = try Self.recover(made.storage)
        #expect(run.status == .damage && run.out.contains("Person  100 objects recovered"), "\(run)")
        #expect(run.out.contains("Person  1 object lost\n"), "\(run)")
        #expect(run.out.contains("Person  100 objects as of version 2, since newer states of them are lost"), "\(run)")
    }

    // MARK: Edits

    @Test("an edit that does not fit, because it follows a version that is lost, is left out") func edits() throws {
        let sample = SampleStore(empty: ())
        let store = try sample.open()
        func commit(_ body: (WriteTransaction) throws -> Void) throws {
            let transaction = try store.beginWrite()
            try body(transaction)
            _ = try transaction.commit()
        }
        try commit { try $0.changeSchema(to: SampleStore.schema) }
        try commit { transaction in
            for name in ["Anna", "Ben"] {
                let key = try SampleStore.add(transaction, table: SampleStore.person, values: [0: .string(name)])
                transaction.edit(SampleStore.person, column: 3, key: key) { tags in
                    for tag in "abc" { tags.append(.string("\(tag)")) }
                }
            }
        }
        // Lost: from then on, what was first is second.
        try commit { $0.edit(SampleStore.person, column: 3, key: 0) { $0.insert(.string("x"), at: 0) } }
        try commit { transaction in
            for key in [0, 1] as [Int64] {
                _ = transaction.edit(SampleStore.person, column: 3, key: key) { $0.remove(at: 1) }
            }
        }
        try store.close()
        try Self.damage(sample, version: 3)
        let run = try Self.recover(sample.storage)
        #expect(run.status == .damage && run.out.contains("edited after a lost version"), "\(run)")
        let recovered = try Self.opened(sample.storage)
        let people = recovered.pin().snapshot.table(SampleStore.person)
        #expect(people.value(3, of: 0) == .list(["a", "b", "c"].map { .string($0) }))
        #expect(people.value(3, of: 1) == .list(["a", "c"].map { .string($0) }))
        try recovered.close()
    }

    // MARK: The end of the log

    @Test("a version behind a break is recovered only if something says that it was committed") func unmarked() throws {
        for isKnown in [false, true] {
            let sample = try SampleStore(more: 2)
            let storage = sample.storage
            // Behind version 7, the last, lies a mark that says that it was committed.
            if !isKnown {
                let frame = try Self.frame(sample, version: 7)
                try sample.write(frame.path, Array(try sample.bytes(frame.path).prefix(frame.end)))
                try storage.remove(SampleStore.path + "/shared")
            }
            try Self.damage(sample, version: 6)
            let run = try Self.recover(storage)
            #expect(run.status == .damage, "\(run)")
            let store = try Self.opened(storage)
            let age = store.pin().snapshot.table(SampleStore.person).value(1, of: 0)
            #expect(age == .int(isKnown ? 1001 : 42), "\(run)")
            try store.close()
        }
    }
}
