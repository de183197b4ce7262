import FirnCore
import FirnLog
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnTool

/// `firn import` keeps each value as it is given, or refuses it.
@Suite("firn import: values", .timeLimit(.minutes(20))) struct ImportValueTests {
    private let storage = MemoryStorage()
    private let options = TextImport.Options(type: "P", primaryKey: "id")
    private var csv: TextImport.Options {
        var options = options
        options.isCSV = true
        return options
    }

    private func importing(_ bytes: [UInt8], _ options: TextImport.Options) throws -> Run {
        if try storage.status("/bytes") != nil { try storage.remove("/bytes") }
        let file = try storage.open("/bytes", .create)
        try bytes.withUnsafeBytes { try file.write($0, at: 0) }
        file.close()
        return try Run {
            try ImportCommand.run(
                "/new", file: "/bytes", options: options, json: false, storage: storage, clock: ManualClock(),
                output: $0)
        }
    }

    private func lines(_ type: String = "P") throws -> [String] {
        let run = try RoundTripTests.export(storage, path: "/new", format: .ndjson, choice: .init(types: [type]))
        #expect(run.status == .fine, "\(run)")
        return run.out.split(separator: "\n").map(String.init)
    }

    // MARK: Links that wait

    @Test("a property that is given again does not get the link that was given before") func supersededLinks() throws {
        let types = try TypeText.properties("friend: link<P>, all: list<link<P>>")
        let options = TextImport.Options(type: "P", primaryKey: "id", types: types)
        let run = try RoundTripTests.importing(
            storage,
            text: """
                {"id":1,"friend":5,"all":[5]}
                {"id":2,"friend":5,"all":[1,5]}
                {"id":3,"friend":99}
                {"id":1,"friend":2}
                {"id":2,"friend":null,"all":[5,1]}
                {"id":3,"friend":null}
                {"id":5,"friend":null}
                """, options: options)
        #expect(run.status == .fine, "\(run)")
        #expect(
            try lines() == [
                "{\"id\":1,\"friend\":2,\"all\":[5]}", "{\"id\":2,\"friend\":null,\"all\":[5,1]}",
                "{\"id\":3,\"friend\":null,\"all\":[]}", "{\"id\":5,\"friend\":null,\"all\":[]}",
            ])
    }

    @Test("an object counts as changed only if something in it has changed, also if its links wait")
    func countsOfWaiting() throws {
        let types = try TypeText.properties("friend: link<P>, age: int")
        let options = TextImport.Options(type: "P", primaryKey: "id", types: types)
        let text = "{\"id\":1,\"friend\":7,\"age\":1}\n{\"id\":2,\"friend\":null,\"age\":1}\n"
        let first = try RoundTripTests.importing(storage, text: text + "{\"id\":7,\"age\":1}\n", options: options)
        #expect(first.out.contains("got 3 new objects, and 0 objects changed; version 1"), "\(first)")
        // Object 8 comes later, so the link to it waits.
        let second = try RoundTripTests.importing(
            storage, text: "{\"id\":1,\"friend\":8}\n{\"id\":2,\"friend\":8,\"age\":2}\n{\"id\":8,\"age\":1}\n",
            options: options)
        #expect(second.out.contains("got 1 new object, and 2 objects changed; version 2"), "\(second)")
        let third = try RoundTripTests.importing(storage, text: "{\"id\":1,\"friend\":8}\n", options: options)
        #expect(third.out.contains("got 0 new objects, and 0 objects changed; version 2"), "\(third)")
        // A number of the store is known as one only when the import has all of its own.
        _ = try RoundTripTests.importing(storage, text: "{\"x\":1}\n", options: .init(type: "Q"))
        let links = TextImport.Options(type: "R", primaryKey: "id", types: try TypeText.properties("q: link<Q>"))
        for changed in ["1 new object, and 0", "0 new objects, and 0"] {
            let run = try RoundTripTests.importing(storage, text: "{\"id\":1,\"q\":{\"$object\":0}}\n", options: links)
            #expect(run.out.contains("got \(changed) objects changed"), "\(run)")
        }
    }

    @Test("a link to an object whose primary key is nil is kept") func nilKeys() throws {
        let types = try TypeText.properties("id: int?, next: link<P>, all: list<link<P>>, any: mixed")
        let options = TextImport.Options(type: "P", primaryKey: "id", types: types)
        let text = """
            {"id":1,"next":{"$key":null},"all":[{"$key":null},1],"any":{"$link":"P","$key":null}}
            {"id":null,"next":null,"all":[],"any":{"$link":"P","$key":1}}

            """
        let run = try RoundTripTests.importing(storage, text: text, options: options)
        #expect(run.status == .fine, "\(run)")
        #expect(try lines().joined(separator: "\n") + "\n" == text)
        let csv = try RoundTripTests.export(storage, path: "/new", format: .csv, choice: .init(types: ["P"]))
        #expect(csv.status == .usage && csv.error.contains("P.next links to an object whose primary key is nil"))
        for wrong in ["{\"$key\":1,\"x\":2}", "{\"x\":1}", "{}"] {
            let run = try RoundTripTests.importing(storage, text: "{\"id\":5,\"next\":\(wrong)}\n", options: options)
            #expect(run.status == .usage && run.error.contains("should be its primary key"), "\(run)")
        }
    }

    @Test("an object that somebody else has added between two batches does not have a number of the import")
    func othersBetween() throws {
        let sample = SampleStore(empty: ())
        let store = try sample.open()
        let schema = StoreSchema(
            version: 1,
            tables: [
                TableSchema(
                    name: "N",
                    columns: [
                        ColumnSchema(name: "next", type: .link, target: TableID(0)),
                        ColumnSchema(name: "x", type: .int),
                    ])
            ])
        let table = TableID(0)
        var transaction = try store.beginWrite()
        try transaction.changeSchema(to: schema)
        _ = try transaction.commit()
        transaction = try store.beginWrite()
        let importer = Importer(schema, transaction)
        func add(_ number: Int64, next: Int64?) throws {
            var values: [ImportValues.Parsed?] = [next.map { .link(table, .number($0)) }, .value(.int(number))]
            try importer.add(table, number: number, &values, line: 1)
        }
        try add(10, next: nil)
        importer.willCommit()
        _ = try transaction.commit()
        let other = try store.beginWrite()
        #expect(try SampleStore.add(other, table: table, values: [1: .int(-1)]) == 11)
        _ = try other.commit()
        transaction = try store.beginWrite()
        importer.go(on: transaction)
        try add(20, next: 11)
        try add(11, next: nil)
        #expect(try importer.finish {} == nil)
        _ = try transaction.commit()
        let view = store.pin().snapshot.table(table)
        guard case .link(let key)? = view.value(0, of: 20) else { return #expect(Bool(false), "there is no link") }
        #expect(view.value(1, of: key) == .int(11))
        try store.close()
    }

    // MARK: Numbers

    @Test("a number that its type can't hold is refused, not changed") func numbers() throws {
        let types = try TypeText.properties("id: int, d: double, f: float, n: decimal")
        let options = TextImport.Options(type: "P", primaryKey: "id", types: types)
        for (name, number) in [
            ("d", "1e-400"), ("d", "9007199254740993"), ("d", "-9223372036854775807"), ("f", "16777217"),
            ("f", "1e-60"),
            ("d", "18446744073709551617"), ("d", "-12345678901234567891"), ("f", "18446744073709551617"),
            ("n", "12345678901234567890123456789012345"), ("n", "\"-12345678901234567890123456789012345\""),
            ("f", "1e39"), ("n", "1e7000"), ("n", "1e-7000"), ("n", "\"1E+9999\""),
        ] as [(String, String)] {
            let run = try RoundTripTests.importing(
                storage, text: "{\"id\":1,\"\(name)\":\(number)}\n", options: options)
            #expect(
                run.status == .usage && run.error.contains("/input:1:13"), "\(number): \(run)")
        }
        #expect(try storage.status("/new") == nil)
        let kept: [(String, String, String?)] = [
            ("d", "1e22", "1e+22"), ("d", "0e-999", "0.0"), ("d", "-0", "-0.0"),
            ("d", "9007199254740992", "9007199254740992.0"),
            ("d", "0.1", "0.1"), ("f", "16777216", "16777216.0"), ("f", "0.1", "0.1"), ("n", "0e-9999", nil),
            ("d", "18446744073709551616", nil), ("d", "1000000000000000000000", "1e+21"),
            ("n", "18446744073709551617", "\"18446744073709551617\""),
            ("n", "12345678901234567890123456789012340000", nil),
            ("n", "1e6000", "\"1E+6000\""), ("n", "\"Infinity\"", "\"Infinity\""), ("n", "12.50", "\"12.50\""),
        ]
        for (index, (name, number, _)) in kept.enumerated() {
            let run = try RoundTripTests.importing(
                storage, text: "{\"id\":\(index),\"\(name)\":\(number)}\n", options: options)
            #expect(run.status == .fine, "\(number): \(run)")
        }
        for ((name, number, shown), line) in zip(kept, try lines()) {
            guard let shown else { continue }
            #expect(
                line.contains("\"\(name)\":\(shown),") || line.contains("\"\(name)\":\(shown)}"), "\(number): \(line)")
        }
    }

    // MARK: CSV

    @Test("names of CSV are UTF-8, and no two mean the same property") func names() throws {
        let latin = Array("id,n".utf8) + [0xE4] + Array("me\n1,a\n".utf8)
        let units = Array("id\n1\n".utf16)
        let little: [UInt8] = [0xFF, 0xFE] + units.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        let big: [UInt8] = units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        let cases: [([UInt8], String)] = [
            (Array("id,n\u{E9},ne\u{301}\n1,a,b\n".utf8), "1:8: the name is there twice"),
            (latin, "1:4: the name is not UTF-8"), (little, "1:1: the name is not UTF-8"),
            (big, "1:1: the name is not UTF-8"),
            (Array("id,name\r1,a\r2,b\r".utf8), "1:8: a carriage return within a field"),
        ]
        for (text, problem) in cases {
            let run = try importing(text, csv)
            #expect(run.status == .usage && run.error.contains("/bytes:" + problem), "\(run)")
            #expect(try storage.status("/new") == nil)
        }
    }

    @Test("a missing primary key of CSV is not the empty one") func emptyKey() throws {
        let run = try RoundTripTests.importing(storage, text: "id,x\n\"a\",1\n,2\n", options: csv)
        #expect(run.status == .usage && run.error.contains("/input:3:1: the primary key is missing"), "\(run)")
        #expect(try RoundTripTests.importing(storage, text: "id,x\n\"a\",1\n\"\",2\n", options: csv).status == .fine)
        #expect(try lines() == ["{\"id\":\"a\",\"x\":1}", "{\"id\":\"\",\"x\":2}"])
    }

    @Test("a type is given once") func typesTwice() throws {
        let types = try TypeText.properties("id: int, a: int, a: string")
        let run = try RoundTripTests.importing(
            storage, text: "{\"id\":1,\"a\":1}\n", options: .init(type: "P", primaryKey: "id", types: types))
        #expect(run.status == .usage && run.error.contains("--types names a twice"), "\(run)")
    }

    // MARK: The place of a new store

    @Test("what is made at a path meanwhile stays") func newStore() throws {
        let made = try SampleStore()
        let before = try made.bytes(SampleStore.path + "/manifest")
        let output = Output(showsProgress: false, out: { _ in }, error: { _ in })
        let error = #expect(throws: ToolError.self) {
            try NewStore.make(at: SampleStore.path, storage: made.storage, output) { partial in
                try made.storage.createFolder(partial)
            }
        }
        #expect(error?.status == .usage && error?.description.contains("by another process meanwhile") == true)
        struct Failure: Error {}
        #expect(throws: Failure.self) {
            try NewStore.make(at: SampleStore.path, storage: made.storage, output) { partial in
                try made.storage.createFolder(partial)
                throw Failure()
            }
        }
        #expect(try made.bytes(SampleStore.path + "/manifest") == before)
        #expect(try made.storage.list("/") == ["store"])
    }

    @Test("what killed runs have left is removed, and told; what is locked, or no store's, stays") func remains() throws
    {
        let storage = MemoryStorage()
        func open(_ path: String) throws -> Store {
            try Store(StoreOptions(log: LogOptions(folder: path)), storage: storage, clock: ManualClock())
        }
        try open("/new.0abcxyz9.partial").close()
        try storage.createFolder("/new.empty.partial")
        let held = try open("/new.held.partial")
        try open("/new.notes.partial").close()
        let others = ["/new.No-1.partial", "/other.abc.partial", "/new.abc.partial.d"]
        for name in others { try storage.createFolder(name) }
        for name in others + ["/new.notes.partial"] {
            try storage.open(name + "/text", .create).close()
        }
        let run = try RoundTripTests.importing(storage, text: "{\"id\":1}\n", options: .init(type: "P"))
        #expect(run.status == .fine, "\(run)")
        let lines = run.error.split(separator: "\n")
        #expect(lines.count == 3, "\(run)")
        for name in ["/new.0abcxyz9.partial", "/new.empty.partial"] {
            #expect(lines.contains { $0 == "firn: removed \(name), which a run that was killed has left." }, "\(run)")
        }
        #expect(lines.contains { $0.hasPrefix("firn: /new.notes.partial may have been left by a run") }, "\(run)")
        let stay = [
            "input", "new", "new.No-1.partial", "new.abc.partial.d", "new.held.partial", "new.notes.partial",
            "other.abc.partial",
        ]
        #expect(try storage.list("/").sorted() == stay)
        try open("/new.notes.partial").close()
        try held.close()
        // Also where a store is by now.
        let again = try RoundTripTests.importing(storage, text: "{\"id\":1}\n", options: .init(type: "P"))
        #expect(again.error.contains("removed /new.held.partial"), "\(again)")
    }

    @Test("nothing is made within the store that is read") func inside() throws {
        let sample = try SampleStore()
        let path = SampleStore.path + "/log/new"
        let runs = [
            try Run.replay(sample.storage, to: 2, output: path),
            try Run { try CopyCommand.run(SampleStore.path, output: path, json: false, storage: sample.storage, $0) },
            try Run {
                try RecoverCommand.run(
                    SampleStore.path, output: path, json: false, storage: sample.storage, clock: ManualClock(), $0)
            },
            try RoundTripTests.export(
                sample.storage, path: SampleStore.path, format: .ndjson, choice: .init(), to: path),
        ]
        for run in runs { #expect(run.status == .usage && run.error.contains("lies in the store"), "\(run)") }
    }
}
