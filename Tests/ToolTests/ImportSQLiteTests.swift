#if SQLite
    import CFirnSQLite
    import FirnStorage
    import FirnTestSupport
    import Testing

    @testable import FirnTool

    private enum FileBytes {
        static func read(_ path: String) throws -> [UInt8] {
            let file = try PosixStorage.shared.open(path, .read)
            defer { file.close() }
            var bytes = [UInt8](repeating: 0, count: try file.size())
            _ = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
            return bytes
        }

        static func write(_ bytes: [UInt8], _ path: String) throws {
            try PosixStorage.shared.remove(path)
            let file = try PosixStorage.shared.open(path, .create)
            defer { file.close() }
            try bytes.withUnsafeBytes { try file.write($0, at: 0) }
        }
    }

    /// `firn import-sqlite`. SQLite reads files of the disk; the stores are in memory.
    @Suite("firn import-sqlite", .timeLimit(.minutes(20))) struct ImportSQLiteTests {
        private let storage = MemoryStorage()
        private let folder = TemporaryFolder()
        private var file: String { folder.path + "/it's a \"database\".sqlite" }

        private func execute(_ sql: String) throws {
            var database: OpaquePointer?
            try #require(sqlite3_open(file, &database) == SQLITE_OK)
            defer { sqlite3_close(database) }
            var message: UnsafeMutablePointer<CChar>?
            let status = sqlite3_exec(database, sql, nil, nil, &message)
            try #require(status == SQLITE_OK, "\(message.map { String(cString: $0) } ?? "")")
        }

        private func run(
            tables: [String] = [], batch: Int? = nil, json: Bool = false, into path: String = "/new"
        ) throws -> Run {
            try Run {
                try ImportSQLiteCommand.run(
                    path, file: file, tables: tables, batch: batch, json: json, storage: storage, clock: ManualClock(),
                    output: $0)
            }
        }

        private func export(_ type: String? = nil) throws -> [String] {
            var choice = ExportCommand.Choice()
            if let type { choice.types = [type] }
            return try RoundTripTests.export(storage, path: "/new", format: .ndjson, choice: choice).out.split(
                separator: "\n"
            ).map(
                String.init)
        }

        private static let shop = """
            CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email VARCHAR(80) UNIQUE, vip BOOLEAN,
                born DATE, best INTEGER REFERENCES "order item"(id), score DECIMAL(5, 2), photo BLOB, note);
            CREATE TABLE "order item" (id INTEGER PRIMARY KEY AUTOINCREMENT, "the customer" INTEGER NOT NULL REFERENCES
                CUSTOMER, code TEXT REFERENCES code(code), price REAL, at DATETIME, double INT
                GENERATED ALWAYS AS (id * 2) STORED);
            CREATE TABLE code (code TEXT PRIMARY KEY, text TEXT) WITHOUT ROWID;
            CREATE TABLE pair (a INT, b INT, PRIMARY KEY (a, b));
            CREATE TABLE uses (a INT, b INT, FOREIGN KEY (a, b) REFERENCES pair);
            CREATE VIEW rich AS SELECT * FROM customer WHERE vip;
            CREATE INDEX by_name ON customer(name);
            INSERT INTO code VALUES ('é✓', 'x'), ('b', NULL);
            INSERT INTO customer VALUES (1, 'Anna', 'a@x', 1, '1990-02-03', 8, 3, x'00ff', 1),
                (2, 'Ben', NULL, 0, NULL, NULL, 2.5, NULL, 'text'), (7, 'C', 'c', NULL, '2001-01-01', 9, NULL, NULL, x'01');
            INSERT INTO "order item" (id, "the customer", code, price, at) VALUES (8, 7, 'b', 1, '2020-01-02 03:04:05.25'),
                (9, 1, NULL, 2.25, NULL);
            INSERT INTO pair VALUES (1, 2), (1, 3);
            INSERT INTO uses VALUES (1, 3);
            """

        @Test("tables become classes, rows objects, foreign keys links, in both directions") func shop() throws {
            try execute(Self.shop)
            let run = try run(json: true)
            #expect(run.status == .fine && run.out == "{\"inserted\":10,\"changed\":0,\"version\":1}\n", "\(run)")
            #expect(run.error.contains("uses: its foreign key (a, b) to pair has several columns"), "\(run.error)")
            let schema = try #require(try export().first)
            for part in [
                "{\"name\":\"id\",\"type\":\"int\",\"indexed\":true}", "\"primaryKey\":\"id\"",
                "{\"name\":\"name\",\"type\":\"string\",\"indexed\":true}",
                "{\"name\":\"email\",\"type\":\"string?\",\"indexed\":true}", "{\"name\":\"vip\",\"type\":\"bool?\"}",
                "{\"name\":\"born\",\"type\":\"date?\"}", "{\"name\":\"best\",\"type\":\"link<order item>\"}",
                "{\"name\":\"score\",\"type\":\"double?\"}", "{\"name\":\"photo\",\"type\":\"data?\"}",
                "{\"name\":\"note\",\"type\":\"mixed\"}", "{\"name\":\"the customer\",\"type\":\"link<customer>\"}",
                "{\"name\":\"at\",\"type\":\"date?\"}", "{\"name\":\"double\",\"type\":\"int?\"}",
                "\"name\":\"code\",\"primaryKey\":\"code\"",
            ] { #expect(schema.contains(part), "\(part) in \(schema)") }
            #expect(!schema.contains("rich") && !schema.contains("sqlite_sequence"))
            #expect(
                try export("customer") == [
                    "{\"id\":1,\"name\":\"Anna\",\"email\":\"a@x\",\"vip\":true,\"born\":\"1990-02-03T00:00:00Z\",\"best\":8,\"score\":3.0,\"photo\":\"AP8=\",\"note\":1}",
                    "{\"id\":2,\"name\":\"Ben\",\"email\":null,\"vip\":false,\"born\":null,\"best\":null,\"score\":2.5,\"photo\":null,\"note\":\"text\"}",
                    "{\"id\":7,\"name\":\"C\",\"email\":\"c\",\"vip\":null,\"born\":\"2001-01-01T00:00:00Z\",\"best\":9,\"score\":null,\"photo\":null,\"note\":{\"$data\":\"AQ==\"}}",
                ])
            #expect(
                try export("order item") == [
                    "{\"id\":8,\"the customer\":7,\"code\":\"b\",\"price\":1.0,\"at\":\"2020-01-02T03:04:05.250Z\",\"double\":16}",
                    "{\"id\":9,\"the customer\":1,\"code\":null,\"price\":2.25,\"at\":null,\"double\":18}",
                ])
            let verified = try Run { try VerifyCommand.run("/new", deep: true, json: false, storage: storage, $0) }
            #expect(verified.status == .fine, "\(verified)")
        }

        @Test("a second import changes only what differs") func again() throws {
            try execute(Self.shop)
            _ = try run(tables: ["code"])
            try execute("UPDATE code SET text = 'y' WHERE code = 'b'; INSERT INTO code VALUES ('c', 'z')")
            let run = try run(tables: ["code"], json: true)
            #expect(run.out == "{\"inserted\":1,\"changed\":1,\"version\":2}\n", "\(run)")
        }

        @Test("what is refused is told with its table and row, and nothing is imported") func refusals() throws {
            try execute(
                """
                CREATE TABLE t (id INTEGER PRIMARY KEY, other INTEGER REFERENCES t, x INT);
                INSERT INTO t VALUES (1, NULL, 1), (2, 1, 2), (3, 99, 3);
                """)
            let dangling = try run()
            #expect(dangling.status == .usage, "\(dangling)")
            #expect(
                dangling.error.hasSuffix(
                    ":t, row 3: other links to t 99, which is neither in the import nor in the store. Nothing was imported.\n"
                ), "\(dangling.error)")
            #expect(try storage.status("/new") == nil)
            try execute("DELETE FROM t WHERE id = 3")
            #expect(try run().status == .fine)
            try execute("UPDATE t SET x = 'no number' WHERE id = 2")
            let wrong = try run()
            #expect(wrong.error.contains(":t, row 2: x has a value that is no int?. Nothing"), "\(wrong.error)")
            #expect(try run(tables: ["u"]).error.contains("has no table u. It has t."))
            // A text that is none.
            try execute("CREATE TABLE v (a TEXT); INSERT INTO v VALUES (CAST(x'ff' AS TEXT))")
            #expect(try run(tables: ["v"]).error.contains("a text is not UTF-8"))
        }

        @Test("a file that is no database, or missing, is refused") func noDatabase() throws {
            let missing = try run()
            #expect(missing.status == .input && missing.error.contains("does not exist"), "\(missing)")
            // What SQLite takes for a name of something else, or waits for.
            for name in ["", ":memory:", "file::memory:", "/dev/null", folder.path] {
                let error = #expect(throws: ToolError.self) { try SQLiteFile(name) }
                #expect(error?.status == .input, "\(name): \(String(describing: error))")
            }
            let made = try PosixStorage.shared.open(file, .create)
            try Array(repeating: UInt8(ascii: "x"), count: 5_000).withUnsafeBytes { try made.write($0, at: 0) }
            made.close()
            let garbage = try run()
            #expect(garbage.status == .input && garbage.error.contains("not a database"), "\(garbage)")
            #expect(try storage.status("/new") == nil)
        }

        @Test("numbers keep their digits") func digits() throws {
            try execute(
                """
                CREATE TABLE t (id INTEGER PRIMARY KEY, a NUMERIC, b);
                INSERT INTO t VALUES (1, 9007199254740993, 9007199254740993), (2, 1, 0.5);
                """)
            #expect(try run().status == .fine)
            #expect(
                try export("t") == [
                    "{\"id\":1,\"a\":9007199254740993,\"b\":9007199254740993}", "{\"id\":2,\"a\":1,\"b\":0.5}",
                ])
            #expect(try export().first?.contains("{\"name\":\"b\",\"type\":\"mixed\"}") ?? false)
        }

        @Test("names are compared byte for byte, and no text is taken for a name") func names() throws {
            try execute("CREATE TABLE \"caf\u{E9}\" (a); CREATE TABLE \"cafe\u{301}\" (a)")
            #expect(try run().error.contains("names that are the same text"))
            try execute("DROP TABLE \"caf\u{E9}\"; CREATE TABLE t (\"caf\u{E9}\", \"cafe\u{301}\")")
            #expect(try run(tables: ["t"]).error.contains("whose names are the same text"))
            try execute("CREATE TABLE pragma_table_list (schema, name, type); CREATE TABLE u (\"$object\")")
            #expect(try run(tables: ["cafe\u{301}", "pragma_table_list"]).status == .fine)
            #expect(try run(tables: ["u"]).error.contains("has a name by which exports mark"))
            // A name that is not UTF-8 would be repaired, and then be a text.
            try execute(
                "PRAGMA writable_schema = ON; CREATE TABLE v (id INTEGER PRIMARY KEY, \"ABCD\" TEXT); INSERT INTO v VALUES (1, 'x')"
            )
            var bytes = try FileBytes.read(file)
            let name = Array("\"ABCD\"".utf8)
            for start in bytes.indices.dropLast(name.count) where bytes[start..<start + name.count].elementsEqual(name)
            {
                bytes[start + 2] = 0xE9
            }
            try FileBytes.write(bytes, file)
            let refused = try run(tables: ["v"])
            #expect(refused.status == .usage && refused.error.contains("a name that is not UTF-8"), "\(refused)")
        }

        @Test("UTF-16 databases, keys of another affinity, and keys that may be NULL") func encodings() throws {
            try execute(
                """
                PRAGMA encoding = 'UTF-16';
                CREATE TABLE p (id INTEGER PRIMARY KEY, name TEXT);
                CREATE TABLE c (p TEXT REFERENCES p(id));
                CREATE TABLE n (id TEXT PRIMARY KEY, x INT);
                INSERT INTO p VALUES (5, 'ä日🙂'); INSERT INTO c VALUES ('5'); INSERT INTO n VALUES (NULL, 1), ('a', 2);
                """)
            let run = try run()
            #expect(run.status == .fine, "\(run)")
            #expect(try export("p") == ["{\"id\":5,\"name\":\"ä日🙂\"}"])
            #expect(try export("c") == ["{\"$object\":0,\"p\":5}"])
            #expect(try export("n") == ["{\"$object\":0,\"id\":null,\"x\":1}", "{\"$object\":1,\"id\":\"a\",\"x\":2}"])
        }

        @Test("the rows of virtual tables are left out, which is noted") func virtualTables() throws {
            try execute(
                """
                CREATE TABLE t (id INTEGER PRIMARY KEY);
                INSERT INTO t VALUES (1);
                CREATE VIRTUAL TABLE docs USING fts5(body, tokenize = 'porter');
                INSERT INTO docs VALUES ('a text');
                """)
            let run = try run(json: true)
            #expect(run.status == .fine && run.out == "{\"inserted\":1,\"changed\":0,\"version\":1}\n", "\(run)")
            #expect(run.error == "firn: docs is a virtual table of fts5; its rows are left out.\n", "\(run.error)")
        }

        @Test("a link leads by the key that the foreign key names, or is refused") func otherKey() throws {
            _ = try RoundTripTests.importing(
                storage, text: "{\"code\":1,\"id\":5}\n{\"code\":5,\"id\":1}\n",
                options: .init(type: "customers", primaryKey: "code"))
            try execute(
                """
                CREATE TABLE customers (id INTEGER PRIMARY KEY, code INT);
                CREATE TABLE orders (oid INTEGER PRIMARY KEY, cust INT REFERENCES customers(id));
                INSERT INTO customers VALUES (1, 5), (5, 1); INSERT INTO orders VALUES (100, 5);
                """)
            let run = try run()
            #expect(run.status == .usage, "\(run)")
            #expect(
                run.error.contains(
                    "orders.cust refers to customers.id, but in the store it links to customers, whose primary key is code"
                ),
                "\(run)")
        }

        @Test("floats are not cut to zero or made infinite") func floats() throws {
            _ = try RoundTripTests.importing(
                storage, text: "{\"id\":1,\"f\":1.5}\n",
                options: .init(type: "t", primaryKey: "id", types: try TypeText.properties("f: float")))
            for (number, isFine) in [("0.1", true), ("1e300", false), ("1e-60", false), ("9e999", true)] {
                try execute(
                    "DROP TABLE IF EXISTS t; CREATE TABLE t (id INTEGER PRIMARY KEY, f REAL); INSERT INTO t VALUES (1, \(number))"
                )
                #expect(try (run().status == .fine) == isFine, "\(number)")
            }
        }

        @Test("with batches, all that can be kept is kept") func batches() throws {
            try execute(
                """
                CREATE TABLE t (id INTEGER PRIMARY KEY, next INTEGER REFERENCES t);
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)
                    INSERT INTO t SELECT i, i + 1 FROM n;
                """)
            let run = try run(batch: 3)
            #expect(run.status == .usage && run.error.contains("t 21"), "\(run)")
            #expect(run.error.hasSuffix("Everything else is imported.\n"), "\(run)")
            let lines = try export("t")
            #expect(lines.count == 20 && lines[3] == "{\"id\":4,\"next\":5}", "\(lines)")
            #expect(lines.last == "{\"id\":20,\"next\":null}")
        }
    }
#endif
