import FirnBytes
import FirnCore
import FirnStorage

/// The prompt of `firn shell`.
///
/// Each line runs as `firn` itself would, in a process of its own. So Ctrl-C ends a subcommand and not the shell, and
/// the pager works. Whatever a damaged store does to a subcommand, the shell goes on. Only the completion reads the
/// store's classes in this process.
final class Shell {
    private let store: String
    /// The subcommands that get `--json`.
    private let jsonSubcommands: Set<String>
    private let subcommands: [String]
    private let output: Output
    private let run: ([String]) throws(ToolError) -> Int32
    /// The status of the last subcommand.
    private var status: Int32 = 0

    init(
        _ store: String, subcommands: [String], withJSON: Set<String>, _ output: Output,
        run: @escaping ([String]) throws(ToolError) -> Int32
    ) {
        self.store = store
        jsonSubcommands = withJSON
        self.subcommands = subcommands
        self.output = output
        self.run = run
    }

    /// Runs the lines of a file or a pipe, up to the end or `exit`. Returns the last subcommand's status, as shells do.
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
        do {
            switch try ShellLine(line, store: store, subcommands: subcommands) {
            case .empty: break
            case .exit: return false
            case .help: try showHelp()
            case .command(var arguments):
                if jsonSubcommands.contains(arguments[0]) { arguments.insert("--json", at: 1) }
                status = try run(arguments)
            }
        } catch let error as ToolError {
            status = error.status.rawValue
            output.warn("firn: \(error)")
        }
        return true
    }

    private func showHelp() throws {
        try output.line(
            """
            A line is a subcommand without the store, such as info, log or export --type Dog;
            or a query, such as Dog WHERE age > 3 SORT(name ASC) LIMIT(10).

            Subcommands: \(subcommands.joined(separator: ", ")).
            help SUBCOMMAND tells more of one. Tab completes, the arrow keys go through earlier lines, Ctrl-C gives
            a line up or ends what runs, and exit or Ctrl-D ends the shell.
            """)
        try output.flush()
    }

    // MARK: A terminal

    /// Reads lines from the terminal and runs them, until the person ends the shell. Returns the exit status.
    ///
    /// - Parameter read: lets the person type a line, and returns it; nil if there are no more.
    func runInteractively(_ history: ShellHistory, _ read: (LineEditor) throws -> String?) throws -> Int32 {
        var history = history
        while true {
            // The schema is read when a line's first completion needs it, since any subcommand may change it.
            var schema: StoreSchema?
            let editor = LineEditor(history: history.lines) { [self] before in
                let known = schema ?? currentSchema()
                schema = known
                return ShellCompletion(schema: known, subcommands: subcommands + ["help", "exit"])(before)
            }
            guard let line = try read(editor) else { return status }
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
        (try? StoreView.reading(store, choice: nil, storage: PosixStorage.shared) { $0.schema }) ?? StoreSchema()
    }
}
