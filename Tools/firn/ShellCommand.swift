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
            the arrow keys go through earlier lines, which are kept in ~/.firn_history unless the store is encrypted. \
            Lines may also come from a file or a pipe.

            Example: firn shell people.firn
                     firn> Person WHERE age > 40 SORT(name ASC)
                     firn> history Person 7
            """)

    @OptionGroup var arguments: StoreArguments

    func run() throws {
        let output = Output.standard()
        let isInteractive = Terminal.inputIsTerminal
        try StoreFiles(named: arguments.store, storage: PosixStorage.shared).checkIsStore()
        let isEncrypted = try StoreKeySource.$current.withValue(try arguments.key.source()) {
            let files = StoreFiles(named: arguments.store, storage: PosixStorage.shared)
            // The subcommands run in processes of their own, and must not each ask.
            if let key = try files.encryptionKey() { Terminal.setEnvironment("FIRN_KEY", key.hexadecimal) }
            return try files.isEncrypted()
        }
        // The subcommands would take a path that begins with - for an option.
        let store = arguments.store.first == "-" ? "./" + arguments.store : arguments.store
        let subcommands = FirnCommand.configuration.subcommands.compactMap { $0.configuration.commandName }.filter {
            $0 != "shell"
        }
        // For `export`, `--json` chooses another format.
        let withJSON = arguments.json ? Set(subcommands).subtracting(["export"]) : []
        let shell = Shell(store, subcommands: subcommands, withJSON: withJSON, output) {
            (words) throws(ToolError) in try Terminal.runSelf(words, hasInput: isInteractive)
        }
        let status: Int32
        if isInteractive {
            Terminal.ignoreInterrupts()
            try output.line("\(DisplayText.line(store)): type a query, a subcommand, help or exit")
            try output.flush()
            // Lines may hold names and values of the store, which nobody is to find in a file.
            let path = isEncrypted ? nil : ShellHistory.path(Terminal.environment).map { Terminal.followed($0) }
            let screen = ShellScreen(
                prompt: "firn> ", width: { Terminal.errorWidth }, readKeys: { try Terminal.read(into: $0) },
                write: { try Terminal.write($0, to: 2) })
            status = try shell.runInteractively(ShellHistory(path: path, storage: PosixStorage.shared)) { editor in
                try Terminal.readingKeys { try screen.read(editor) }
            }
        } else {
            status = try shell.runLines(RecordSource("-", storage: PosixStorage.shared))
        }
        // As shells do, this ends with the last subcommand's status, even if that is a signal's.
        if status != 0 { Terminal.leave(status) }
    }
}
