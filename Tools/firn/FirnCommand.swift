import ArgumentParser
import FirnCrypto
import FirnStorage

/// The `firn` command: inspects, verifies, copies and recovers stores, and moves data in and out.
struct FirnCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "firn",
        abstract: "Looks into Firn stores.",
        discussion: """
            Only compact, rekey and the imports change a store. Each but rekey works while a process uses it. \
            Exit status: 0 fine, 1 damage found, 2 wrong usage, 3 the system refused or the path is not a store.
            """,
        version: "firn 0.1 (store format 1)",
        subcommands: subcommands)

    private static var subcommands: [any ParsableCommand.Type] {
        var all: [any ParsableCommand.Type] = [
            InfoCommand.self, LogCommand.self, ShowCommand.self, HistoryCommand.self, DiffCommand.self,
            TailCommand.self, QueryCommand.self, ExplainCommand.self, ExportCommand.self, ImportCommand.self,
        ]
        #if SQLite
            all.append(ImportSQLiteCommand.self)
        #endif
        return all + [
            ImportRealmCommand.self, VerifyCommand.self, ReplayCommand.self, RecoverCommand.self, CopyCommand.self,
            CompactCommand.self, EncryptCommand.self, DecryptCommand.self, RekeyCommand.self, ShellCommand.self,
        ]
    }

    static func main() {
        let status: Int32
        do {
            var command = try parseAsRoot()
            if let command = command as? any ShownByPages {
                // The question would change the terminal's settings while the pager saves them.
                try command.askForKey()
                Terminal.startPager()
            }
            try command.run()
            status = 0
        } catch let error as ToolError {
            Output.standard().warn("firn: \(error)")
            if error.status == .interrupted { Interrupts.die() }
            status = error.status.rawValue
        } catch let error as ExitStatus {
            status = error.status.rawValue
        } catch {
            // The parser's message: help, or what is wrong with the arguments.
            let isRefusal = exitCode(for: error) != .success
            let text = fullMessage(for: error)
            if isRefusal { Output.standard().warn(text) } else { print(text) }
            status = isRefusal ? ToolError.Status.usage.rawValue : 0
        }
        Terminal.leave(status)
    }
}

/// A subcommand whose result a person reads from the top, so that it goes through a pager.
protocol ShownByPages {
    var arguments: StoreArguments { get }
}

extension ShownByPages {
    /// Asks for the key of an encrypted store if nothing else gives it. The answer is remembered.
    fileprivate func askForKey() throws {
        // The file is read once, by the subcommand: it may be a pipe.
        guard arguments.key.keyFile == nil else { return }
        let source = try arguments.key.source()
        guard try source.given() == nil, let ask = source.ask else { return }
        if try StoreFiles(named: arguments.store, storage: PosixStorage.shared).isEncrypted() { _ = try ask() }
    }
}

extension InfoCommand: ShownByPages {}
extension LogCommand: ShownByPages {}
extension ShowCommand: ShownByPages {}
extension HistoryCommand: ShownByPages {}
extension DiffCommand: ShownByPages {}
extension QueryCommand: ShownByPages {}
extension ExplainCommand: ShownByPages {}

/// Ends the process with a status and prints nothing, since the subcommand has already printed everything.
struct ExitStatus: Error {
    let status: ToolError.Status
}

/// The option of all subcommands that gives the key of an encrypted store.
struct KeyArguments: ParsableArguments {
    @Option(
        name: .customLong("key-file"),
        help: ArgumentHelp(
            "The key of an encrypted store: a file with 64 bytes, or 128 hexadecimal digits.",
            discussion: """
                Without it, the key is the value of the environment variable FIRN_KEY, or is asked for.
                """, valueName: "file"),
        completion: .file())
    var keyFile: String?

    /// Reads the file, which may be a pipe, once.
    func source() throws(ToolError) -> StoreKeySource {
        var source = StoreKeySource(environment: Terminal.environment("FIRN_KEY"), ask: Terminal.keyQuestion)
        if let keyFile {
            source.fileKey = try StoreKeySource.key(inFile: keyFile)
        }
        return source
    }
}

extension StoreKeySource {
    /// The key in a file, which may be a pipe.
    static func key(inFile path: String) throws(ToolError) -> EncryptionKey {
        try key(Terminal.contents(of: path, most: fileByteCount), inFile: path)
    }
}

/// The arguments of all subcommands except `export`, which has its own.
struct StoreArguments: ParsableArguments {
    @Argument(help: "The store's folder.", completion: .directory)
    var store: String

    @OptionGroup var key: KeyArguments

    @Flag(help: "Write JSON: one object per line.")
    var json = false
}

/// Runs a subcommand's work, and throws the status that it returns unless that is `fine`.
///
/// - Parameter key: the arguments that say where the key of an encrypted store comes from.
func finish(with key: KeyArguments, _ work: (Output) throws -> ToolError.Status) throws {
    let output = Output.standard()
    defer { output.clearProgress() }
    let status: ToolError.Status
    do {
        status = try StoreKeySource.$current.withValue(try key.source()) { try work(output) }
        try output.flush()
    } catch {
        // The results from before the error are still worth reading.
        try? output.flush()
        throw error
    }
    if status != .fine { throw ExitStatus(status: status) }
}

extension Output {
    /// Writes the findings of a walk to the error stream, and returns the exit status for them.
    func report(_ findings: [Finding], in store: OpenedStore) -> ToolError.Status {
        for finding in findings where finding.kind != .note { warn("firn: \(finding)") }
        guard findings.contains(where: { $0.kind == .damage }) else { return .fine }
        if store.hasChanged() {
            warn("firn: the store changed while it was read, so this may not be damage. Run the command again.")
        } else {
            warn(
                "firn: `firn verify` lists all that is wrong; `firn recover STORE --output NEW` saves what can still be read."
            )
        }
        return .damage
    }
}
