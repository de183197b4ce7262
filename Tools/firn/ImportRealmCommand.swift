import ArgumentParser
import FirnStorage

/// `firn import-realm STORE FILE --schema FILE`: puts the objects of a Realm file into a store.
struct ImportRealmCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import-realm",
        abstract: "Puts the objects of a Realm file into a store, by way of realm2json.",
        discussion: """
            Firn does not read Realm files. realm2json, a program of realm-core, writes the objects as JSON, and with \
            --schema the classes; --output-mode xjson also keeps the types of values in mixed properties. Links, \
            lists, sets, maps and embedded objects are kept. Everything is imported, or nothing unless --batch is \
            given. The article "Moving data in and out" has the rules.

            Example: realm2json --schema my.realm > schema.json
                     realm2json my.realm > objects.json
                     firn import-realm my.firn objects.json --schema schema.json
            """)

    @OptionGroup var arguments: StoreArguments
    @Argument(help: "What realm2json has written.", completion: .file())
    var file: String
    @Option(
        help: ArgumentHelp("What realm2json --schema has written.", valueName: "file"), completion: .file())
    var schema: String
    @OptionGroup var batches: BatchArguments

    func validate() throws {
        if file == "-" || schema == "-" { throw ValidationError("Give files: they are read more than once.") }
    }

    func run() throws {
        Interrupts.postpone()
        try finish(with: arguments.key) { out in
            try Self.run(
                arguments.store, file: file, schema: schema, batch: batches.batch,
                json: arguments.json, storage: PosixStorage.shared, clock: SystemClock.shared, output: out)
        }
    }

    static func run(
        _ path: String, file: String, schema: String, batch: Int? = nil, json: Bool = false,
        storage: any Storage, clock: any Clock, output: Output
    ) throws -> ToolError.Status {
        let source = try RealmImport(file, schema: schema, storage: storage, output)
        return try ImportRun(source: source, batch: batch)
            .run(into: path, json: json, storage: storage, clock: clock, output)
    }
}
