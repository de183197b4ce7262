import ArgumentParser
import FirnCore
import FirnQuery
import FirnStorage

/// `firn query STORE 'TYPE WHERE …'`: shows the objects that a query finds.
struct QueryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query", abstract: "Shows the objects that a query finds, as a table or as JSON.",
        discussion: """
            The condition is a predicate as in Realm's queries; SORT, DISTINCT and LIMIT may follow. The article \
            "Queries" has all of it.

            Example: firn query people.firn 'Person WHERE age > 40 AND name BEGINSWITH "A" SORT(age DESC) LIMIT(10)'
            """)

    @OptionGroup var arguments: StoreArguments
    @Argument(help: "The query: a class's name, and what its objects must fulfil.")
    var query: String
    @Option(
        help: ArgumentHelp(
            "Another version than the newest: its number, or the last one of a time, \(Moment.help).",
            valueName: "version|date"))
    var version: VersionChoice?

    func run() throws {
        try finish(with: arguments.key) { out in
            try Self.run(
                arguments.store, query: query, version: version, json: arguments.json, storage: PosixStorage.shared,
                width: Terminal.width, output: out)
        }
    }

    /// - Parameter width: how many characters a line of the table may have.
    static func run(
        _ path: String, query: String, version: VersionChoice?, json: Bool, storage: any Storage, width: Int,
        output: Output
    ) throws -> ToolError.Status {
        let text = try StoreQuery.Text(query)
        return try StoreView.reading(path, choice: version, storage: storage) { view in
            let table = try view.table(named: text.type)
            let rows = view.snapshot.table(table)
            let found = try StoreQuery.pipeline(text.rest, of: table, view).run(in: view.snapshot)
            try view.checkDamage()
            let form = ObjectJSON(view.schema, view.snapshot)
            if json {
                var line: [UInt8] = []
                for index in 0..<found.count {
                    guard let (leaf, row) = rows.find(found.key(at: index, in: rows)) else { continue }
                    try form.append(table, leaf: leaf, row: row, withType: false, to: &line)
                    try view.checkDamage()
                    try output.line(String(decoding: line, as: UTF8.self))
                    line.removeAll(keepingCapacity: true)
                }
            } else {
                let grid = TextTable(table: table, view: view, form: form)
                try grid.write(found.count, width: width, key: { found.key(at: $0, in: rows) }, output: output)
                try output.line(Amount.of(found.count, one: "object"))
            }
            try output.flush()
            return .fine
        }
    }
}

/// `firn explain STORE 'TYPE WHERE …'`: says how a query is carried out.
struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Says how a query is carried out: with which index, in which order.",
        discussion: """
            Example: firn explain people.firn 'Person WHERE name == "Anna" AND age > 40'
            """)

    @OptionGroup var arguments: StoreArguments
    @Argument(help: "The query: a class's name, and what its objects must fulfil.")
    var query: String

    func run() throws {
        try finish(with: arguments.key) { out in
            try Self.run(arguments.store, query: query, json: arguments.json, storage: PosixStorage.shared, output: out)
        }
    }

    static func run(
        _ path: String, query: String, json: Bool, storage: any Storage, output: Output
    ) throws -> ToolError.Status {
        let text = try StoreQuery.Text(query)
        return try StoreView.reading(path, choice: nil, storage: storage) { view in
            let table = try view.table(named: text.type)
            let plan = try StoreQuery.pipeline(text.rest, of: table, view).explain(in: view.snapshot)
            try view.checkDamage()
            if json {
                let facts: [(String, JSON)] = [
                    ("class", .string(text.type)), ("version", .int(view.version)), ("plan", .string(plan)),
                ]
                try output.line(JSON.object(facts).text)
            } else {
                try output.line(plan)
            }
            try output.flush()
            return .fine
        }
    }
}
