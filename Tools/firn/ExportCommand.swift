import ArgumentParser
import FirnBytes
import FirnCore
import FirnQuery
import FirnStorage

/// `firn export STORE`: writes the objects of a version as JSON or CSV.
struct ExportCommand: ParsableCommand {
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case ndjson, csv, json
    }

    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Writes the objects of a version as JSON lines, as JSON or as CSV.",
        discussion: """
            JSON lines (ndjson) have one object per line, in the order in which the objects were inserted. Unless one \
            --type is given, each names its class ($type), and the first line has the schema. `firn import` reads all \
            of it again: the article "Moving data in and out" has the rules.

            Example: firn export people.firn --type Person --where 'age > 40' --output people.ndjson
            """)

    @Argument(help: "The store's folder.", completion: .directory)
    var store: String
    @OptionGroup var key: KeyArguments
    @Option(help: "ndjson, csv or json.")
    var format: Format = .ndjson
    @Option(
        name: .customLong("type"),
        help: ArgumentHelp("Only objects of this class. May be given several times.", valueName: "class"))
    var types: [String] = []
    @Option(
        name: .customLong("where"),
        help: ArgumentHelp("Only objects for which this query holds. Needs one --type.", valueName: "query"))
    var predicate: String?
    @Option(
        help: ArgumentHelp(
            "Another version than the newest: its number, or the last one of a time, \(Moment.help).",
            valueName: "version|date"))
    var version: VersionChoice?
    @Flag(help: "The same as --format json.")
    var json = false
    @Option(
        help: "A file, which must not exist yet. Without it, the objects are written to the output.",
        completion: .file())
    var output: String?

    func validate() throws {
        if predicate != nil, types.count != 1 { throw ValidationError("--where needs exactly one --type.") }
        if json, format == .csv { throw ValidationError("Give --format or --json, not both.") }
        if format == .csv, types.count != 1 { throw ValidationError("--format csv needs exactly one --type.") }
    }

    func run() throws {
        if output != nil { Interrupts.postpone() }
        try finish(with: key) { out in
            let choice = Choice(types: types, predicate: predicate, version: version)
            try Self.run(
                store, format: json ? .json : format, choice: choice, output: output, storage: PosixStorage.shared,
                to: out)
            return .fine
        }
    }

    /// The classes, the condition and the version that choose the exported objects.
    struct Choice {
        var types: [String] = []
        var predicate: String?
        var version: VersionChoice?
    }

    static func run(
        _ path: String, format: Format, choice: Choice, output file: String?, storage: any Storage, to output: Output
    ) throws {
        let files = StoreFiles(named: path, storage: storage)
        try StoreView.reading(path, choice: choice.version, storage: storage) { view in
            let sink = try ByteSink(file, output, outside: files, storage: storage)
            do {
                var export = try Export(view: view, format: format, choice: choice, sink: sink, output: output)
                try export.run()
                try sink.finish()
            } catch {
                sink.cancel()
                throw error
            }
        }
    }
}

/// One run of `firn export`.
private struct Export {
    private let view: StoreView
    private let format: ExportCommand.Format
    private let tables: [TableID]
    private let isWhole: Bool
    private let query: QueryPipeline?
    private let sink: ByteSink
    private let output: Output
    private var buffer: [UInt8] = []
    private var count = 0

    init(
        view: StoreView, format: ExportCommand.Format, choice: ExportCommand.Choice, sink: ByteSink,
        output: Output
    ) throws {
        self.view = view
        self.format = format
        self.sink = sink
        self.output = output
        let tables =
            choice.types.isEmpty
            ? view.schema.tables.indices.map { TableID($0) }.filter {
                !view.schema[$0].isRemoved && !view.schema[$0].isEmbedded
            } : try choice.types.map { try view.table(named: $0) }
        guard Set(tables).count == tables.count else {
            throw ToolError(.usage, "--type names a class twice.")
        }
        self.tables = tables
        isWhole = choice.types.isEmpty
        query = try choice.predicate.map { try StoreQuery.pipeline($0, of: tables[0], view) }
    }

    /// Whether objects name their class, and the schema comes first.
    private var isMixture: Bool { format == .json || isWhole || tables.count > 1 }

    mutating func run() throws {
        if format != .csv, isMixture {
            buffer += "{\"$schema\":".utf8
            SchemaJSON.append(view.schema, to: &buffer)
            buffer += (format == .json ? ",\"objects\":[" : "}\n").utf8
        }
        let json = ObjectJSON(view.schema, view.snapshot)
        let total = tables.reduce(0) { $0 + view.snapshot.table($1).count }
        for table in tables {
            let csv = format == .csv ? ObjectCSV(table: table, schema: view.schema, snapshot: view.snapshot) : nil
            csv?.appendNames(to: &buffer)
            let rows = view.snapshot.table(table)
            if let query {
                let keys = query.run(in: view.snapshot).keys(in: rows)
                for (index, key) in keys.enumerated() {
                    guard let (leaf, row) = rows.find(key) else { continue }
                    try append(table, leaf: leaf, row: row, json: json, csv: csv)
                    if index % 1_000 == 0 { output.progress("exporting", index, of: keys.count) }
                }
                continue
            }
            var failure: (any Error)?
            rows.forEachLeaf { leaf, _ in
                do {
                    for row in 0..<leaf.count { try append(table, leaf: leaf, row: row, json: json, csv: csv) }
                    try Interrupts.check()
                    output.progress("exporting", count, of: total)
                    return true
                } catch {
                    failure = error
                    return false
                }
            }
            if let failure { throw failure }
        }
        if format == .json { buffer += "\n]}\n".utf8 }
        try write()
    }

    private mutating func write() throws {
        try view.checkDamage()
        try Interrupts.check()
        try sink.write(&buffer)
    }

    private mutating func append(
        _ table: TableID, leaf: Leaf, row: Int, json: ObjectJSON, csv: ObjectCSV?
    ) throws {
        if let csv {
            try csv.append(leaf, row, to: &buffer)
        } else {
            if format == .json { buffer += (count == 0 ? "\n" : ",\n").utf8 }
            try json.append(table, leaf: leaf, row: row, withType: isMixture, to: &buffer)
            if format == .ndjson { buffer.append(UInt8(ascii: "\n")) }
        }
        count += 1
        if buffer.count > 1 << 16 { try write() }
    }
}
