import FirnCore
import FirnStorage
import FirnTestSupport
import Synchronization
import Testing

@testable import FirnTool

/// `firn import` of files that others wrote.
@Suite("firn import", .timeLimit(.minutes(20))) struct ImportTests {
    private let storage = MemoryStorage()

    private func lines(_ type: String = "P") throws -> [String] {
        let run = try RoundTripTests.export(storage, path: "/new", format: .ndjson, choice: .init(types: [type]))
        #expect(run.status == .fine, "\(run)")
        return run.out.split(separator: "\n").map(String.init)
    }

    private func types() throws -> [String: String] {
        let schema = try StoreView.reading("/new", choice: nil, storage: storage) { $0.schema }
        let columns = schema.tables[0].columns.map { ($0.name, TypeText.text($0, schema)) }
        return Dictionary(uniqueKeysWithValues: columns)
    }

    private let options = TextImport.Options(type: "P", primaryKey: "id")

    @Test("types are those that fit all values") func inference() throws {
        let run = try RoundTripTests.importing(
            storage,
            text: """
                \u{FEFF}{"id":1,"b":true,"i":-5,"d":1,"s":"x","l":[1,2],"m":1,"o":{"a":[1]},"n":null,"e":[]}

                {"id":2,"b":false,"i":9223372036854775807,"d":2.5,"s":"y","l":[null],"m":"x","o":{},"n":null,"e":[]}
                {"id":3,"b":null,"i":1,"d":18446744073709551616,"l":[],"m":null,"o":null,"n":null,"e":[],"late":"ok"}
                """, options: options)
        #expect(
            run.status == .fine && run.out == "/new got 3 new objects, and 0 objects changed; version 1\n", "\(run)")
        #expect(
            try types() == [
                "id": "int", "b": "bool?", "i": "int", "d": "double", "s": "string?", "l": "list<int?>", "m": "mixed",
                "o": "mixed", "n": "string?", "e": "list<string>", "late": "string?",
            ])
        #expect(
            try lines()[2]
                == "{\"id\":3,\"b\":null,\"i\":1,\"d\":1.8446744073709552e+19,\"s\":null,\"l\":[],\"m\":null,\"o\":null,\"n\":null,\"e\":[],\"late\":\"ok\"}"
        )
    }

    @Test("types of CSV, quotes and line ends") func csv() throws {
        var options = options
        options.isCSV = true
        let run = try RoundTripTests.importing(
            storage, text: "id,name,zip,x,ok\r\n1,\"A, \"\"B\"\"\nC\",007,1.5,true\r\n2,\"\",12345,2,\r\n",
            options: options)
        #expect(run.status == .fine, "\(run)")
        #expect(try types() == ["id": "int", "name": "string", "zip": "string", "x": "double", "ok": "bool?"])
        #expect(
            try lines() == [
                "{\"id\":1,\"name\":\"A, \\\"B\\\"\\nC\",\"zip\":\"007\",\"x\":1.5,\"ok\":true}",
                "{\"id\":2,\"name\":\"\",\"zip\":\"12345\",\"x\":2.0,\"ok\":null}",
            ])
    }

    @Test("what is refused is told with its line and column, and nothing is imported") func refusals() throws {
        let first = "{\"id\":1,\"name\":\"A\",\"age\":3}\n"
        #expect(try RoundTripTests.importing(storage, text: first, options: options).status == .fine)
        for (line, place, text) in [
            ("{\"id\":2,\"name\":\"B\",\"age\":\"x\"}", "2:26", "this is no int"),
            ("{\"id\":2,\"name\":\"B\",\"age\":1.5}", "2:26", "this is no int"),
            ("{\"id\":2,\"name\":null,\"age\":1}", "2:16", "this is no string"),
            ("{\"id\":2,\"nam\":\"B\"}", "2:9", "P has no property nam"),
            ("{\"id\":2,\"name\":\"B\",\"name\":\"C\"}", "2:20", "there twice"),
            ("{\"name\":\"B\"}", "2:1", "lacks its primary key, id"),
            ("{\"id\":2", "2:8", "a comma or }"), ("[1]", "2:1", "an object should be here"),
            ("{\"id\":2}x", "2:9", "the text should end here"),
            ("{\"id\":2,\"name\":\"\\ud800\"}", "2:17", "surrogate"),
            ("{\"$type\":\"Q\",\"id\":2}", "2:2", "no class Q"),
            ("{\"id\":99999999999999999999}", "2:7", "this is no int"),
            ("{\"id\":1e999}", "2:7", "too large"),
        ] {
            // The first line would be an update.
            let run = try RoundTripTests.importing(
                storage,
                text: "{\"id\":1,\"name\":\"changed\",\"age\":4}\n\(line)\n{\"id\":9,\"name\":\"C\",\"age\":0}\n",
                options: options)
            #expect(run.status == .usage, "\(line): \(run)")
            #expect(run.error.hasPrefix("/input:\(place): ") && run.error.contains(text), "\(line): \(run.error)")
            #expect(run.error.hasSuffix(". Nothing was imported.\n"), "\(run.error)")
        }
        #expect(try lines() == [String(first.dropLast())])
        // Nor is a store left that did not exist.
        let run = try RoundTripTests.importing(storage, text: first + "{", into: "/other", options: options)
        #expect(run.status == .usage, "\(run)")
        #expect(try storage.status("/other") == nil)
    }

    @Test("of a batch, what is before the fault stays") func batch() throws {
        let good = (0..<10).map { "{\"id\":\($0)}\n" }.joined()
        let run = try RoundTripTests.importing(
            storage, text: good + "{\"id\":\"x\"}\n",
            options: .init(type: "P", primaryKey: "id", types: [("id", NamedType(type: .int))]), batch: 4)
        #expect(run.status == .usage && run.error.contains("11:7"), "\(run)")
        #expect(try lines().count == 8)
    }

    @Test("integers that a double would cut are not taken for doubles") func longIntegers() throws {
        _ = try RoundTripTests.importing(
            storage, text: "{\"id\":1,\"a\":9007199254740993}\n{\"id\":2,\"a\":0.5}\n", options: options)
        #expect(try lines() == ["{\"id\":1,\"a\":9007199254740993}", "{\"id\":2,\"a\":0.5}"])
    }

    @Test("integers of more than 64 bits keep their digits, in properties, elements and mixed values, or are refused")
    func hugeIntegers() throws {
        let huge = "123456789012345678901"
        _ = try RoundTripTests.importing(
            storage, text: "{\"id\":1,\"a\":\(huge),\"b\":[\(huge)],\"c\":{\"x\":-\(huge)}}\n{\"id\":2,\"a\":7}\n",
            options: options)
        let found = try lines()
        #expect(
            found.first?.contains("\"a\":\"\(huge)\"") ?? false && found.last?.contains("\"a\":\"7\"") ?? false,
            "\(found)")
        #expect(found.first?.contains("[\"\(huge)\"]") ?? false, "\(found)")
        #expect(found.first?.contains("\"-\(huge)\"") ?? false, "\(found)")
        let refused = try RoundTripTests.importing(
            storage, text: "{\"id\":3,\"c\":[\(huge)\(huge)]}\n", options: .init(type: "P"))
        #expect(refused.status == .usage && refused.error.contains("more digits than a number of any type keeps"))
    }

    @Test("a space beside a number of CSV changes no type, and long numbers are decimals or texts") func spaces() throws
    {
        var options = options
        options.isCSV = true
        let text =
            "id,a,b,c,d\n 1 , 42,true ,12345678901234567890,\(String(repeating: "9", count: 40))\n2,7 , false,5,6\n"
        let run = try RoundTripTests.importing(storage, text: text, options: options)
        #expect(run.status == .fine, "\(run)")
        #expect(
            try lines() == [
                "{\"id\":1,\"a\":42,\"b\":true,\"c\":\"12345678901234567890\",\"d\":\"\(String(repeating: "9", count: 40))\"}",
                "{\"id\":2,\"a\":7,\"b\":false,\"c\":\"5\",\"d\":\"6\"}",
            ])
    }

    @Test("a cell of CSV with nothing but blanks is empty") func blanks() throws {
        let csv = TextImport.Options(type: "P", isCSV: true)
        let one = try RoundTripTests.importing(storage, text: "a\n1\n \n2\n", options: csv, json: true)
        #expect(one.out.hasPrefix("{\"inserted\":3,"), "\(one)")
        #expect(try types() == ["a": "int?"])
        #expect(try lines().map { $0.split(separator: ",").last } == ["\"a\":1}", "\"a\":null}", "\"a\":2}"])
        let text = "id,a,b,c\n1,3, x,\" \"\n2, ,\t,\n3,5,y,z\n   \n"
        let two = try RoundTripTests.importing(
            storage, text: text, into: "/two", options: TextImport.Options(type: "Q", primaryKey: "id", isCSV: true))
        #expect(two.status == .fine, "\(two)")
        let out = try RoundTripTests.export(storage, path: "/two", format: .ndjson, choice: .init(types: ["Q"])).out
        #expect(
            out.split(separator: "\n") == [
                #"{"id":1,"a":3,"b":" x","c":" "}"#, #"{"id":2,"a":null,"b":null,"c":null}"#,
                #"{"id":3,"a":5,"b":"y","c":"z"}"#,
            ], "\(out)")
        let key = try RoundTripTests.importing(
            storage, text: "id,a\n1,2\n ,3\n", into: "/key",
            options: TextImport.Options(type: "R", primaryKey: "id", isCSV: true))
        #expect(key.status == .usage, "\(key)")
    }

    @Test("names and types that make no sense are wrong usage, and nothing is made") func nonsense() throws {
        let name = String(repeating: "n", count: 100_000)
        let long = try RoundTripTests.importing(storage, text: "{\"id\":1,\"\(name)\":2}\n", options: options)
        #expect(long.status == .usage && long.error.contains("bytes; 1 to"), "\(long)")
        let schema = "{\"$schema\":{\"classes\":[{\"name\":\"P\",\"properties\":[]}]}}\n"
        let both = try RoundTripTests.importing(storage, text: schema, options: options)
        #expect(both.status == .usage && both.error.contains("Leave --types and --primary-key out"), "\(both)")
        #expect(try storage.status("/new") == nil)
        #expect(
            TypeText.named(String(repeating: "list<", count: 50_000) + String(repeating: ">", count: 50_000)) == nil)
    }

    @Test("what a collection links to is kept without what is missing") func batchWithMissingLinks() throws {
        let types = try TypeText.properties("id: int, all: list<link<P>>, next: link<P>, byName: map<link<P>>")
        let run = try RoundTripTests.importing(
            storage,
            text:
                "{\"id\":1,\"all\":[1,99,2],\"next\":77,\"byName\":{\"a\":2,\"b\":55}}\n{\"id\":2,\"all\":[1],\"next\":1,\"byName\":{}}\n",
            options: .init(type: "P", primaryKey: "id", types: types), batch: 1)
        #expect(run.error.contains("links to P 99") && run.error.contains("and so do 2 more links"), "\(run)")
        #expect(
            try lines() == [
                "{\"id\":1,\"all\":[1,2],\"next\":null,\"byName\":{\"a\":2,\"b\":null}}",
                "{\"id\":2,\"all\":[1],\"next\":1,\"byName\":{}}",
            ])
    }

    @Test("zeros of both signs and NaN are values of their own") func zeros() throws {
        let types = try TypeText.properties("id: int, f: double, l: list<double>")
        let options = TextImport.Options(type: "P", primaryKey: "id", types: types)
        _ = try RoundTripTests.importing(storage, text: "{\"id\":1,\"f\":0.0,\"l\":[0.0,\"nan\"]}\n", options: options)
        let same = try RoundTripTests.importing(
            storage, text: "{\"id\":1,\"f\":0.0,\"l\":[0.0,\"nan\"]}\n", options: options, json: true)
        #expect(same.out.contains("\"changed\":0"), "\(same)")
        _ = try RoundTripTests.importing(
            storage, text: "{\"id\":1,\"f\":-0.0,\"l\":[-0.0,\"nan\"]}\n", options: options)
        #expect(try lines() == ["{\"id\":1,\"f\":-0.0,\"l\":[-0.0,\"nan\"]}"])
    }

    private final class Flag: Sendable {
        private let value = Atomic<Bool>(false)

        var isSet: Bool { value.load(ordering: .acquiring) }

        func set() { value.store(true, ordering: .releasing) }
    }

    /// A source that lets others do something between its objects.
    private final class Interrupted: ImportSource {
        let name = "source"
        let objects: [(number: Int64, next: Int64?)]
        let meanwhile: () throws -> Void

        init(_ objects: [(number: Int64, next: Int64?)], _ meanwhile: @escaping () throws -> Void) {
            self.objects = objects
            self.meanwhile = meanwhile
        }

        func classes(_ stored: StoreSchema) throws -> (classes: [ImportSchema.Class], version: UInt64) {
            let properties = [
                ("next", NamedType(type: .link, isNullable: true, target: "N"), false),
                ("x", NamedType(type: .int, isNullable: true), false),
            ]
            return ([ImportSchema.Class(name: "N", properties: properties)], 0)
        }

        func forEachObject(_ schema: StoreSchema, _ body: Body) throws {
            let table = try #require(schema.table(named: "N"))
            for (index, object) in objects.enumerated() {
                if index == 1 { try meanwhile() }
                var values: [ImportValues.Parsed?] = [
                    object.next.map { .link(table, .number($0)) }, .value(.int(object.number)),
                ]
                do {
                    try body(table, object.number, &values, index + 1)
                } catch let fault as InputFault {
                    throw ObjectFault(place: "\(index + 1)", text: fault.text)
                }
            }
        }

        func place(_ line: Int, _ table: TableID) -> String { "\(line)" }
    }

    private func run(_ source: Interrupted, batch: Int?) throws -> Run {
        try Run {
            try ImportRun(source: source, batch: batch).run(
                into: "/new", json: false, storage: storage, clock: ManualClock(), $0)
        }
    }

    @Test("objects that others add between two batches do not have the import's numbers") func othersBetween()
        async throws
    {
        _ = try run(Interrupted([(0, nil)]) {}, batch: nil)
        let (isDone, hasBegun) = (Flag(), Flag())
        let others = Task.detached { [storage] in
            var count = 0
            while !isDone.isSet {
                let other = try Run {
                    try ImportRun(source: Interrupted([(1_000_000, nil)]) {}, batch: nil).run(
                        into: "/new", json: false, storage: storage, clock: ManualClock(), $0)
                }
                #expect(other.status == .fine, "\(other)")
                count += 1
                hasBegun.set()
            }
            return count
        }
        while !hasBegun.isSet { try await Task.sleep(for: .milliseconds(1)) }
        // Each links to the one that comes next.
        let chain = (1...100 as ClosedRange<Int64>).map { (number: $0, next: $0 < 100 ? $0 + 1 : nil) }
        let run = try run(Interrupted(chain) {}, batch: 1)
        isDone.set()
        #expect(run.status == .fine, "\(run)")
        #expect(try await others.value > 1)
        let wrong = try Run {
            try QueryCommand.run(
                "/new", query: "N WHERE next != nil AND (next.x == 1000000 OR x == 1000000)", version: nil, json: true,
                storage: storage, width: .max, output: $0)
        }
        #expect(wrong.status == .fine && wrong.out.isEmpty, "\(wrong)")
        let right = try Run {
            try QueryCommand.run(
                "/new", query: "N WHERE next != nil", version: nil, json: true, storage: storage, width: .max,
                output: $0)
        }
        #expect(right.out.split(separator: "\n").count == 99, "\(right)")
    }

    @Test("a failed import leaves what others have made meanwhile at the same path") func othersStore() throws {
        let source = Interrupted([(0, nil), (1, 77)]) { [storage] in
            _ = try RoundTripTests.importing(storage, text: "{\"id\":1}\n", options: .init(type: "P", primaryKey: "id"))
        }
        #expect(try run(source, batch: nil).status == .usage)
        #expect(try lines() == ["{\"id\":1}"])
        // Nor does one that succeeds replace it.
        try removeNew()
        let late = Interrupted([(0, nil), (1, nil)]) { [storage] in
            _ = try RoundTripTests.importing(storage, text: "{\"id\":1}\n", options: .init(type: "P", primaryKey: "id"))
        }
        let run = try run(late, batch: nil)
        #expect(run.status == .input && run.error.contains("another process has made a store here"), "\(run)")
        #expect(try lines() == ["{\"id\":1}"])
        #expect(try storage.list("/").allSatisfy { !$0.hasSuffix(".partial") })
    }

    private func removeNew() throws { StoreFiles(named: "/new", storage: storage).removeAll() }

    @Test("with batches, a link to nothing is left out, and all others are kept") func batchWithMissingLink() throws {
        let types = try TypeText.properties("id: int, next: link<P>")
        let run = try RoundTripTests.importing(
            storage, text: "{\"id\":1,\"next\":77}\n{\"id\":2,\"next\":4}\n{\"id\":3}\n{\"id\":4,\"next\":1}\n",
            options: .init(type: "P", primaryKey: "id", types: types), batch: 2)
        #expect(run.status == .usage && run.error.contains("/input:1: next links to P 77"), "\(run)")
        #expect(run.error.hasSuffix("Everything else is imported.\n"), "\(run)")
        #expect(
            try lines() == [
                "{\"id\":1,\"next\":null}", "{\"id\":2,\"next\":4}", "{\"id\":3,\"next\":null}",
                "{\"id\":4,\"next\":1}",
            ])
    }

    @Test("an empty line of CSV is an object if it has one property") func emptyLine() throws {
        let options = TextImport.Options(type: "P", types: try TypeText.properties("a: int?"), isCSV: true)
        let run = try RoundTripTests.importing(storage, text: "a\n1\n\n2\n", options: options, json: true)
        #expect(run.out.hasPrefix("{\"inserted\":3,"), "\(run)")
        let two = TextImport.Options(type: "Q", isCSV: true)
        #expect(
            try RoundTripTests.importing(storage, text: "a,b\n1,2\n\n2,3\n", options: two, json: true).out.hasPrefix(
                "{\"inserted\":2,"))
    }

    @Test("objects with a known primary key are changed, and only where they differ") func updates() throws {
        _ = try RoundTripTests.importing(
            storage, text: "{\"id\":1,\"a\":1,\"l\":[1,2]}\n{\"id\":2,\"a\":2,\"l\":[]}\n{\"id\":3,\"a\":3,\"l\":[]}\n",
            options: options)
        let run = try RoundTripTests.importing(
            storage, text: "{\"id\":1,\"a\":1,\"l\":[1,2]}\n{\"id\":2,\"a\":5}\n{\"id\":4,\"a\":4}\n", options: options,
            json: true)
        #expect(run.out == "{\"inserted\":1,\"changed\":1,\"version\":2}\n", "\(run)")
        let diff = try Run {
            try DiffCommand.run(
                "/new", first: .number(1), second: .number(2), json: false, storage: storage, output: $0)
        }
        #expect(diff.out.contains("a: 2 -> 5") && !diff.out.contains("#0"), "\(diff)")
        #expect(
            try lines().map { $0.prefix(14) } == [
                "{\"id\":1,\"a\":1,", "{\"id\":2,\"a\":5,", "{\"id\":3,\"a\":3,", "{\"id\":4,\"a\":4,",
            ])
    }

    @Test("links may lead to objects that come later, not to none") func links() throws {
        let types = try TypeText.properties("next: link<P>, all: list<link<P>>")
        let text = "{\"id\":1,\"next\":2,\"all\":[3,1]}\n{\"id\":2,\"next\":null}\n{\"id\":3,\"next\":3,\"all\":[]}\n"
        let refused = try RoundTripTests.importing(
            storage, text: text + "{\"id\":4,\"all\":[1,77]}\n",
            options: .init(type: "P", primaryKey: "id", types: types))
        #expect(
            refused.status == .usage && refused.error.contains("/input:4: all links to P 77"), "\(refused)")
        let run = try RoundTripTests.importing(
            storage, text: text, options: .init(type: "P", primaryKey: "id", types: types))
        #expect(run.status == .fine, "\(run)")
        #expect(
            try lines() == [
                "{\"id\":1,\"next\":2,\"all\":[3,1]}", "{\"id\":2,\"next\":null,\"all\":[]}",
                "{\"id\":3,\"next\":3,\"all\":[]}",
            ])
        #expect(try Run.verify(storage, path: "/new").status == .fine)
    }

    @Test("what the store has is not bent") func conflicts() throws {
        _ = try RoundTripTests.importing(storage, text: "{\"id\":1,\"a\":1}\n", options: options)
        for (options, text) in [
            (TextImport.Options(type: "P", primaryKey: "a"), "has the primary key id in the store"),
            (.init(type: "P", types: [("a", NamedType(type: .string))]), "P.a is int already, not string"),
            (
                .init(type: "P", types: [("b", NamedType(type: .link, target: "Q"))]),
                "links to the class Q, which does not exist"
            ),
            (.init(type: "Q", primaryKey: "x"), "has no property x"),
            (.init(type: "Q", primaryKey: "a", types: [("a", NamedType(type: .double))]), "a primary key is an int"),
            (.init(), "Give the objects' class with --type"),
        ] {
            let run = try RoundTripTests.importing(storage, text: "{\"id\":1,\"a\":1}\n", options: options)
            #expect(run.status == .usage && run.error.contains(text), "\(run)")
        }
        for types in ["a", "a: in", "a: list<list<int>>", "a: link<>", ": int"] {
            #expect(throws: ToolError.self) { try TypeText.properties(types) }
        }
    }

    @Test("numbers of the import are not mistaken for those of the store") func numbers() throws {
        let types = try TypeText.properties("name: string, next: link<P>")
        let numbered = TextImport.Options(type: "P", types: types)
        _ = try RoundTripTests.importing(storage, text: "{\"name\":\"x\"}\n{\"name\":\"y\"}\n", options: numbered)
        let run = try RoundTripTests.importing(
            storage,
            text: """
                {"$object":0,"name":"a","next":{"$object":2}}
                {"$object":1,"name":"b","next":{"$object":3}}
                {"$object":2,"name":"c","next":{"$object":0}}
                {"$object":3,"name":"d","next":null}
                """, options: numbered)
        #expect(run.status == .fine, "\(run)")
        #expect(
            try lines().dropFirst(2) == [
                "{\"$object\":2,\"name\":\"a\",\"next\":{\"$object\":4}}",
                "{\"$object\":3,\"name\":\"b\",\"next\":{\"$object\":5}}",
                "{\"$object\":4,\"name\":\"c\",\"next\":{\"$object\":2}}",
                "{\"$object\":5,\"name\":\"d\",\"next\":null}",
            ])
        for text in [
            // The number of another object of the import, which has another one there.
            "{\"$object\":1,\"name\":\"f\",\"next\":{\"$object\":6}}\n",
            "{\"$object\":20,\"name\":\"e\"}\n{\"$object\":20,\"name\":\"f\"}\n",
            "{\"$object\":0,\"name\":\"e\"}\n{\"$object\":0,\"name\":\"f\"}\n",
        ] {
            let refused = try RoundTripTests.importing(storage, text: text, options: numbered)
            #expect(refused.status == .usage, "\(text): \(refused)")
        }
        // A number so high that the class would have none left is not kept.
        let high = try RoundTripTests.importing(
            storage, text: "{\"$object\":4611686018427387902,\"name\":\"e\"}\n", options: numbered)
        #expect(high.status == .fine, "\(high)")
        #expect(try lines().last == "{\"$object\":6,\"name\":\"e\",\"next\":null}")
    }

    @Test("what a store does not take is refused, not stored") func limits() throws {
        let types = try TypeText.properties("id: int, m: mixed, d: date?, s: string?")
        let options = TextImport.Options(type: "P", primaryKey: "id", types: types)
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        let good = try RoundTripTests.importing(storage, text: "{\"id\":1,\"m\":\(nested(100))}\n", options: options)
        #expect(good.status == .fine, "\(good)")
        for (text, message) in [
            ("{\"id\":2,\"m\":\(nested(101))}", "nested more than 100"),
            ("{\"id\":2,\"d\":{\"$seconds\":-1,\"$nanoseconds\":-9223372036854775808}}", "this is no date"),
            (
                "{\"id\":2,\"s\":\"\(String(repeating: "x", count: FormatNumbers.valueByteCount + 1))\"}",
                "no property takes"
            ),
            ("{\"id\":2,\"$schema\":\"x\"}", "P has no property $schema"),
            ("{\"$schema\":{}}", "only the first line"),
        ] {
            let run = try RoundTripTests.importing(storage, text: "{\"id\":5}\n\(text)\n", options: options)
            #expect(run.status == .usage && run.error.contains(message), "\(message): \(run.error.prefix(300))")
        }
        #expect(try lines().count == 1)
        #expect(try Run.verify(storage, path: "/new").status == .fine)
        var csv = options
        csv.isCSV = true
        let twice = try RoundTripTests.importing(storage, text: "id,s,s\n1,a,b\n", options: csv)
        #expect(twice.status == .usage && twice.error.contains("1:6: the name is there twice"), "\(twice)")
    }

    @Test("a store with one class is exported with its schema") func oneClass() throws {
        _ = try RoundTripTests.importing(storage, text: "{\"id\":1,\"a\":1}\n", options: options)
        let whole = try RoundTripTests.export(storage, path: "/new")
        #expect(whole.out.hasPrefix("{\"$schema\":"), "\(whole)")
        #expect(try RoundTripTests.importing(storage, text: whole.out, into: "/other").status == .fine)
        #expect(try RoundTripTests.export(storage, path: "/other").out == whole.out)
    }
}
