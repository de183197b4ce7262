import ArgumentParser
import FirnBytes
import FirnStorage

/// `firn import-realm STORE FILE`: puts the objects of a Realm file into a store.
struct ImportRealmCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import-realm",
        abstract: "Puts the objects of a Realm file into a store.",
        discussion: """
            The file is one that Realm made, of any format from 2 to 24, and stays as it is. No other program may have \
            it open. Links, lists, sets, maps, embedded objects, primary keys and indexes are kept, names are those in \
            the file. What can't be kept is counted and told. An encrypted file is read with the key that is given, \
            and a new store gets the same key. Everything is imported, or nothing unless --batch is given. The \
            article "Moving data in and out" has the rules.

            The file may also be what realm2json, a program of realm-core, has written; then --schema is needed.

            Example: firn import-realm my.firn my.realm
            """)

    @OptionGroup var arguments: StoreArguments
    @Argument(help: "The Realm file, or what realm2json has written.", completion: .file())
    var file: String
    @Option(
        help: ArgumentHelp("What realm2json --schema has written.", valueName: "file"), completion: .file())
    var schema: String?
    @Option(
        name: .customLong("class"),
        help: ArgumentHelp("Only objects of this class. May be given several times.", valueName: "class"))
    var classes: [String] = []
    @Flag(help: "Leave out classes that are damaged, instead of refusing the file.")
    var salvage = false
    @OptionGroup var batches: BatchArguments

    func validate() throws {
        if file == "-" || schema == "-" { throw ValidationError("Give files: they are read more than once.") }
        if schema != nil, !classes.isEmpty || salvage {
            throw ValidationError("--class and --salvage are for Realm's own files, not for --schema.")
        }
    }

    func run() throws {
        Interrupts.postpone()
        try finish(with: arguments.key) { out in
            try Self.run(
                arguments.store, file: file, choice: Choice(schema: schema, classes: classes, salvages: salvage),
                batch: batches.batch, json: arguments.json, storage: PosixStorage.shared, clock: SystemClock.shared,
                output: out)
        }
    }

    /// What is imported.
    struct Choice {
        var schema: String?
        var classes: [String] = []
        var salvages = false
    }

    static func run(
        _ path: String, file: String, choice: Choice = Choice(), batch: Int? = nil, json: Bool = false,
        storage: any Storage, clock: any Clock, output: Output
    ) throws -> ToolError.Status {
        let source = try source(file, choice: choice, storage: storage, output)
        return try ImportRun(source: source, batch: batch)
            .run(into: path, json: json, storage: storage, clock: clock, output)
    }

    /// The bytes say whether the file is one that Realm made, or a document.
    private static func source(
        _ file: String, choice: Choice, storage: any Storage, _ output: Output
    ) throws -> any ImportSource {
        if let schema = choice.schema { return try RealmImport(file, schema: schema, storage: storage, output) }
        guard try RealmSource.isDocument(file, storage: storage) else {
            let opened = try RealmSource.open(file, salvages: choice.salvages, storage: storage)
            return try RealmFileImport(opened, classes: choice.classes, salvages: choice.salvages, output)
        }
        throw ToolError(
            .usage,
            "\(DisplayText.line(file)) is not a Realm file. If realm2json has written it, give the classes, too: --schema FILE, written by realm2json --schema."
        )
    }
}
