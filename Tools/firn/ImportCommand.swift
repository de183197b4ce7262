import ArgumentParser
import FirnBytes
import FirnCore
import FirnLog
import FirnStorage

/// `firn import STORE FILE`: puts objects of JSON lines or CSV into a store.
struct ImportCommand: ParsableCommand {
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case ndjson, csv
    }

    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Puts objects of JSON lines or CSV into a store, which it makes if there is none.",
        discussion: """
            Reads what `firn export` writes, and any other file with one JSON object per line, or CSV with a first line \
            of names. An object whose primary key is in the store is changed, any other is added. The types of a new \
            class's properties are those that fit all values; --types says others. If a value is refused, the message \
            tells its line and column, and nothing is imported. The article "Moving data in and out" has the rules.

            Example: firn import people.firn --type Person --primary-key id --types 'born: date, friends: list<link<Person>>' people.ndjson
            """)

    @OptionGroup var arguments: StoreArguments
    @Argument(help: "The file with the objects; - for the input.", completion: .file())
    var file: String
    @Option(help: "ndjson or csv. Without it, csv if the file's name ends with .csv.")
    var format: Format?
    @Option(name: .customLong("type"), help: ArgumentHelp("The objects' class.", valueName: "class"))
    var type: String?
    @Option(help: ArgumentHelp("The property that tells the objects apart.", valueName: "property"))
    var primaryKey: String?
    @Option(
        help: ArgumentHelp("The types of properties, as 'age: int?, tags: list<string>'.", valueName: "name: type, …"))
    var types: String?
    @OptionGroup var batches: BatchArguments

    func validate() throws {
        if type == nil, primaryKey != nil || types != nil || format == .csv || file.hasSuffix(".csv") {
            throw ValidationError("Give the objects' class with --type.")
        }
    }

    func run() throws {
        Interrupts.postpone()
        try finish(with: arguments.key) { out in
            var options = TextImport.Options(type: type, primaryKey: primaryKey)
            options.isCSV = format == .csv || format == nil && file.hasSuffix(".csv")
            options.types = try types.map { try TypeText.properties($0) } ?? []
            return try Self.run(
                arguments.store, file: file, options: options, batch: batches.batch,
                json: arguments.json, storage: PosixStorage.shared, clock: SystemClock.shared, output: out)
        }
    }

    static func run(
        _ path: String, file: String, options: TextImport.Options, batch: Int? = nil, json: Bool,
        storage: any Storage, clock: any Clock, output: Output
    ) throws -> ToolError.Status {
        let source = TextImport(source: try RecordSource(file, storage: storage), options: options, output: output)
        return try ImportRun(source: source, batch: batch)
            .run(into: path, json: json, storage: storage, clock: clock, output)
    }
}
