import FirnCore
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnTool

/// `firn shell`: the line that is typed, what completes it, and what it runs.
@Suite("firn shell", .timeLimit(.minutes(20))) struct ShellTests {
    private static let subcommands = ["info", "log", "query", "explain", "export"]

    private static func completion() throws -> ShellCompletion {
        let schema = try StoreView.reading(SampleStore.path, choice: nil, storage: try SampleStore().storage) {
            $0.schema
        }
        return ShellCompletion(schema: schema, subcommands: subcommands)
    }

    /// Types keys, and returns the line with a bar at the cursor.
    private static func typed(_ keys: String, history: [String] = []) throws -> String {
        var editor = LineEditor(history: history, complete: { try! completion()($0) })
        for byte in keys.utf8 { _ = editor.take(byte) }
        return String(editor.text[..<editor.cursor]) + "|" + String(editor.text[editor.cursor...])
    }

    @Test("keys edit the line") func keys() throws {
        let (left, up, down) = ("\u{1B}[D", "\u{1B}[A", "\u{1B}[B")
        for (keys, line) in [
            ("abc", "abc|"), ("abc" + left + "x", "abx|c"), ("abc\u{1}x", "x|abc"), ("abc\u{1}\u{5}x", "abcx|"),
            ("abc\u{7F}", "ab|"), ("\u{7F}", "|"), ("abc" + left + "\u{4}", "ab|"), ("abc\u{1}\u{1B}[3~", "|bc"),
            ("one two\u{17}", "one |"), ("one two\u{17}\u{19}\u{19}", "one twotwo|"), ("one two\u{1}\u{B}", "|"),
            ("one two\u{1B}[1;5D", "one |two"), ("one two\u{1B}b\u{1B}b\u{1B}f", "one| two"), ("ab\u{15}c", "c|"),
            ("é日👨‍👩‍👧" + left, "é日|👨‍👩‍👧"), ("e\u{301}\u{7F}", "|"), ("a\u{1B}[99;99Xb", "ab|"), ("ab\u{1B}OH", "|ab"),
            (up, "two|"), (up + up, "one|"), (up + up + up, "one|"), ("new" + up + down, "new|"),
            ("\u{1B}\u{1B}[Dx", "x|"), ("ab\u{1B}[1\u{1}x", "x|ab"),
            (up + "x" + down + up, "two|"), ("a\u{2}\u{2}\u{2}\u{6}\u{6}", "a|"),
        ] {
            #expect(try Self.typed(keys, history: ["one", "two"]) == line, "\(keys.debugDescription)")
        }
        var editor = LineEditor(history: [], complete: { _ in .init() })
        let events = "a\rb\u{3}\u{4}".utf8.compactMap { editor.take($0) }
        #expect(events == [.line("a"), .cancelled, .end])
        // Bytes that are no text are left out, and take nothing with them.
        for byte in [0xC3, 0x61, 0xA9, 0x62, 0xF0, 0x9F, 0x63] as [UInt8] { _ = editor.take(byte) }
        #expect(String(editor.text) == "abc")
        #expect([0xC3, 0x0D].compactMap { editor.take($0) } == [.line("abc")])
        // Whatever comes, it goes on.
        var random = SeededRandom(seed: 7)
        for _ in 0..<20_000 { _ = editor.take(UInt8(truncatingIfNeeded: random.next())) }
        #expect(editor.cursor <= editor.text.count)
    }

    @Test("Tab completes subcommands, classes, properties and paths") func completes() throws {
        let complete = try Self.completion()
        #expect(complete("ex").words == ["explain", "export"])
        #expect(complete("").words == Self.subcommands + ["Dog", "Person"])
        #expect(complete("pe").words == ["Person"])
        #expect(complete("Person WHERE na") == .init(words: ["name"], typedCount: 2))
        #expect(complete("Person WHERE (name == 'a' && ag").words == ["age"])
        #expect(complete("query Per").words == ["Person"])
        #expect(complete("query Person wh").words == ["WHERE"])
        #expect(complete("explain 'Person WHERE na").words == ["name"])
        #expect(complete("export --type D").words == ["Dog"])
        #expect(complete("Cat WHERE ").words == [])
        #expect(try Self.typed("Per\tWHERE na\t") == "Person WHERE name |")
        #expect(try Self.typed("ex\t") == "exp|")
        var editor = LineEditor(history: [], complete: { complete($0) })
        #expect("exp\t".utf8.compactMap { editor.take($0) } == [.choices(["explain", "export"])])
    }

    @Test("a path goes on in the class that it leads to") func paths() throws {
        let storage = MemoryStorage()
        let types = try TypeText.properties("friend: link<P>, name: string?")
        _ = try RoundTripTests.importing(
            storage, text: "{\"id\":1}\n", options: .init(type: "P", primaryKey: "id", types: types))
        let schema = try StoreView.reading("/new", choice: nil, storage: storage) { $0.schema }
        let complete = ShellCompletion(schema: schema, subcommands: [])
        #expect(complete("P WHERE fr") == .init(words: ["friend"], typedCount: 2, suffix: ""))
        #expect(complete("P WHERE friend.friend.na") == .init(words: ["name"], typedCount: 2))
        #expect(complete("P WHERE name.x").words == [])
    }

    @Test("a line is a subcommand, or a query") func lines() throws {
        func line(_ text: String) throws -> ShellLine {
            try ShellLine(text, store: "/s", subcommands: Self.subcommands)
        }
        for (text, expected) in [
            ("", .empty), ("  \t", .empty), (" exit ", .exit), ("quit", .exit), ("help", .help),
            ("help log", .command(["log", "--help"])), ("info", .command(["info", "/s"])),
            ("log --from 3", .command(["log", "/s", "--from", "3"])),
            (
                "export --type 'A B' --where \"x == \\\"y\\\"\"",
                .command(["export", "/s", "--type", "A B", "--where", "x == \"y\""])
            ),
            ("query Dog WHERE name == \"it's\"", .command(["query", "/s", "Dog WHERE name == \"it's\""])),
            ("query --version 3 'Dog'", .command(["query", "/s", "--version", "3", "Dog"])),
            ("query", .command(["query", "/s"])),
            ("Dog WHERE name == 'x'", .command(["query", "/s", "Dog WHERE name == 'x'"])),
        ] as [(String, ShellLine)] {
            #expect(try line(text) == expected, "\(text)")
        }
        #expect(throws: ToolError.self) { try line("log 'x") }
        #expect(throws: ToolError.self) { try line("log x\\") }
        #expect(throws: ToolError.self) { try line("--help") }
        #expect(throws: ToolError.self) { try line("shell") }
        #expect(throws: ToolError.self) { try line("Dog WHERE a == 1\0 AND b == 2") }
        #expect(throws: ToolError.self) { try line("log " + String(repeating: "x", count: 200_000)) }
    }

    @Test("earlier lines are kept, of several shells") func history() throws {
        let storage = MemoryStorage()
        var one = ShellHistory(path: "/history", storage: storage)
        var other = ShellHistory(path: "/history", storage: storage)
        for line in ["a", "a", " secret", "", "b"] { try one.add(line) }
        try other.add("c")
        #expect(one.lines == ["a", "b"])
        #expect(ShellHistory(path: "/history", storage: storage).lines == ["a", "b", "c"])
        for number in 0..<1_100 { try other.add("line \(number)") }
        let kept = ShellHistory(path: "/history", storage: storage).lines
        #expect(kept.count == ShellHistory.lineCountMax && kept.last == "line 1099")
        // What is no history is left alone, and a missing folder is made.
        let made = try storage.open("/binary", .create)
        try [UInt8]([0x61, 0xFF, 0x0A]).withUnsafeBytes { try made.write($0, at: 0) }
        made.close()
        try storage.createFolder("/folder")
        for path in ["/binary", "/folder"] {
            var history = ShellHistory(path: path, storage: storage)
            try history.add("x")
            #expect(history.lines == ["x"])
        }
        #expect(try storage.status("/binary")?.byteCount == 3 && storage.status("/folder")?.kind == .folder)
        var deep = ShellHistory(path: "/state/firn_history", storage: storage)
        try deep.add("x")
        try deep.add(String(repeating: "x", count: 10_000))
        #expect(ShellHistory(path: "/state/firn_history", storage: storage).lines == ["x"])
        #expect(try storage.list("/state") == ["firn_history"])
        #expect(ShellHistory.path { $0 == "HOME" ? "/home/x" : nil } == "/home/x/.firn_history")
        #expect(ShellHistory.path { $0 == "HOME" ? "relative" : nil } == nil)
    }

    @Test("the screen shows the part of the line that fits, and nothing that a terminal would obey") func screen()
        throws
    {
        var keys: [String] = ["abcdefghijklmnopqrstuvwxyz", "\u{1}", "\u{5}", "日", "\r"]
        var shown: [String] = []
        let screen = ShellScreen(
            prompt: "> ", width: { 20 },
            readKeys: { target in
                guard !keys.isEmpty else { return 0 }
                let bytes = Array(keys.removeFirst().utf8)
                target.copyBytes(from: bytes)
                return bytes.count
            }, write: { shown.append($0) })
        let line = try screen.read(LineEditor(history: ["\u{1B}]0;x\u{7}"], complete: { _ in .init() }))
        #expect(line == "abcdefghijklmnopqrstuvwxyz日")
        #expect(shown[1] == "\r> jklmnopqrstuvwxyz\u{1B}[K\r\u{1B}[19C")
        #expect(shown[2] == "\r> abcdefghijklmnopq\u{1B}[K\r\u{1B}[2C")
        #expect(shown[4] == "\r> lmnopqrstuvwxyz日\u{1B}[K\r\u{1B}[19C")
        // Several lines that are pasted at once.
        keys = ["one\rtwo\rthr", "ee\r"]
        for expected in ["one", "two", "three", nil] {
            #expect(try screen.read(LineEditor(history: [], complete: { _ in .init() })) == expected)
        }
        keys = ["\u{1B}[A"]
        shown = []
        #expect(try screen.read(LineEditor(history: ["\u{1B}]0;x\u{7}"], complete: { _ in .init() })) == nil)
        #expect(!shown.joined().contains("\u{1B}]") && !shown.joined().contains("\u{7}"), "\(shown)")
    }

    @Test("lines of a pipe run as commands would, and the last one's status counts") func pipe() throws {
        let folder = try CommandLineTests.onDisk(SampleStore())
        let store = folder.path + "/store"
        let run = try CommandLineTests.firn(
            ["shell", store],
            input: "info\nPerson WHERE name == 'Anna'\nnonsense ' x\nquery --json 'Person SORT(name ASC) LIMIT(1)'\n")
        #expect(run.status == 0, "\(run)")
        #expect(run.out.contains("Anna") && run.out.contains("{\"name\":\"Anna\""), "\(run)")
        #expect(run.error.contains("goes on with WHERE") || run.error.contains("no class nonsense"), "\(run)")
        #expect(try CommandLineTests.firn(["shell", store], input: "info\nCat\n").status == 2)
        #expect(try CommandLineTests.firn(["shell", store], input: "Cat\ninfo\nexit\nCat\n").status == 0)
        #expect(try CommandLineTests.firn(["shell", store, "--json"], input: "Person\n").out.hasPrefix("{\"name\":"))
        #expect(try CommandLineTests.firn(["shell", folder.path], input: "").status == 3)
    }
}
