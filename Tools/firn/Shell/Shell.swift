import FirnBytes
import FirnCore
import FirnStorage

/// The prompt of `firn shell`.
///
/// Each line runs as `firn` itself would, in a process of its own: so Ctrl-C ends a subcommand and not the shell, the
/// pager works, and whatever a damaged store does to a subcommand, the shell goes on.
final class Shell {
    private let store: String
    private let isJSON: Bool
    private let subcommands: [String]
    private let output: Output
    private let run: ([String]) throws(ToolError) -> Int32
    /// The status of the last subcommand.
    private var status: Int32 = 0

    init(
        _ store: String, json: Bool, subcommands: [String], _ output: Output,
        run: @escaping ([String]) throws(ToolError) -> Int32
    ) {
        self.store = store
        isJSON = json
        self.subcommands = subcommands
        self.output = output
        self.run = run
    }

    /// Runs the lines of a file or a pipe, up to the end or `exit`. Returns the status of the last one, as shells do.
    func runLines(_ source: RecordSource) throws -> Int32 {
        var goesOn = true
        while goesOn,
            try source.next(
                end: LineReader.end,
                { line, _ in goesOn = try take(String(decoding: line, as: UTF8.self)) })
        {}
        return status
    }

    /// Runs a line. Returns false if it ends the shell.
    func take(_ line: String) throws -> Bool {
        do throws(ToolError) {
            switch try ShellLine(line, store: store, subcommands: subcommands) {
            case .empty: break
            case .exit: return false
            case .help: try showHelp()
            case .command(var arguments):
                if isJSON, !arguments.contains("--help"), !arguments.contains("--json") { arguments.append("--json") }
                status = try run(arguments)
            }
        } catch {
            status = error.status.rawValue
            output.warn("firn: \(error)")
        }
        return true
    }

    private func showHelp() throws(ToolError) {
        do {
            try output.line(
                """
                A line is a subcommand without the store, such as info, log or export --type Dog;
                or a query, such as Dog WHERE age > 3 SORT(name ASC) LIMIT(10).

                Subcommands: \(subcommands.joined(separator: ", ")).
                help SUBCOMMAND tells more of one. Tab completes, the arrow keys go through earlier lines, Ctrl-C gives
                a line up or ends what runs, and exit or Ctrl-D ends the shell.
                """)
            try output.flush()
        } catch let error as ToolError {
            throw error
        } catch {
            throw ToolError(.input, "\(error)")
        }
    }

    // MARK: A terminal

    /// Reads lines from the terminal until the person ends the shell.
    func runInteractively(_ history: ShellHistory, _ screen: ShellScreen) throws -> Int32 {
        var history = history
        while true {
            // Read when the first completion needs it, since a subcommand may change it.
            var schema: StoreSchema?
            let editor = LineEditor(history: history.lines) { [self] before in
                let known = schema ?? currentSchema()
                schema = known
                return ShellCompletion(schema: known, subcommands: subcommands + ["help", "exit"])(before)
            }
            guard let line = try screen.read(editor) else { return status }
            do {
                try history.add(line)
            } catch {
                output.warn("firn: the line is not kept for later: \(error)")
            }
            if try !take(line) { return status }
        }
    }

    /// The classes that can be completed: none if the store can't be read.
    private func currentSchema() -> StoreSchema {
        guard let view = try? StoreView.open(store, nil, storage: PosixStorage.shared) else { return StoreSchema() }
        try? view.close()
        return view.schema
    }
}

/// A line of a terminal that is being edited.
struct ShellScreen {
    let prompt: String
    let width: () -> Int
    let readKeys: (UnsafeMutableRawBufferPointer) throws -> Int
    let write: (String) throws -> Void

    /// Lets the person type a line. Returns nil if there are no more.
    func read(_ editor: LineEditor) throws -> String? {
        var editor = editor
        try show(editor)
        var keys = [UInt8](repeating: 0, count: 256)
        while true {
            let count = try keys.withUnsafeMutableBytes { try readKeys($0) }
            if count == 0 { return nil }
            for byte in keys[..<count] {
                switch editor.take(byte) {
                case nil: continue
                case .line(let line):
                    try write("\r\n")
                    return line
                case .cancelled: try write("^C\r\n")
                case .end:
                    try write("\r\n")
                    return nil
                case .clear: try write("\u{1B}[H\u{1B}[2J")
                case .choices(let words):
                    let shown = words.prefix(100).map { DisplayText.line($0) }.joined(separator: "  ")
                    try write("\r\n\(shown)\(words.count > 100 ? "  …" : "")\r\n")
                }
            }
            try show(editor)
        }
    }

    /// Shows the part of the line around the cursor that fits on the screen.
    private func show(_ editor: LineEditor) throws {
        let cells = editor.text.map { DisplayText.line(String($0)) }
        let room = max(8, width() - DisplayWidth.of(prompt) - 1)
        var start = 0
        var before = cells[..<editor.cursor].reduce(0) { $0 + DisplayWidth.of($1) }
        while before > room {
            before -= DisplayWidth.of(cells[start])
            start += 1
        }
        var text = ""
        var taken = 0
        for cell in cells[start...] {
            taken += DisplayWidth.of(cell)
            if taken > room { break }
            text += cell
        }
        // Clears the rest of the line, and goes to the cursor's column.
        try write("\r\(prompt)\(text)\u{1B}[K\r\u{1B}[\(DisplayWidth.of(prompt) + before)C")
    }
}
