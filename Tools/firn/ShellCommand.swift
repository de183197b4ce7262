import ArgumentParser
import FirnBytes
import FirnStorage

/// `firn shell STORE`: a prompt for the other subcommands.
struct ShellCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shell",
        abstract: "Shows a prompt for all of this, with completion and history.",
        discussion: """
            Each line is a subcommand without the store, or a query. Tab completes subcommands, classes and properties; \
            the arrow keys go through earlier lines, which are kept in ~/.firn_history. Lines may also come from a \
            file or a pipe.

            Example: firn shell people.firn
                     firn> Person WHERE age > 40 SORT(name ASC)
                     firn> history Person 7
            """)

    @OptionGroup var arguments: StoreArguments

    func run() throws {
        let output = Output.standard()
        let store = arguments.store
        try StoreFiles(named: store, storage: PosixStorage.shared).checkIsStore()
        let subcommands = FirnCommand.configuration.subcommands.compactMap { $0.configuration.commandName }.filter {
            $0 != "shell"
        }
        let shell = Shell(store, json: arguments.json, subcommands: subcommands, output) {
            (words) throws(ToolError) in try Terminal.runSelf(words)
        }
        let status: Int32
        if Terminal.inputIsTerminal {
            try output.line("\(DisplayText.line(store)): type a query, a subcommand, help or exit")
            try output.flush()
            let path = ShellHistory.path(Terminal.environment).map { Terminal.followed($0) }
            let screen = ShellScreen(
                prompt: "firn> ", width: { Terminal.errorWidth },
                readKeys: { keys in try Terminal.readingKeys { try Terminal.read(into: keys) } },
                write: { try Terminal.write($0, to: 2) })
            status = try shell.runInteractively(ShellHistory(path: path, storage: PosixStorage.shared), screen)
        } else {
            status = try shell.runLines(RecordSource("-", storage: PosixStorage.shared))
        }
        if let status = ToolError.Status(rawValue: status), status != .fine { throw ExitStatus(status: status) }
    }
}
